// What events are refused for. Sorted by status.

import { define, type RetryLater } from './definition.ts'

export const eventErrors = {
  ROWS_TOO_MANY: define({
    status: 413,
    when: 'A body of events has so many short rows that they would take more than 512 MiB in the columns of their Data Source.',
    message: ({ rowsMax, columnCount }: { readonly rowsMax: number; readonly columnCount: number }) =>
      `The body has more than ${rowsMax} rows, the most at once for a Data Source of ${columnCount} columns; send fewer at a time, or import them`,
    limit: () => 'events_rows',
  }),
  VIEW_FAILED: define({
    status: 422,
    when: 'A Materialized View fails for events with `wait=true`. They are kept, and stored as soon as the view works: do not send them again.',
    quotes: 'of views',
    message: ({ reason }: { readonly reason: string }) =>
      `A Materialized View failed; the events are kept and stored as soon as it works, so do not send them again: ${reason}`,
  }),
  IDEMPOTENCY_KEY_REUSED: define({
    status: 422,
    when: 'The Idempotency-Key was used with another body.',
    message: () => 'This Idempotency-Key was used with another body within the last 5 hours; nothing was stored',
  }),
  CREATES_TOO_MANY: define({
    status: 429,
    when: 'Events have created more Data Sources in the last minute than `eventsCreatesPerMinuteMax` allows.',
    limit: () => 'creates_by_events',
    rate: ({ perMinuteMax, retryAfterSeconds }: RetryLater & { readonly perMinuteMax: number }) => ({
      limit: 'creates_by_events',
      max: perMinuteMax,
      windowSeconds: 60,
      remaining: 0,
      resetSeconds: retryAfterSeconds,
    }),
    message: ({ perMinuteMax, retryAfterSeconds }) =>
      `Events may create ${perMinuteMax} Data Sources a minute for the whole service (limit "creates_by_events"); create this one beforehand, or repeat the request in ${retryAfterSeconds} seconds`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  LOG_FAILED: define({
    status: 500,
    when: 'The disk failed while events were being written; it is unknown whether they are stored. Sending them again with the same Idempotency-Key is safe.',
    message: () =>
      'The disk failed while the events were being written, and may have stored them: send them again with the same Idempotency-Key, or they may be stored twice',
  }),
  BACKLOG_FULL: define({
    status: 503,
    when: 'More events are waiting to be stored than `eventsPendingBytesMax`, `eventsBacklogBytesMax` or `eventsLogBytesMax` allows. Nothing was stored; repeat the request later.',
    limit: () => 'events_backlog',
    message: () => 'Too many events are waiting to be stored; nothing of this request was stored, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  LOG_FULL: define({
    status: 503,
    when: 'Of `/health/ready`: events are refused, as the log of events has no room left and has got none for some seconds. Queries are answered.',
    message: () => 'Events are refused: the log of events is at its limit, and what it holds cannot be stored',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  VIEW_BLOCKS: define({
    status: 503,
    when: 'Events have `wait=true`, and a Materialized View fails for those before them. Nothing was stored; repeat the request later.',
    quotes: 'of views',
    message: ({ reason }: RetryLater & { readonly reason: string }) =>
      `A Materialized View fails for earlier events; nothing of this request was stored, repeat it later: ${reason}`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  DATASOURCE_CHANGING: define({
    status: 503,
    when: 'Events are sent to a Data Source that is being changed. None of them was stored; send them again.',
    message: ({ name }: RetryLater & { readonly name: string }) =>
      `Data Source "${name}" is being changed; nothing of this request was stored, repeat it`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
}
