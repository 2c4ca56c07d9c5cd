import { ApiError } from '../../shared/errors/errors.ts'
import type { ImportRequest } from '../ingest.types.ts'

/**
 * What has an import leave its INSERTs where they are; undefined where it stores all that it has read by then.
 *
 * A service that closes waits for them, as long as it may: what is known to be stored then is not in doubt at the next start.
 */
export function leftBy({
  ledger,
  tables,
  signal,
}: Pick<ImportRequest, 'ledger' | 'signal' | 'tables'>): AbortSignal | undefined {
  if ((ledger ?? tables) === undefined || signal === undefined) return undefined
  const leaving = new AbortController()
  const follow = (): void => {
    const { reason } = signal
    if (!(reason instanceof ApiError && reason.code === 'SHUTTING_DOWN')) leaving.abort(reason)
  }
  if (signal.aborted) follow()
  else signal.addEventListener('abort', follow, { once: true })
  return leaving.signal
}
