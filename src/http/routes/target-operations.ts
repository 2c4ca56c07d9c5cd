import type { Operation } from '../../access/operations.ts'

/** What may be asked of a caller whose node fills a data source. */
export const targetOperations = [
  'target:fill',
  'target:create',
  'target:override',
] as const satisfies readonly Operation[]
