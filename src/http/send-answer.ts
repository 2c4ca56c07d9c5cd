import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../observe/logger.ts'
import type { QueryAnswer } from '../query/query.types.ts'

export interface AnswerTarget {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly logger: Logger
  /** How long the client may take nothing of what is ready for it; 0 waits for ever. */
  readonly idleMsMax: number
}

/** Streams the answer of a query. */
export function sendAnswer(
  { request, reply, logger, idleMsMax }: AnswerTarget,
  { contentType, body, times }: QueryAnswer,
): FastifyReply {
  const { resolveMs, engineMs } = times
  const timing = engineMs === null ? 'cache;desc="kept answer"' : `engine;dur=${engineMs.toFixed(3)}`
  reply
    .code(200)
    .header('content-type', contentType)
    .header('server-timing', `resolve;dur=${resolveMs.toFixed(3)}, ${timing}`)
  if (body.whole !== undefined) return reply.send(body.whole)
  // Results that wait for their readers are few: those who never read would keep all others from theirs.
  const giveUp = (): void => {
    logger.warn({ requestId: request.id }, 'A client that takes nothing of its answer is given up.')
    request.raw.socket.destroy()
  }
  const paced = idleMsMax === 0 ? body : pacedChunks(body, { idleMsMax, giveUp })
  const stream = Readable.from(paced, { objectMode: false })
  // The status is sent already, so a broken connection is all that can tell the client.
  stream.on('error', (err) => logger.warn({ requestId: request.id, err }, 'An answer broke off in its middle.'))
  return reply.send(stream)
}

interface Pace {
  readonly idleMsMax: number
  readonly giveUp: () => void
}

/** The same chunks; `giveUp` is called when the next one is not asked for in time. */
async function* pacedChunks(
  chunks: AsyncIterable<Uint8Array>,
  { idleMsMax, giveUp }: Pace,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    const silence = setTimeout(giveUp, idleMsMax)
    try {
      yield chunk
    } finally {
      clearTimeout(silence)
    }
  }
}
