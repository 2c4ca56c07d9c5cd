import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DataSource, DataSourceId } from '../../catalog/data-source.types.ts'
import { userNames } from '../../catalog/user-names.ts'
import type { AlterRequest, Revision } from '../../datasources/datasources.types.ts'
import { formatDatafile } from '../../schema/definitions/datafile-text.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { listFields, listItem, singleShape, wantedNames } from '../json/datasource-shape.ts'
import { seenOf } from '../json/seen-fields.ts'
import { warn, warnOfUnknown } from '../json/warnings.ts'
import { readChangeParameters } from '../request/change-parameters.ts'
import { isDryRun } from '../request/dry-run.ts'
import { readVersion } from '../request/import-order.ts'
import { Parameters } from '../request/parameters.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, inPath, mayReadAll, requireAccess } from '../server/authorization.ts'
import { onPath } from '../server/route-need.ts'
import { addRowDelete } from './row-delete.ts'
import { derivedOf, type SingleDeps } from './single-datasource.ts'

type Deps = SingleDeps & Pick<HttpDeps, 'jobs'>

const datafileSuffix = '.datasource'

/** `/v0/datasources/<name>` and what changes one data source: show, rename, alter, truncate, delete rows and drop. */
export function addDataSource(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { dataSources } = deps
  const readParameters = (request: FastifyRequest): Promise<Parameters> => readChangeParameters(request, limits)
  addPath(
    app,
    '/v0/datasources/:name',
    {
      GET: async (request, reply) => await show(request, reply, deps),
      PUT: async (request, reply) => {
        const revision = readRevision(await readParameters(request))
        const { name } = revision
        const isOther = name !== undefined && name !== dataSources.find(inPath(request, 'name'))?.name
        if (isOther) requireAccess(request, 'datasource:create', name)
        const mayPassOn = mayReadAll(request, inPath(request, 'name'))
        const revised = await dataSources.revise(inPath(request, 'name'), { ...revision, mayPassOn })
        return await sendSingle(request, reply, { deps, dataSource: revised })
      },
      DELETE: async (request, reply) => {
        const parameters = await readParameters(request)
        const isForced = parameters.flag('force')
        if (isDryRun(parameters)) return await showDrop(request, reply, { deps, isForced })
        // Without force there are none.
        const users = isForced ? usersOf(request, dataSources.getForDrop(inPath(request, 'name')).id, deps) : noUsers
        const { views, pipes } = await users
        await dataSources.drop(inPath(request, 'name'), { isForced })
        if (views.length > 0) warn(reply, [`Materialized Views that went with it: ${views.join(', ')}`])
        if (pipes.length > 0) warn(reply, [`Pipes that still read it: ${pipes.join(', ')}`])
        return reply.code(204).send()
      },
    },
    {
      needs: {
        GET: onPath('datasource:describe', 'name', { suffix: datafileSuffix }),
        PUT: onPath('datasource:change', 'name', { also: ['datasource:create'] }),
        DELETE: onPath('datasource:drop', 'name'),
      },
      mayTakeTokenFromBody: true,
    },
  )
  const alter = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const order = readAlterRequest(await readParameters(request), inPath(request, 'name'))
    const { id } = dataSources.get(inPath(request, 'name'))
    const { views } = await usersOf(request, id, deps)
    const pipes = seenOf(callerOf(request).permissions, 'pipe', dataSources.usedBy(id))
    const { operations } = await dataSources.alter(inPath(request, 'name'), order)
    return sendJson(reply, 200, { operations, dependencies: [...views, ...pipes.map(({ name }) => name)] })
  }
  addPath(
    app,
    '/v0/datasources/:name/alter',
    { POST: alter },
    {
      needs: { POST: onPath('datasource:change', 'name') },
      mayTakeTokenFromBody: true,
    },
  )
  const truncate = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    await readParameters(request)
    await dataSources.truncate(inPath(request, 'name'))
    return reply.code(205).send()
  }
  addPath(
    app,
    '/v0/datasources/:name/truncate',
    { POST: truncate },
    {
      needs: { POST: onPath('datasource:truncate', 'name') },
      mayTakeTokenFromBody: true,
    },
  )
  addRowDelete(app, deps, limits)
}

async function show(request: FastifyRequest, reply: FastifyReply, deps: Deps): Promise<FastifyReply> {
  const { dataSources } = deps
  const name = inPath(request, 'name')
  if (name.endsWith(datafileSuffix)) {
    const text = formatDatafile(dataSources.get(name.slice(0, -datafileSuffix.length)))
    return reply.code(200).header('content-type', 'text/plain; charset=utf-8').send(text)
  }
  const attrs = new Parameters(request.query).text('attrs')
  warnOfUnknown(reply, 'Attribute', wantedNames(attrs) ?? [], listFields)
  return await sendSingle(request, reply, { deps, dataSource: dataSources.get(name), attrs })
}

interface Shown {
  readonly deps: Deps
  readonly dataSource: DataSource
  readonly attrs?: string | undefined
}

async function sendSingle(
  request: FastifyRequest,
  reply: FastifyReply,
  { deps, dataSource, attrs }: Shown,
): Promise<FastifyReply> {
  const derived = await derivedOf(dataSource, callerOf(request).permissions, deps)
  const shape = attrs === undefined ? singleShape(dataSource, derived) : listItem(dataSource, derived, attrs)
  return sendJson(reply, 200, shape)
}

interface DropContext {
  readonly deps: Deps
  readonly isForced: boolean
}

/** What a drop would take along, or the refusal that it would meet. */
async function showDrop(request: FastifyRequest, reply: FastifyReply, { deps, isForced }: DropContext) {
  const { dataSources } = deps
  const { id, name } = dataSources.getForDrop(inPath(request, 'name'))
  const users = [
    ...(await dataSources.dependents(id)),
    ...userNames(dataSources.usedBy(id), dataSources.possiblyUsedBy(id)),
  ]
  if (users.length > 0 && !isForced) throw errors.DATASOURCE_USED({ name, users, advice: 'use force=true to drop it' })
  const { views, pipes } = await usersOf(request, id, deps)
  return sendJson(reply, 200, { id, name, dependencies: [...views, ...pipes] })
}

const noUsers = { views: [], pipes: [] } as const

/** Who uses a data source, as far as the caller may know of them. */
async function usersOf(request: FastifyRequest, id: DataSourceId, { dataSources }: Deps) {
  const { permissions } = callerOf(request)
  return {
    views: permissions.readScope.seesAll ? await dataSources.dependents(id) : [],
    pipes: userNames(
      seenOf(permissions, 'pipe', dataSources.usedBy(id)),
      seenOf(permissions, 'pipe', dataSources.possiblyUsedBy(id)),
    ),
  }
}

function readRevision(parameters: Parameters): Revision {
  // A name that is sent empty is a mistake, not the wish to keep it.
  const name = parameters.get('name') === undefined ? undefined : parameters.requiredName()
  const version = readVersion(parameters)
  return { name, description: parameters.get('description'), version, isForced: parameters.flag('force') }
}

/** @throws ALTER_REFUSED, PARAMETER_INVALID (400) */
function readAlterRequest(parameters: Parameters, nameOrId: string): AlterRequest {
  for (const [parameter, value] of parameters.entries()) {
    if (value.trim() === '' || !/^(engine|engine_\w+|name)$/.test(parameter) || value === nameOrId) continue
    const reason = parameter === 'name' ? 'use PUT to rename it' : `${parameter} stays as it was created`
    throw errors.ALTER_REFUSED({ name: nameOrId, reason })
  }
  const ttl = parameters.text('ttl')
  const indexes = parameters.text('indexes')
  return {
    schema: parameters.text('schema'),
    description: parameters.get('description'),
    kafkaStoreRawValue:
      parameters.text('kafka_store_raw_value') === undefined ? undefined : parameters.flag('kafka_store_raw_value'),
    ttl: ttl?.toLowerCase() === 'false' ? null : ttl,
    // One client asks for no indexes by a 0.
    indexes: indexes === '0' || indexes?.toLowerCase() === 'false' ? null : indexes,
    isDry: parameters.flag('dry'),
  }
}
