import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { branchesOf } from '../../catalog/node-views.ts'
import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { Job } from '../../jobs/jobs.types.ts'
import type { PopulatePlan } from '../../materialize/populate/populate.types.ts'
import { populatedView } from '../../materialize/populate/populated-view.ts'
import type { NodeReport } from '../../pipes/pipes.types.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { jobAnswer } from '../json/job-answer.ts'
import { warningShape } from '../json/pipe-shape.ts'
import { warnOfUnknown } from '../json/warnings.ts'
import { isDryRun } from '../request/dry-run.ts'
import { readPipeInput } from '../request/pipe-input.ts'
import { type PopulateOrder, readPopulate } from '../request/target-input.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, mayReadAll, nodeInPath, readScopeOf, requireAccess } from '../server/authorization.ts'
import { baseUrlOf } from '../server/proxies.ts'
import { onPath } from '../server/route-need.ts'
import { makerOf } from './judged-target.ts'
import { targetOperations } from './target-operations.ts'
import { populateParameters } from './target-parameters.ts'

type Deps = Pick<HttpDeps, 'dataSources' | 'pipes' | 'populates' | 'query'>

const need = onPath('pipe:materialize', 'pipe', { also: targetOperations })
const knownParameters = [...populateParameters, 'dry_run', 'token', 'from', 'cli_version']

/** `POST /v0/pipes/<pipe>/nodes/<node>/population`: fills what a view gives of the rows that are there, as a job. */
export function addPopulation(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { dataSources, pipes, populates } = deps
  const populate = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { parameters } = await readPipeInput(request, limits)
    const order = readPopulate(parameters, true)
    const names = nodeInPath(request)
    const pipe = pipes.get(names.pipe)
    const node = pipes.getNode(pipe, names.node)
    const { view, unlinked } = node
    if (view === undefined || order === null)
      throw errors.VIEW_MISSING({ pipe: pipe.name, node: node.name, isUnlinked: unlinked !== undefined })
    const target = dataSources.find(view.targetId)?.name ?? view.targetId
    // The scope that is told of first allows the second too.
    if (order.truncates) requireAccess(request, 'target:create', target)
    requireAccess(request, 'target:fill', target)
    const isDry = isDryRun(parameters)
    warnOfUnknown(reply, 'Parameter', parameters.names(), knownParameters)
    const materialized = { pipe, node, view }
    if (isDry) requireAllRows(request, materialized)
    const { plan, told } = await planned(request, materialized, { order, deps })
    const warnings = told.length === 0 ? {} : { warnings: told.map(warningShape) }
    const { rowCount, byteCount, partitionCount } = plan.reads
    if (isDry) {
      return sendJson(reply, 200, { rows: rowCount, bytes: byteCount, partitions: partitionCount, ...warnings })
    }
    const job = await populates.add(plan, { ...makerOf(request), isPinned: false })
    return sendJson(reply, 200, { ...answerTo(request, job), ...warnings })
  }
  const path = '/v0/pipes/:pipe/nodes/:node/population'
  addPath(app, path, { POST: populate }, { needs: { POST: need }, mayTakeTokenFromBody: true })
}

type StandingNode = MaterializedNode & { readonly order: PopulateOrder }

interface Asked {
  readonly order: PopulateOrder
  readonly deps: Pick<Deps, 'populates' | 'query'>
}

/** A populate for which the caller has the rights, and of its warnings those that he may know. */
async function planned(request: FastifyRequest, materialized: MaterializedNode, { order, deps }: Asked) {
  // Which rows a condition chooses, how many, and that it fails, tell of their values.
  if (order.condition !== null) requireAllRows(request, materialized)
  await requireReads(request, materialized, deps)
  const plan = await deps.populates.plan(populatedView(materialized), order)
  return { plan, told: mayReadAll(request, materialized.view.targetId) ? plan.warnings : [] }
}

/** Refuses populates that could not begin, before all else of a request is done. @throws what `Populates.plan` does, READ_DENIED (403) */
export async function checkPopulates(
  request: FastifyRequest,
  nodes: readonly StandingNode[],
  deps: Asked['deps'],
): Promise<void> {
  for (const { order, ...materialized } of nodes) await planned(request, materialized, { order, deps })
}

/** Begins what was asked for of nodes that were filling already: the jobs, and clauses about what could not begin and what to mind. */
export async function populateStanding(
  request: FastifyRequest,
  nodes: readonly StandingNode[],
  deps: Asked['deps'],
): Promise<{ readonly jobs: readonly Job[]; readonly warnings: readonly string[] }> {
  const begun: { readonly node: string; readonly plan: PopulatePlan; readonly job: Job }[] = []
  const warnings: string[] = []
  for (const { order, ...materialized } of nodes) {
    const node = materialized.node.name
    try {
      const { plan, told } = await planned(request, materialized, { order, deps })
      begun.push({ node, plan, job: await deps.populates.add(plan, { ...makerOf(request), isPinned: false }) })
      warnings.push(...told)
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown
      // What was written stays so.
      warnings.push(`node '${node}' is not populated: ${thrown.message}`)
    }
  }
  const cascades = begun.flatMap((one) => {
    const behind = begun.filter(({ plan }) => plan !== one.plan && one.plan.filled.includes(plan.target.id))
    return behind.map(({ node }) => {
      return `node '${node}' is made of what node '${one.node}' fills: each populate brings it rows, so populate '${one.node}' alone`
    })
  })
  return { jobs: begun.map(({ job }) => job), warnings: [...warnings, ...cascades] }
}

/** @throws READ_DENIED (403), which names the node: what it reads may be hidden. */
function requireAllRows(request: FastifyRequest, { node: { name }, view }: MaterializedNode): void {
  if (branchesOf(view).every(({ sourceId }) => mayReadAll(request, sourceId))) return
  const hint = 'A condition and a dry run are for tokens that read all of what the node sees, without a filter'
  throw errors.READ_DENIED({ name, hint })
}

/**
 * Whoever reads the data source that is filled reads the rows of which it is filled: they come for those alone who may make such a node.
 * @throws READ_DENIED (403), and what makes a node a broken one.
 */
async function requireReads(
  request: FastifyRequest,
  { pipe, node, view }: MaterializedNode,
  { query }: Pick<Deps, 'query'>,
): Promise<void> {
  const read = branchesOf(view).flatMap(({ sourceId, otherIds }) => [sourceId, ...otherIds])
  if (read.every((id) => mayReadAll(request, id))) return
  // It may read pipes in their place.
  await query.checkNode(pipe, node, pipe.nodes.indexOf(node), readScopeOf(request))
}

/** The job that fills what was pinned when the view of a node was made; nothing where there is none. */
export function pinnedJob(
  request: FastifyRequest,
  report: NodeReport | undefined,
  { jobs }: Pick<HttpDeps, 'jobs'>,
): object {
  const job = report?.jobId === undefined ? undefined : jobs.find(report.jobId)
  return job === undefined ? {} : { job: answerTo(request, job) }
}

/** The jobs that fill what was pinned when the views of a pipe were made. */
export function pinnedJobs(reports: readonly NodeReport[], { jobs }: Pick<HttpDeps, 'jobs'>): readonly Job[] {
  return reports.flatMap(({ jobId }) => (jobId === undefined ? [] : (jobs.find(jobId) ?? [])))
}

/** The jobs of a pipe, as its answer has them; nothing where there are none. */
export function jobFields(request: FastifyRequest, jobs: readonly Job[]): object {
  const [first] = jobs
  if (first === undefined) return {}
  const answers = jobs.map((job) => answerTo(request, job))
  // The official client reads the first one, and what it fills.
  const { id = '', name = '' } = first.subject ?? {}
  return { datasource: { id, name }, job: answers[0], jobs: answers }
}

export function answerTo(request: FastifyRequest, job: Job): object {
  return jobAnswer(job, { caller: callerOf(request), baseUrl: baseUrlOf(request) })
}
