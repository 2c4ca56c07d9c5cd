// What a query is refused for, and what ends it. Sorted by status.

import { formatBytes } from '../bytes.ts'
import { define, type OwnAnswer, type RetryLater } from './definition.ts'

export const queryErrors = {
  SQL_EMPTY: define({
    status: 400,
    when: 'The request has no query.',
    message: () => 'The query is empty: send SQL in the parameter "q" or as the body',
  }),
  SQL_TOO_LONG: define({
    status: 400,
    when: 'The query is longer than `sqlBytesMax`.',
    limit: () => 'sql_length',
    message: ({ bytesMax }: BytesLimit) => `The query is longer than ${formatBytes(bytesMax)}`,
  }),
  SQL_INVALID: define({
    status: 400,
    when: 'The query is wrong, or does something that a query may not; the message is the reason.',
    limit: ({ needsTooMuchMemory = false }: WrongSql) => (needsTooMuchMemory ? 'query_memory' : undefined),
    message: ({ reason }: WrongSql) => reason,
  }),
  SQL_TOO_COMPLEX: define({
    status: 400,
    when: 'The query would take the database too long to plan. Its columns, expressions, windows, joins and tables are counted, those of Pipes, common table expressions and asterisks as often as they are read. Select fewer columns instead of `*`, write repeated parts once, or store a part in a Data Source.',
    message: ({ reason, node }: { readonly reason: string; readonly node: string | null }) =>
      `The query is too complex: ${reason}${node === null ? '' : ` (in node '${node}')`}`,
  }),
  TEMPLATE_INVALID: define({
    status: 400,
    when: 'A template, or a value given for one of its parameters, is wrong; the message is the reason. `error()` and `custom_error()` answer with the body they are called with, and `custom_error()` with its status too.',
    message: ({ message }: TemplateRefusal) => message,
    answer: ({ answer }: TemplateRefusal) => answer,
  }),
  PIPE_FAILED: define({
    status: 400,
    when: 'A Pipe that the query reads fails, by its own SQL, by rows, or by what the query makes of them, and the token may not see all that the Pipe reads. So it is told no names, places or values; where the token filters what the Pipe gives, the answer is the same whatever fails. A token that may read everything is told all.',
    message: ({ reason }: { readonly reason: string | null }) =>
      `The query failed at what it reads through Pipes, of which the token may not see all${reason === null ? '' : ` ${reason}`}`,
    hint: () => 'A token that may read all that the Pipes read is told why',
  }),
  FILTER_INVALID: define({
    status: 400,
    when: 'A row filter is not one condition over the columns of its resource; the message is the reason, and the place of the fault.',
    message: ({ reason }: { readonly reason: string }) => `The filter can not be used: ${reason}`,
  }),
  RESULT_TOO_LARGE: define({
    status: 400,
    when: 'The answer to a query is larger than `resultBytesMax`.',
    limit: () => 'result_size',
    message: ({ bytesMax }: BytesLimit) =>
      `The result is larger than ${formatBytes(bytesMax)}; select less, or use LIMIT`,
  }),
  QUERY_REFUSED: define({
    status: 400,
    when: 'The database crashed more than once while it ran this query, the last time with nothing else running; or it could not stop the query. Other parameter values do not make it another query.',
    message: ({ reason }: { readonly reason: string }) => reason,
  }),
  READ_DENIED: define({
    status: 403,
    when: 'A query, or a node that somebody saves, names what the token may not read. Only tokens that may read everything are told whether it exists.',
    message: ({ name }: { readonly name: string }) =>
      `The token may not read '${name}', or there is nothing of this name`,
  }),
  PLAN_HIDDEN: define({
    status: 403,
    when: 'A plan is asked for with a token that may not read all that the Pipe reads, and would be told of it.',
    message: ({ name }: { readonly name: string }) =>
      `The plan of '${name}' can not be shown: the token may not read all that the Pipe reads`,
  }),
  FILTER_BROKEN: define({
    status: 403,
    when: 'The token filters rows by a condition that no longer fits its resource, whose columns have changed. Nothing is read without the filter: give the token another one. The condition is not told, as holders of a token may not know it.',
    message: () => `The token's filter does not fit what it filters any more, so nothing of that is read`,
    hint: () => 'Whoever manages tokens sees the filter in GET /v0/tokens/<token>, and can replace it',
  }),
  QUERY_TIMEOUT: define({
    status: 408,
    when: 'A query ran longer than `queryTimeMaxMs` and was stopped.',
    limit: () => 'query_time',
    message: ({ timeMaxMs }: { readonly timeMaxMs: number }) =>
      `The query ran longer than ${timeMaxMs / 1000} seconds and was stopped`,
  }),
  ENDPOINT_LIMITED: define({
    status: 429,
    when: 'The service is short of memory or processors, and too many answers of the endpoint were errors (408 and 500), so it takes fewer requests at once for now; see [cluster control](cluster-control.md). It did not run. Repeat the request when `Retry-After` says, and ask for less.',
    limit: () => 'endpoint_concurrency',
    rate: ({ concurrencyMax, retryAfterSeconds }: EndpointLimited) => ({
      limit: 'endpoint_concurrency',
      max: concurrencyMax,
      windowSeconds: null,
      remaining: 0,
      resetSeconds: retryAfterSeconds,
    }),
    message: ({ name, concurrencyMax, reason }: EndpointLimited) =>
      `The endpoint '${name}' takes ${concurrencyMax} ${concurrencyMax === 1 ? 'request' : 'requests'} at once for now: the service is short of ${pressureWords[reason]}, and too many answers of the endpoint were errors; repeat the request later`,
    retryAfterSeconds: ({ retryAfterSeconds }: EndpointLimited) => retryAfterSeconds,
  }),
  QUERIES_TOO_MANY: define({
    status: 503,
    when: 'Too many queries are waiting, or this one waited for three times `queryTimeMaxMs`. It did not run; repeat it later.',
    limit: () => 'queries_waiting',
    message: () => 'Too many queries are waiting; this one did not run, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  RESULTS_UNREAD: define({
    status: 503,
    when: 'Answers that are being made, or that their clients have not read yet, take `resultFilesBytesMax` on disk or 64 MiB in memory, or there are 256 of them. Clients that read nothing for `connectionIdleMsMax`, or over HTTP/2 less than 16 KiB, are disconnected. Repeat the query later.',
    limit: () => 'results_unread',
    message: ({ reason }: RetryLater & { readonly reason: string }) =>
      `There is no room for the answer: ${reason}; repeat the query later`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater & { readonly reason: string }) => retryAfterSeconds,
  }),
}

interface WrongSql {
  readonly reason: string
  /** Whether it is nothing but its memory that a query may not have. */
  readonly needsTooMuchMemory?: boolean
}

interface TemplateRefusal {
  readonly message: string
  /** Of `error()` and `custom_error()`. */
  readonly answer: OwnAnswer | null
}

interface BytesLimit {
  readonly bytesMax: number
}

interface EndpointLimited extends RetryLater {
  readonly name: string
  readonly concurrencyMax: number
  readonly reason: keyof typeof pressureWords
}

const pressureWords = { memory: 'memory', processor: 'processors' }
