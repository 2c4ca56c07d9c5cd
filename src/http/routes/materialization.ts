import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatPipe } from '../../catalog/pipe-text.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { analysisShape } from '../json/analysis-shape.ts'
import { sendJson } from '../json/answers.ts'
import { changedShape } from '../json/pipe-shape.ts'
import { Parameters } from '../request/parameters.ts'
import { readPipeInput } from '../request/pipe-input.ts'
import { readTarget } from '../request/target-input.ts'
import { addPath } from '../server/add-path.ts'
import { nodeInPath, readScopeOf, requireAccess } from '../server/authorization.ts'
import { onPath } from '../server/route-need.ts'
import { addCatchUp } from './catch-up.ts'
import { judgedTarget } from './judged-target.ts'
import { pipeContext } from './pipe-context.ts'
import { addPopulation, pinnedJob } from './population.ts'
import { addRelink } from './relink.ts'
import { targetOperations } from './target-operations.ts'
import { warnOfTargetParameters } from './target-parameters.ts'
import { addVerification } from './verification.ts'

type Deps = Pick<
  HttpDeps,
  'behind' | 'dataSources' | 'jobs' | 'pipes' | 'populates' | 'query' | 'repairs' | 'tokens' | 'verifies'
>

const materialize = onPath('pipe:materialize', 'pipe', { also: targetOperations })
const analysis = onPath('pipe:materialize', 'pipe', { also: [...targetOperations, 'target:compare'] })

/** `/v0/pipes/<pipe>/nodes/<node>/materialization`, and what is known of one before and done with one after. */
export function addMaterialization(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { pipes } = deps
  const link = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { parameters } = await readPipeInput(request, limits)
    warnOfTargetParameters(reply, parameters)
    const target = judgedTarget(request, readTarget(parameters), deps)
    const { pipe, node } = nodeInPath(request)
    const changed = await pipes.materialize(pipe, node, { target, author: readScopeOf(request) })
    const shape = changedShape(changed, pipeContext(request, deps))
    return sendJson(reply, 200, { ...shape, ...pinnedJob(request, changed.report, deps) })
  }
  const unlink = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    await readPipeInput(request, limits)
    const { pipe, node } = nodeInPath(request)
    return sendJson(reply, 200, changedShape(await pipes.dematerialize(pipe, node), pipeContext(request, deps)))
  }
  const config = { needs: { POST: materialize, DELETE: materialize }, mayTakeTokenFromBody: true }
  addPath(app, '/v0/pipes/:pipe/nodes/:node/materialization', { POST: link, DELETE: unlink }, config)
  const analyse = (request: FastifyRequest, reply: FastifyReply, parameters: Parameters): Promise<FastifyReply> =>
    sendAnalysis(request, reply, { deps, parameters })
  addPath(
    app,
    '/v0/pipes/:pipe/nodes/:node/analysis',
    {
      GET: async (request, reply) => await analyse(request, reply, new Parameters(request.query)),
      POST: async (request, reply) => await analyse(request, reply, (await readPipeInput(request, limits)).parameters),
    },
    { needs: { GET: analysis, POST: analysis }, mayTakeTokenFromBody: true },
  )
  addPopulation(app, deps, limits)
  addRelink(app, deps, limits)
  addVerification(app, deps, limits)
  addCatchUp(app, deps, limits)
}

interface AnalysisRequest {
  readonly deps: Deps
  readonly parameters: Parameters
}

async function sendAnalysis(request: FastifyRequest, reply: FastifyReply, { deps, parameters }: AnalysisRequest) {
  const { pipe: pipeName, node: nodeName } = nodeInPath(request)
  // Who only asks may leave it to us.
  if (parameters.text('datasource') === undefined) parameters.set('datasource', `${deps.pipes.get(pipeName).name}_mv`)
  // What is asked about a populate is not done here.
  const order = readTarget(parameters.without(/^populate/))
  const target = judgedTarget(request, order, deps)
  // The answer has its definition.
  if (target.knownId !== null) requireAccess(request, 'target:compare', target.name)
  const analysed = await deps.pipes.analyse(pipeName, nodeName, { target, author: readScopeOf(request) })
  const { targetName } = pipeContext(request, deps)
  const datafile = formatPipe(analysed.pipe, targetName)
  return sendJson(reply, 200, analysisShape(analysed, { name: order.name, targetName, datafile }))
}
