import { partExpression } from '../../codec/arrow/part-expression.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { AppendRequest, FillRequest } from '../store.types.ts'

/** A fill as the append that it is, of what its query gives. */
export function fillAppend(request: FillRequest): AppendRequest {
  const { table, columns, query, rowCount, blockId, threads, groupsMax, isRepeat } = request
  const targets = columns.map((column) => ({ column, expression: partExpression(quoteName(column)) }))
  const layout = { fields: [], targets }
  const append = {
    table,
    layout,
    parts: [],
    rowCount,
    blockId,
    query,
    queryThreads: threads,
    queryGroupsMax: groupsMax,
  }
  return isRepeat === true ? repeatedAppend(append) : append
}

/**
 * The same for a try that another one may have come before. How many groups come to which of several threads is chance, so that one try
 * may store what the next one is refused; all that any try may store is no more than one thread may make here.
 */
export function repeatedAppend(request: AppendRequest): AppendRequest {
  const { queryThreads = 1, queryGroupsMax } = request
  if (queryGroupsMax === undefined) return request
  return { ...request, queryThreads: 1, queryGroupsMax: queryThreads * queryGroupsMax }
}
