const listedMax = 20

/** The names behind one another; of very many, the first and how many more there are. */
export function listText(names: readonly string[]): string {
  const more = names.length > listedMax ? `, and ${names.length - listedMax} more` : ''
  return `${names.slice(0, listedMax).join(', ')}${more}`
}
