import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { qualified } from './qualified.ts'

/**
 * What statements call the rows that a condition is about. The engine lets an expression name parts of itself (`CASE WHEN n
 * day THEN …`), and such a name would be taken for the column, were that not qualified.
 */
export const rowsAlias = '__rows'

/** What stands behind FROM: the rows of a table for which the condition is true. */
export function rowsFor(table: string, condition: CheckedExpression): string {
  return `${qualified(table)} AS ${rowsAlias} WHERE ${condition}`
}
