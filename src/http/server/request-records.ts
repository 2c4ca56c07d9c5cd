// What a query of a caller leaves in the service data sources: told when its answer has been sent, or refused.
//
// A handler says whose query it is as soon as it knows; requests that are refused before that are told in the log alone.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { recordedError } from '../../observe/quoted-rows.ts'
import type { WorkRecorder } from '../../observe/work-recorder.types.ts'
import { statisticsAtEnd } from '../../query/answer-statistics.ts'
import type { QueryAnswer } from '../../query/query.types.ts'
import { answeredError } from '../json/answers.ts'

type AnswerBody = QueryAnswer['body']

/** Whose query a request is. */
export interface AskedPipe {
  readonly id: string
  readonly name: string
}

export interface Asked {
  readonly pipe: AskedPipe
  /** The last bytes of the answer, as far as it has been sent. */
  end: Uint8Array
}

interface RecordDeps {
  readonly workRecorder: WorkRecorder
  readonly now: () => number
}

/** Tells of each request that says whose query it is. */
export function addRequestRecords(app: FastifyInstance, { workRecorder: recorder, now }: RecordDeps): void {
  app.decorateRequest('asked', null)
  app.decorate('tellsRequests', recorder.isOn)
  if (!recorder.isOn) return
  app.addHook('onResponse', (request, reply, done) => {
    if (request.asked !== null) tell(request, reply, { asked: request.asked, recorder, endedAtMs: now() })
    done()
  })
}

/** Says whose query a request is. */
export function noteAsked(request: FastifyRequest, pipe: AskedPipe | undefined): void {
  if (pipe !== undefined && request.server.tellsRequests) request.asked = { pipe, end: nothing }
}

/** Takes back what was said: the request leaves nothing. */
export function forgetAsked(request: FastifyRequest): void {
  request.asked = null
}

/** The same answer; its end is kept for what is told of it. */
export function withNotedEnd(request: FastifyRequest, body: AnswerBody): AnswerBody {
  const { asked } = request
  if (asked === null) return body
  if (body.whole === undefined) return notingEnd(asked, body)
  asked.end = body.whole
  return body
}

const nothing = new Uint8Array()
/** More than the statistics of an answer have. */
const endBytesMax = 1024

async function* notingEnd(asked: Asked, body: AnswerBody): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    const isEnough = chunk.byteLength >= endBytesMax
    asked.end = Buffer.from(isEnough ? chunk.subarray(-endBytesMax) : Buffer.concat([asked.end, chunk]))
    yield chunk
  }
}

interface Told {
  readonly asked: Asked
  readonly recorder: WorkRecorder
  readonly endedAtMs: number
}

function tell(request: FastifyRequest, reply: FastifyReply, { asked, recorder, endedAtMs }: Told): void {
  const { pipe, end } = asked
  const { caller, id: requestId, method, url } = request
  const durationMs = reply.elapsedTime
  const { statusCode } = reply
  const answered = answeredError(reply)
  recorder.request({
    requestId,
    pipeId: pipe.id,
    pipeName: pipe.name,
    startedAtMs: endedAtMs - durationMs,
    durationMs,
    url,
    // Fastify's parser gives texts and lists of them.
    parameters: request.query as Readonly<Record<string, unknown>>,
    method,
    statusCode,
    error: statusCode < 400 ? null : answered === undefined ? '' : recordedError(answered),
    tokenId: caller?.tokenId ?? caller?.makerId ?? '',
    tokenName: caller?.tokenName ?? '',
    isJwt: caller !== null && caller.tokenId === null,
    userAgent: request.headers['user-agent'] ?? '',
    ...statisticsAtEnd(end),
  })
}
