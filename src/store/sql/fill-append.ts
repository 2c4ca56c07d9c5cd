import { partExpression } from '../../codec/arrow/part-expression.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { AppendRequest, FillRequest } from '../store.types.ts'

/** One thread has time for what several threads have computed, and for more than they had the time to. */
const repeatTimes = 20

/** A fill as the append that it is, of what its query gives. */
export function fillAppend(request: FillRequest): AppendRequest {
  const { table, columns, query, rowCount, blockId, threads, bounds, hasDistinctKeys = false, isRepeat } = request
  const targets = columns.map((column) => ({ column, expression: partExpression(quoteName(column)) }))
  const rows = { query, queryThreads: threads, queryBounds: bounds, hasDistinctKeys }
  const append = { table, layout: { fields: [], targets }, parts: [], rowCount, blockId, ...rows }
  return isRepeat === true ? { ...repeatedAppend(append), isRepeat } : append
}

/**
 * The same for a try that another one may have come before: it must not be refused what that may have stored, as its rows would be taken
 * for rows that are stored nowhere. How many groups come to which of several threads is chance; all that any try may store is no more
 * than one thread may make here. Nor is there a time by which it has to have read its rows.
 */
export function repeatedAppend(request: AppendRequest): AppendRequest {
  const { queryThreads = 1, queryBounds } = request
  if (queryBounds === undefined) return request
  const bounds = { groupsMax: queryThreads * queryBounds.groupsMax, readTimeMaxMs: null }
  return { ...request, queryThreads: 1, queryBounds: bounds, timeTimes: repeatTimes }
}
