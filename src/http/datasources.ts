import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DataSource } from '../catalog/data-source.types.ts'
import type { ImportOutcome, ImportRequest } from '../ingest/ingest.types.ts'
import type { ImportTables } from '../ingest/ingest-plan.ts'
import { errors } from '../shared/errors.ts'
import { createImportId } from '../shared/ids.ts'
import { sendJson, toApiError } from './answers.ts'
import { admit } from './authentication.ts'
import { listItem, singleShape } from './datasource-shape.ts'
import type { HttpOptions, HttpRooms } from './http.types.ts'
import { sendImport } from './import-answer.ts'
import { analyzeDry, guessRows } from './import-guess.ts'
import { type ImportInput, type InputRows, readImportInput } from './import-input.ts'
import { type ImportOrder, readImportOrder } from './import-order.ts'
import { Parameters } from './parameters.ts'
import { bodyOf } from './request-body.ts'
import { addPath } from './routes.ts'

type Neighbours = Pick<HttpRooms, 'access' | 'dataSources' | 'ingest' | 'logger' | 'replaces'>
type Limits = Pick<HttpOptions, 'formBytesMax'>

/** `/v0/datasources`: create, import and list. */
export function addDataSources(app: FastifyInstance, rooms: Neighbours, limits: Limits): void {
  const { dataSources } = rooms
  addPath(
    app,
    '/v0/datasources',
    {
      GET: async (request, reply) => {
        const attrs = new Parameters(request.query).text('attrs')
        const statistics = await dataSources.statistics()
        const items = dataSources
          .list()
          .map((source) =>
            listItem(source, { statistics: statistics.get(source.id), usedBy: dataSources.usedBy(source.id) }, attrs),
          )
        return sendJson(reply, 200, { datasources: items })
      },
      POST: async (request, reply) => await createOrImport(request, reply, { rooms, limits }),
    },
    { mayTakeTokenFromBody: true },
  )
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
    if (order.isDry) return sendJson(reply, 200, await analyzeDry(order, input.rows, rooms.ingest))
    const { dataSource, rows } = await openDataSource(order, input.rows, rooms)
    const importId = createImportId()
    const outcome = rows === null ? null : await storeRows({ input, rows, order, dataSource, importId }, rooms)
    if (outcome !== null) logOutcome(outcome, { request, importId, dataSource, rooms })
    const statistics = await rooms.dataSources.statisticsOf(dataSource.id)
    return sendImport(reply, { importId, dataSource: singleShape(dataSource, { statistics }), outcome })
  } finally {
    // What nobody reads any more must not hold the connection; what was read to its end is not touched.
    bodyOf(request)?.destroy()
  }
}

/** A data source, and the rows that are on their way into it. */
interface Target {
  readonly dataSource: DataSource
  readonly rows: OrderedRows | null
}

/** Rows of a request, with what was found out of how they are written. */
type OrderedRows = Pick<ImportRequest, 'body' | 'contentEncoding' | 'csv'>

/** The data source that the order is for, made when it is missing and the order, or its rows, say how. */
async function openDataSource(order: ImportOrder, rows: InputRows | null, rooms: Neighbours): Promise<Target> {
  const { mode, name, schema, engine, indexes, description, format, csv } = order
  const { dataSources, ingest } = rooms
  const asSent = rows === null ? null : { body: rows.body, contentEncoding: rows.contentEncoding, csv }
  if (mode === 'append' && name !== undefined) {
    const existing = dataSources.find(name)
    if (existing !== undefined) return { dataSource: existing, rows: asSent }
    if (schema === undefined) throw errors.DATASOURCE_NOT_FOUND({ name })
  }
  const request = { name, description, engine, indexes, type: format }
  if (mode === 'replace' && name !== undefined) {
    const existing = dataSources.get(name)
    // A request that forgot its rows must not empty the data source.
    if (asSent === null) throw errors.BODY_MISSING()
    return { dataSource: existing, rows: asSent }
  }
  if (schema !== undefined) return { dataSource: await dataSources.create({ ...request, schema }), rows: asSent }
  if (rows === null) throw errors.BODY_MISSING()
  if (format !== 'csv') throw errors.SCHEMA_MISSING({ format })
  // Before anything is read: a name that is taken is refused however the rows look.
  if (name !== undefined && dataSources.find(name) !== undefined) throw errors.DATASOURCE_EXISTS({ name })
  const guessed = await guessRows(rows, { format, csv, hasTypes: order.hasTypes }, ingest)
  const dataSource = await dataSources.create({ ...request, schema: guessed.guess.schema })
  return { dataSource, rows: { body: guessed.opened, contentEncoding: undefined, csv: guessed.csv } }
}

interface RowsToImport {
  readonly input: ImportInput
  readonly rows: OrderedRows
  readonly order: ImportOrder
  readonly dataSource: DataSource
  readonly importId: string
}

async function storeRows(import_: RowsToImport, rooms: Neighbours): Promise<ImportOutcome> {
  const { dataSource, importId, order } = import_
  if (order.mode !== 'replace') return await importRows(import_, rooms)
  const fill = (tables: ImportTables): Promise<ImportOutcome> => importRows(import_, rooms, tables)
  return await rooms.replaces.replace({ dataSource, importId, condition: order.replaceCondition, fill })
}

async function importRows(
  import_: RowsToImport,
  { ingest }: Neighbours,
  tables?: ImportTables,
): Promise<ImportOutcome> {
  const { input, rows, order, dataSource, importId } = import_
  const into = tables === undefined ? {} : { tables }
  const outcome = await ingest.importBody({ ...rows, ...into, dataSource, format: order.format, importId })
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
