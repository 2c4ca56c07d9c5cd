import type { FastifyReply } from 'fastify'
import { ApiError, errors } from '../shared/errors.ts'

// One client parses an answer as JSON only when the type is spelled exactly so.
export const jsonContentType = 'application/json; charset=UTF-8'

/** Answers with a value as JSON. */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return reply.code(status).header('content-type', jsonContentType).send(JSON.stringify(value))
}

/** Answers with an error as every client reads it; `more` goes into the body beside it. */
export function sendError(reply: FastifyReply, error: ApiError, more: Readonly<Record<string, unknown>> = {}) {
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds)
  return sendJson(reply, error.status, { ...error.body(), ...more })
}

/** True for the versioned API. Other paths are for operators: they carry no token and are not for browsers. */
export function isApiPath(url: string): boolean {
  return /^\/v\d+(?:[/?]|$)/.test(url)
}

/** What a caller is told of anything that was thrown: itself when it is an error of the table, else 500. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (isFrameworkRefusal(thrown)) return errors.REQUEST_INVALID({ reason: thrown.message, cause: thrown })
  return errors.INTERNAL({ cause: thrown })
}

/** Fastify's own errors about a request carry a status below 500. */
function isFrameworkRefusal(thrown: unknown): thrown is Error {
  if (!(thrown instanceof Error) || !('code' in thrown) || !('statusCode' in thrown)) return false
  const isFrameworks = typeof thrown.code === 'string' && thrown.code.startsWith('FST_')
  return isFrameworks && typeof thrown.statusCode === 'number' && thrown.statusCode < 500
}
