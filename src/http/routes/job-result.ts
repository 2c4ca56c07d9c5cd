import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../access/access.ts'
import type { JobOperation } from '../../access/job-rights.ts'
import type { Job } from '../../jobs/jobs.types.ts'
import { type QueryJobDetails, queryJobKind, rightsMark } from '../../query/query-job.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { HttpDeps } from '../http.types.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, requireJob } from '../server/authorization.ts'
import { onJob } from '../server/route-need.ts'

type Deps = Pick<HttpDeps, 'jobFiles' | 'jobs' | 'logger'>

/** `/v0/jobs/<id>/result`: the answer of a query that ran as a job, and its end before its time. */
export function addJobResult(app: FastifyInstance, { jobFiles, jobs, logger }: Deps): void {
  const find = (request: FastifyRequest, operation: JobOperation): Job => {
    // The route has this parameter, and Fastify gives texts.
    const { job: id } = request.params as { readonly job: string }
    const job = jobs.find(id)
    requireJob(request, operation, job)
    if (job === undefined) throw errors.JOB_NOT_FOUND({ id })
    return job
  }
  const send = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const job = find(request, 'job:read')
    const { contentType } = readableDetails(job, callerOf(request))
    const file = await jobFiles.open(job.id)
    if (file === null) throw noFile(job)
    const { bytes, byteCount } = file
    // The status is sent already, so a broken connection is all that can tell the client.
    bytes.on('error', (err) => logger.warn({ requestId: request.id, err }, 'A result broke off in its middle.'))
    return reply.code(200).header('content-type', contentType).header('content-length', byteCount).send(bytes)
  }
  const remove = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const job = find(request, 'job:cancel')
    requireResult(job)
    if (!jobFiles.has(job.id)) throw noFile(job)
    await jobFiles.remove(job.id)
    return reply.code(204).send()
  }
  const needs = { GET: onJob('job:read', 'job'), DELETE: onJob('job:cancel', 'job') }
  addPath(app, '/v0/jobs/:job/result', { GET: send, DELETE: remove }, { needs })
}

/** @throws JOB_RESULT_DENIED (403), JOB_RESULT_NOT_FOUND (404). */
function readableDetails(job: Job, { permissions }: Caller): QueryJobDetails {
  requireResult(job)
  // A query that is done has told them.
  const told = job.details as unknown as QueryJobDetails
  if (!permissions.isAdmin && rightsMark(permissions.readScope) !== told.rights) throw errors.JOB_RESULT_DENIED()
  return told
}

/** @throws JOB_RESULT_NOT_FOUND (404). */
function requireResult({ id, kind, status }: Job): void {
  if (kind !== queryJobKind) throw errors.JOB_RESULT_NOT_FOUND({ id, reason: `its kind is "${kind}"` })
  if (status !== 'done') throw errors.JOB_RESULT_NOT_FOUND({ id, reason: `its status is "${status}"` })
}

function noFile({ id }: Job): Error {
  return errors.JOB_RESULT_NOT_FOUND({
    id,
    reason: 'it was removed, or the time is over that results are kept; run the query again',
  })
}
