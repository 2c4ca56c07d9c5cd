interface Named {
  readonly name: string
}

/** How a refusal names those who use something. */
export function userNames(certain: readonly Named[], possible: readonly Named[]): readonly string[] {
  return [...certain.map(({ name }) => name), ...possible.map(({ name }) => `${name} (in a branch of its template)`)]
}
