// A row filter as it is put into a query, around what it filters: `SELECT * FROM … AS rows WHERE (filter)`.
//
// Each name in it is a column of what it filters, and is written with the alias of that: what is no column any more when the
// query runs must not be taken for a name of the query around it, which whoever asks has written.

import { readRowExpression } from '../schema/expressions/row-expression.ts'
import { isStoredFunction } from '../schema/expressions/stored-expression.ts'
import { filteredRows } from '../schema/syntax/engine-columns.ts'
import { intervalUnits } from '../schema/syntax/keywords.ts'
import type { ParsedQuery, TokenRange } from '../schema/syntax/parsed-query.types.ts'
import { type Edit, splice } from '../schema/syntax/splice.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'
import { quoteName } from '../shared/text-escapes.ts'
import { isFickleFunction } from './fickle-functions.ts'

export interface RowFilter {
  /** One expression of canonical tokens, without brackets around it. */
  readonly sql: string
  /** What the rows that it judges are called in it, in quotes. */
  readonly alias: string
  /** The functions that it calls. */
  readonly functions: readonly string[]
  /** The first words of the names in it: columns, or columns of which it takes a part. */
  readonly columns: ReadonlySet<string>
  /** Whether no value of a row can make it fail. */
  readonly isTotal: boolean
}

/** What is beside names and literals in a filter that no row makes fail. */
const totalTokens: ReadonlySet<string> = new Set(
  '= == != <> < > <= >= ( ) , [ ] AND OR NOT IN BETWEEN IS NULL TRUE FALSE'.split(' '),
)
const totalFunctions: ReadonlySet<string> = new Set(
  'and or not in notin equals notequals less greater lessorequals greaterorequals has startswith endswith lower upper empty notempty isnull isnotnull'.split(
    ' ',
  ),
)

const values: ReadonlySet<string> = new Set(['NULL', 'TRUE', 'FALSE', 'INF', 'NAN'])

/**
 * Reads the condition that every row must meet.
 *
 * @param columns of the rows.
 * @throws SqlFault.
 */
export function readRowFilter(text: string, columns: readonly string[]): RowFilter {
  const { parsed } = readRowExpression(text, 'A row filter')
  const { tokens, names, calls, bodyEnd: end } = parsed
  const unsteady = calls.find(({ name, isCalled }) => isCalled && (!isStoredFunction(name) || isFickleFunction(name)))
  if (unsteady !== undefined) {
    const { offset = 0 } = tokens[unsteady.start] ?? {}
    throw new SqlFault(`A row filter can not call ${unsteady.name}()`, { offset })
  }
  const alias = freeAlias(columns)
  const edits = names.flatMap((range) => qualified(parsed, range, { columns, alias }))
  edits.sort((one, other) => one.start - other.start)
  return {
    sql: splice({ source: text, node: null, tokens, end, edits }).text,
    alias,
    functions: calls.map(({ name }) => name),
    columns: new Set(names.map(({ start }) => tokens[start]?.name ?? '')),
    isTotal: isTotal(parsed),
  }
}

/** A column of the same name, or with elements, would go before it. */
function freeAlias(columns: readonly string[]): string {
  let name = filteredRows
  while (columns.some((column) => column.startsWith(name))) name += '_'
  return quoteName(name)
}

interface Rows {
  readonly columns: readonly string[]
  readonly alias: string
}

function qualified({ tokens }: ParsedQuery, { start, end }: TokenRange, { columns, alias }: Rows): readonly Edit[] {
  const parts = tokens.slice(start, end)
  const [first] = parts
  if (first === undefined) return []
  const isAlone = end === start + 1
  if (isAlone && values.has(first.key)) return []
  const name = parts.map((part) => part.name).join('')
  if (columns.includes(first.name) || columns.includes(name)) {
    return [{ start, end: start + 1, before: `${alias}.${first.text}`, inner: null, after: '' }]
  }
  if (isAlone && intervalUnits.has(first.key)) return []
  throw new SqlFault(`'${name}' in a row filter is not a column of what it filters`, { offset: first.offset })
}

function isTotal({ tokens, names, calls }: ParsedQuery): boolean {
  const known = new Set([...names, ...calls].map(({ start }) => start))
  return (
    calls.every(({ name }) => totalFunctions.has(name.toLowerCase())) &&
    tokens.every(({ kind, key }, index) => {
      return totalTokens.has(key) || known.has(index) || kind === 'string' || kind === 'number'
    })
  )
}
