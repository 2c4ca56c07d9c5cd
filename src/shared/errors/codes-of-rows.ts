import type { ApiError } from './errors.ts'

/**
 * What an import may fail with by the values of rows that are there already, or of what views make of them: whoever may write and
 * not read is not told more than that.
 */
export const codesThatTellOfRows: ReadonlySet<ApiError['code']> = new Set([
  'REPLACE_CONDITION_FAILED',
  'REPLACE_VIEW_FAILED',
])
