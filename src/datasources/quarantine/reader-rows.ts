// Queries that a caller has a part in: run as the restricted reader, under the limits of queries.

import { ApiError, errors } from '../../shared/errors/errors.ts'
import { engineFault } from '../../store/engine-fault.ts'
import type { Store } from '../../store/store.types.ts'
import { clickhouseCodes, isFaultOfEngine, StoreError } from '../../store/store-error.ts'

export interface ReaderLimits {
  readonly queryTimeMaxMs: number
  readonly resultBytesMax: number
}

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

const retryAfterSeconds = 1

/**
 * What the caller is told when such a query gave no answer: SQL_INVALID (400) when it was its own part that was wrong,
 * QUERY_TIMEOUT (408), RESULT_TOO_LARGE (400), ENGINE_FAILED (500), QUERIES_TOO_MANY, RESULTS_UNREAD, SHUTTING_DOWN (503).
 */
export function toReadError(thrown: unknown, { queryTimeMaxMs, resultBytesMax }: ReaderLimits): unknown {
  if (thrown instanceof ApiError || !(thrown instanceof StoreError)) return thrown
  const { kind, clickhouseCode, message } = thrown
  if (kind === 'closed') return errors.SHUTTING_DOWN({ cause: thrown })
  if (kind === 'busy') return errors.QUERIES_TOO_MANY({ retryAfterSeconds, cause: thrown })
  if (kind === 'unread') return errors.RESULTS_UNREAD({ reason: message, retryAfterSeconds, cause: thrown })
  if (kind === 'aborted') return thrown
  if (kind === 'stopped') return errors.ENGINE_RESTARTED({ cause: thrown })
  if (kind === 'silent') return errors.ENGINE_UNAVAILABLE({ reason: message, cause: thrown })
  if (kind === 'refused') return errors.QUERY_REFUSED({ reason: message, cause: thrown })
  if (clickhouseCode === clickhouseCodes.timeoutExceeded) {
    return errors.QUERY_TIMEOUT({ timeMaxMs: queryTimeMaxMs, cause: thrown })
  }
  if (clickhouseCode === clickhouseCodes.resultTooLarge) {
    return errors.RESULT_TOO_LARGE({ bytesMax: resultBytesMax, cause: thrown })
  }
  return isFaultOfEngine(thrown) ? engineFault(thrown) : errors.SQL_INVALID({ reason: message, cause: thrown })
}
