import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../observe/logger.ts'
import { errors } from '../shared/errors.ts'
import { sendError, toApiError } from './answers.ts'
import { pathOf } from './request-log.ts'

/** Makes every error of a route, and every path that has none, answer in the one shape that clients read. */
export function addErrorAnswers(app: FastifyInstance, logger: Logger): void {
  app.setErrorHandler((thrown, request, reply) => answerError(thrown, { request, reply, logger }))
  app.setNotFoundHandler((request, reply) => sendError(reply, errors.NOT_FOUND({ path: pathOf(request.url) })))
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly logger: Logger
}

/** Answers with what was thrown, and logs it when it is a fault of ours. */
export function answerError(thrown: unknown, { request, reply, logger }: Exchange): FastifyReply {
  // Nobody hears the answer, and the log of requests tells that the client went away.
  if (isStopped(thrown) && reply.raw.destroyed) return sendError(reply, errors.BODY_CUT())
  const error = toApiError(thrown)
  if (error.status >= 500 && error.retryAfterSeconds === undefined && error.code !== 'SHUTTING_DOWN') {
    logger.error({ requestId: request.id, err: error }, 'A request failed for a fault of the service.')
  }
  return sendError(reply, error)
}

/** Whether the store stopped a statement, as `abortSignal` asked. */
function isStopped(thrown: unknown): boolean {
  return thrown instanceof Error && 'kind' in thrown && thrown.kind === 'aborted'
}

/** Fastify's `frameworkErrors`: requests that fail before any hook has run, as for a malformed URL. */
export function answerFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id).header('access-control-allow-origin', '*')
  sendError(reply, toApiError(error))
}
