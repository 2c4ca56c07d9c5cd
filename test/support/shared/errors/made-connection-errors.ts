import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of connections with what is expected of each: itself, its status, its message. */
export const madeConnectionErrors = {
  CONNECTIONS_TOO_MANY: [
    errors.CONNECTIONS_TOO_MANY({ connectionsPerAddressMax: 20, retryAfterSeconds: 1 }),
    429,
    'Your address has 20 busy connections, the most it may have; this one was closed, repeat the request later',
  ],
  CONNECTIONS_EXHAUSTED: [
    errors.CONNECTIONS_EXHAUSTED({ retryAfterSeconds: 1 }),
    503,
    'Too many connections are busy; this one was closed and nothing was done, repeat the request later',
  ],
} as const
