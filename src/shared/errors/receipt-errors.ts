// What requests with receipts are refused for. Sorted by status.

import { define, type RetryLater } from './definition.ts'

export const receiptErrors = {
  RECEIPT_INVALID: define({
    status: 400,
    when: 'A text that is sent as a receipt, in `X-Millrace-Receipt` or `wait_until`, was not given by this service, is cut, is of another Data Source than the one that is asked about, or there are too many.',
    message: ({ reason }: { readonly reason: string }) =>
      `The receipt can not be used: ${reason}. Send what an answer had in X-Millrace-Receipt, as it was`,
  }),
  RECEIPT_NOT_REACHED: define({
    status: 408,
    when: 'A query has a receipt, and does not see all rows of it: they are not stored, or their import has not ended, within `receiptWaitMaxMs`, a Materialized View that the query depends on does not take them, or they were lost with a damaged log. The query did not run; without the receipt it runs on what is there.',
    message: ({ reason, view }: NotReached) =>
      view === null
        ? `The query does not see all rows of the receipt: ${reason}`
        : `The query does not see all rows of the receipt, as Materialized View '${view.label}' lacks some: ${reason}`,
    withoutOthers: ({ reason }: NotReached) =>
      `The query does not see all rows of the receipt, as a Materialized View lacks some: ${reason}`,
    others: ({ view }: NotReached) => (view === null ? [] : [{ kind: 'pipe', name: view.pipe }]),
    hint: () => 'The query runs without the receipt, on the rows that are there',
    retryAfterSeconds: () => 1,
  }),
  RECEIPT_WAITS_TOO_MANY: define({
    status: 503,
    when: 'As many queries as `receiptWaitsMax` wait for the rows of their receipts, or a quarter of that many with this token. The text says which. Repeat the request later.',
    message: ({ ownerWaitsMax }: WaitsTooMany) =>
      ownerWaitsMax === null
        ? 'Too many queries wait for the rows of their receipts; repeat the request later'
        : `Too many queries with this token wait for the rows of their receipts, ${ownerWaitsMax} may at once; repeat the request later`,
    retryAfterSeconds: ({ retryAfterSeconds }: WaitsTooMany) => retryAfterSeconds,
    limit: () => 'receipt_waits',
  }),
}

interface WaitsTooMany extends RetryLater {
  /** What the token may have of them; null where those of all tokens are too many. */
  readonly ownerWaitsMax: number | null
}

interface NotReached {
  readonly reason: string
  /** The one that lacks rows; null where it is not for a view. */
  readonly view: { readonly label: string; readonly pipe: string } | null
}
