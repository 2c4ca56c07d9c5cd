import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pipe } from '../../catalog/pipe.types.ts'
import { formatPipe } from '../../catalog/pipe-text.ts'
import { endpointFormats } from '../../query/answer-formats.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { changedShape, pipeItem, pipeShape } from '../json/pipe-shape.ts'
import { Parameters } from '../request/parameters.ts'
import { type PipeInput, readNewName, readNodeEdit, readNodeOrder, readPipeInput } from '../request/pipe-input.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, inPath, readScopeOf, requireAccess } from '../server/authorization.ts'
import { onPath } from '../server/route-need.ts'
import { judgedTarget } from './judged-target.ts'
import { pipeContext } from './pipe-context.ts'
import { readChoice } from './pipes.ts'
import { pinnedJob } from './population.ts'
import { sharedToken } from './shared-token.ts'
import { targetOperations } from './target-operations.ts'
import { warnOfTargetParameters } from './target-parameters.ts'
import { viewRightsOf } from './view-rights.ts'

type Deps = Pick<HttpDeps, 'access' | 'dataSources' | 'jobs' | 'pipes' | 'populates' | 'tokens'>

const change = onPath('pipe:change', 'pipe')
const publication = onPath('pipe:publish', 'pipe')
const read = onPath('pipe:read', 'pipe')
const datafileSuffix = '.pipe'

/** `/v0/pipes/<name>` and what changes one pipe: show, rename, drop, publish; and its nodes. */
export function addPipe(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const readInput = (request: FastifyRequest): Promise<PipeInput> => readPipeInput(request, limits)
  const context: RouteContext = { app, deps, pipes: deps.pipes, readInput }
  addOwnPath(context)
  addUnknownFormats(context)
  addEndpointPaths(context)
  addNodePaths(context)
}

interface RouteContext {
  readonly app: FastifyInstance
  readonly deps: Deps
  readonly pipes: HttpDeps['pipes']
  /** What the request brings. */
  readonly readInput: (request: FastifyRequest) => Promise<PipeInput>
}

function addOwnPath({ app, deps, pipes, readInput }: RouteContext): void {
  addPath(
    app,
    '/v0/pipes/:pipe',
    {
      GET: async (request, reply) => show(request, reply, deps),
      PUT: async (request, reply) => {
        const { parameters } = await readInput(request)
        const isForced = parameters.flag('force')
        const name = readNewName(parameters)
        if (name !== undefined && name !== pipes.find(pipeOf(request))?.name)
          requireAccess(request, 'pipe:create', name)
        const revision = { name, description: parameters.get('description'), isForced }
        const pipe = await pipes.revise(pipeOf(request), revision, readScopeOf(request))
        return sendPipe(request, reply, { deps, pipe })
      },
      DELETE: async (request, reply) => {
        const { parameters } = await readInput(request)
        await pipes.drop(pipeOf(request), { isForced: parameters.flag('force') })
        return reply.code(204).send()
      },
    },
    {
      needs: {
        GET: onPath('pipe:describe', 'pipe', { suffix: datafileSuffix }),
        PUT: onPath('pipe:change', 'pipe', { also: ['pipe:create'] }),
        DELETE: onPath('pipe:drop', 'pipe'),
      },
      mayTakeTokenFromBody: true,
    },
  )
}

/** What asks for data in a format that is not there, in the ways in which data are asked for. */
function addUnknownFormats({ app, pipes }: RouteContext): void {
  const refuse = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    checkFormat(pipeOf(request), pipes)
    reply.header('allow', 'GET, PUT, DELETE, OPTIONS')
    throw errors.METHOD_NOT_ALLOWED({ method: request.method, allowed: ['GET', 'PUT', 'DELETE'] })
  }
  app.route({ method: 'POST', url: '/v0/pipes/:pipe(^.+[.][^.]+$)', handler: refuse, config: { needs: read } })
  const refuseOlder = (request: FastifyRequest): never => {
    const format = inPath(request, 'format')
    checkFormat(`${pipeOf(request)}.${format}`, pipes)
    throw errors.PIPE_NOT_FOUND({ name: pipeOf(request) })
  }
  addPath(
    app,
    '/v0/pipe/:pipe/data.:format',
    { GET: refuseOlder, POST: refuseOlder },
    {
      needs: { GET: read, POST: read },
      mayTakeTokenFromBody: true,
    },
  )
}

function addEndpointPaths({ app, deps, pipes, readInput }: RouteContext): void {
  const publish = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const input = await readInput(request)
    const node = nodeOf(request) ?? readNodeName(input)
    const pipe = await pipes.publish(pipeOf(request), node, readScopeOf(request))
    const token = await sharedToken(pipe, deps, callerOf(request).permissions)
    return sendPipe(request, reply, { deps, pipe, token })
  }
  const unpublish = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    await readInput(request)
    const pipe = await pipes.unpublish(pipeOf(request), nodeOf(request) ?? null, readScopeOf(request))
    return sendPipe(request, reply, { deps, pipe })
  }
  const forms = { POST: publish, PUT: publish, DELETE: unpublish }
  const config = {
    needs: { POST: publication, PUT: publication, DELETE: publication },
    mayTakeTokenFromBody: true,
  }
  addPath(app, '/v0/pipes/:pipe/nodes/:node/endpoint', { POST: publish, DELETE: unpublish }, config)
  addPath(app, '/v0/pipes/:pipe/endpoint', forms, config)
  addPath(app, '/v0/pipes/:pipe/published', { POST: publish, PUT: publish }, config)
}

function addNodePaths({ app, deps, pipes, readInput }: RouteContext): void {
  const sendNode = (
    request: FastifyRequest,
    reply: FastifyReply,
    changed: Awaited<ReturnType<typeof pipes.appendNode>>,
  ) => sendJson(reply, 200, changedShape(changed, pipeContext(request, deps)))
  const append = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const input = await readInput(request)
    const order = readNodeOrder(input)
    warnOfTargetParameters(reply, input.parameters)
    const target = order.target === undefined ? undefined : judgedTarget(request, order.target, deps)
    const node = { ...order, target }
    const changed = await pipes.appendNode(pipeOf(request), node, readScopeOf(request))
    const shape = changedShape(changed, pipeContext(request, deps))
    return sendJson(reply, 200, { ...shape, ...pinnedJob(request, changed.report, deps) })
  }
  const needs = { POST: onPath('pipe:change', 'pipe', { also: targetOperations }) }
  const toAppend = { needs, mayTakeTokenFromBody: true }
  addPath(app, '/v0/pipes/:pipe/append', { POST: append }, toAppend)
  addPath(app, '/v0/pipes/:pipe/nodes', { POST: append }, toAppend)
  addPath(
    app,
    '/v0/pipes/:pipe/nodes/:node',
    {
      GET: async (request, reply) => {
        const pipe = pipes.get(pipeOf(request))
        return sendNode(request, reply, { pipe, node: pipes.getNode(pipe, nodeOf(request) ?? '') })
      },
      PUT: async (request, reply) => {
        const edit = { ...readNodeEdit(await readInput(request)), rights: viewRightsOf(request) }
        const author = readScopeOf(request)
        return sendNode(request, reply, await pipes.editNode(pipeOf(request), nodeOf(request) ?? '', edit, author))
      },
      DELETE: async (request, reply) => {
        const { parameters } = await readInput(request)
        const removal = { author: readScopeOf(request), isForced: parameters.flag('force') }
        await pipes.removeNode(pipeOf(request), nodeOf(request) ?? '', removal)
        return reply.code(204).send()
      },
    },
    {
      needs: { GET: onPath('pipe:describe', 'pipe'), PUT: change, DELETE: onPath('node:drop', 'pipe') },
      mayTakeTokenFromBody: true,
    },
  )
}

function show(request: FastifyRequest, reply: FastifyReply, deps: Deps): FastifyReply {
  const { pipes } = deps
  const name = pipeOf(request)
  if (name.endsWith(datafileSuffix)) {
    const text = formatPipe(pipes.get(name.slice(0, -datafileSuffix.length)), pipeContext(request, deps).targetName)
    return reply.code(200).header('content-type', 'text/plain; charset=utf-8').send(text)
  }
  checkFormat(name, pipes)
  const pipe = pipes.get(name)
  const choice = readChoice(new Parameters(request.query))
  if (choice.attributes.length === 0) return sendPipe(request, reply, { deps, pipe })
  return sendJson(reply, 200, pipeItem(pipe, choice, pipeContext(request, deps)))
}

/** `p1.xml` is no pipe but the data of one, in a format that is not there. @throws FORMAT_UNSUPPORTED (400) */
function checkFormat(name: string, pipes: HttpDeps['pipes']): void {
  const dot = name.lastIndexOf('.')
  if (dot < 0 || pipes.find(name) !== undefined || pipes.find(name.slice(0, dot)) === undefined) return
  throw errors.FORMAT_UNSUPPORTED({ format: name.slice(dot + 1), supported: endpointFormats })
}

interface ShownPipe {
  readonly deps: Deps
  /** To share the endpoint with; null for none. */
  readonly token?: string | null
  readonly pipe: Pipe
}

function sendPipe(request: FastifyRequest, reply: FastifyReply, { deps, pipe, token = null }: ShownPipe): FastifyReply {
  const shape = pipeShape(pipe, pipeContext(request, deps))
  return sendJson(reply, 200, token === null ? shape : { ...shape, token })
}

function pipeOf(request: FastifyRequest): string {
  return inPath(request, 'pipe')
}

/** The node in the path; undefined where the path has none. */
function nodeOf(request: FastifyRequest): string | undefined {
  return inPath(request, 'node') || undefined
}

/** The node whose id or name is the body, or stands in it. @throws REQUEST_INVALID (400) when there is none. */
function readNodeName({ parameters, text }: PipeInput): string {
  const node = text.trim() || (parameters.text('node_id') ?? parameters.text('node') ?? parameters.text('id'))
  if (node === undefined) throw errors.REQUEST_INVALID({ reason: 'the body must be the id of the node to publish' })
  return node
}
