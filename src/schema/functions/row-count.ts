// Functions that make several rows of one, or none: harmless in a SELECT, and wrong wherever an expression says something of a
// single row, as a condition, a value or a key of it. There the rows around it would be lost or doubled without an error.

import type { ParsedQuery } from '../syntax/parsed-query.types.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import { isFunctionPlace } from './call-policy.ts'

/** In lower case; `test/schema/row-functions` holds the list to the engine's aliases. */
export const rowChangingFunctions: ReadonlySet<string> = new Set(['arrayjoin', 'unnest'])

/**
 * Refuses an expression over one row that could give another number of rows, also by a function that is handed over by its name.
 *
 * @param what it is, for messages: `DEFAULT`.
 * @throws SqlFault with the place.
 */
export function checkOneRow(parsed: ParsedQuery, what: string): void {
  const call = parsed.calls.find(({ name, isCalled, start }) => {
    return rowChangingFunctions.has(name.toLowerCase()) && (isCalled || isFunctionPlace(parsed, start))
  })
  if (call === undefined) return
  const offset = parsed.tokens[call.start]?.offset ?? 0
  throw new SqlFault(`${what} cannot call ${call.name}(), which turns a row into several or none`, { offset })
}
