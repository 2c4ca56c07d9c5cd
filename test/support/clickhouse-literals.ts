/** Lists, maps and tuples as ClickHouse writes them within texts, as far as the random values of the tests go. */
import type { RawValue } from '../../src/codec/cell.types.ts'
import type { ColumnType } from '../../src/schema/types/column-type.types.ts'
import { referenceJson } from './codec/reference/exact-json.ts'

/** Undefined where the text is none. Its texts stand in single quotes, NULL is a word. */
export function clickHouseLiteral(text: string, type: ColumnType): RawValue | undefined {
  const json = text.replaceAll(/'((?:[^'\\]|\\.|'')*)'|\bNULL\b|[()]/g, (found, inside?: string) => {
    if (inside !== undefined) return JSON.stringify(inside.replaceAll(/\\(.)/gs, '$1').replaceAll("''", "'"))
    if (found === 'NULL') return 'null'
    return found === '(' ? '[' : ']'
  })
  const isTuple = text.trimStart().startsWith('(')
  if (isTuple && type.kind !== 'tuple') return undefined
  return referenceJson(json)
}
