import { errors } from '../../../../src/shared/errors/errors.ts'

/** What requests are refused for that come too often, or bring more than there is room for, with its status and its message. */
export const madeRateErrors = {
  STORAGE_EXCEEDED: [
    errors.STORAGE_EXCEEDED({ usedBytes: 10_241, bytesMax: 10_240 }),
    400,
    '10241 bytes are stored, more than the 10 KiB that the whole service may have (limit "storage"); nothing was taken: remove rows or Data Sources, and send it again',
  ],
  RATE_EXCEEDED: [
    errors.RATE_EXCEEDED({
      limit: 'events',
      max: 5,
      windowSeconds: 1,
      what: 'Requests with events',
      whose: 'the whole service',
      retryAfterSeconds: 1,
    }),
    429,
    'Requests with events are limited to 5 a second for the whole service (limit "events"); repeat this request in 1 second',
  ],
  PROCESSOR_TIME_EXCEEDED: [
    errors.PROCESSOR_TIME_EXCEEDED({ maxMs: 60_000, baseRate: 10, baseSeconds: 240, retryAfterSeconds: 1 }),
    429,
    'Queries have used 60 s of processor time in a minute, all that the whole service may (limit "processor_time"); they are limited to 10 a second for 240 seconds, repeat this request in 1 second',
  ],
  CREATES_TOO_MANY: [
    errors.CREATES_TOO_MANY({ perMinuteMax: 5, retryAfterSeconds: 9 }),
    429,
    'Events may create 5 Data Sources a minute for the whole service (limit "creates_by_events"); create this one beforehand, or repeat the request in 9 seconds',
  ],
  JOBS_ACTIVE_TOO_MANY: [
    errors.JOBS_ACTIVE_TOO_MANY({ kind: 'delete_data', activeMax: 3, limit: 'delete_jobs', retryAfterSeconds: 10 }),
    429,
    'Jobs of the kind "delete_data" that wait or work are limited to 3 for the whole service (limit "delete_jobs"); repeat the request when one of them has ended',
  ],
} as const
