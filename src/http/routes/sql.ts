import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatOfName } from '../../query/answer-formats.ts'
import type { QueryRequest } from '../../query/query.types.ts'
import { queryJobKind } from '../../query/query-job.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { jobAnswer } from '../json/job-answer.ts'
import { warn } from '../json/warnings.ts'
import { awaitedBy } from '../request/awaited-receipts.ts'
import { type Question, readQuestion } from '../request/question.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, readScopeOf, requireSameReads } from '../server/authorization.ts'
import { countRequest } from '../server/count-request.ts'
import { inTurn } from '../server/pipelining.ts'
import { baseUrlOf } from '../server/proxies.ts'
import { forgetAsked, noteAsked } from '../server/request-records.ts'
import { inSql } from '../server/route-need.ts'
import { sendAnswer } from '../server/send-answer.ts'

type Deps = Pick<HttpDeps, 'jobs' | 'query' | 'queryJobs' | 'logger' | 'rates' | 'receipts'>

/** What its queries are told under, id and name. */
const sqlRoute = { id: 'query_api', name: 'query_api' }

/** `GET` and `POST /v0/sql`: runs one query and streams its answer, or, as a job, keeps it. */
export function addSql(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { jobs, query, queryJobs, logger, rates, receipts } = deps
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    noteAsked(request, sqlRoute)
    countRequest(reply, rates.queries)
    const signal = abortSignal(reply)
    const question = await readQuestion(request, limits)
    const { sql } = question
    if (sql === undefined) throw errors.SQL_EMPTY()
    const format = question.text('format')
    const owner = callerOf(request).makerId
    // To be asked for when its turn has come: what the caller may read may be something else by then.
    const asked = (): QueryRequest => {
      const readScope = readScopeOf(request)
      const onWaited = (): void => requireSameReads(request, readScope)
      return {
        sql,
        pipeline: question.text('pipeline') ?? null,
        format: format === undefined ? null : formatOfName(format),
        parameters: question.parameters,
        settings: question.settings,
        readScope,
        owner,
        untilFresh: awaitedBy(request, question, { receipts, ownerId: owner, signal, onWaited }),
        signal,
      }
    }
    if (isForJob(question, reply)) {
      // The job is told of, not the request.
      forgetAsked(request)
      return await sendJob({ request, reply, jobs, query, queryJobs }, asked())
    }
    const answered = await inTurn(request.raw.socket, async () => await query.run(asked()))
    // Whoever looks at what the service tells of itself leaves no rows in it.
    if (answered.isOfService === true) forgetAsked(request)
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

function isForJob(question: Question, reply: FastifyReply): boolean {
  const value = question.text('job')?.toLowerCase()
  if (value === 'true' || value === '1') return true
  // Templates may have a parameter of this name.
  const isOdd = value !== undefined && value !== 'false' && value !== '0' && !question.sql?.trimStart().startsWith('%')
  if (isOdd) warn(reply, [`Parameter 'job' is neither true nor false, so the query did not run as a job`])
  return false
}

interface JobTarget extends Pick<HttpDeps, 'jobs' | 'query' | 'queryJobs'> {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Takes a query that is right as a job, in the name of the caller. */
async function sendJob(target: JobTarget, asked: QueryRequest): Promise<FastifyReply> {
  const { request, reply, jobs, query, queryJobs } = target
  if (request.method !== 'POST') {
    throw errors.PARAMETER_INVALID({ parameter: 'job', value: 'true', expected: 'sent by POST' })
  }
  await query.prepare(asked)
  const caller = callerOf(request)
  const owner = { tokenId: caller.makerId, tokenName: caller.tokenName }
  const order = queryJobs.orderOf(request.server.access.warrantOf(caller), asked)
  const logFields = { requestId: request.id }
  const job = await jobs.add({ kind: queryJobKind, owner, subject: null, order, logFields })
  return sendJson(reply, 200, jobAnswer(job, { caller, baseUrl: baseUrlOf(request) }))
}
