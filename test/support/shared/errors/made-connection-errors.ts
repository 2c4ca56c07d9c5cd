import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of connections with what is expected of each: itself, its status, its message. */
export const madeConnectionErrors = {
  REQUEST_TIMEOUT: [errors.REQUEST_TIMEOUT(), 408, 'The request did not arrive in time'],
  BODY_TOO_SLOW: [
    errors.BODY_TOO_SLOW({ bodyRateMin: 100, bodyRateWindowMs: 60_000 }),
    408,
    'Fewer than 100 bytes a second of the body arrived for 60 seconds',
  ],
  EXPECTATION_UNKNOWN: [
    errors.EXPECTATION_UNKNOWN(),
    417,
    'The header Expect can only be "100-continue"; leave it out, or send that',
  ],
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
