import { diskFaultOf } from '../shared/disk-fault.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import type { StoreError } from './store-error.ts'

const retryAfterSeconds = 2

/**
 * What a caller is told of a failure of the engine that is no fault of the request: DISK_UNAVAILABLE (503) when the disk
 * refused, else ENGINE_FAILED (500). Precondition: nothing of the request is stored.
 */
export function engineFault(cause: StoreError): ApiError {
  // Others may have worded it anew since.
  const reason = diskFaultOf(cause)
  return reason === null
    ? errors.ENGINE_FAILED({ cause })
    : errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds, cause })
}
