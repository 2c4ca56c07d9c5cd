// What a request is refused for whatever it asks: its form, its parameters, its token, its path. Sorted by status.

import { didYouMean } from '../nearest-name.ts'
import { define, type RetryLater } from './definition.ts'

export const requestErrors = {
  REQUEST_INVALID: define({
    status: 400,
    when: 'The request is not a valid HTTP request for its path.',
    message: ({ reason }: { readonly reason: string }) => `The request is not valid: ${reason}`,
  }),
  PARAMETER_INVALID: define({
    status: 400,
    when: 'A parameter has a value that is not allowed.',
    message: ({ parameter, value, expected }: ParameterFault) =>
      `Parameter "${parameter}" is "${value}", but must be ${expected}`,
    hint: ({ value, expected }) => didYouMean(value, expected.split(/, | or /)),
  }),
  PARAMETER_LATE: define({
    status: 400,
    when: 'A parameter comes after the file in a multipart form, too late to take effect.',
    message: ({ parameter }: { readonly parameter: string }) =>
      `Parameter "${parameter}" comes after the file in the form, too late to take effect: send it before the file or in the URL`,
  }),
  NAME_MISSING: define({
    status: 400,
    when: 'The required parameter `name` is missing.',
    message: () => 'Parameter "name" is required',
  }),
  NAME_INVALID: define({
    status: 400,
    when: 'A resource cannot have this name.',
    message: ({ name, reason }: { readonly name: string; readonly reason: string }) =>
      `"${name}" is not a valid name: ${reason}`,
  }),
  TOKEN_MISSING: define({
    status: 403,
    when: 'The request carries no token.',
    message: () => 'No token: send the header "Authorization: Bearer <token>" or the parameter "token"',
  }),
  TOKEN_INVALID: define({
    status: 403,
    when: 'The token is unknown.',
    message: () => 'Invalid token',
  }),
  TOKEN_LATE: define({
    status: 403,
    when: 'There is no token in the header, in the URL or in the first 8 KiB of the uncompressed body. The rest of the body is not read.',
    message: () =>
      'No token: send the header "Authorization: Bearer <token>", or the parameter "token" in the URL or in the first 8 KiB of an uncompressed body; the rest of the body was not read',
  }),
  NOT_FOUND: define({
    status: 404,
    when: 'Nothing is served at this path.',
    message: ({ path, absent }: { readonly path: string; readonly absent?: string | undefined }) =>
      `There is nothing at "${path}"${absent === undefined ? '' : `: this service does not have ${absent} yet`}`,
    subject: ({ path }) => [path],
  }),
  METHOD_NOT_ALLOWED: define({
    status: 405,
    when: 'The path exists, but not with this method.',
    message: ({ method, allowed }: { readonly method: string; readonly allowed: readonly string[] }) =>
      `Method ${method} is not allowed here; use ${allowed.join(' or ')}`,
  }),
  CONNECTIONS_TOO_MANY: define({
    status: 429,
    when: 'One address has `connectionsPerAddressMax` connections, and a request is under way on each. The new connection is closed.',
    message: ({ connectionsPerAddressMax }: RetryLater & { readonly connectionsPerAddressMax: number }) =>
      `Your address has ${connectionsPerAddressMax} busy connections, the most it may have; this one was closed, repeat the request later`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  REQUESTS_AHEAD_TOO_MANY: define({
    status: 429,
    when: 'A client sends more than 64 requests ahead on one connection, without an answer to the first of them. The earlier ones are answered, then the connection closes; this request and those after it are ignored.',
    message: ({ openRequestsMax }: RetryLater & { readonly openRequestsMax: number }) =>
      `A connection may have ${openRequestsMax} unanswered requests; this one and those after it were ignored, send them again on another connection`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  RATE_EXCEEDED: define({
    status: 429,
    when: 'More requests came in a second than an option such as `variablesRequestsPerSecondMax` allows. Repeat the request later.',
    message: ({ perSecondMax }: RateLimit) =>
      `At most ${perSecondMax} requests a second are allowed; repeat this one later`,
    retryAfterSeconds: ({ retryAfterSeconds }: RateLimit) => retryAfterSeconds,
  }),
  BODIES_TOO_MANY: define({
    status: 503,
    when: 'The bodies of events, forms and queries that are arriving or waiting take more than `bodiesBytesMax`; or 128 imports are open; or the Parquet files and zip archives on disk take more than four of the largest ones allowed. Nothing was done; repeat the request later.',
    limit: () => 'bodies_in_flight',
    message: () => 'Too many request bodies are being received; nothing was done with this one, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
}

interface ParameterFault {
  readonly parameter: string
  readonly value: string
  /** Ends the sentence "must be …". */
  readonly expected: string
}

interface RateLimit extends RetryLater {
  readonly perSecondMax: number
}
