import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of what a token may not read, each with its status and message. */
export const madeReadErrors = {
  FILTER_INVALID: [
    errors.FILTER_INVALID({ reason: "'x' is not a column" }),
    400,
    "The filter can not be used: 'x' is not a column",
  ],
  PIPE_FAILED: [
    errors.PIPE_FAILED({ reason: '(BAD_ARGUMENTS)' }),
    400,
    'The query failed at what it reads through Pipes, of which the token may not see all (BAD_ARGUMENTS)',
  ],
  PLAN_HIDDEN: [
    errors.PLAN_HIDDEN({ name: 'top' }),
    403,
    "The plan of 'top' can not be shown: the token may not read all that the Pipe reads",
  ],
  READ_DENIED: [
    errors.READ_DENIED({ name: 'events' }),
    403,
    "The token may not read 'events', or there is nothing of this name",
  ],
  FILTER_BROKEN: [
    errors.FILTER_BROKEN(),
    403,
    "The token's filter does not fit what it filters any more, so nothing of that is read",
  ],
  ENDPOINT_LIMITED: [
    errors.ENDPOINT_LIMITED({ name: 'top', concurrencyMax: 2, reason: 'processor', retryAfterSeconds: 9 }),
    429,
    "The endpoint 'top' takes 2 requests at once for now: the service is short of processors, and too many answers of the endpoint were errors; repeat the request later",
  ],
} as const
