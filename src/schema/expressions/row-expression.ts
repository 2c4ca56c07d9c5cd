// A condition of somebody else's that becomes part of a statement: a row filter of a token, a `replace_condition`.
//
// It can be nothing but one expression over the row: no query, no table, no function that reads anything, no end of the
// brackets it is put into, no name for a part of itself, which what stands around it would take for a column.

import { checkNoneBound } from '../functions/bounded-calls.ts'
import { checkCalls } from '../functions/call-policy.ts'
import { checkTextArguments } from '../functions/function-arguments.ts'
import { checkOneRow } from '../functions/row-count.ts'
import { checkInternalColumns } from '../syntax/internal-columns.ts'
import { parseOneExpression } from '../syntax/parse-expression.ts'
import type { ParsedQuery } from '../syntax/parsed-query.types.ts'
import { splice } from '../syntax/splice.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import { checkZonesAreTexts } from '../time-zones/time-zones.ts'

export interface RowExpression {
  /** Canonical tokens, without brackets around them. */
  readonly sql: string
  readonly parsed: ParsedQuery
}

/**
 * Reads one condition.
 *
 * @param what it is, for messages: `A row filter`.
 * @throws SqlFault.
 */
export function readRowExpression(text: string, what: string): RowExpression {
  const parsed = parseOneExpression(text, what)
  const { scopes, reads, tokens, bodyEnd } = parsed
  if (reads.length > 0) throw new SqlFault(`${what} can not read a table`)
  if (scopes.some(({ aliases }) => aliases.size > 0)) throw new SqlFault(`${what} cannot name a part of itself with AS`)
  checkCalls(parsed)
  checkOneRow(parsed, what)
  checkTextArguments(parsed)
  checkZonesAreTexts(parsed, what)
  checkNoneBound(parsed, what)
  checkInternalColumns(parsed)
  return { sql: splice({ source: text, node: null, tokens, end: bodyEnd, edits: [] }).text, parsed }
}
