import { type ApiError, errors } from '../shared/errors.ts'
import { clickhouseCodes, StoreError } from '../store/store-error.ts'

export interface QueryLimits {
  /** Longest run of a query, as the store enforces it. */
  readonly queryTimeMaxMs: number
  /** Largest answer, as the store enforces it. */
  readonly resultBytesMax: number
}

// The engine's errors that no wording of a query can bring about: its own faults, files and disks.
const engineFaults: ReadonlySet<number> = new Set([
  49, // LOGICAL_ERROR
  74, // CANNOT_READ_FROM_FILE_DESCRIPTOR
  75, // CANNOT_WRITE_TO_FILE_DESCRIPTOR
  76, // CANNOT_OPEN_FILE
  243, // NOT_ENOUGH_SPACE
  246, // CORRUPTED_DATA
  1001, // STD_EXCEPTION
  1002, // UNKNOWN_EXCEPTION
])

const retryAfterSeconds = 1

/** What a message of the engine becomes before a caller reads it. */
export type Rewording = (message: string) => string

/** What the caller is told when a query gave no answer. Everything that is not the store's word passes unchanged. */
export function toQueryError(thrown: unknown, limits: QueryLimits, reword: Rewording = (message) => message): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  switch (thrown.kind) {
    case 'closed':
      return errors.SHUTTING_DOWN({ cause: thrown })
    case 'busy':
      return errors.QUERIES_TOO_MANY({ retryAfterSeconds, cause: thrown })
    case 'aborted':
      return thrown
    case 'engine':
      return ofEngine(thrown, limits, reword)
  }
}

function ofEngine(cause: StoreError, { queryTimeMaxMs, resultBytesMax }: QueryLimits, reword: Rewording): ApiError {
  const { clickhouseCode, message } = cause
  if (clickhouseCode === clickhouseCodes.timeoutExceeded) {
    return errors.QUERY_TIMEOUT({ timeMaxMs: queryTimeMaxMs, cause })
  }
  if (clickhouseCode === clickhouseCodes.resultTooLarge) {
    return errors.RESULT_TOO_LARGE({ bytesMax: resultBytesMax, cause })
  }
  if (clickhouseCode === undefined || engineFaults.has(clickhouseCode)) return errors.ENGINE_FAILED({ cause })
  return errors.SQL_INVALID({ reason: reword(message), cause })
}
