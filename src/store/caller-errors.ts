// What a caller is told of a statement that failed: the one place where kinds of `StoreError` become codes of the error
// table. Modules that know more (which column of a definition, which row of an import) ask this file for the rest.

import { diskFaultOf } from '../shared/disk-fault.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import { clickhouseCodes, stateTextCodes } from './engine-codes.ts'
import { withoutInternals } from './engine-message.ts'
import { isOfStoredData } from './service-faults.ts'
import { isFaultOfEngine, isFaultOfService, isOfItsMemory, StoreError } from './store-error.ts'

/** The store enforces both. */
export interface QueryLimits {
  /** Longest run of a query. */
  readonly queryTimeMaxMs: number
  /** Largest answer of a query. */
  readonly resultBytesMax: number
}

/** The limits that a query had, and its text where it is known. */
export interface FailedQuery extends QueryLimits {
  readonly sql?: string
  /** What its author may have meant. */
  readonly hint?: string | undefined
}

const retryAfterSeconds = 1
const diskRetrySeconds = 2
/** Clients that read their answers need a moment; those that do not are cut later. */
const unreadRetrySeconds = 5

/**
 * A failure of the engine that is not the fault of the request: DISK_UNAVAILABLE (503) when the disk refused, else
 * ENGINE_FAILED (500). Precondition: nothing of the request is stored.
 */
export function engineFault(cause: StoreError): ApiError {
  // The message may have been reworded on the way, so the reason is taken from the fields of the error and its causes.
  const reason = diskFaultOf(cause)
  return reason === null
    ? errors.ENGINE_FAILED({ cause })
    : errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds: diskRetrySeconds, cause })
}

/**
 * What the caller is told when a query gave no answer: SQL_INVALID, RESULT_TOO_LARGE, QUERY_REFUSED (400), QUERY_TIMEOUT
 * (408), QUERIES_TOO_MANY, RESULTS_UNREAD and the states of the engine (503), ENGINE_FAILED (500). Errors that are not the
 * store's pass unchanged, and so does the end of a query that its caller stopped.
 */
export function toQueryError(thrown: unknown, failed: FailedQuery): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  const { kind, message: reason } = thrown
  switch (kind) {
    case 'closed':
    case 'stopped':
    case 'silent':
      return ofState(thrown, kind)
    case 'busy':
      return errors.QUERIES_TOO_MANY({ retryAfterSeconds, cause: thrown })
    case 'unread':
      return errors.RESULTS_UNREAD({ reason, retryAfterSeconds: unreadRetrySeconds, cause: thrown })
    case 'aborted':
    case 'late':
      return thrown
    case 'refused':
      return errors.QUERY_REFUSED({ reason, cause: thrown })
    case 'engine':
      return ofQuery(thrown, failed)
  }
}

/**
 * What the caller is told when the engine failed at a change that it should have taken: CHANGES_TOO_MANY and the states of
 * the engine (503), DEFINITION_TOO_COSTLY (400), else `engineFault`. Errors that are not the store's pass unchanged.
 */
export function toChangeError(thrown: unknown): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  const { kind, message: reason } = thrown
  switch (kind) {
    case 'closed':
    case 'stopped':
    case 'silent':
      return ofState(thrown, kind)
    case 'busy':
      return errors.CHANGES_TOO_MANY({ retryAfterSeconds, cause: thrown })
    case 'late':
      return errors.DEFINITION_TOO_COSTLY({ reason, cause: thrown })
    case 'unread':
    case 'aborted':
    case 'refused':
    case 'engine':
      return engineFault(thrown)
  }
}

/** The same of a change that reads tables which others may remove while it is made: CHANGE_OUTRUN (503) where one is gone. */
export function toReadingChangeError(thrown: unknown): unknown {
  const isGone = thrown instanceof StoreError && thrown.clickhouseCode === clickhouseCodes.unknownTable
  return isGone ? errors.CHANGE_OUTRUN({ retryAfterSeconds, cause: thrown }) : toChangeError(thrown)
}

/**
 * What the caller is told when the engine failed at copying rows from table to table: as for a change, but what the engine
 * refuses for the rows or the SELECT is told by `blame`. Errors that are not the store's pass unchanged.
 */
export function toCopyError(thrown: unknown, blame: (reason: string) => ApiError): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  const { kind, clickhouseCode } = thrown
  switch (kind) {
    case 'closed':
    case 'stopped':
    case 'silent':
      return ofState(thrown, kind)
    case 'aborted':
      return ofState(thrown, 'closed')
    case 'busy':
    case 'unread':
      return errors.CHANGES_TOO_MANY({ retryAfterSeconds, cause: thrown })
    case 'late':
    case 'refused':
      return errors.ENGINE_FAILED({ cause: thrown })
    case 'engine':
      if (clickhouseCode === clickhouseCodes.queryWasCancelled) return ofState(thrown, 'closed')
      return isFaultOfEngine(thrown) ? engineFault(thrown) : blame(withoutInternals(thrown.message))
  }
}

/** What does not depend on the statement. */
function ofState(cause: StoreError, kind: 'closed' | 'stopped' | 'silent'): ApiError {
  switch (kind) {
    case 'closed':
      return errors.SHUTTING_DOWN({ cause })
    case 'stopped':
      return errors.ENGINE_RESTARTED({ cause })
    case 'silent':
      return errors.ENGINE_UNAVAILABLE({ reason: cause.message, cause })
  }
}

function ofQuery(cause: StoreError, { queryTimeMaxMs, resultBytesMax, sql = '', hint }: FailedQuery): ApiError {
  const { clickhouseCode, message } = cause
  if (clickhouseCode === clickhouseCodes.timeoutExceeded) {
    return errors.QUERY_TIMEOUT({ timeMaxMs: queryTimeMaxMs, cause })
  }
  if (clickhouseCode === clickhouseCodes.resultTooLarge) {
    return errors.RESULT_TOO_LARGE({ bytesMax: resultBytesMax, cause })
  }
  if (isOfGivenState(cause, sql)) {
    return errors.SQL_INVALID({
      reason: `The query casts a text to an aggregate state that the text does not hold: ${message}`,
      cause,
    })
  }
  if (isFaultOfService(cause)) return engineFault(namingTables(cause, sql))
  return errors.SQL_INVALID({ reason: message, hint, cause, needsTooMuchMemory: isOfItsMemory(cause) })
}

/** Whether the query made a state out of a text; a damaged part of a table has its name in the message. */
function isOfGivenState({ clickhouseCode = 0, message }: StoreError, sql: string): boolean {
  return stateTextCodes.has(clickhouseCode) && /AggregateFunction/i.test(sql) && !/\bparts?\b|checksum/i.test(message)
}

/** Whoever reads of damage in the log looks for the table, which the engine does not always tell. */
function namingTables(cause: StoreError, sql: string): StoreError {
  const { kind, message, clickhouseCode, diskFault } = cause
  const tables = [...new Set(sql.match(/\bt_[0-9a-f]{32}(?:_quarantine)?\b/g))].join(', ')
  if (tables === '' || !isOfStoredData(message) || message.includes(' in table ')) return cause
  return new StoreError({ kind, message: `${message} While reading from: ${tables}`, clickhouseCode, diskFault, cause })
}
