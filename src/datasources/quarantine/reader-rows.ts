// Queries that a caller has a part in: run as the restricted reader, under the limits of queries.

import { engineFault, type QueryLimits, toQueryError } from '../../store/caller-errors.ts'
import type { Store } from '../../store/store.types.ts'
import { isOfMemory, StoreError } from '../../store/store-error.ts'

/** The bytes of an answer, which the limits of queries bound. Raises `StoreError`. */
async function readBytes(
  store: Pick<Store, 'select'>,
  query: { readonly sql: string; readonly format: string },
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of await store.select({ ...query, settings: {}, signal })) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The rows of an answer as objects. Raises `StoreError`. */
export async function readRows<Row>(
  store: Pick<Store, 'select'>,
  sql: string,
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const bytes = await readBytes(store, { sql, format: 'JSONEachRow' }, signal)
  const lines = bytes
    .toString()
    .split('\n')
    .filter((line) => line.length > 0)
  // The caller wrote the SELECT and names the shape of its rows.
  return lines.map((line) => JSON.parse(line) as Row)
}

/** What the caller is told when such a query gave no answer: as for other queries, but a lack of memory is the service's. */
export function toReadError(thrown: unknown, limits: QueryLimits): unknown {
  return thrown instanceof StoreError && isOfMemory(thrown) ? engineFault(thrown) : toQueryError(thrown, limits)
}
