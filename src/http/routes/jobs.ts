import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { jobFilter } from '../../access/job-rights.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import { jobStatuses } from '../../jobs/job-states.ts'
import type { Job, JobFilter, JobStatus } from '../../jobs/jobs.types.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { type DerivedFields, singleShape, sizeShape } from '../json/datasource-shape.ts'
import { kindShapes } from '../json/job-kinds.ts'
import { type JobParts, type JobReader, jobListItem, jobShape, seenPipeOf } from '../json/job-shape.ts'
import { behindFields } from '../json/views-behind.ts'
import { warnOfUnknown } from '../json/warnings.ts'
import { readChangeParameters } from '../request/change-parameters.ts'
import { readMoment } from '../request/moment.ts'
import { partOf, readPage } from '../request/page.ts'
import { Parameters } from '../request/parameters.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, requireJob } from '../server/authorization.ts'
import { baseUrlOf } from '../server/proxies.ts'
import { onJob } from '../server/route-need.ts'
import type { JobProgress } from './job-progress.ts'
import { addJobResult } from './job-result.ts'
import { RecentStatistics } from './recent-statistics.ts'
import { derivedOf, type SingleDeps, type StatisticsOf } from './single-datasource.ts'

type Deps = SingleDeps &
  Pick<HttpDeps, 'jobFiles' | 'jobs' | 'logger' | 'urlImports'> & { readonly jobProgress: JobProgress }

/** `/v0/jobs`: what works in the background, how far it is, and its end. */
export function addJobs(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { dataSources, jobFiles, jobs, jobProgress, urlImports } = deps
  const recent = new RecentStatistics((id) => dataSources.statisticsOf(id))
  const list = (request: FastifyRequest, reply: FastifyReply): FastifyReply => sendList(request, reply, deps)
  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const parameters = new Parameters(request.query)
    const job = jobs.find(idOf(request))
    requireJob(request, 'job:read', job)
    if (job === undefined) throw errors.JOB_NOT_FOUND({ id: idOf(request) })
    const reader = readerOf(request, deps)
    if (parameters.flag('progress')) {
      return jobProgress.send(reply, {
        id: job.id,
        callerId: reader.caller.makerId,
        shapeOf: (one) => ({ ...jobShape(one, reader), ...importBehind(one, reader, deps) }),
      })
    }
    const seen = {
      debug: readDebug(parameters),
      hasResult: jobFiles.has(job.id),
      progress: urlImports.progressOf(job.id),
    }
    const shape = jobShape(job, reader, { ...(await partsOf(job, reader, { ...deps, recent })), ...seen })
    return sendJson(reply, 200, { ...shape, ...importBehind(job, reader, deps) })
  }
  const cancel = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    await readChangeParameters(request, limits)
    const id = idOf(request)
    requireJob(request, 'job:cancel', jobs.find(id))
    return sendJson(reply, 200, jobShape(await jobs.cancel(id), readerOf(request, deps)))
  }
  addJobResult(app, deps)
  addPath(app, '/v0/jobs', { GET: list }, { needs: { GET: 'token' } })
  addPath(app, '/v0/jobs/:job', { GET: show }, { needs: { GET: onJob('job:read', 'job') } })
  addPath(
    app,
    '/v0/jobs/:job/cancel',
    { POST: cancel },
    { needs: { POST: onJob('job:cancel', 'job') }, mayTakeTokenFromBody: true },
  )
}

function idOf(request: FastifyRequest): string {
  // The routes have this parameter, and Fastify gives texts.
  return (request.params as { readonly job: string }).job
}

function readerOf(request: FastifyRequest, { pipes }: Pick<Deps, 'pipes'>): JobReader {
  return { caller: callerOf(request), baseUrl: baseUrlOf(request), pipes: () => pipes.list() }
}

const pageSizeMax = 1_000
/** More jobs than may be kept. */
const pageMax = 1_000_000
const listParameters = [
  ...['kind', 'status', 'pipe_id', 'pipe_name', 'created_after', 'created_before', 'page', 'page_size', 'token'],
] as const

/** Newest first, and of these one page: only what the token may be told of is counted. */
function sendList(request: FastifyRequest, reply: FastifyReply, deps: Pick<Deps, 'jobs' | 'pipes'>): FastifyReply {
  const parameters = new Parameters(request.query)
  warnOfUnknown(reply, 'Parameter', parameters.names(), listParameters)
  warnOfUnknown(reply, 'Kind', listOf(parameters, 'kind'), knownKinds)
  const page = readPage(parameters, { pageSizeMax, pageMax })
  const reader = readerOf(request, deps)
  const isSeen = jobFilter(reader.caller, 'job:read')
  const isOfPipe = pipeFilter(parameters, reader)
  const found = deps.jobs.list(readFilter(parameters)).filter((job) => isSeen(job) && isOfPipe(job))
  return sendJson(reply, 200, {
    jobs: partOf(found, page).map((job) => jobListItem(job, reader)),
    total: found.length,
    page: page.page,
    page_size: page.pageSize,
  })
}

/** @throws PARAMETER_INVALID (400) */
function readFilter(parameters: Parameters): JobFilter {
  const kinds = listOf(parameters, 'kind')
  const statuses = listOf(parameters, 'status')
  const after = readMoment(parameters, 'created_after')
  const before = readMoment(parameters, 'created_before')
  return {
    ...(kinds.length === 0 ? {} : { kinds: kinds.map((kind) => kindNames[kind] ?? kind) }),
    ...(statuses.length === 0 ? {} : { statuses: statuses.map(readStatus) }),
    ...(after === undefined ? {} : { createdAfterMs: after }),
    ...(before === undefined ? {} : { createdBeforeMs: before }),
  }
}

/** Kinds that have another name in requests than in answers. */
const kindNames: Readonly<Record<string, string>> = { populate: 'populateview', repair: 'repairview' }
/** What clients may ask for, also where no such job is ever made. */
const knownKinds = [...Object.keys(kindNames), ...Object.keys(kindShapes), 'copy', 'sink'] as const

function readStatus(value: string): JobStatus {
  const status = jobStatuses.find((one) => one === value)
  if (status !== undefined) return status
  throw errors.PARAMETER_INVALID({ parameter: 'status', value, expected: jobStatuses.join(', ') })
}

/** The values of a parameter that is repeated, or a list with commas. */
function listOf(parameters: Parameters, name: string): readonly string[] {
  return parameters.every(name).flatMap((text) => text.split(',').flatMap((one) => one.trim().toLowerCase() || []))
}

function pipeFilter(parameters: Parameters, { caller }: JobReader): (job: Job) => boolean {
  const id = parameters.text('pipe_id')
  const name = parameters.text('pipe_name')
  if (id === undefined && name === undefined) return () => true
  return (job) => {
    const pipe = seenPipeOf(job, caller)
    if (pipe === null) return false
    return (id === undefined || pipe.id === id) && (name === undefined || pipe.name === name)
  }
}

const debugNames: readonly string[] = ['blocks', 'block_log', 'hook_log']

/** @throws PARAMETER_INVALID (400) */
function readDebug(parameters: Parameters): ReadonlySet<string> {
  const names = listOf(parameters, 'debug')
  const unknown = names.find((name) => !debugNames.includes(name))
  if (unknown === undefined) return new Set(names)
  throw errors.PARAMETER_INVALID({ parameter: 'debug', value: unknown, expected: debugNames.join(', ') })
}

/** The views that lack rows of the data source, once an import into it is done: as the answer to an import in one request tells it. */
function importBehind({ kind, status, subject }: Job, { caller }: JobReader, deps: Pick<Deps, 'behind'>): object {
  if (kind !== 'import' || status !== 'done' || subject === null) return {}
  return behindFields(deps.behind.of(subject.id), caller.permissions)
}

/** The data source that the job works on, as it is now and as far as the caller may see it. */
async function partsOf(
  { status, subject }: Job,
  { caller }: JobReader,
  { recent, ...deps }: Deps & { readonly recent: RecentStatistics },
): Promise<Pick<JobParts, 'dataSource' | 'size'>> {
  const { permissions } = caller
  const found = subject?.kind === 'datasource' ? deps.dataSources.find(subject.id) : undefined
  // Another one may have the id of this one for its name.
  if (found === undefined || found.id !== subject?.id || !permissions.sees('datasource', found.id)) {
    return { dataSource: null, size: null }
  }
  // It changes all the time, and whoever waits for the job asks often; its end is told with what is there then.
  const statisticsOf: StatisticsOf = (id) => (status === 'working' ? recent.of(id) : deps.dataSources.statisticsOf(id))
  const derived = await derivedOrNull(found, { caller, deps, statisticsOf })
  if (derived === null) return { dataSource: null, size: null }
  return { dataSource: singleShape(found, derived), size: sizeShape(derived.statistics) }
}

/** Null while the engine does not answer: whoever waits for a job asks for it again and again, and it goes on meanwhile. */
async function derivedOrNull(
  dataSource: DataSource,
  {
    caller,
    deps,
    statisticsOf,
  }: Pick<JobReader, 'caller'> & { readonly deps: Deps; readonly statisticsOf: StatisticsOf },
): Promise<DerivedFields | null> {
  try {
    return await derivedOf(dataSource, caller.permissions, deps, statisticsOf)
  } catch (err) {
    if (!(err instanceof ApiError) || err.status !== 503) throw err
    deps.logger.debug({ err, dataSource: dataSource.id }, 'A job is told without its data source.')
    return null
  }
}
