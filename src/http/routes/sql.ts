import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatOfName } from '../../query/answer-formats.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { readQuestion } from '../request/question.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { readScopeOf } from '../server/authorization.ts'
import { inTurn } from '../server/pipelining.ts'
import { inSql } from '../server/route-need.ts'
import { sendAnswer } from '../server/send-answer.ts'

type Deps = Pick<HttpDeps, 'query' | 'logger'>

/** `GET` and `POST /v0/sql`: runs one query and streams its answer. */
export function addSql(app: FastifyInstance, { query, logger }: Deps, limits: FormLimits): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const signal = abortSignal(reply)
    const question = await readQuestion(request, limits)
    const { sql } = question
    if (sql === undefined) throw errors.SQL_EMPTY()
    const format = question.text('format')
    const asked = {
      sql,
      pipeline: question.text('pipeline') ?? null,
      format: format === undefined ? null : formatOfName(format),
      parameters: question.parameters,
      settings: question.settings,
      readScope: readScopeOf(request),
      signal,
    }
    const answered = await inTurn(request.raw.socket, () => query.run(asked))
    return sendAnswer({ request, reply, logger }, answered)
  }
  const need = inSql('sql:read')
  addPath(
    app,
    '/v0/sql',
    { GET: answer, POST: answer },
    { needs: { GET: need, POST: need }, mayTakeTokenFromBody: true, isFrequent: true },
  )
}
