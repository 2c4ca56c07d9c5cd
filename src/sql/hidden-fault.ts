// What a reader is told of the text of a pipe that it may not see.

import { ApiError, errors } from '../shared/errors/errors.ts'

/** What a caller makes wrong in the values that it sends, which are in the description of the endpoint that it reads. */
const ofParameters = /Required parameter is not defined|Error validating '[\s\S]*' to type \w+$/

/**
 * The error for whoever may not see the text in which `thrown` was found: PIPE_FAILED (400) where that tells of the text. What
 * `error()` and `custom_error()` say is meant for all readers, and what is said of parameters for whoever sends them.
 */
export function toHiddenFault(thrown: unknown): unknown {
  if (!(thrown instanceof ApiError) || thrown.status >= 500) return thrown
  switch (thrown.code) {
    case 'PIPE_FAILED':
    case 'FILTER_BROKEN':
      return thrown
    case 'TEMPLATE_INVALID':
      return hasOwnBody(thrown) || ofParameters.test(thrown.message)
        ? thrown
        : errors.PIPE_FAILED({ reason: null, cause: thrown })
    default:
      return errors.PIPE_FAILED({ reason: null, cause: thrown })
  }
}

function hasOwnBody(error: ApiError): boolean {
  return !('documentation' in error.body())
}
