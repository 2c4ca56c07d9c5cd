import type { FastifyReply } from 'fastify'
import { withoutTokens } from '../../observe/log-secrets.ts'
import { apiErrorOf } from '../../shared/api-error-of.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { sendRefusedRate } from './rate-headers.ts'

// One client parses an answer as JSON only when the type is spelled exactly so.
export const jsonContentType = 'application/json; charset=UTF-8'

/** Answers with a value as JSON. */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return reply.code(status).header('content-type', jsonContentType).send(JSON.stringify(value))
}

/** Answers with an error as every client reads it; `more` goes into the body beside it. */
export function sendError(reply: FastifyReply, error: ApiError, more: Readonly<Record<string, unknown>> = {}) {
  answered.set(reply, error)
  if (error.limit !== undefined) reply.server.tellLimitHit(reply.request, error)
  if (error.rate !== undefined) sendRefusedRate(reply, error.rate)
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds)
  const text = withoutTokens(JSON.stringify({ ...error.body(), ...more }))
  return reply.code(error.status).header('content-type', jsonContentType).send(text)
}

/** Tells the log which error an answer is of that `sendError` has not made. */
export function noteAnswered(reply: FastifyReply, error: ApiError): void {
  answered.set(reply, error)
}

/** The error that was answered, for the log; undefined when it was none. */
export function answeredError(reply: FastifyReply): ApiError | undefined {
  return answered.get(reply)
}

const answered = new WeakMap<FastifyReply, ApiError>()

/** True for the versioned API. Other paths are for operators: they carry no token and are not for browsers. */
export function isApiPath(url: string): boolean {
  return apiPath.test(url) || apiPath.test(plainPathOf(url))
}

const apiPath = /^\/v\d+(?:[/?]|$)/

/** As the routes know it, of a URL with its host (RFC 9112 §3.2.2) or with escapes that need not be. */
function plainPathOf(url: string): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/?#]*/i, '').split('?', 1)
  try {
    return decodeURI(path)
  } catch {
    // A URIError; nothing else is thrown.
    return path
  }
}

/** What a caller is told of anything that was thrown: of what Fastify refuses 400, of all else what `apiErrorOf` says. */
export function toApiError(thrown: unknown): ApiError {
  if (!isFrameworkRefusal(thrown)) return apiErrorOf(thrown)
  return errors.REQUEST_INVALID({ reason: frameworkReasons[thrown.code] ?? thrown.message, cause: thrown })
}

/** Where Fastify's own words quote what was sent, which may be a token. */
const frameworkReasons: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'the path of its URL has a percent sign that does not begin an escape; write it as %25',
}

/** Fastify's own errors about a request carry a status below 500. */
function isFrameworkRefusal(thrown: unknown): thrown is Error & { readonly code: string } {
  if (!(thrown instanceof Error) || !('code' in thrown) || !('statusCode' in thrown)) return false
  const isFrameworks = typeof thrown.code === 'string' && thrown.code.startsWith('FST_')
  return isFrameworks && typeof thrown.statusCode === 'number' && thrown.statusCode < 500
}
