import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { UnlinkedView } from '../../catalog/pipe.types.ts'
import type { ChangedNode } from '../../pipes/pipes.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { changedShape } from '../json/pipe-shape.ts'
import { timeText } from '../json/time-text.ts'
import { readPipeInput } from '../request/pipe-input.ts'
import { type PopulateOrder, readPopulate } from '../request/target-input.ts'
import { addPath } from '../server/add-path.ts'
import { nodeInPath, readScopeOf } from '../server/authorization.ts'
import { onPath } from '../server/route-need.ts'
import { judgedTarget } from './judged-target.ts'
import { pipeContext } from './pipe-context.ts'
import { pinnedJob } from './population.ts'
import { targetOperations } from './target-operations.ts'
import { warnOfTargetParameters } from './target-parameters.ts'

type Deps = Pick<HttpDeps, 'dataSources' | 'jobs' | 'pipes' | 'populates' | 'tokens'>

const need = onPath('pipe:materialize', 'pipe', { also: targetOperations })

/** `POST /v0/pipes/<pipe>/nodes/<node>/relink`: a view that a populate has unlinked stands again, and the answer says what it missed. */
export function addRelink(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { dataSources, pipes } = deps
  const relink = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { parameters } = await readPipeInput(request, limits)
    warnOfTargetParameters(reply, parameters)
    const populate = readPopulate(parameters, parameters.flag('populate'))
    const names = nodeInPath(request)
    const pipe = pipes.get(names.pipe)
    const { name: node, view, unlinked } = pipes.getNode(pipe, names.node)
    const targetId = view?.targetId ?? unlinked?.view.targetId
    if (targetId === undefined) throw errors.VIEW_MISSING({ pipe: pipe.name, node })
    const found = dataSources.find(targetId)
    if (found === undefined) {
      const hint = 'It is the Data Source that the node filled; materialize the node with another one'
      throw errors.DATASOURCE_NOT_FOUND({ name: targetId, hint })
    }
    const order = { name: found.name, engine: null, isOverridden: false, populate }
    const target = judgedTarget(request, order, deps)
    const changed = await pipes.relink(names.pipe, names.node, { target, author: readScopeOf(request) })
    const shape = changedShape(withMissed(changed, unlinked, populate), pipeContext(request, deps))
    const told = unlinked === undefined ? {} : { unlinked_at: timeText(unlinked.unlinkedAt) }
    return sendJson(reply, 200, { ...shape, ...told, ...pinnedJob(request, changed.report, deps) })
  }
  const path = '/v0/pipes/:pipe/nodes/:node/relink'
  addPath(app, path, { POST: relink }, { needs: { POST: need }, mayTakeTokenFromBody: true })
}

function withMissed(
  changed: ChangedNode,
  unlinked: UnlinkedView | undefined,
  populate: PopulateOrder | null,
): ChangedNode {
  const { report } = changed
  if (report === undefined || unlinked === undefined) return changed
  return { ...changed, report: { ...report, warnings: [missedText(unlinked, populate), ...report.warnings] } }
}

export function missedText({ unlinkedAt }: UnlinkedView, populate: PopulateOrder | null): string {
  const rows = `rows that came while the Materialized View was unlinked, since ${timeText(unlinkedAt)}`
  const isWhole = populate !== null && populate.subset === null && populate.condition === null
  if (isWhole && populate.truncates) return `${rows}, come to its Data Source with the populate that begins now`
  if (isWhole)
    return `${rows}, come with the populate that begins now, and those that were there before are there twice`
  return `${rows}, are not in its Data Source; POST …/population?truncate=true computes it anew of all rows that are there`
}
