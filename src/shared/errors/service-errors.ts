// What any request may meet and is not at fault for: the engine, the disk, the service itself. Sorted by status.

import { define, type RetryLater } from './definition.ts'

export const serviceErrors = {
  ENGINE_FAILED: define({
    status: 500,
    when: 'The database failed at something that is no fault of the request; the log has the reason.',
    message: () => 'The database failed; the log of the service has the reason under the id of this request',
  }),
  INTERNAL: define({
    status: 500,
    when: 'The service has a fault of its own; the log has the reason.',
    message: () => 'Unexpected error; the log of the service has the reason under the id of this request',
  }),
  DISK_UNAVAILABLE: define({
    status: 503,
    when: 'The disk is full, read-only or failing, or too many files are open. Nothing was stored or changed; repeat it later.',
    message: ({ reason }: RetryLater & { readonly reason: string }) =>
      `The disk takes nothing at the moment: ${reason}; nothing of this request was stored, repeat it later`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater & { readonly reason: string }) => retryAfterSeconds,
  }),
  ENGINE_RESTARTED: define({
    status: 503,
    when: 'The database ended while it worked at the request, and is started again, which takes about a second. A query may be repeated at once; look at what a change has done before you repeat that. Events are acknowledged all the while.',
    message: () =>
      'The database ended before it had answered and is started again; repeat a query, and look at what a change has done before you repeat that',
    retryAfterSeconds: () => 1,
  }),
  ENGINE_UNAVAILABLE: define({
    status: 503,
    when: 'The database does not answer: it gives no sign of life, is started again, or queries that cannot be stopped hold all of its sessions; the message says which. A query may be repeated. Events are acknowledged all the while.',
    message: ({ reason }: { readonly reason: string }) =>
      `The database does not answer at the moment: ${reason}; repeat it later`,
    retryAfterSeconds: () => 2,
  }),
  SHUTTING_DOWN: define({
    status: 503,
    when: 'The service is closing and takes no new work. Nothing was stored; repeat it later.',
    message: () => 'The service is shutting down; nothing of this request was stored, repeat it later',
  }),
}
