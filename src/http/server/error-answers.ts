import type { FastifyContextConfig, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pipe } from '../../catalog/pipe.types.ts'
import { type DiskReports, diskFaultOf, noDiskReports } from '../../shared/disk-fault.ts'
import { errors } from '../../shared/errors/errors.ts'
import { sendError, toApiError } from '../json/answers.ts'
import type { Adviser } from './advice.ts'
import type { AnswerHeaders } from './answer-headers.ts'
import { plannedAt } from './planned-paths.ts'
import { pathOf, type RequestLog } from './request-log.ts'
import { toldMessage } from './told-message.ts'

/** Makes every error of a route, and every path that has none, answer in the one shape that clients read. */
export function addErrorAnswers(
  app: FastifyInstance,
  disk: DiskReports = noDiskReports,
  adviser: Adviser = noAdvice,
  pipes: () => readonly Pipe[] = () => [],
): void {
  app.setErrorHandler((thrown, request, reply) => {
    const reason = diskFaultOf(thrown)
    if (reason !== null) disk.report(reason, thrown)
    const error = toApiError(thrown)
    const hint = error.hint === undefined ? adviser(error, request) : undefined
    const told = toldMessage(error, request, pipes)
    return answerError(thrown, reply, { hint, told })
  })
  // What has no route asks nothing of its caller, a preflight included, and does nothing. Fastify hands `config` on to its requests.
  const declared: { preHandler: []; config: FastifyContextConfig } = { preHandler: [], config: { needs: 'nothing' } }
  app.setNotFoundHandler(declared, (request, reply) => {
    const path = pathOf(request.url)
    const error = errors.NOT_FOUND({ path, absent: plannedAt(path) })
    return sendError(reply, error, hintField(adviser(error, request)))
  })
}

/** Answers with what was thrown; the log of requests tells it. */
export function answerError(thrown: unknown, reply: FastifyReply, { hint, told }: Told = {}): FastifyReply {
  // Nobody hears the answer, and the log of requests tells that the client went away.
  if (isStopped(thrown) && reply.raw.destroyed) return sendError(reply, errors.BODY_CUT())
  const error = toApiError(thrown)
  const own = told === undefined || told === error.message ? {} : { error: told }
  return sendError(reply, error, { ...own, ...hintField(hint) })
}

interface Told {
  readonly hint?: string | undefined
  /** The message as the caller may be told it. */
  readonly told?: string
}

function hintField(hint: string | undefined): { readonly hint?: string } {
  return hint === undefined ? {} : { hint }
}

const noAdvice: Adviser = () => undefined

/** Whether the store stopped a statement, as `abortSignal` asked. */
function isStopped(thrown: unknown): boolean {
  return thrown instanceof Error && 'kind' in thrown && thrown.kind === 'aborted'
}

/** Fastify's `frameworkErrors`: requests that fail before any hook has run, as for a malformed URL. */
export function answerFrameworkErrors(requestLog: RequestLog, headers: AnswerHeaders) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    reply.header('x-request-id', request.id)
    for (const [name, value] of headers.unread) reply.header(name, value)
    sendError(reply, isHostWrong(request.raw.url) ? errors.REQUEST_INVALID({ reason: hostReason }) : toApiError(error))
    requestLog.tell(request, reply)
  }
}

const hostReason = 'its URL is neither a path nor an http address with a valid host and port; send the path alone'

/** Of a URL that is no path (RFC 9112 §3.2.2). It is not repeated, as it may have a token in it. */
function isHostWrong(url = ''): boolean {
  return !url.startsWith('/') && !(/^https?:\/\/[^/?#]/i.test(url) && URL.canParse(url))
}
