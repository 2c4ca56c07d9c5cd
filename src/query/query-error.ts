import { type ApiError, errors } from '../shared/errors/errors.ts'
import { engineFault } from '../store/engine-fault.ts'
import { isOfStoredData } from '../store/service-faults.ts'
import { clickhouseCodes, isFaultOfService, StoreError } from '../store/store-error.ts'

export interface QueryLimits {
  /** Longest run of a query, as the store enforces it. */
  readonly queryTimeMaxMs: number
  /** Largest answer, as the store enforces it. */
  readonly resultBytesMax: number
}

/** The limits that a query had, and its text where it is known. */
export interface FailedQuery extends QueryLimits {
  readonly sql?: string
  /** What its author may have meant. */
  readonly hint?: string | undefined
}

// What the engine calls its own fault, or one of its files, when the text that a query casts to an aggregate state is none.
const stateFaults: ReadonlySet<number> = new Set([49, 246, 1001, 1002])

/** Whether the query made a state out of a text; a damaged part of a table has its name in the message. */
function isOfGivenState({ clickhouseCode = 0, message }: StoreError, sql: string): boolean {
  return stateFaults.has(clickhouseCode) && /AggregateFunction/i.test(sql) && !/\bparts?\b|checksum/i.test(message)
}

const retryAfterSeconds = 1
/** Clients that read need a moment, those that do not are given up later. */
const unreadRetrySeconds = 5

/** What a message of the engine becomes before a caller reads it. */
export type Rewording = (message: string) => string

/** What the caller is told when a query gave no answer. Everything that is not the store's word passes unchanged. */
export function toQueryError(thrown: unknown, limits: FailedQuery, reword: Rewording = (message) => message): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  switch (thrown.kind) {
    case 'closed':
      return errors.SHUTTING_DOWN({ cause: thrown })
    case 'busy':
      return errors.QUERIES_TOO_MANY({ retryAfterSeconds, cause: thrown })
    case 'unread':
      return errors.RESULTS_UNREAD({ reason: thrown.message, retryAfterSeconds: unreadRetrySeconds, cause: thrown })
    case 'aborted':
    case 'late':
      return thrown
    case 'stopped':
      return errors.ENGINE_RESTARTED({ cause: thrown })
    case 'silent':
      return errors.ENGINE_UNAVAILABLE({ reason: thrown.message, cause: thrown })
    case 'refused':
      return errors.QUERY_REFUSED({ reason: thrown.message, cause: thrown })
    case 'engine':
      return ofEngine(thrown, limits, reword)
  }
}

function ofEngine(cause: StoreError, failed: FailedQuery, reword: Rewording): ApiError {
  const { queryTimeMaxMs, resultBytesMax, sql = '', hint } = failed
  const { clickhouseCode, message } = cause
  if (clickhouseCode === clickhouseCodes.timeoutExceeded) {
    return errors.QUERY_TIMEOUT({ timeMaxMs: queryTimeMaxMs, cause })
  }
  if (clickhouseCode === clickhouseCodes.resultTooLarge) {
    return errors.RESULT_TOO_LARGE({ bytesMax: resultBytesMax, cause })
  }
  if (isOfGivenState(cause, sql)) {
    return errors.SQL_INVALID({
      reason: `A text is cast to an aggregate state that it does not hold: ${reword(message)}`,
      cause,
    })
  }
  if (isFaultOfService(cause)) return engineFault(namingTables(cause, sql))
  return errors.SQL_INVALID({ reason: reword(message), hint, cause })
}

/** Whoever reads of damage in the log looks for the table, which the engine does not always tell. */
function namingTables(cause: StoreError, sql: string): StoreError {
  const { kind, message, clickhouseCode, diskFault } = cause
  if (!isOfStoredData(message) || message.includes(' in table ')) return cause
  const tables = [...new Set(sql.match(/\bt_[0-9a-f]{32}(?:_quarantine)?\b/g))].join(', ')
  return new StoreError({ kind, message: `${message} While reading from: ${tables}`, clickhouseCode, diskFault, cause })
}
