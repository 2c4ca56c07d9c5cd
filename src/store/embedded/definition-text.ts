// The texts in which the engine keeps the definitions of tables and databases, as far as their wholeness is concerned.

/** Whether a file of a definition was written to its end: the engine ends each with a line feed, and closes what it opens. */
export function isWholeDefinition(text: string): boolean {
  const isFramed = text.startsWith('ATTACH ') && text.endsWith('\n') && !text.includes('\0')
  return isFramed && /\n(?:ENGINE = |AS (?:SELECT|WITH)\b)/.test(text) && isBalanced(text)
}

const quoted = /'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/gs

function isBalanced(text: string): boolean {
  let depth = 0
  for (const [sign] of text.replaceAll(quoted, '').matchAll(/[()'`]/g)) {
    // A quote that is left has no end.
    if (sign !== '(' && sign !== ')') return false
    depth += sign === '(' ? 1 : -1
    if (depth < 0) return false
  }
  return depth === 0
}

/** The identity by which the engine finds the rows; null where none is told. */
export function uuidIn(text: string): string | null {
  return /^ATTACH [A-Z ]+ _ UUID '([0-9a-f-]{36})'/.exec(text)?.[1] ?? null
}

/** The tables that a statement of our own names. */
export function tablesNamedIn(sql: string, database: string): ReadonlySet<string> {
  const names = [...sql.matchAll(/`(\w+)`\.`(\w+)`/g)].filter(([, owner]) => owner === database)
  return new Set(names.map(([, , table = '']) => table))
}
