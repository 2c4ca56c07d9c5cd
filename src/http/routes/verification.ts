import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { branchesOf } from '../../catalog/node-views.ts'
import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { warningShape } from '../json/pipe-shape.ts'
import { verifyShape } from '../json/verify-shape.ts'
import { warnOfUnknown } from '../json/warnings.ts'
import { isDryRun } from '../request/dry-run.ts'
import { readPipeInput } from '../request/pipe-input.ts'
import { leftSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, nodeInPath, requireAccess } from '../server/authorization.ts'
import { onPath } from '../server/route-need.ts'
import { makerOf } from './judged-target.ts'
import { answerTo } from './population.ts'

type Deps = Pick<HttpDeps, 'behind' | 'dataSources' | 'pipes' | 'repairs' | 'verifies'>

const repairNeed = onPath('pipe:materialize', 'pipe', { also: ['target:fill', 'target:create', 'target:compare'] })
const verifyNeed = onPath('pipe:verify', 'pipe', { also: ['target:compare'] })

/**
 * `GET /v0/pipes/<pipe>/nodes/<node>/verify`: compares what a view has made with its query over the rows of its source.
 * `POST …/repair` makes the partitions anew that differ, as a job.
 */
export function addVerification(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const verify = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const materialized = materializedNode(request, deps)
    requireCompare(request, materialized, deps)
    const report = await deps.verifies.verify(materialized, leftSignal(reply))
    const { sourceId, targetId } = materialized.view
    const nameOf = (id: string): string => deps.dataSources.find(id)?.name ?? id
    const [source, target] = [sourceId, targetId].map((id) => ({ id, name: nameOf(id) }))
    const sources = [...new Set(branchesOf(materialized.view).map((branch) => branch.sourceId))]
    const lacking = sources.filter((id) => deps.behind.into(id).length > 0).map(nameOf)
    return sendJson(reply, 200, { source, datasource: target, ...verifyShape(report, lacking) })
  }
  addPath(app, '/v0/pipes/:pipe/nodes/:node/verify', { GET: verify }, { needs: { GET: verifyNeed } })
  const repair = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { parameters } = await readPipeInput(request, limits)
    const materialized = materializedNode(request, deps)
    const target = deps.dataSources.find(materialized.view.targetId)?.name ?? materialized.view.targetId
    // The scope that is told of first allows the second too.
    requireAccess(request, 'target:create', target)
    requireAccess(request, 'target:fill', target)
    requireCompare(request, materialized, deps)
    const order = { isForced: parameters.flag('force'), isDry: isDryRun(parameters) }
    warnOfUnknown(reply, 'Parameter', parameters.names(), ['force', 'dry_run', 'token'])
    const plan = await deps.repairs.plan(materialized, order)
    const job = await deps.repairs.add(plan, makerOf(request))
    const warnings = plan.warnings.length === 0 ? {} : { warnings: plan.warnings.map(warningShape) }
    return sendJson(reply, 200, { ...answerTo(request, job), ...warnings })
  }
  const path = '/v0/pipes/:pipe/nodes/:node/repair'
  addPath(app, path, { POST: repair }, { needs: { POST: repairNeed }, mayTakeTokenFromBody: true })
}

/** @throws PIPE_NOT_FOUND, NODE_NOT_FOUND (404), VIEW_MISSING (400) */
function materializedNode(request: FastifyRequest, { pipes }: Pick<Deps, 'pipes'>): MaterializedNode {
  const names = nodeInPath(request)
  const pipe = pipes.get(names.pipe)
  const node = pipes.getNode(pipe, names.node)
  const { view, unlinked } = node
  if (view === undefined)
    throw errors.VIEW_MISSING({ pipe: pipe.name, node: node.name, isUnlinked: unlinked !== undefined })
  return { pipe, node, view }
}

/**
 * What is compared tells of all values: those of the target, of its source and of whatever else the view reads.
 * @throws what `Access.refusalOf` gives (403); READ_DENIED (403), which names the node, where the caller may not know what it reads.
 */
function requireCompare(
  request: FastifyRequest,
  { node: { name }, view }: MaterializedNode,
  { dataSources }: Pick<Deps, 'dataSources'>,
): void {
  const { access } = request.server
  const caller = callerOf(request)
  const compared = branchesOf(view).flatMap(({ sourceId, targetId, otherIds }) => [sourceId, targetId, ...otherIds])
  for (const id of compared) {
    if (access.refusalOf(caller, 'target:compare', id) === null) continue
    const found = dataSources.find(id)
    if (found !== undefined && access.knowsOf(caller, 'datasource', found.name))
      requireAccess(request, 'target:compare', found.name)
    const hint =
      'A comparison is for tokens that read all of what the node reads and fills, without a filter: by DATASOURCES:READ of each, or WORKSPACE:READ_ALL'
    throw errors.READ_DENIED({ name, hint })
  }
}
