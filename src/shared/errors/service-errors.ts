// What any request may meet and is not at fault for: the engine, the disk, the service itself. Sorted by status.

import { define, type RetryLater } from './definition.ts'

export const serviceErrors = {
  ENGINE_FAILED: define({
    status: 500,
    when: 'The database failed, and not because of the request; the log has the reason.',
    message: () => 'The database failed; the log of the service has the reason under the id of this request',
  }),
  INTERNAL: define({
    status: 500,
    when: 'The service has a fault of its own; the log has the reason.',
    message: () => 'Unexpected error; the log of the service has the reason under the id of this request',
  }),
  CONNECTIONS_EXHAUSTED: define({
    status: 503,
    when: 'There are `connectionsMax` connections, and a request is under way on each. The new connection is closed. Nothing was done; repeat the request later.',
    message: () => 'Too many connections are busy; this one was closed and nothing was done, repeat the request later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
    limit: () => 'connections',
  }),
  DISK_UNAVAILABLE: define({
    status: 503,
    when: 'The disk is full, read-only or failing, or too many files are open. Nothing was stored or changed; repeat the request later.',
    message: ({ reason }: RetryLater & { readonly reason: string }) =>
      `The disk cannot be written: ${reason}; nothing of this request was stored, repeat it later`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater & { readonly reason: string }) => retryAfterSeconds,
  }),
  ENGINE_RESTARTED: define({
    status: 503,
    when: 'The database stopped while it worked on the request, and restarts, which takes about a second. A query can be repeated at once; check what a change has done before you repeat it. Events are still acknowledged.',
    message: () =>
      'The database stopped before it answered and is restarting; repeat a query, but check what a change has done before you repeat it',
    retryAfterSeconds: () => 1,
  }),
  ENGINE_UNAVAILABLE: define({
    status: 503,
    when: 'The database does not answer: it gives no sign of life, it is restarting, or queries that cannot be stopped hold all of its sessions; the message says which. A query can be repeated. Events are still acknowledged.',
    message: ({ reason }: { readonly reason: string }) => `The database does not answer: ${reason}; repeat it later`,
    retryAfterSeconds: () => 2,
  }),
  SHUTTING_DOWN: define({
    status: 503,
    when: 'The service is shutting down and takes no new work. Nothing was stored; repeat the request later.',
    message: () => 'The service is shutting down; nothing of this request was stored, repeat it later',
  }),
}
