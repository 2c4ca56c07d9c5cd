import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of what a token may not read, each with its status and message. */
export const madeReadErrors = {
  FILTER_INVALID: [
    errors.FILTER_INVALID({ reason: "'x' is not a column" }),
    400,
    "The filter can not be used: 'x' is not a column",
  ],
  READ_DENIED: [
    errors.READ_DENIED({ name: 'events' }),
    403,
    "The token may not read 'events', or there is nothing of this name",
  ],
  FILTER_BROKEN: [
    errors.FILTER_BROKEN({ filter: 'x = 1' }),
    403,
    "The token's filter (x = 1) does not fit what it filters any more, so nothing of that is read",
  ],
} as const
