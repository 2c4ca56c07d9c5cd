import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { branchesOf } from '../../catalog/node-views.ts'
import type { Pipe } from '../../catalog/pipe.types.ts'
import type { LinkedPipe, RequireChange } from '../../pipes/pipes.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import { giveWay } from '../../shared/time-slices.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { jsonContentType, sendJson } from '../json/answers.ts'
import { nodeFieldNames, pipeFields, pipeItem, pipeShape, type ShapeChoice, warningShape } from '../json/pipe-shape.ts'
import { seenOf } from '../json/seen-fields.ts'
import { warnOfUnknown, warnOfVersion } from '../json/warnings.ts'
import { Parameters } from '../request/parameters.ts'
import { type NodeOrder, type PipeInput, readNodes, readPipeInput } from '../request/pipe-input.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, readScopeOf, requireAccess, requireFound } from '../server/authorization.ts'
import { inBody, onWorkspace } from '../server/route-need.ts'
import { judgedTarget } from './judged-target.ts'
import { pipeContext } from './pipe-context.ts'
import { checkPopulates, jobFields, pinnedJobs, populateStanding } from './population.ts'
import { missedText } from './relink.ts'
import { targetOperations } from './target-operations.ts'
import { viewRightsOf } from './view-rights.ts'

type Deps = Pick<HttpDeps, 'dataSources' | 'jobs' | 'pipes' | 'populates' | 'query' | 'tokens'>

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
    const name = input.parameters.requiredName()
    const before = pipes.find(name)
    const orders = readNodes(input)
    const { pipe, reports } =
      orders === undefined ? await copied(request, input, deps) : await made(request, { input, orders }, deps)
    warnOfVersion(reply, name, before)
    const standing = await populateStanding(request, standingOf(pipe, { orders, reports }), deps)
    const jobs = [...pinnedJobs(reports, deps), ...standing.jobs]
    const warnings = [...reports.flatMap((report) => report.warnings), ...standing.warnings]
    if (before?.id === pipe.id) warnings.push(...replacedWarnings(before, { pipe, orders: orders ?? [] }))
    const shape = { ...pipeShape(pipe, pipeContext(request, deps)), ...jobFields(request, jobs) }
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

/** What was otherwise before a pipe got other nodes, and is easily overlooked. */
function replacedWarnings(
  before: Pipe,
  { pipe, orders }: { readonly pipe: Pipe; readonly orders: readonly NodeOrder[] },
) {
  const linkedAgain = before.nodes.flatMap(({ id, unlinked }) => {
    const position = pipe.nodes.findIndex((node) => node.id === id && node.view !== undefined)
    if (unlinked === undefined || position < 0) return []
    return [missedText(unlinked, orders[position]?.target?.populate ?? null)]
  })
  const filling = new Set(pipe.nodes.flatMap(({ id, view }) => (view === undefined ? [] : [`${id} ${view.targetId}`])))
  const givenUp = before.nodes.flatMap(({ id, name, view }) => {
    const isGone = view !== undefined && !filling.has(`${id} ${view.targetId}`)
    const isKept = view !== undefined && branchesOf(view).some(({ behind }) => (behind?.place ?? null) !== null)
    return isGone && isKept
      ? [`what was kept for node '${name}' while its Materialized View was parked is given up`]
      : []
  })
  const isUnpublished = before.endpointId !== null && pipe.endpointId === null
  return [...linkedAgain, ...givenUp, ...(isUnpublished ? [unpublished] : [])]
}

const unpublished = 'no node has the name of the one that was published, so the Pipe is no endpoint any more'

async function copied(request: FastifyRequest, { parameters }: PipeInput, { pipes }: Deps): Promise<LinkedPipe> {
  const name = parameters.requiredName()
  // Clients name themselves by `from` in every request, so it speaks of a pipe only where there is nothing else.
  const from = parameters.text('from')
  if (from === undefined) throw errors.NODES_MISSING()
  requireAccess(request, 'pipe:create', name)
  requireAccess(request, 'pipe:describe', from)
  // A copy puts its nodes into a pipe that there is.
  requireAccess(request, 'pipe:change', name)
  const description = parameters.get('description')
  const requireChange = requireChangeBy(request)
  return { pipe: await pipes.copy({ name, from, description, requireChange }, readScopeOf(request)), reports: [] }
}

interface Made {
  readonly input: PipeInput
  readonly orders: readonly NodeOrder[]
}

async function made(request: FastifyRequest, { input, orders }: Made, deps: Deps): Promise<LinkedPipe> {
  const { parameters } = input
  const name = parameters.requiredName()
  requireAccess(request, 'pipe:create', name)
  const isForced = parameters.flag('force')
  if (isForced) requireAccess(request, 'pipe:change', name)
  const nodes = orders.map((node) => {
    return { ...node, target: node.target === undefined ? undefined : judgedTarget(request, node.target, deps) }
  })
  const pipe = { name, description: parameters.get('description') ?? '', nodes }
  const author = readScopeOf(request)
  if (!isForced) return await deps.pipes.create(pipe, author)
  const before = deps.pipes.find(name)
  if (before?.name === name) await checkPopulates(request, keptOf(before, { orders, deps }), deps)
  const replacement = { ...pipe, requireChange: requireChangeBy(request), rights: viewRightsOf(request) }
  return await deps.pipes.replace(replacement, author)
}

function requireChangeBy(request: FastifyRequest): RequireChange {
  return (id) => requireFound(request, 'pipe:change', id)
}

/** The nodes that fill already what they are to fill, and are to be populated. */
function keptOf(before: Pipe, { orders, deps }: { readonly orders: readonly NodeOrder[]; readonly deps: Deps }) {
  return orders.flatMap(({ name, target }) => {
    const node = before.nodes.find((one) => one.name === name)
    const order = target?.populate ?? null
    if (order === null || node?.view === undefined) return []
    const isSame = deps.dataSources.find(target?.name ?? '')?.id === node.view.targetId
    return isSame ? [{ pipe: before, node, view: node.view, order }] : []
  })
}

interface Answered {
  readonly orders: readonly NodeOrder[] | undefined
  readonly reports: LinkedPipe['reports']
}

/** The nodes that are to be populated, and had their views before. */
function standingOf(pipe: Pipe, { orders = [], reports }: Answered) {
  const pinned = new Set<string>(reports.flatMap(({ jobId, view }) => (jobId === undefined ? [] : [view.id])))
  return orders.flatMap(({ target }, position) => {
    const node = pipe.nodes[position]
    const order = target?.populate ?? null
    if (node?.view === undefined || order === null || pinned.has(node.view.id)) return []
    return [{ pipe, node, view: node.view, order }]
  })
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
