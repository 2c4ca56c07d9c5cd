import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../access/access.ts'
import type { Job } from '../../jobs/jobs.types.ts'
import { type QueryJobDetails, queryJobKind, rightsMark } from '../../query/query-job.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { HttpDeps } from '../http.types.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, requireJob } from '../server/authorization.ts'
import { onJob } from '../server/route-need.ts'

type Deps = Pick<HttpDeps, 'jobFiles' | 'jobs' | 'logger'>

/** `GET /v0/jobs/<id>/result`: the answer of a query that ran as a job. */
export function addJobResult(app: FastifyInstance, { jobFiles, jobs, logger }: Deps): void {
  const send = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // The route has this parameter, and Fastify gives texts.
    const { job: id } = request.params as { readonly job: string }
    const job = jobs.find(id)
    requireJob(request, 'job:read', job)
    if (job === undefined) throw errors.JOB_NOT_FOUND({ id })
    const { contentType } = readableDetails(job, callerOf(request))
    const file = await jobFiles.open(id)
    if (file === null) throw errors.JOB_RESULT_NOT_FOUND({ id, reason: 'it was kept as long as it is kept' })
    const { bytes, byteCount } = file
    // The status is sent already, so a broken connection is all that can tell the client.
    bytes.on('error', (err) => logger.warn({ requestId: request.id, err }, 'A result broke off in its middle.'))
    return reply.code(200).header('content-type', contentType).header('content-length', byteCount).send(bytes)
  }
  addPath(app, '/v0/jobs/:job/result', { GET: send }, { needs: { GET: onJob('job:read', 'job') } })
}

/** @throws JOB_RESULT_DENIED (403), JOB_RESULT_NOT_FOUND (404). */
function readableDetails({ id, kind, status, details }: Job, { permissions }: Caller): QueryJobDetails {
  if (kind !== queryJobKind) throw errors.JOB_RESULT_NOT_FOUND({ id, reason: `its kind is "${kind}"` })
  if (status !== 'done') throw errors.JOB_RESULT_NOT_FOUND({ id, reason: `its status is "${status}"` })
  // A query that is done has told them.
  const told = details as unknown as QueryJobDetails
  if (!permissions.isAdmin && rightsMark(permissions.readScope) !== told.rights) throw errors.JOB_RESULT_DENIED()
  return told
}
