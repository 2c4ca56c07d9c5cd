import { partExpression } from '../../codec/arrow/part-expression.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { AppendRequest, FillRequest } from '../store.types.ts'

/** A fill as the append that it is, of what its query gives. */
export function fillAppend({ columns, threads, keepsRows, ...request }: FillRequest): AppendRequest {
  const targets = columns.map((column) => ({ column, expression: partExpression(quoteName(column)) }))
  const layout = { fields: [], targets }
  return { ...request, layout, parts: [], queryThreads: threads, queryKeepsRows: keepsRows }
}
