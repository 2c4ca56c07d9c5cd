// What a request is refused for whatever it asks: its form, its parameters, its token, its path. Sorted by status.

import type { LimitName } from '../limit-names.ts'
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
  REQUEST_TIMEOUT: define({
    status: 408,
    when: 'The headers of a request did not arrive within `headersTimeoutMs`, or the whole of it within `requestTimeoutMs`. The connection closes.',
    message: () => 'The request did not arrive in time',
  }),
  EXPECTATION_UNKNOWN: define({
    status: 417,
    when: 'The header Expect asks for something else than `100-continue`.',
    message: () => 'The header Expect can only be "100-continue"; leave it out, or send that',
  }),
  CONNECTIONS_TOO_MANY: define({
    status: 429,
    when: 'One address has `connectionsPerAddressMax` connections, and a request is under way on each. The new connection is closed.',
    message: ({ connectionsPerAddressMax }: RetryLater & { readonly connectionsPerAddressMax: number }) =>
      `Your address has ${connectionsPerAddressMax} busy connections, the most it may have; this one was closed, repeat the request later`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
    limit: () => 'connections',
  }),
  REQUESTS_AHEAD_TOO_MANY: define({
    status: 429,
    when: 'A client sends more than 64 requests ahead on one connection, without an answer to the first of them. The earlier ones are answered, then the connection closes; this request and those after it are ignored.',
    message: ({ openRequestsMax }: RetryLater & { readonly openRequestsMax: number }) =>
      `A connection may have ${openRequestsMax} unanswered requests; this one and those after it were ignored, send them again on another connection`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
    limit: () => 'requests_ahead',
  }),
  RATE_EXCEEDED: define({
    status: 429,
    when: 'More requests came in a second, a minute or a day than the plan, an option such as `importsPerMinuteMax`, or the JWT allows; the message names the [limit](limits.md). Repeat the request after the time in `Retry-After`.',
    limit: ({ limit }: RateRefusal) => limit,
    rate: ({ limit, max, windowSeconds, retryAfterSeconds }) => ({
      limit,
      max,
      windowSeconds,
      remaining: 0,
      resetSeconds: retryAfterSeconds,
    }),
    message: ({ limit, max, windowSeconds, what, whose, retryAfterSeconds }) =>
      `${what} are limited to ${max} ${windowText(windowSeconds)} for ${whose} (limit "${limit}"); repeat this request in ${secondsText(retryAfterSeconds)}`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  PROCESSOR_TIME_EXCEEDED: define({
    status: 429,
    when: 'Queries have used the processor time of a minute with its bursts (`processorPercentMax`), and for some minutes they have no more than their base rate; or none where there is no base rate. Repeat the request after the time in `Retry-After`. See [limits](limits.md#processor-time).',
    limit: () => 'processor_time',
    rate: ({ baseRate, retryAfterSeconds }) => ({
      limit: 'processor_time',
      max: baseRate,
      windowSeconds: 1,
      remaining: 0,
      resetSeconds: retryAfterSeconds,
    }),
    message: ({ maxMs, baseRate, baseSeconds, retryAfterSeconds }: ProcessorRefusal) =>
      `Queries have used ${maxMs / 1000} s of processor time in a minute, all that the whole service may (limit "processor_time"); they are limited to ${baseRate} a second for ${secondsText(baseSeconds)}, repeat this request in ${secondsText(retryAfterSeconds)}`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  BODIES_TOO_MANY: define({
    status: 503,
    when: 'The bodies of events, forms and queries that are arriving or waiting take more than `bodiesBytesMax`, or have waited too long for others of the same address, which has half of that; or 128 imports are open, or 64 of one address; or the Parquet files and zip archives on disk take more than four of the largest ones allowed. Nothing was done; repeat the request later.',
    limit: () => 'bodies_in_flight',
    message: ({ ofAddress = false }: BodiesTooMany) =>
      `Too many request bodies ${ofAddress ? 'from your address ' : ''}are being received; nothing was done with this one, repeat it later`,
    retryAfterSeconds: ({ retryAfterSeconds }: BodiesTooMany) => retryAfterSeconds,
  }),
}

interface BodiesTooMany extends RetryLater {
  /** Whether those of one address are too many, and others may go on. */
  readonly ofAddress?: boolean
}

interface ParameterFault {
  readonly parameter: string
  readonly value: string
  /** Ends the sentence "must be …". */
  readonly expected: string
}

interface ProcessorRefusal extends RetryLater {
  /** What a minute may have, bursts included. */
  readonly maxMs: number
  /** Queries a second until then. */
  readonly baseRate: number
  readonly baseSeconds: number
}

interface RateRefusal extends RetryLater {
  readonly limit: LimitName
  readonly max: number
  readonly windowSeconds: number
  /** What is counted, as a sentence about it begins: `Requests`. */
  readonly what: string
  /** Ends "for …". */
  readonly whose: string
}

function windowText(seconds: number): string {
  return (
    ({ 1: 'a second', 60: 'a minute', 86400: 'a day' } as Readonly<Record<number, string>>)[seconds] ??
    `in ${seconds} seconds`
  )
}

function secondsText(seconds: number): string {
  return seconds === 1 ? '1 second' : `${seconds} seconds`
}
