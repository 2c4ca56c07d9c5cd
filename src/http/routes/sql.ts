import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatOfName } from '../../query/answer-formats.ts'
import type { QueryRequest } from '../../query/query.types.ts'
import { queryJobKind, toQueryJobOrder } from '../../query/query-job.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { jobAnswer } from '../json/job-answer.ts'
import { type Question, readQuestion } from '../request/question.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, readScopeOf } from '../server/authorization.ts'
import { baseUrlOf } from '../server/base-url.ts'
import { inTurn } from '../server/pipelining.ts'
import { inSql } from '../server/route-need.ts'
import { sendAnswer } from '../server/send-answer.ts'

type Deps = Pick<HttpDeps, 'jobs' | 'query' | 'logger'>

/** `GET` and `POST /v0/sql`: runs one query and streams its answer, or, as a job, keeps it. */
export function addSql(app: FastifyInstance, { jobs, query, logger }: Deps, limits: FormLimits): void {
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
    if (isForJob(question)) return await sendJob({ request, reply, jobs, query }, asked)
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

function isForJob(question: Question): boolean {
  const value = question.text('job')?.toLowerCase()
  // Templates may have a parameter of this name.
  return value === 'true' || value === '1'
}

interface JobTarget extends Pick<HttpDeps, 'jobs' | 'query'> {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Takes a query that is right as a job, in the name of the caller. */
async function sendJob({ request, reply, jobs, query }: JobTarget, asked: QueryRequest): Promise<FastifyReply> {
  if (request.method !== 'POST') {
    throw errors.PARAMETER_INVALID({ parameter: 'job', value: 'true', expected: 'sent by POST' })
  }
  await query.prepare(asked)
  const caller = callerOf(request)
  const owner = { tokenId: caller.makerId, tokenName: caller.tokenName }
  const order = toQueryJobOrder(request.server.access.warrantOf(caller), asked)
  const job = await jobs.add({ kind: queryJobKind, owner, subject: null, order, logFields: {} })
  return sendJson(reply, 200, jobAnswer(job, { caller, baseUrl: baseUrlOf(request) }))
}
