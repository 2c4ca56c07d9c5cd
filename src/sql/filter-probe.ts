// Queries by which the engine is asked about a row filter.

import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import type { RowFilter } from './row-filter.ts'

/**
 * A query that fails where the engine cannot evaluate the filter. It runs: some of what does not fit is found only then, even
 * over no rows.
 *
 * @param from a qualified table, or a query in brackets.
 */
export function filterProbe(from: string, { sql, alias }: RowFilter): CheckedQuery {
  // The filter is parsed, and what it is tried on is no text of its author.
  return `SELECT count() FROM (SELECT * FROM ${from} LIMIT 0) AS ${alias} WHERE (${sql})` as CheckedQuery
}

/** A query whose one column is what the filter says of a row. */
export function filterVerdict(from: string, { sql, alias }: RowFilter): CheckedQuery {
  // As above.
  return `SELECT (${sql}) AS verdict FROM ${from} AS ${alias}` as CheckedQuery
}
