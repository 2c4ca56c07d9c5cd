import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DataSource } from '../catalog/data-source.types.ts'
import type { ImportOutcome } from '../ingest/ingest.types.ts'
import { errors } from '../shared/errors.ts'
import { createImportId } from '../shared/ids.ts'
import { sendJson, toApiError } from './answers.ts'
import { admit } from './authentication.ts'
import { listItem, singleShape } from './datasource-shape.ts'
import type { HttpOptions, HttpRooms } from './http.types.ts'
import { sendImport } from './import-answer.ts'
import { type ImportInput, type InputRows, readImportInput } from './import-input.ts'
import { type ImportOrder, readImportOrder } from './import-order.ts'
import { Parameters } from './parameters.ts'
import { bodyOf } from './request-body.ts'
import { addPath } from './routes.ts'

type Neighbours = Pick<HttpRooms, 'access' | 'dataSources' | 'ingest' | 'logger'>
type Limits = Pick<HttpOptions, 'formBytesMax'>

/** `/v0/datasources`: create, import, list, show and drop. */
export function addDataSources(app: FastifyInstance, rooms: Neighbours, limits: Limits): void {
  const { dataSources, ingest } = rooms
  addPath(
    app,
    '/v0/datasources',
    {
      GET: async (request, reply) => {
        const attrs = new Parameters(request.query).text('attrs')
        const statistics = await dataSources.statistics()
        const items = dataSources.list().map((source) => listItem(source, statistics.get(source.id), attrs))
        return sendJson(reply, 200, { datasources: items })
      },
      POST: async (request, reply) => await createOrImport(request, reply, { rooms, limits }),
    },
    { mayTakeTokenFromBody: true },
  )
  addPath(app, '/v0/datasources/:name', {
    GET: async (request, reply) => {
      const dataSource = dataSources.get(nameOf(request))
      const attrs = new Parameters(request.query).text('attrs')
      const statistics = (await dataSources.statistics()).get(dataSource.id)
      const waiting = ingest.eventsStatus(dataSource.id)
      const shape =
        attrs === undefined ? singleShape(dataSource, statistics, waiting) : listItem(dataSource, statistics, attrs)
      return sendJson(reply, 200, shape)
    },
    DELETE: async (request, reply) => {
      await dataSources.drop(nameOf(request))
      return reply.code(204).send()
    },
  })
}

function nameOf(request: FastifyRequest): string {
  // The route has this parameter, and Fastify gives texts.
  return (request.params as { readonly name: string }).name
}

interface ImportContext {
  readonly rooms: Neighbours
  readonly limits: Limits
}

async function createOrImport(request: FastifyRequest, reply: FastifyReply, { rooms, limits }: ImportContext) {
  try {
    const input = await readImportInput(request, limits.formBytesMax)
    admit(request, rooms.access, input.parameters.text('token'))
    const order = readImportOrder(input.parameters, input.rows?.format ?? null)
    const dataSource = await openDataSource(order, input.rows !== null, rooms)
    const importId = createImportId()
    const outcome =
      input.rows === null ? null : await importRows({ input, rows: input.rows, order, dataSource, importId }, rooms)
    if (outcome !== null) logOutcome(outcome, { request, importId, dataSource, rooms })
    const statistics = (await rooms.dataSources.statistics()).get(dataSource.id)
    return sendImport(reply, { importId, dataSource: singleShape(dataSource, statistics), outcome })
  } finally {
    // What nobody reads any more must not hold the connection; what was read to its end is not touched.
    bodyOf(request)?.destroy()
  }
}

/** The data source that the order is for, made when it is missing and the order says how. */
async function openDataSource(order: ImportOrder, hasRows: boolean, { dataSources }: Neighbours): Promise<DataSource> {
  const { mode, name, schema, engine, description, format } = order
  if (mode === 'append' && name !== undefined) {
    const existing = dataSources.find(name)
    if (existing !== undefined) return existing
    if (schema === undefined) throw errors.DATASOURCE_NOT_FOUND({ name })
  }
  if (schema === undefined) throw hasRows ? errors.SCHEMA_MISSING({ format }) : errors.BODY_MISSING()
  return await dataSources.create({ name, description, schema, engine, type: format })
}

interface RowsToImport {
  readonly input: ImportInput
  readonly rows: InputRows
  readonly order: ImportOrder
  readonly dataSource: DataSource
  readonly importId: string
}

async function importRows(import_: RowsToImport, { ingest }: Neighbours): Promise<ImportOutcome> {
  const { input, rows, order, dataSource, importId } = import_
  const { body, contentEncoding } = rows
  const { format, csv } = order
  const outcome = await ingest.importBody({ dataSource, body, format, contentEncoding, importId, csv })
  if (outcome.failure !== null) return outcome
  try {
    await input.end()
    return outcome
  } catch (error) {
    // The rows are stored already, so the answer counts them beside what is wrong behind them.
    return { ...outcome, failure: toApiError(error) }
  }
}

interface ImportLogFields {
  readonly request: FastifyRequest
  readonly importId: string
  readonly dataSource: DataSource
  readonly rooms: Neighbours
}

/** Nobody may be listening for the answer any more, so the log has the counts too. */
function logOutcome(
  outcome: ImportOutcome,
  { request, importId, dataSource, rooms: { logger } }: ImportLogFields,
): void {
  const { storedRows, quarantinedRows, invalidLines, failure } = outcome
  const fields = {
    requestId: request.id,
    importId,
    dataSource: dataSource.name,
    storedRows,
    quarantinedRows,
    invalidLines,
  }
  if (failure === null) logger.info(fields, 'An import ended.')
  else if (toApiError(failure).status >= 500)
    logger.error({ ...fields, err: failure }, 'An import failed in its middle.')
  else logger.warn({ ...fields, err: failure }, 'An import ended early.')
}
