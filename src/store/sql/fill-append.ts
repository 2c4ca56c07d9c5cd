import { partExpression } from '../../codec/arrow/part-expression.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { AppendRequest, FillRequest } from '../store.types.ts'

/** A fill as the append that it is, of what its query gives. */
export function fillAppend({ table, columns, query, rowCount, blockId, threads }: FillRequest): AppendRequest {
  const targets = columns.map((column) => ({ column, expression: partExpression(quoteName(column)) }))
  return { table, layout: { fields: [], targets }, parts: [], rowCount, blockId, query, queryThreads: threads }
}
