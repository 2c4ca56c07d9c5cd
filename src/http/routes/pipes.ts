import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { NodeReport } from '../../pipes/pipes.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import { giveWay } from '../../shared/time-slices.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { jsonContentType, sendJson } from '../json/answers.ts'
import { nodeFieldNames, pipeFields, pipeItem, pipeShape, type ShapeChoice, warningShape } from '../json/pipe-shape.ts'
import { seenOf } from '../json/seen-fields.ts'
import { warnOfUnknown, warnOfVersion } from '../json/warnings.ts'
import { Parameters } from '../request/parameters.ts'
import { readNodes, readPipeInput } from '../request/pipe-input.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, readScopeOf, requireAccess } from '../server/authorization.ts'
import { inBody, onWorkspace } from '../server/route-need.ts'
import { judgedTarget } from './judged-target.ts'
import { pipeContext } from './pipe-context.ts'
import { pinnedJobs } from './population.ts'
import { targetOperations } from './target-operations.ts'

type Deps = Pick<HttpDeps, 'dataSources' | 'jobs' | 'pipes' | 'populates' | 'tokens'>

/** `/v0/pipes`: list and create. */
export function addPipes(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { pipes } = deps
  const list = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const choice = readChoice(new Parameters(request.query))
    warnOfUnknown(reply, 'Attribute', choice.attributes, pipeFields)
    warnOfUnknown(reply, 'Node attribute', choice.nodeAttributes, nodeFieldNames)
    const context = pipeContext(request, deps)
    const texts: string[] = []
    for (const pipe of seenOf(callerOf(request).permissions, 'pipe', pipes.list())) {
      texts.push(JSON.stringify(pipeItem(pipe, choice, context)))
      await giveWay()
    }
    return reply
      .code(200)
      .header('content-type', jsonContentType)
      .send(`{"pipes":[${texts.join(',')}]}`)
  }
  const create = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const input = await readPipeInput(request, limits)
    const { parameters } = input
    const name = parameters.requiredName()
    const nodes = readNodes(input)
    // Clients name themselves by `from` in every request, so it speaks of a pipe only where there is nothing else.
    const from = parameters.text('from')
    const description = parameters.get('description')
    if (nodes === undefined && from === undefined) throw errors.NODES_MISSING()
    requireAccess(request, 'pipe:create', name)
    if (nodes === undefined && from !== undefined) {
      requireAccess(request, 'pipe:describe', from)
      // A copy puts its nodes into a pipe that there is.
      requireAccess(request, 'pipe:change', name)
    }
    const author = readScopeOf(request)
    const requests = nodes?.map((node) => {
      return { ...node, target: node.target === undefined ? undefined : judgedTarget(request, node.target, deps) }
    })
    const linked: NodeReport[] = []
    const before = pipes.find(name)
    const pipe =
      nodes === undefined && from !== undefined
        ? await pipes.copy({ name, from, description }, author)
        : await pipes.create({ name, description: description ?? '', nodes: requests ?? [] }, author, (reports) => {
            linked.push(...reports)
          })
    warnOfVersion(reply, name, before)
    const populated = pinnedJobs(request, linked, deps)
    const warnings = linked.flatMap((report) => report.warnings)
    const shape = { ...pipeShape(pipe, pipeContext(request, deps)), ...populated }
    return sendJson(reply, 200, warnings.length === 0 ? shape : { ...shape, warnings: warnings.map(warningShape) })
  }
  addPath(
    app,
    '/v0/pipes',
    { GET: list, POST: create },
    {
      needs: {
        GET: onWorkspace('pipe:list'),
        POST: inBody('pipe:create', 'pipe:change', 'pipe:describe', ...targetOperations),
      },
      mayTakeTokenFromBody: true,
    },
  )
}

/** @throws PARAMETER_INVALID (400) */
export function readChoice(parameters: Parameters): ShapeChoice {
  return {
    attributes: namesIn(parameters.text('attrs')),
    nodeAttributes: namesIn(parameters.text('node_attrs')),
    hasDependencies: parameters.flag('dependencies'),
  }
}

function namesIn(list: string | undefined): readonly string[] {
  return (list ?? '').split(',').flatMap((name) => name.trim() || [])
}
