import { diskFaultOf } from './disk-fault.ts'
import { ApiError, errors } from './errors/errors.ts'

const retryAfterSeconds = 2

/** What a caller is told of anything that was thrown: itself when it is an error of the table, 503 for the disk, else 500. */
export function apiErrorOf(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  const reason = diskFaultOf(thrown)
  if (reason !== null) return errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds, cause: thrown })
  return errors.INTERNAL({ cause: thrown })
}
