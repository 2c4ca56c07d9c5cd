// What a query is refused for, and what ends it. Sorted by status.

import { formatBytes } from '../bytes.ts'
import { define, type OwnAnswer, type RetryLater } from './definition.ts'

export const queryErrors = {
  SQL_EMPTY: define({
    status: 400,
    when: 'There is no query in the request.',
    message: () => 'The query is empty: send SQL in the parameter "q" or as the body',
  }),
  SQL_TOO_LONG: define({
    status: 400,
    when: 'The query is longer than `sqlBytesMax`.',
    message: ({ bytesMax }: BytesLimit) => `The query is longer than ${formatBytes(bytesMax)}`,
  }),
  SQL_INVALID: define({
    status: 400,
    when: 'The query is wrong, or does what a query may not; the message is the reason.',
    message: ({ reason }: { readonly reason: string }) => reason,
  }),
  SQL_TOO_COMPLEX: define({
    status: 400,
    when: 'The query would keep the database busy before it runs: its columns, expressions, windows, joins and tables are counted, those of Pipes, common tables and asterisks as often as they are read. Select fewer columns in place of `*`, write what is repeated once, or store a part of it in a Data Source.',
    message: ({ reason, node }: { readonly reason: string; readonly node: string | null }) =>
      `The query is too complex: ${reason}${node === null ? '' : ` (in node '${node}')`}`,
  }),
  TEMPLATE_INVALID: define({
    status: 400,
    when: 'A template is wrong, or what it was given for its parameters; the message is the reason. `error()` and `custom_error()` answer with the body, and `custom_error()` with the status, that they are called with.',
    message: ({ message }: TemplateRefusal) => message,
    answer: ({ answer }: TemplateRefusal) => answer,
  }),
  RESULT_TOO_LARGE: define({
    status: 400,
    when: 'The answer of a query is larger than `resultBytesMax`.',
    message: ({ bytesMax }: BytesLimit) =>
      `The result is larger than ${formatBytes(bytesMax)}; select less, or use LIMIT`,
  }),
  QUERY_REFUSED: define({
    status: 400,
    when: 'The database ended, more than once, while it ran this query, the last time with nothing beside it; or it could not stop the query. Other values of its parameters make no other query of it.',
    message: ({ reason }: { readonly reason: string }) => reason,
  }),
  QUERY_TIMEOUT: define({
    status: 408,
    when: 'A query ran longer than `queryTimeMaxMs` and was stopped.',
    message: ({ timeMaxMs }: { readonly timeMaxMs: number }) =>
      `The query ran longer than ${timeMaxMs / 1000} seconds and was stopped`,
  }),
  QUERIES_TOO_MANY: define({
    status: 503,
    when: 'Too many queries wait already, or this one waited for three times `queryTimeMaxMs`. It did not run; repeat it later.',
    message: () => 'Too many queries are waiting; this one did not run, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  RESULTS_UNREAD: define({
    status: 503,
    when: 'Answers that are being made, or that their clients have not read yet, take `resultFilesBytesMax` on disk or 64 MiB in memory, or there are 256 of them. Clients that take nothing of theirs for `connectionIdleMsMax` are cut. Repeat it later.',
    message: ({ reason }: RetryLater & { readonly reason: string }) =>
      `There is no room for the answer: ${reason}; repeat the query later`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater & { readonly reason: string }) => retryAfterSeconds,
  }),
}

interface TemplateRefusal {
  readonly message: string
  /** Of `error()` and `custom_error()`. */
  readonly answer: OwnAnswer | null
}

interface BytesLimit {
  readonly bytesMax: number
}
