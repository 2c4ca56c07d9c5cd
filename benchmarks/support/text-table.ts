/** A Markdown table whose columns are padded to one width, so that it reads in a terminal as well; numbers go to the right. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, index) => Math.max(3, title.length, ...rows.map((row) => row[index]?.length ?? 0)))
  const isNumber = header.map((_, index) => rows.every((row) => /^[-\d.,× –]*$/.test(row[index] ?? '')))
  const line = (cells: readonly string[]) => {
    const padded = widths.map((width, index) => {
      const cell = cells[index] ?? ''
      return isNumber[index] ? cell.padStart(width) : cell.padEnd(width)
    })
    return `| ${padded.join(' | ')} |`
  }
  const rule = widths.map((width, index) => (isNumber[index] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [line(header), line(rule), ...rows.map(line)].join('\n')
}
