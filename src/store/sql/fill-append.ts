import { partExpression } from '../../codec/arrow/part-expression.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { AppendRequest, FillRequest } from '../store.types.ts'

/** One thread has time for what several threads have computed, and for more than they had the time to. */
const repeatTimes = 20

/** A fill as the append that it is, of what its query gives. */
export function fillAppend(request: FillRequest): AppendRequest {
  const { table, columns, query, queryOfRepeats, rowCount, blockId, threads, groupsMax, isRepeat } = request
  const targets = columns.map((column) => ({ column, expression: partExpression(quoteName(column)) }))
  const rows = { query, queryOfRepeats, queryThreads: threads, queryGroupsMax: groupsMax }
  const append = { table, layout: { fields: [], targets }, parts: [], rowCount, blockId, ...rows }
  return isRepeat === true ? { ...repeatedAppend(append), isRepeat } : append
}

/**
 * The same for a try that another one may have come before: it must not be refused what that may have stored, as its rows would be taken
 * for rows that are stored nowhere. How many groups come to which of several threads is chance; all that any try may store is no more
 * than one thread may make here. Nor is there a time by which it has to have read its rows.
 */
export function repeatedAppend(request: AppendRequest): AppendRequest {
  const { query, queryOfRepeats = query, queryThreads = 1, queryGroupsMax } = request
  if (query === undefined || queryOfRepeats === undefined || queryGroupsMax === undefined) return request
  const bounds = { queryThreads: 1, queryGroupsMax: queryThreads * queryGroupsMax, timeTimes: repeatTimes }
  return { ...request, query: queryOfRepeats, ...bounds }
}
