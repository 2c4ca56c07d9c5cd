// Queries that a caller has a part in: run as the restricted reader, under the limits of queries.

import { engineFault, type QueryLimits, toQueryError } from '../store/caller-errors.ts'
import { isOfMemory, StoreError } from '../store/store-error.ts'

/** What the caller is told when such a query gave no answer: as for other queries, but a lack of memory is the service's. */
export function toReadError(thrown: unknown, limits: QueryLimits): unknown {
  return thrown instanceof StoreError && isOfMemory(thrown) ? engineFault(thrown) : toQueryError(thrown, limits)
}
