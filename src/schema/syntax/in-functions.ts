/** The functions behind IN, in lower case: their second argument may be a table. */
export const inFunctions: ReadonlySet<string> = new Set(
  ['in', 'notin', 'nullin', 'notnullin']
    .flatMap((name) => [name, `global${name}`])
    .flatMap((name) => [name, `${name}ignoreset`]),
)
