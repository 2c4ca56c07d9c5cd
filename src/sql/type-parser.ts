import type { SqlCursor } from './sql-cursor.ts'

// `DOUBLE PRECISION`, `INT UNSIGNED`, `CHAR VARYING(3)`, `CHARACTER LARGE OBJECT`.
const firstWords: ReadonlySet<string> = new Set(
  `DOUBLE CHAR CHARACTER NATIONAL NCHAR BINARY INT INTEGER TINYINT SMALLINT MEDIUMINT BIGINT INT1 BYTE`.split(' '),
)
const laterWords: ReadonlySet<string> = new Set('PRECISION UNSIGNED SIGNED VARYING LARGE OBJECT'.split(' '))

/**
 * Takes the name of a type with its arguments, `Array(Nullable(DateTime64(3, 'UTC')))`.
 *
 * What stands in the brackets is passed over: only types, names and literals can, and the engine evaluates nothing of it.
 */
export function parseType(cursor: SqlCursor): void {
  const first = cursor.peek().key
  cursor.takeName('a type')
  if (firstWords.has(first)) while (laterWords.has(cursor.peek().key)) cursor.index += 1
  const closing = cursor.is('(') ? cursor.brackets.get(cursor.index) : undefined
  if (closing === undefined) return
  for (cursor.index += 1; cursor.index < closing; cursor.index += 1) {
    if (cursor.is('SELECT') || cursor.is(';')) cursor.refuse('expected the argument of a type')
  }
  cursor.index = closing + 1
}
