import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../observe/logger.ts'
import type { QueryAnswer } from '../../query/query.types.ts'
import { withNotedEnd } from './request-records.ts'
import type { RequestTrace } from './request-traces.ts'

export interface AnswerTarget {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly logger: Logger
}

/** Streams the answer of a query. */
export function sendAnswer(
  { request, reply, logger }: AnswerTarget,
  { contentType, body, times }: QueryAnswer,
): FastifyReply {
  const { resolveMs, engineMs } = times
  if (request.trace !== null) noteTimes(request.trace, reply.elapsedTime, times)
  const timing = engineMs === null ? 'cache;desc="kept answer"' : `engine;dur=${engineMs.toFixed(3)}`
  const sent = withNotedEnd(request, body)
  reply
    .code(200)
    .header('content-type', contentType)
    .header('server-timing', `resolve;dur=${resolveMs.toFixed(3)}, ${timing}`)
  if (sent.whole !== undefined) return reply.send(sent.whole)
  const stream = Readable.from(sent, { objectMode: false })
  // The status is sent already, so a broken connection is all that can tell the client.
  stream.on('error', (err) => logger.warn({ requestId: request.id, err }, 'An answer broke off in its middle.'))
  return reply.send(stream)
}

/** What `Server-Timing` says, as work in the middle of the request. */
function noteTimes({ inner }: RequestTrace, elapsedMs: number, { resolveMs, engineMs }: QueryAnswer['times']): void {
  const engineStartMs = elapsedMs - (engineMs ?? 0)
  inner.push({ name: 'query.resolve', startMs: engineStartMs - resolveMs, durationMs: resolveMs })
  if (engineMs !== null) inner.push({ name: 'query.engine', startMs: engineStartMs, durationMs: engineMs })
}
