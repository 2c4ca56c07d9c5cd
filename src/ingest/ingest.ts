import { createHash } from 'node:crypto'
import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import type { Recorder } from '../metrics/recorder.ts'
import type { LogState, WaitingEvents } from '../metrics/service-state.types.ts'
import { mebibyte } from '../shared/bytes.ts'
import { CloseTime } from '../shared/close-time.ts'
import { errors } from '../shared/errors/errors.ts'
import { within } from '../shared/within.ts'
import { tablesBehind } from '../store/sql/table-graph.ts'
import type { Store } from '../store/store.types.ts'
import { warningOfExpired } from './bodies/expired-rows.ts'
import { BodyImport, type ImportOptions } from './bodies/import-body.ts'
import { ImportGate } from './bodies/import-gate.ts'
import { openBody } from './bodies/opened-body.ts'
import { refuseStaleDefinition } from './bodies/stale-definition.ts'
import type { EventsFreshness, EventsStatus } from './events/events.types.ts'
import {
  type EventsDeps,
  type EventsIngest,
  type EventsOptions,
  type IngestViews,
  openEvents,
} from './events/events-ingest.ts'
import type {
  BarrierRequest,
  BodySource,
  EventsOutcome,
  EventsRequest,
  HoldOptions,
  HoldReason,
  ImportOutcome,
  ImportRequest,
  Ingest,
  KeptEventsOfViews,
  OpenedBody,
  ParquetImportRequest,
  PlaceWait,
  ReplayRowsOutcome,
  ReplayRowsRequest,
  RowCounts,
  SettleRequest,
} from './ingest.types.ts'
import { tablesOf } from './ingest-plan.ts'
import type { LedgerCounts, LedgerSideName, TableMark } from './insert/import-ledger.types.ts'
import { PartitionLimits } from './insert/partition-limits.ts'
import { SharedSync } from './insert/shared-sync.ts'
import { MemoryBudget } from './memory-budget.ts'
import { openParquet, type ParquetFile, type ParquetLimits, type ParquetSource } from './parquet/parquet-file.ts'
import { ParquetImport } from './parquet/parquet-import.ts'
import { ParsePool, type ParsePoolOptions } from './parse/parse-pool.ts'
import { replayRows } from './replay-rows.ts'
import { settleImport } from './settle-import.ts'
import { SpoolBudget } from './unpack/spool-budget.ts'
import { spoolArchive } from './unpack/spooled-zip.ts'

export interface IngestOptions extends ImportOptions, ParsePoolOptions, EventsOptions, ParquetLimits {}

/** Parquet files that may be loaded at once; all that are here have no more bytes than so many of the largest. */
const parquetFilesMax = 4
/** The same of zip archives, each of up to what a body may unpack to. */
const archivesMax = 4
/** What bodies hold while their columns are guessed, together; further ones are guessed by their beginning alone. */
const heldBytesMax = 64 * mebibyte

/** What a close takes of the time for closing where nobody says so; what waits is safe in the log as well. */
const closeShare = 0.5

type IngestDeps = Omit<EventsDeps, 'partitionLimits' | 'pool'>
type WhileRemoving = NonNullable<EventsDeps['whileRemoving']>

/**
 * Opens the way in: the worker pool, what gathers for the store, and the log of events that are not stored yet.
 *
 * @throws Error in words for the operator when the log is damaged; nothing of it is changed then.
 */
export async function openIngest(options: IngestOptions, deps: IngestDeps): Promise<Ingest> {
  const pool = new ParsePool(options)
  try {
    const partitionLimits = new PartitionLimits(deps.store.partitions, options)
    const events = await openEvents(options, { ...deps, pool, partitionLimits })
    const { catalog, store, recorder, whileRemoving = (_ids, change) => change() } = deps
    const withParked: IngestViews['withParked'] = deps.views?.withParked ?? ((graph) => graph)
    const given = { catalog, store, whileRemoving, withParked, recorder }
    return new OpenIngest(options, { ...given, pool, events, partitionLimits })
  } catch (error) {
    await pool.close()
    throw error
  }
}

class OpenIngest implements Ingest {
  readonly #options: IngestOptions
  readonly store: Store
  readonly partitionLimits: PartitionLimits
  readonly pool: ParsePool
  readonly sharedSync: SharedSync
  readonly #events: EventsIngest
  readonly #catalog: IngestDeps['catalog']
  readonly #whileRemoving: WhileRemoving
  readonly #withParked: IngestViews['withParked']
  readonly #recorder: Pick<Recorder, 'sources'> | undefined
  /** Imports and replays under way. */
  readonly #imports = new Set<Promise<unknown>>()
  readonly #gate = new ImportGate()
  readonly #heldBytes = new MemoryBudget(heldBytesMax)
  readonly #archives: SpoolBudget
  readonly #parquetFiles: SpoolBudget
  #isClosing = false

  constructor(
    options: IngestOptions,
    deps: {
      readonly catalog: IngestDeps['catalog']
      readonly store: Store
      readonly pool: ParsePool
      readonly events: EventsIngest
      readonly partitionLimits: PartitionLimits
      readonly whileRemoving: WhileRemoving
      readonly withParked: IngestViews['withParked']
      readonly recorder: Pick<Recorder, 'sources'> | undefined
    },
  ) {
    this.#options = options
    this.store = deps.store
    this.sharedSync = new SharedSync(() => deps.store.sync())
    this.partitionLimits = deps.partitionLimits
    this.pool = deps.pool
    this.#events = deps.events
    this.#catalog = deps.catalog
    this.#whileRemoving = deps.whileRemoving
    this.#withParked = deps.withParked
    this.#recorder = deps.recorder
    const { decompressedBytesMax, parquetBytesMax } = options
    this.#archives = spoolFor(deps.store, archivesMax, decompressedBytesMax)
    this.#parquetFiles = spoolFor(deps.store, parquetFilesMax, parquetBytesMax)
  }

  start(): void {
    this.#events.start()
  }

  async openBody(source: BodySource): Promise<OpenedBody> {
    this.#refuseWhenClosing()
    const spooled = await spoolArchive(source, this.#archives, this.#options.decompressedBytesMax)
    try {
      const opened = await openBody({ ...source, body: spooled.body }, this.#options, this.#heldBytes)
      const close = (): void => {
        opened.close()
        spooled.close()
      }
      return { ...opened, close }
    } catch (error) {
      spooled.close()
      throw error
    }
  }

  async importBody(request: ImportRequest): Promise<ImportOutcome> {
    this.#refuseWhenClosing()
    const { pool, store, partitionLimits, sharedSync: sync } = this
    const deps = { pool, store, heldBytes: this.#heldBytes, archives: this.#archives, partitionLimits, sync }
    return await this.#runImport(request, () => new BodyImport(request, deps, this.#options).run())
  }

  async openParquet(source: ParquetSource): Promise<ParquetFile> {
    this.#refuseWhenClosing()
    return await openParquet(source, { store: this.store, files: this.#parquetFiles }, this.#options)
  }

  async importParquet(request: ParquetImportRequest): Promise<ImportOutcome> {
    this.#refuseWhenClosing()
    const { store, partitionLimits, sharedSync: sync } = this
    return await this.#runImport(request, () =>
      new ParquetImport(request, { store, partitionLimits, sync }, this.#options).run(),
    )
  }

  appendEvents(request: EventsRequest): Promise<EventsOutcome> {
    if (this.#isClosing) return Promise.reject(errors.SHUTTING_DOWN({}))
    return this.#events.append(request)
  }

  async replayRows(request: ReplayRowsRequest): Promise<ReplayRowsOutcome> {
    this.#refuseWhenClosing()
    const isGivenUp = (): boolean => this.#isClosing || request.isGivenUp()
    const run = (): Promise<ReplayRowsOutcome> => replayRows(this, { ...request, isGivenUp })
    return await this.#track(this.#gate.pass(request.dataSource, run))
  }

  get keptEvents(): KeptEventsOfViews {
    return this.#events.kept
  }

  waitingEvents(): readonly WaitingEvents[] {
    return this.#events.waitingEvents()
  }

  logState(): LogState {
    return this.#events.logState()
  }

  eventsStatus(dataSourceId: DataSourceId): EventsStatus | null {
    return this.#events.status(dataSourceId)
  }

  eventsFreshness(dataSourceId: DataSourceId): EventsFreshness | null {
    return this.#events.freshness(dataSourceId)
  }

  get logPlace(): number {
    return this.#events.lastPlace
  }

  isLost(place: number): boolean {
    return this.#events.isLost(place)
  }

  isQueryable(events: Pick<PlaceWait, 'dataSourceId' | 'place'>): boolean {
    return this.#events.isQueryable(events)
  }

  untilQueryable(wait: PlaceWait): Promise<boolean> {
    return this.#events.untilQueryable(wait)
  }

  withBarrier<Result>(barrier: BarrierRequest, change: () => Promise<Result>): Promise<Result> {
    const { dataSource, isClosed } = barrier
    const barred = (): Promise<Result> => this.#withBarrier(barrier, change)
    return isClosed === true ? this.#whileClosed([dataSource], 'changed', barred) : barred()
  }

  #withBarrier<Result>(barrier: BarrierRequest, change: () => Promise<Result>): Promise<Result> {
    const { dataSource, isFinal, condition } = barrier
    const changeAlone = async (): Promise<Result> => {
      if (!isFinal) await this.#untilAppended(dataSource)
      return await change()
    }
    if (condition === undefined) {
      return this.#whileRemoving([dataSource.id], () => this.#events.withBarrier(barrier, changeAlone))
    }
    const conditionAlone = async (): Promise<void> => {
      await this.#untilAppended(dataSource)
      await condition()
    }
    const judged = { ...barrier, condition: conditionAlone }
    return this.#whileRemoving([dataSource.id], () => this.#events.withBarrier(judged, changeAlone))
  }

  /** Rows of an import that was told to have failed must not come behind a change that follows. */
  async #untilAppended(dataSource: DataSource): Promise<void> {
    const { landing, quarantine } = tablesOf(dataSource)
    if (await within(this.#options.eventsWaitMaxMs, this.store.untilAppended([landing, quarantine]))) return
    throw errors.CHANGE_BLOCKED({ name: dataSource.name, retryAfterSeconds: 1 })
  }

  async tableMark(dataSource: DataSource, side: LedgerSideName): Promise<TableMark> {
    const { landing, quarantine } = tablesOf(dataSource)
    // A view that is parked takes the blocks later, and is the same one then.
    const graph = this.#withParked(await this.store.views.graph())
    const behind = tablesBehind(graph, side === 'rows' ? landing : quarantine)
    const tables = [...behind].sort()
    const key = createHash('sha256').update(tables.join('\n')).digest('base64url').slice(0, 16)
    return { blocks: await this.store.parts.lastBlocks(tables), tables: key }
  }

  async settleImport(request: SettleRequest): Promise<void> {
    this.#refuseWhenClosing()
    const { store, partitionLimits, sharedSync: sync } = this
    const run = (): Promise<void> => settleImport(request, { store, partitionLimits, sync }, this.#options)
    const { landing, quarantine } = tablesOf(request.dataSource)
    await this.#track(this.#gate.pass(request.dataSource, run, () => store.untilAppended([landing, quarantine])))
  }

  sync(): Promise<void> {
    return this.sharedSync.run()
  }

  isHeld(dataSourceId: DataSourceId): boolean {
    return this.#events.isHeld(dataSourceId)
  }

  refuseHeld(dataSource: Pick<DataSource, 'id' | 'name'>): void {
    this.#events.refuseHeld(dataSource)
  }

  async withHold<Result>(
    dataSources: readonly DataSource[],
    change: () => Promise<Result>,
    { onHeld, reason = 'changed', keepsBlocks = false, keepsRows = false }: HoldOptions = {},
  ): Promise<Result> {
    this.#refuseWhenClosing()
    const ids = dataSources.map(({ id }) => id)
    const changeAlone = (): Promise<Result> => {
      // Behind the answers to the events that waited for their rows to be stored, which the same turn brings.
      if (onHeld !== undefined) setImmediate(onHeld)
      const removing = (): Promise<Result> => (keepsRows ? change() : this.#whileRemoving(ids, change))
      return this.#whileClosed(dataSources, reason, removing)
    }
    return await this.#events.withHold(dataSources, changeAlone, { reason, keepsBlocks })
  }

  async withStill<Result>(dataSources: readonly DataSource[], look: () => Promise<Result>): Promise<Result> {
    this.#refuseWhenClosing()
    const reason = 'held for a Materialized View'
    const lookAlone = (): Promise<Result> => this.#whileClosed(dataSources, reason, look)
    return await this.#events.withStill(dataSources, lookAlone, reason)
  }

  /** Runs what no import may run beside. */
  #whileClosed<Result>(
    dataSources: readonly DataSource[],
    reason: HoldReason,
    work: () => Promise<Result>,
  ): Promise<Result> {
    return this.#gate.whileClosed(dataSources, { reason, timeMaxMs: this.#options.eventsWaitMaxMs }, work)
  }

  async close(timeMaxMs: number = this.#options.closeTimeoutMs * closeShare): Promise<void> {
    this.#isClosing = true
    const closeTime = new CloseTime(timeMaxMs, () => performance.now())
    closeTime.begin()
    // An INSERT that cannot be stopped is ended with the engine, which closes later.
    await within(timeMaxMs, Promise.allSettled(this.#imports))
    await this.#events.close(closeTime.leftUntil(1))
    await this.pool.close()
  }

  /** What goes into tables of its own is no append to the data source. */
  #runImport(
    { dataSource, tables, ledger }: Pick<ImportRequest, 'dataSource' | 'ledger' | 'tables'>,
    run: () => Promise<ImportOutcome>,
  ): Promise<ImportOutcome> {
    const { landing, quarantine } = tables ?? tablesOf(dataSource)
    const untilAppended = (): Promise<void> => this.store.untilAppended([landing, quarantine])
    const runStill = (): Promise<ImportOutcome> => {
      refuseStaleDefinition(dataSource, this.#catalog.find(dataSource.id))
      return counted()
    }
    const before = ledger?.counts
    const counted = async (): Promise<ImportOutcome> => this.#count(dataSource, await run(), before)
    const pass = (): Promise<ImportOutcome> => {
      return tables === undefined ? this.#gate.pass(dataSource, runStill, untilAppended) : counted()
    }
    return this.#track(warningOfExpired(this.store.parts, { dataSource, table: landing }, pass))
  }

  /** @param before what an import that goes on had stored; its outcome has that too. */
  #count({ id }: DataSource, outcome: ImportOutcome, before: LedgerCounts | undefined): ImportOutcome {
    const counts = this.#recorder?.sources.of(id).imports
    if (counts === undefined) return outcome
    counts.rows += outcome.storedRows - (before?.storedRows ?? 0)
    counts.quarantinedRows += setAsideRows(outcome) - (before === undefined ? 0 : setAsideRows(before))
    counts.bytes += outcome.byteCount ?? 0
    return outcome
  }

  /** A close waits for what runs. */
  async #track<Result>(running: Promise<Result>): Promise<Result> {
    this.#imports.add(running)
    try {
      return await running
    } finally {
      this.#imports.delete(running)
    }
  }

  #refuseWhenClosing(): void {
    if (this.#isClosing) throw errors.SHUTTING_DOWN({})
  }
}

function setAsideRows({ quarantinedRows, invalidLines, shortLines }: Omit<RowCounts, 'storedRows'>): number {
  return quarantinedRows + invalidLines - shortLines
}

function spoolFor(store: Store, loadsMax: number, fileBytesMax: number): SpoolBudget {
  return new SpoolBudget(store, { loadsMax, bytesMax: loadsMax * fileBytesMax })
}
