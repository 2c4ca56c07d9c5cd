/** A `POST /v0/datasources` from its first byte to its answer. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DataSource } from '../catalog/data-source.types.ts'
import type { CreateRequest } from '../datasources/datasources.types.ts'
import type { ImportOutcome } from '../ingest/ingest.types.ts'
import type { ImportTables } from '../ingest/ingest-plan.ts'
import { engineParameters } from '../schema/engines/engine-options.ts'
import { diskFaultOf } from '../shared/disk-fault.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { createImportId } from '../shared/ids.ts'
import { listText } from '../shared/list-text.ts'
import type { FormLimits, HttpOptions, HttpRooms } from './http.types.ts'
import type { KnownRows } from './import-format.ts'
import { analyzeDry } from './import-guess.ts'
import { ImportProgress, type ProgressStream } from './import-progress.ts'
import { type PreparedRows, prepareRows } from './import-rows.ts'
import { findTarget, type ImportTarget } from './import-target.ts'
import { sendJson, toApiError } from './json/answers.ts'
import { singleShape } from './json/datasource-shape.ts'
import { importAnswerOf, sendImport } from './json/import-answer.ts'
import { warn, warnOfUnknown, warnOfVersion } from './json/warnings.ts'
import { formatFields, type ImportInput, importParameters, readImportInput } from './request/import-input.ts'
import { formatOfSchema, type ImportOrder, readImportOrder } from './request/import-order.ts'
import { announcesBody, bodyOf } from './request/request-body.ts'
import type { ImportPlaces } from './routes/import-places.ts'
import type { NewColumns } from './routes/new-columns.ts'
import type { PendingReplace, PendingReplaces } from './routes/pending-replaces.ts'
import { requireAccess } from './server/authorization.ts'
import { mayBeQuiet } from './server/half-closed.ts'
import { errorFields } from './server/request-log.ts'

type Neighbours = Pick<HttpRooms, 'dataSources' | 'disk' | 'ingest' | 'logger' | 'now' | 'replaces'> & {
  readonly pendingReplaces: PendingReplaces
} & {
  readonly newColumns: NewColumns
}

interface ImportContext {
  readonly rooms: Neighbours
  readonly places: ImportPlaces
  readonly limits: FormLimits & Pick<HttpOptions, 'columnsMax' | 'missingDataSource'>
}

export async function createOrImport(
  request: FastifyRequest,
  reply: FastifyReply,
  { rooms, limits, places }: ImportContext,
): Promise<FastifyReply> {
  const run = new ImportRun(request, { rooms, limits })
  if (announcesBody(request.headers)) run.takePlace(places, reply)
  try {
    const input = await readImportInput(request, limits)
    const order = readImportOrder(input.parameters)
    warnOfUnknown(reply, 'Parameter', input.parameters.names(), [...knownParameters, ...order.connectorSettings])
    const name = order.name ?? null
    requireAccess(request, order.isDry ? 'datasource:analyze' : `datasource:${order.mode}`, name)
    if (order.isDry) {
      const signal = run.untilLeft()
      return sendJson(reply, 200, await analyzeDry(order, input.rows, { ...rooms, ...limits, signal }))
    }
    const surroundings = { ...rooms, ...limits, hasRows: input.rows !== null }
    const target = await findTarget(order, surroundings)
    if (order.mode === 'append' && target === null) requireAccess(request, 'datasource:create', name)
    return await run.answer(reply, { input, order, target })
  } finally {
    await run.close()
  }
}

const knownParameters: readonly string[] = [
  ...importParameters,
  ...engineParameters,
  ...['dialect_delimiter', 'dialect_escapechar', 'dialect_new_line', 'dialect_has_header', ...formatFields],
]

interface Import {
  readonly input: ImportInput
  readonly order: ImportOrder
  readonly target: ImportTarget
}

interface RowsToLoad {
  readonly prepared: PreparedRows
  readonly dataSource: DataSource
  readonly progress: ImportProgress
}

class ImportRun {
  private readonly request: FastifyRequest
  private readonly rooms: Neighbours
  private readonly columnsMax: number
  private readonly importId = createImportId()
  private readonly controller = new AbortController()
  private leave: () => void = () => {}
  private hasClientLeft = false
  /** Whether what has arrived may be far less than what is to be done for it. */
  private mayGrow = false
  private prepared: PreparedRows | null = null
  private isCreated = false
  private pending: PendingReplace | null = null
  /** Ends what an answer that is on its way already still has to do. */
  private streamed: Promise<void> | null = null

  constructor(request: FastifyRequest, { rooms, limits }: Pick<ImportContext, 'rooms' | 'limits'>) {
    this.request = request
    this.rooms = rooms
    this.columnsMax = limits.columnsMax
  }

  /** From here on the import ends when its client leaves, or the service closes. @throws as `ImportPlaces.take` does. */
  takePlace(places: ImportPlaces, { raw }: FastifyReply): void {
    this.leave = places.take((reason) => this.stop(reason))
    raw.once('close', () => {
      this.hasClientLeft = !raw.writableFinished
      this.stopIfLeft()
    })
  }

  private stop(reason: ApiError): void {
    this.controller.abort(reason)
    // One that waits for bytes hears of it by them.
    this.request.exchange?.body?.fail(reason)
  }

  /** A body that has not arrived fails by itself; one that has, and is not packed, is nearly done. */
  private stopIfLeft(): void {
    if (this.hasClientLeft && this.mayGrow) this.controller.abort(errors.CLIENT_LEFT())
  }

  /** For what is only looked at: it ends when its client leaves. */
  untilLeft(): AbortSignal {
    this.mayGrow = true
    this.stopIfLeft()
    return this.controller.signal
  }

  async answer(reply: FastifyReply, import_: Import): Promise<FastifyReply> {
    const { order, target } = import_
    if (order.mode === 'replace' && target !== null) {
      this.pending = this.rooms.pendingReplaces.add(target, { isConditional: order.replaceCondition !== null })
    }
    const progress = new ImportProgress(order, this.rooms.now)
    const before = order.name === undefined ? undefined : this.rooms.dataSources.find(order.name)
    const dataSource = await this.open(import_, progress)
    if (this.isCreated) {
      warnOfVersion(reply, dataSource.name, before)
      if (order.mode === 'append') reply.header('x-datasource-created', dataSource.name)
      if (import_.input.parameters.text('tags') !== undefined)
        warn(reply, ["Parameter 'tags' is not kept: there are no tags yet"])
    }
    if (order.hasProgress) {
      const stream = progress.stream()
      mayBeQuiet(reply.raw)
      this.streamed = this.streamResult(stream, { ...import_, dataSource, progress })
      return reply.code(200).header('content-type', 'application/x-ndjson; charset=UTF-8').send(stream.lines)
    }
    const outcome = await this.load(import_, dataSource, progress)
    return sendImport(reply, await this.resultOf(import_, dataSource, outcome), progress.details())
  }

  /** Gives back what the import held, when it has ended. */
  async close(): Promise<void> {
    const close = async (): Promise<void> => {
      this.pending?.end()
      await this.prepared?.close()
      // What nobody reads any more must not hold the connection; what was read to its end is not touched.
      bodyOf(this.request)?.destroy()
      this.leave()
    }
    if (this.streamed === null) await close()
    else void this.streamed.finally(close)
  }

  /** The data source that the order is for, made when it is missing and the order, or its rows, say how. */
  private async open({ input, order, target }: Import, progress: ImportProgress): Promise<DataSource> {
    const { columnsMax } = this
    const { dataSources, ingest } = this.rooms
    if (input.rows !== null) {
      const { signal } = this.controller
      const onKnown = ({ contentEncoding, format }: KnownRows): void => {
        this.mayGrow = contentEncoding !== undefined || format === 'parquet'
        this.stopIfLeft()
      }
      const preparation = { order, isNew: target === null, ingest, input, progress, columnsMax, signal, onKnown }
      this.prepared = await prepareRows(input.rows, preparation)
    }
    if (target !== null) return target
    const { name, description, engine, indexes, version } = order
    const isImplicit = order.mode !== 'create'
    const creation = this.prepared?.creation ?? creationOf(order)
    try {
      const created = await dataSources.create({ name, description, engine, indexes, version, isImplicit, ...creation })
      this.isCreated = true
      return created
    } catch (error) {
      // Somebody else created it meanwhile, and to append needs no more than that it is there.
      const existing = name === undefined || order.mode === 'create' ? undefined : dataSources.find(name)
      if (existing !== undefined && error instanceof ApiError && error.code === 'DATASOURCE_EXISTS') return existing
      throw error
    }
  }

  private async load(import_: Import, dataSource: DataSource, progress: ImportProgress): Promise<ImportOutcome | null> {
    if (this.prepared === null) return null
    const outcome = await this.loadOrTakeBack(import_, { prepared: this.prepared, dataSource, progress })
    this.log(dataSource, outcome)
    return outcome
  }

  /** What is refused as a whole leaves nothing behind: a data source that was made for it goes too. */
  private async loadOrTakeBack(
    { input, order }: Import,
    { prepared, dataSource, progress: { watcher } }: RowsToLoad,
  ): Promise<ImportOutcome> {
    const { importId } = this
    const fill = async (tables?: ImportTables): Promise<ImportOutcome> => {
      const outcome = await prepared.load({
        dataSource,
        importId,
        watcher,
        signal: this.controller.signal,
        ...(tables === undefined ? {} : { tables }),
      })
      return outcome.failure === null ? await endOf(input, outcome) : outcome
    }
    try {
      if (order.mode !== 'replace') return await fill()
      await this.rooms.dataSources.endReplay(dataSource.id)
      const onHeld = (): void => this.pending?.hold()
      const onBegun = (): void => this.pending?.begin()
      const condition = order.replaceCondition
      return await this.rooms.replaces.replace({ dataSource, importId, condition, fill, onHeld, onBegun })
    } catch (error) {
      if (this.isCreated) await this.rooms.dataSources.drop(dataSource.id)
      throw error
    }
  }

  private async streamResult(
    stream: ProgressStream,
    import_: Import & { readonly dataSource: DataSource; readonly progress: ImportProgress },
  ): Promise<void> {
    const { dataSource, progress } = import_
    try {
      const outcome = await this.load(import_, dataSource, progress)
      const answer = importAnswerOf(await this.resultOf(import_, dataSource, outcome), progress.details())
      stream.end({ ...answer.body, status: answer.status })
    } catch (error) {
      const apiError = toApiError(error)
      if (apiError.status >= 500)
        this.rooms.logger.error({ requestId: this.request.id, err: error }, 'An import failed.')
      stream.end({ ...apiError.body(), status: apiError.status })
    }
  }

  private async resultOf({ order }: Import, dataSource: DataSource, outcome: ImportOutcome | null) {
    const { dataSources, newColumns } = this.rooms
    // Before anything is waited for: a replace may begin meanwhile.
    const warnings = [...warningsOf(order), ...this.lostRows(order, dataSource, outcome)]
    const statistics = await dataSources.statisticsOf(dataSource.id)
    const usedBy = dataSources.usedBy(dataSource.id)
    const circumstances = { statistics, usedBy, newColumns: newColumns.of(dataSource) }
    return { importId: this.importId, dataSource: singleShape(dataSource, circumstances), warnings, outcome }
  }

  /** Rows that went, or are to go, with the old content of a replace: those of this import, or of others before it began. */
  private lostRows({ mode }: ImportOrder, dataSource: DataSource, outcome: ImportOutcome | null): readonly string[] {
    if (outcome === null) return []
    if (mode !== 'replace') return this.rooms.pendingReplaces.note(dataSource, outcome.storedRows, 'import')
    return outcome.failure === null ? (this.pending?.warnings() ?? []) : []
  }

  /** Nobody may be listening for the answer any more, so the log has the counts too. */
  private log({ name }: DataSource, outcome: ImportOutcome): void {
    const { logger, disk } = this.rooms
    const { storedRows, quarantinedRows, invalidLines, failure } = outcome
    const counts = { storedRows, quarantinedRows, invalidLines }
    const fields = { requestId: this.request.id, importId: this.importId, dataSource: name, ...counts }
    const diskFault = diskFaultOf(failure)
    if (diskFault !== null) disk.report(diskFault, failure)
    if (failure === null) logger.info(fields, 'An import ended.')
    // That the disk takes nothing is told once, not for each request.
    else if (diskFault !== null && toApiError(failure).status === 503)
      logger.debug({ ...fields, err: failure }, 'An import was refused by the disk.')
    else if (toApiError(failure).status >= 500 && toApiError(failure).code !== 'IMPORT_STOPPED')
      logger.error({ ...fields, err: failure }, 'An import failed in its middle.')
    else logger.warn({ ...fields, ...errorFields(toApiError(failure)) }, 'An import ended early.')
  }
}

/** What an order without rows creates. */
function creationOf({ schema, format }: ImportOrder): Pick<CreateRequest, 'schema' | 'type'> {
  if (schema === undefined) throw errors.BODY_MISSING()
  return { schema, type: (format ?? formatOfSchema(schema)) === 'csv' ? 'csv' : 'ndjson' }
}

function warningsOf({ connectorSettings }: ImportOrder): readonly string[] {
  if (connectorSettings.length === 0) return []
  const names = listText(connectorSettings.map((name) => `"${name}"`))
  const advice = 'send rows by POST /v0/events or /v0/datasources'
  return [`The settings of a connector (${names}) are left aside: connectors are not run here, ${advice}.`]
}

/** The rows are stored already, so the answer counts them beside what is wrong behind them. */
async function endOf(input: ImportInput, outcome: ImportOutcome): Promise<ImportOutcome> {
  try {
    await input.end()
    return outcome
  } catch (error) {
    return { ...outcome, failure: toApiError(error) }
  }
}
