import { errors } from '../shared/errors.ts'
import { clickhouseCodes, StoreError } from '../store/store-error.ts'

/** Blocks take some tens of milliseconds, so a second makes room for many. */
const retryAfterSeconds = 1

/**
 * What the sender is told when a table did not take a block of which nothing is stored: SHUTTING_DOWN or BACKLOG_FULL
 * (503), or ENGINE_FAILED (500). What is not the store's word passes unchanged.
 */
export function toRefusal(thrown: unknown): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  if (thrown.kind === 'closed') return errors.SHUTTING_DOWN({ cause: thrown })
  if (thrown.kind === 'busy') return errors.BACKLOG_FULL({ retryAfterSeconds, cause: thrown })
  return errors.ENGINE_FAILED({ cause: thrown })
}

/** The same for a request of which other rows may be stored already, so that no answer says that nothing was: ENGINE_FAILED. */
export function toFailure(thrown: unknown): unknown {
  return thrown instanceof StoreError ? errors.ENGINE_FAILED({ cause: thrown }) : thrown
}

/** An engine that has lost the table says that the data source was dropped meanwhile: DATASOURCE_NOT_FOUND (404). */
export function whenDropped(failure: Error | null, name: string): Error | null {
  const cause = failure?.cause
  const isDropped = cause instanceof StoreError && cause.clickhouseCode === clickhouseCodes.unknownTable
  return isDropped ? errors.DATASOURCE_NOT_FOUND({ name, cause }) : failure
}
