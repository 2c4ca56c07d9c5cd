import { readRowExpression } from '../schema/expressions/row-expression.ts'
import { intervalUnits } from '../schema/syntax/keywords.ts'
import type { ParsedQuery, TokenRange } from '../schema/syntax/parsed-query.types.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'

/** A row filter as it is put into a query. */
export interface RowFilter {
  /** One expression of canonical tokens, without brackets around it. */
  readonly sql: string
  /** The functions that it calls. */
  readonly functions: readonly string[]
}

const values: ReadonlySet<string> = new Set(['NULL', 'TRUE', 'FALSE', 'INF', 'NAN'])

/**
 * Reads the condition that every row of a table must meet.
 *
 * Each name in it is a column of that table, because what is none would be taken for something of the query around it, which
 * whoever asks has written.
 *
 * @throws SqlFault.
 */
export function readRowFilter(text: string, columns: readonly string[]): RowFilter {
  const { sql, parsed } = readRowExpression(text, 'A row filter')
  for (const range of parsed.names) checkColumn(parsed, range, columns)
  return { sql, functions: parsed.calls.map(({ name }) => name) }
}

function checkColumn({ tokens }: ParsedQuery, { start, end }: TokenRange, columns: readonly string[]): void {
  const parts = tokens.slice(start, end)
  const [first] = parts
  const name = parts.map((part) => part.name).join('')
  if (first === undefined || columns.includes(first.name) || columns.includes(name)) return
  const isWord = end === start + 1 && (values.has(first.key) || intervalUnits.has(first.key))
  if (!isWord) throw new SqlFault(`'${name}' in a row filter is not a column of its data source`)
}
