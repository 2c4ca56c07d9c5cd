/** One import, from its order to its outcome: its data source found or created, its rows loaded, or all of it taken back. */
import type { DataSource } from '../catalog/data-source.types.ts'
import { type CreatedOrFound, createOrFind } from '../datasources/create-or-find.ts'
import type { CreateRequest, DataSources } from '../datasources/datasources.types.ts'
import type { PendingReplace, PendingReplaces } from '../datasources/replace/pending-replaces.ts'
import type { Replaces } from '../datasources/replace/replace.types.ts'
import type { ImportOutcome, Ingest } from '../ingest/ingest.types.ts'
import type { ImportTables } from '../ingest/ingest-plan.ts'
import { errorFields } from '../observe/error-fields.ts'
import type { Logger } from '../observe/logger.ts'
import type { WorkRecorder } from '../observe/work-recorder.types.ts'
import { apiErrorOf } from '../shared/api-error-of.ts'
import { assert } from '../shared/assert.ts'
import { type DiskReports, diskFaultOf } from '../shared/disk-fault.ts'
import { errors } from '../shared/errors/errors.ts'
import { createImportId } from '../shared/ids.ts'
import { findTarget } from './find-target.ts'
import { ImportEnding } from './import-ending.ts'
import { ImportProgress } from './import-progress.ts'
import type { ImportTimes } from './import-times.ts'
import type { ImportOrder, ImportRequest, ImportResult, ImportSource, OpenImport } from './imports.types.ts'
import { type PreparedRows, prepareRows } from './prepare-rows.ts'
import { formatOfSchema } from './recognise-rows.ts'
import { ToldImport } from './told-import.ts'

export interface ImportsOptions {
  /** Most columns of a data source that is guessed from rows. */
  readonly columnsMax: number
  /** What an append to a data source that does not exist does. */
  readonly missingDataSource: 'create' | 'refuse'
}

export interface ImportsDeps {
  readonly dataSources: Pick<
    DataSources,
    'checkNew' | 'checkSchema' | 'create' | 'drop' | 'endReplay' | 'find' | 'findForRows' | 'get' | 'joinBehind'
  >
  readonly ingest: Pick<Ingest, 'importBody' | 'importParquet' | 'openBody' | 'openParquet'>
  readonly replaces: Pick<Replaces, 'replace'>
  readonly pendingReplaces: PendingReplaces
  readonly logger: Logger
  readonly workRecorder: WorkRecorder
  readonly times: Pick<ImportTimes, 'note'>
  readonly disk: Pick<DiskReports, 'report'>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** See `Imports.open`. */
export async function openImport(
  request: ImportRequest,
  deps: ImportsDeps,
  options: ImportsOptions,
): Promise<OpenImport> {
  const { order, source } = request
  const { dataSources, pendingReplaces, now } = deps
  const startMs = performance.now()
  const hasRows = source !== null
  const target = await findTarget(order, { dataSources, missingDataSource: options.missingDataSource, hasRows })
  if (target !== null) request.caller.requireTarget(target.id)
  if (order.mode === 'append' && target === null) request.caller.requireCreation()
  const held: HeldByImport = { pending: null, prepared: null, source }
  try {
    if (order.mode === 'replace' && target !== null) {
      held.pending = pendingReplaces.add(target, { isConditional: order.replaceCondition !== null })
    }
    const progress = new ImportProgress(request.watched, now)
    const ending = new ImportEnding(request)
    const shadowed = order.name === undefined ? undefined : dataSources.find(order.name)
    if (source !== null) {
      held.prepared = await prepareRows(source, {
        order,
        isNew: target === null,
        ingest: deps.ingest,
        columnsMax: options.columnsMax,
        signal: ending.signal,
        onRecognised: (rows) => ending.knowRows(rows),
        onGuessing: () => progress.noteGuessing(),
      })
    }
    // The beginning of its rows may have taken its time.
    if (target === null) request.caller.requireCreation()
    else request.caller.requireTarget(target.id)
    const found =
      target === null ? await create(request, held.prepared, dataSources) : { dataSource: target, isCreated: false }
    const prepareNext = (next: ImportSource): Promise<PreparedRows> => {
      const { ingest } = deps
      const unheard = { onRecognised: () => undefined, onGuessing: () => undefined }
      const { columnsMax } = options
      return prepareRows(next, {
        order: request.nextOrder ?? order,
        isNew: false,
        ingest,
        columnsMax,
        signal: ending.signal,
        ...unheard,
      })
    }
    return new ImportRun(
      { request, ...found, shadowed, progress, signal: ending.signal, held, prepareNext, startMs },
      deps,
    )
  } catch (error) {
    await giveBack(held)
    throw error
  }
}

interface HeldByImport {
  pending: PendingReplace | null
  /** Of the source that is being loaded. */
  prepared: PreparedRows | null
  source: ImportSource | null
}

async function giveBack({ pending, prepared, source }: HeldByImport): Promise<void> {
  pending?.end()
  await prepared?.close()
  source?.body.close()
}

async function create(
  { order, kept }: Pick<ImportRequest, 'kept' | 'order'>,
  prepared: PreparedRows | null,
  dataSources: ImportsDeps['dataSources'],
): Promise<CreatedOrFound> {
  const { mode, name, description, engine, indexes, version } = order
  const isImplicit = mode !== 'create'
  const creation = prepared?.creation ?? creationOf(order)
  const request = { name, description, engine, indexes, version, isImplicit, id: kept?.newId, ...creation }
  // To append needs no more than that it is there.
  if (name !== undefined && isImplicit) return await createOrFind(dataSources, { ...request, name })
  return { dataSource: await dataSources.create(request), isCreated: true }
}

/** What an order without rows creates. @throws BODY_MISSING (400). */
function creationOf({ schema, format }: ImportOrder): Pick<CreateRequest, 'schema' | 'type'> {
  if (schema === undefined) throw errors.BODY_MISSING()
  return { schema, type: (format ?? formatOfSchema(schema)) === 'csv' ? 'csv' : 'ndjson' }
}

interface OpenedImport extends Pick<OpenImport, 'dataSource' | 'isCreated' | 'shadowed'> {
  readonly request: ImportRequest
  readonly progress: ImportProgress
  readonly signal: AbortSignal
  readonly held: HeldByImport
  readonly prepareNext: (source: ImportSource) => Promise<PreparedRows>
  /** When the import began, by `performance.now`. */
  readonly startMs: number
}

class ImportRun implements OpenImport {
  readonly importId: string
  readonly dataSource: DataSource
  readonly isCreated: boolean
  readonly shadowed: DataSource | undefined
  readonly progress: ImportProgress
  readonly #request: ImportRequest
  readonly #signal: AbortSignal
  readonly #held: HeldByImport
  readonly #prepareNext: OpenedImport['prepareNext']
  readonly #deps: ImportsDeps
  readonly #told: ToldImport

  constructor(opened: OpenedImport, deps: ImportsDeps) {
    const { request, dataSource, isCreated, shadowed, progress, signal, held, prepareNext } = opened
    this.importId = request.kept?.importId ?? createImportId()
    this.#prepareNext = prepareNext
    this.dataSource = dataSource
    this.isCreated = isCreated
    this.shadowed = shadowed
    this.progress = progress
    this.#request = request
    this.#signal = signal
    this.#held = held
    this.#deps = deps
    const { workRecorder, now } = deps
    const about = { request, dataSource, importId: this.importId, startMs: opened.startMs }
    this.#told = new ToldImport(about, { workRecorder, now })
  }

  async load(): Promise<ImportResult> {
    if (this.#held.prepared === null) return { outcome: null, warnings: [] }
    const outcome = await this.#loadOrTakeBack()
    this.#log(outcome)
    this.#told.end(outcome)
    this.#noteTime(outcome)
    return { outcome, warnings: this.#lostRows(outcome) }
  }

  close(): Promise<void> {
    return giveBack(this.#held)
  }

  async #loadOrTakeBack(): Promise<ImportOutcome> {
    const fill = (tables?: ImportTables): Promise<ImportOutcome> => this.#loadSources(tables)
    try {
      return this.#request.order.mode === 'replace' ? await this.#replace(fill) : await fill()
    } catch (error) {
      // One that outlives the process goes on with it.
      const goesOn = this.#request.kept !== undefined && apiErrorOf(error).code === 'SHUTTING_DOWN'
      if (this.isCreated && !goesOn) await this.#deps.dataSources.drop(this.dataSource.id)
      this.#told.fail(error)
      throw error
    }
  }

  /** One source after the other, until one fails: what was stored before it stays. */
  async #loadSources(tables: ImportTables | undefined): Promise<ImportOutcome> {
    let total = await this.#loadSource(tables)
    while (total.failure === null) {
      try {
        if (!(await this.#openNext())) return total
        total = joinedOutcome(total, await this.#loadSource(tables))
      } catch (error) {
        return { ...total, failure: apiErrorOf(error) }
      }
    }
    return total
  }

  /** False when there is no other source. */
  async #openNext(): Promise<boolean> {
    const next = (await this.#request.nextSource?.()) ?? null
    if (next === null) return false
    const held = this.#held
    await held.prepared?.close()
    held.source?.body.close()
    held.source = next
    held.prepared = await this.#prepareNext(next)
    return true
  }

  async #loadSource(tables: ImportTables | undefined): Promise<ImportOutcome> {
    const { prepared, source } = this.#held
    assert(prepared !== null && source !== null, 'rows are prepared before they are loaded')
    const { dataSource, importId } = this
    const { kept } = this.#request
    const watcher = this.#told.watching(kept?.watcher ?? this.progress.watcher)
    const { format } = prepared
    const rows = { dataSource, format, csv: prepared.csvFor(dataSource) }
    const ledger = (await kept?.onLoading(rows)) ?? undefined
    const into = tables === undefined ? { ledger } : { tables }
    const outcome = await prepared.load({ dataSource, importId, watcher, signal: this.#signal, ...into })
    return outcome.failure === null ? await endOf(source, outcome) : outcome
  }

  async #replace(fill: (tables: ImportTables) => Promise<ImportOutcome>): Promise<ImportOutcome> {
    const { dataSource, importId } = this
    const { pending } = this.#held
    const { dataSources, replaces } = this.#deps
    const { caller, kept, order, signal } = this.#request
    await dataSources.endReplay(dataSource.id)
    return await replaces.replace({
      dataSource,
      importId,
      condition: order.replaceCondition,
      fill: async (tables) => {
        const outcome = await fill(tables)
        // So may the rest of them, and nothing is replaced yet.
        caller.requireTarget(dataSource.id)
        return outcome
      },
      onHeld: () => pending?.hold(),
      onBegun: () => pending?.begin(),
      // One whose rows were sent with its request is let go on to its end, once they are all here.
      signal: kept === undefined ? undefined : signal,
    })
  }

  /** Those of a replace that failed went with its tables. */
  #noteTime({ storedRows, quarantinedRows, failure }: ImportOutcome): void {
    const { times, now } = this.#deps
    const hasRows = storedRows > 0 || quarantinedRows > 0
    const areThere = this.#request.order.mode !== 'replace' || failure === null
    if (hasRows && areThere) times.note(this.dataSource.id, now())
  }

  /** Rows that went, or are to go, with the old content of a replace: those of this import, or of others before it began. */
  #lostRows({ storedRows, failure }: ImportOutcome): readonly string[] {
    if (this.#request.order.mode !== 'replace') {
      return this.#deps.pendingReplaces.note(this.dataSource, storedRows, 'import')
    }
    return failure === null ? (this.#held.pending?.warnings() ?? []) : []
  }

  /** Nobody may be listening for the result any more, so the log has the counts too. */
  #log({ storedRows, quarantinedRows, invalidLines, failure }: ImportOutcome): void {
    const { logger, disk } = this.#deps
    const counts = { storedRows, quarantinedRows, invalidLines }
    const fields = {
      ...this.#request.caller.logFields,
      importId: this.importId,
      dataSource: this.dataSource.name,
      ...counts,
    }
    if (failure === null) {
      logger.info(fields, 'An import ended.')
      return
    }
    const diskFault = diskFaultOf(failure)
    if (diskFault !== null) disk.report(diskFault, failure)
    const error = apiErrorOf(failure)
    if (this.#request.kept !== undefined && error.code === 'SHUTTING_DOWN') {
      logger.info(fields, 'An import stops where it is, and goes on later.')
      return
    }
    // That the disk takes nothing is told once, not for each import.
    if (diskFault !== null && error.status === 503)
      logger.debug({ ...fields, err: failure }, 'An import was refused by the disk.')
    else if (error.status >= 500 && error.code !== 'IMPORT_STOPPED')
      logger.error({ ...fields, err: failure }, 'An import failed in its middle.')
    else logger.warn({ ...fields, ...errorFields(error) }, 'An import ended early.')
  }
}

/** The rows are stored already, so the outcome counts them beside what is wrong behind them. */
async function endOf(source: ImportSource, outcome: ImportOutcome): Promise<ImportOutcome> {
  try {
    await source.end()
    return outcome
  } catch (error) {
    return { ...outcome, failure: apiErrorOf(error) }
  }
}

function joinedOutcome(a: ImportOutcome, b: ImportOutcome): ImportOutcome {
  return {
    storedRows: a.storedRows + b.storedRows,
    quarantinedRows: a.quarantinedRows + b.quarantinedRows,
    invalidLines: a.invalidLines + b.invalidLines,
    shortLines: a.shortLines + b.shortLines,
    failure: b.failure,
    warnings: [...new Set([...(a.warnings ?? []), ...(b.warnings ?? [])])],
  }
}
