/**
 * Events from the request to the engine: the log, the events of each data source, and what goes between them.
 *
 * Opened before anything is served: what an earlier process left in the log waits, and is stored in the background beside
 * what comes in.
 */
import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource, DataSourceId } from '../../catalog/data-source.types.ts'
import type { Recorder } from '../../metrics/recorder.ts'
import type { LogState, WaitingEvents } from '../../metrics/service-state.types.ts'
import type { Logger } from '../../observe/logger.ts'
import type { WorkRecorder } from '../../observe/work-recorder.types.ts'
import { CloseTime } from '../../shared/close-time.ts'
import { type DiskReports, noDiskReports } from '../../shared/disk-fault.ts'
import { errors } from '../../shared/errors/errors.ts'
import { InsertPlaces } from '../../store/insert-places.ts'
import type { Store } from '../../store/store.types.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import { diskFileLayer, type FileLayer } from '../../wal/file-layer.ts'
import { type Sequence, toSequence } from '../../wal/sequence.ts'
import { openWal, type Wal } from '../../wal/wal.ts'
import type { WalEvent } from '../../wal/wal.types.ts'
import type { BarrierRequest, EventsOutcome, EventsRequest, HoldReason, PlaceWait } from '../ingest.types.ts'
import type { PartitionLimits } from '../insert/partition-limits.ts'
import { dropTrialTables } from '../insert/poison-rows.ts'
import { MemoryBudget } from '../memory-budget.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import { BacklogLimit } from './backlog-limit.ts'
import { BlockStore } from './block-store.ts'
import { type BarrierHold, ChangeBarriers } from './change-barriers.ts'
import { DataSourceEvents, type DataSourceEventsDeps } from './data-source-events.ts'
import { DrainRate } from './drain-rate.ts'
import type { EventsFreshness, EventsStatus, EventsViews, FlushRule } from './events.types.ts'
import { EventsAppender } from './events-appender.ts'
import { EventsByDataSource } from './events-by-data-source.ts'
import { EventsLog } from './events-log.ts'
import { type KeptHistory, recoverEvents } from './events-recovery.ts'
import { ForgottenKeys } from './forgotten-keys.ts'
import { IdempotencyIndex, keysMaxOf } from './idempotency-index.ts'
import { KeptBlocks, type KeptPlace } from './kept-blocks.ts'
import { KeptEvents } from './kept-events.ts'
import { type LogOptions, walOptions } from './log-options.ts'
import { LogReader } from './log-reader.ts'
import { reportFiles, reportLosses } from './log-recovery-report.ts'

export interface EventsOptions extends FlushRule, LogOptions {
  readonly frameBytes: number
  readonly recordBytesMax: number
  readonly insertsInFlightMax: number
  readonly eventsBacklogBytesMax: number
  readonly viewsBacklogBytesMax: number
  readonly eventsWaitMaxMs: number
  readonly eventsIdempotency: 'body' | 'key'
  readonly idempotencyKeysMax: number
  readonly closeTimeoutMs: number
}

export interface EventsDeps {
  readonly store: Store
  readonly pool: ParsePool
  readonly partitionLimits: PartitionLimits
  readonly catalog: Pick<Catalog, 'find'>
  readonly logger: Logger
  readonly now: () => number
  /** Runs changes behind which rows of data sources are gone on purpose, so that nobody takes them for lost. */
  readonly whileRemoving?: <Result>(ids: readonly DataSourceId[], change: () => Promise<Result>) => Promise<Result>
  /** The views behind data sources; absent where none change. */
  readonly views?: IngestViews
  /** Told when the disk refuses what waits. */
  readonly disk?: DiskReports
  /** The disk; tests hand in one that fails. */
  readonly files?: FileLayer
  /** Absent where nothing is counted. */
  readonly recorder?: Pick<Recorder, 'logSyncs' | 'sources'> | undefined
  readonly workRecorder?: WorkRecorder | undefined
}

/** What is known of the views behind data sources, and who looks after them. */
export interface IngestViews extends EventsViews {
  /** Of whose blocks a start still needs some that are stored. */
  readonly kept: readonly KeptPlace[]
  /** Blocks of data sources may not be repeated behind what comes now. */
  readonly beforeChange: (dataSourceIds: readonly string[]) => Promise<void>
  /** More is kept than `viewsBacklogBytesMax`. */
  readonly onKeptBeyond: () => void
  /** The tables and views of the engine, with the views that are out of the way for a while. */
  readonly withParked: (graph: TableGraph) => TableGraph
}

/** The part of the log that may be kept for views: data sources that cannot store their events need theirs. */
const keptShare = 1 / 8
const retrySecondsMax = 60
/** Blocks that may be under way beside the others because they take long, and from when on they do. */
const slowPlacesMax = 4
const slowAfterMs = 5_000
const clock = (): number => performance.now()
/** What INSERTs under way get to end at a close at least, as a part of the time for closing. */
const endShare = 0.05

/** Opens the log and reads what is in it. @throws Error in words for the operator when the log is damaged. */
export async function openEvents(options: EventsOptions, deps: EventsDeps): Promise<EventsIngest> {
  await dropTrialTables(deps.store.tables)
  const told: { ingest: EventsIngest | null } = { ingest: null }
  const onEvent = (event: WalEvent): void => told.ingest?.onWalEvent(event)
  const waitingRows = (): number => told.ingest?.waitingRows() ?? 0
  const onSynced = (durationMs: number): void => deps.recorder?.logSyncs.note(durationMs)
  const wal = await openWal(walOptions(options, { onEvent, onSynced, waitingRows }), deps.files ?? diskFileLayer)
  const ingest = new EventsIngest(options, deps, wal)
  told.ingest = ingest
  await ingest.recover()
  return ingest
}

export class EventsIngest {
  readonly #options: EventsOptions
  readonly #deps: EventsDeps
  readonly #wal: Wal
  readonly #keys: IdempotencyIndex
  readonly #budget: MemoryBudget
  readonly #log: EventsLog
  readonly #reader: LogReader
  readonly #sources: EventsByDataSource
  readonly #sourceDeps: DataSourceEventsDeps & { readonly blocks: BlockStore }
  readonly #appender: EventsAppender
  readonly #barriers: ChangeBarriers
  readonly #backlog: BacklogLimit
  readonly #kept: KeptBlocks
  /** See `Ingest.keptEvents`. */
  readonly kept: KeptEvents
  readonly #drain = new DrainRate(clock)

  constructor(options: EventsOptions, deps: EventsDeps, wal: Wal) {
    const { logger, disk = noDiskReports } = deps
    this.#options = options
    this.#deps = deps
    this.#wal = wal
    disk.alsoAsk(() => wal.stats().state !== 'failed')
    const keysMax = keysMaxOf(options)
    const forgotten = new ForgottenKeys(logger, clock, keysMax)
    this.#keys = new IdempotencyIndex(keysMax, (keyCount) => forgotten.note(keyCount))
    this.#budget = new MemoryBudget(options.eventsPendingBytesMax)
    this.#sources = new EventsByDataSource(
      (source, recovered) => new DataSourceEvents(source, this.#sourceDeps, recovered),
    )
    this.#backlog = new BacklogLimit(options, () => this.#sources.statuses(), clock)
    this.#kept = new KeptBlocks({
      bytesMax: Math.min(options.viewsBacklogBytesMax, options.eventsLogBytesMax * keptShare),
      onBeyond: () => deps.views?.onKeptBeyond(),
    })
    for (const place of deps.views?.kept ?? []) this.#kept.keep(place)
    this.#log = this.#openLog(disk)
    const [log, sources, budget] = [this.#log, this.#sources, this.#budget]
    this.#reader = new LogReader({ log, budget, logger, sources: () => sources.all() })
    this.#sourceDeps = this.#depsOfSources(disk)
    const { blocks } = this.#sourceDeps
    const nextSequence = (): Sequence => wal.stats().nextSequence
    const load = (sequences: readonly Sequence[]) => this.#reader.load(sequences)
    this.kept = new KeptEvents({ kept: this.#kept, sources, blocks, load, nextSequence })
    this.#appender = this.#openAppender()
    this.#barriers = new ChangeBarriers({
      sources,
      log,
      budget,
      logger,
      settle: (stream) => this.#appender.settle(stream),
      beforeBarrier: deps.views?.beforeChange,
      drainMsMax: options.eventsWaitMaxMs,
      retryAfterSeconds: () => this.#retryAfterSeconds(),
    })
  }

  append(request: EventsRequest): Promise<EventsOutcome> {
    const isHoldBeginning = this.#barriers.isHoldBeginning(request.dataSource.id)
    return isHoldBeginning
      ? this.#barriers.untilHeld(request).then(() => this.#appendNow(request))
      : this.#appendNow(request)
  }

  status(dataSourceId: string): EventsStatus | null {
    return this.#sources.find(dataSourceId)?.status ?? null
  }

  /** See `Ingest.eventsFreshness`. */
  freshness(dataSourceId: string): EventsFreshness | null {
    return this.#sources.find(dataSourceId)?.freshness ?? null
  }

  /** See `Ingest.logPlace`. */
  get lastPlace(): number {
    return this.#wal.stats().nextSequence - 1
  }

  /** See `Ingest.isLost`. */
  isLost(place: number): boolean {
    return this.#wal.recovery.lostRanges.some(({ first, last }) => place >= first && place <= last)
  }

  /** See `Ingest.isQueryable`. */
  isQueryable({ dataSourceId, place }: Pick<PlaceWait, 'dataSourceId' | 'place'>): boolean {
    const first = this.#sources.find(dataSourceId)?.firstOutstanding ?? null
    return first === null || first > place
  }

  /** See `Ingest.untilQueryable`. */
  async untilQueryable({ dataSourceId, place, timeMaxMs, signal }: PlaceWait): Promise<boolean> {
    const events = this.#sources.find(dataSourceId)
    if (events === undefined) return true
    if (await events.untilQueryable(toSequence(place), timeMaxMs, signal)) return true
    // What is gone has nothing more to show.
    return this.#deps.catalog.find(events.stream) === undefined
  }

  /** See `Ingest.withBarrier`. */
  withBarrier<Result>(request: BarrierRequest, change: () => Promise<Result>): Promise<Result> {
    return this.#barriers.withBarrier(request, change)
  }

  /** See `Ingest.isHeld`. */
  isHeld(dataSourceId: string): boolean {
    return this.#barriers.isHeld(dataSourceId)
  }

  /** See `Ingest.refuseHeld`. */
  refuseHeld(dataSource: Pick<DataSource, 'id' | 'name'>): void {
    this.#barriers.refuseHeld(dataSource)
  }

  /** See `Ingest.withHold`. */
  withHold<Result>(
    dataSources: readonly DataSource[],
    change: () => Promise<Result>,
    hold: BarrierHold,
  ): Promise<Result> {
    return this.#barriers.withHold(dataSources, change, hold)
  }

  /** See `Ingest.withStill`. */
  withStill<Result>(
    dataSources: readonly DataSource[],
    look: () => Promise<Result>,
    reason: HoldReason,
  ): Promise<Result> {
    return this.#barriers.withStill(dataSources, look, reason)
  }

  /** Of all data sources. */
  waitingRows(): number {
    return this.#sources.waitingRows()
  }

  /** See `Ingest.logState`. */
  logState(): LogState {
    const { state, totalBytes, segmentCount, groupCount, entryCount } = this.#wal.stats()
    return {
      isWell: state === 'open',
      isFull: this.#log.isFull,
      bytes: totalBytes,
      bytesMax: this.#options.eventsLogBytesMax,
      segmentCount,
      syncCount: groupCount,
      entryCount,
      heldBytes: this.#budget.bytes,
      heldBytesMax: this.#budget.bytesMax,
    }
  }

  /** See `Ingest.waitingEvents`. */
  waitingEvents(): readonly WaitingEvents[] {
    const waiting: WaitingEvents[] = []
    for (const { stream: dataSourceId, status } of this.#sources.all()) {
      const { waitingRows: rows, waitingBytes: bytes, failure } = status
      if (rows > 0) waiting.push({ dataSourceId, rows, bytes, isFailing: failure !== null })
    }
    return waiting
  }

  onWalEvent(event: WalEvent): void {
    this.#log.onEvent(event)
  }

  /** Takes over what the log holds; nothing is stored before `start`. */
  async recover(): Promise<void> {
    const { catalog, logger, now } = this.#deps
    const { recovery } = this.#wal
    reportFiles(recovery, logger)
    const { sources, lost, losses, kept } = await recoverEvents(() => this.#wal.replay(), this.#keys, {
      released: recovery.settledSequence,
      keptFrom: this.#kept.firstBefore(this.#wal.stats().nextSequence),
      nowMs: now(),
    })
    this.#recoverKept(kept)
    const named = [...losses].map(([stream, loss]) => [catalog.find(stream)?.name ?? stream, loss] as const)
    reportLosses(lost, named, logger)
    for (const [stream, recovered] of sources) {
      const dataSource = catalog.find(stream)
      if (dataSource !== undefined) this.#sources.recover(dataSource, recovered)
      else {
        const { waitingRows } = recovered
        logger.warn({ id: stream, waitingRows }, 'Events of a data source that is gone are forgotten.')
      }
    }
  }

  #recoverKept(kept: ReadonlyMap<string, KeptHistory>): void {
    for (const [dataSourceId, { blocks, hasGaps }] of kept) {
      this.#kept.recover(dataSourceId, blocks)
      if (hasGaps) this.kept.noteGaps(dataSourceId)
    }
    const { nextSequence } = this.#wal.stats()
    const isLogGone = this.#wal.recovery.harmlessLosses.some(({ kind }) => kind === 'stored-segments')
    for (const { dataSourceId, place } of this.#deps.views?.kept ?? []) {
      // All that was in such files is stored, but may have been kept.
      if (isLogGone || place > nextSequence) this.kept.noteGaps(dataSourceId)
    }
  }

  /** Begins to store what an earlier process left. */
  start(): void {
    for (const events of this.#sources.all()) events.wake()
    this.#reader.wake()
  }

  /** Stores what waits, as far as that goes; the rest stays in the log. Precondition: nobody appends any more. */
  async close(timeMaxMs: number): Promise<void> {
    const closeTime = new CloseTime(timeMaxMs, clock)
    closeTime.begin()
    await this.#appender.settle()
    const drained = await Promise.all([...this.#sources.all()].map((events) => events.drain(timeMaxMs)))
    const waitingCount = drained.filter((isDrained) => !isDrained).length
    if (waitingCount > 0) {
      this.#deps.logger.warn({ dataSourceCount: waitingCount }, 'Events wait in the log for the next start.')
    }
    await this.#reader.close()
    const endMs = Math.max(closeTime.leftUntil(1), this.#options.closeTimeoutMs * endShare)
    await Promise.all([...this.#sources.all()].map((events) => events.close(endMs)))
    await this.#log.close()
  }

  #appendNow(request: EventsRequest): Promise<EventsOutcome> {
    const { id, name } = request.dataSource
    // It may have gone since the request found it, or have got another schema.
    const dataSource = this.#deps.catalog.find(id)
    if (dataSource === undefined) return Promise.reject(errors.DATASOURCE_NOT_FOUND({ name }))
    return this.#appender.append({ ...request, dataSource })
  }

  #openLog(disk: DiskReports): EventsLog {
    const { eventsBodyBytesMax: entryBytesMax, eventsLogBytesMax: logBytesMax } = this.#options
    const { store, logger, now } = this.#deps
    return new EventsLog(
      { wal: this.#wal, store, keys: this.#keys, logger, disk },
      {
        entryBytesMax,
        logBytesMax,
        now,
        clock,
        retryAfterSeconds: () => this.#retryAfterSeconds(),
        firstOutstanding: () => least(this.#sources.firstOutstanding(), this.#kept.first()),
        outstandingBefore: (below) => this.#outstandingBefore(below),
      },
    )
  }

  #outstandingBefore(below: Sequence): ReadonlyMap<string, Sequence> {
    const outstanding = this.#sources.outstandingBefore(below)
    const all = new Map(outstanding)
    for (const [stream, first] of this.#kept.firstBefore(below)) {
      all.set(stream, least(first, outstanding.get(stream) ?? null) ?? first)
    }
    return all
  }

  #depsOfSources(disk: DiskReports): DataSourceEventsDeps & { readonly blocks: BlockStore } {
    const { store, pool, partitionLimits, logger, now, recorder } = this.#deps
    const { frameBytes, insertsInFlightMax: placesMax } = this.#options
    const [log, reader] = [this.#log, this.#reader]
    return {
      log,
      disk,
      blocks: new BlockStore({
        store,
        pool,
        partitionLimits,
        log,
        logger,
        now,
        frameBytes,
        load: (sequences) => reader.load(sequences),
      }),
      places: new InsertPlaces({ placesMax, slowPlacesMax, slowAfterMs }),
      budget: this.#budget,
      drain: this.#drain,
      rule: this.#options,
      logger,
      now,
      clock,
      onBehind: () => reader.wake(),
      views: this.#deps.views,
      kept: this.#kept,
      sources: recorder?.sources,
      workRecorder: this.#deps.workRecorder,
    }
  }

  #openAppender(): EventsAppender {
    const { pool, now } = this.#deps
    return new EventsAppender(
      {
        pool,
        log: this.#log,
        keys: this.#keys,
        budget: this.#budget,
        backlog: this.#backlog,
        eventsOf: (dataSource) => this.#sources.of(dataSource),
      },
      { ...this.#options, now, retryAfterSeconds: (status) => this.#retryAfterSeconds(status) },
    )
  }

  /**
   * Seconds after which there may be room, at the rate at which events were stored: what waits for a data source, or is in
   * memory, will be stored by then. A data source that fails is not tried before its time.
   */
  #retryAfterSeconds(status?: EventsStatus): number {
    const { failure = null, waitingBytes = 0 } = status ?? {}
    const bytes =
      status === undefined
        ? { heldBytes: this.#budget.bytes, loggedBytes: this.#backlog.soundWaitingBytes() }
        : { loggedBytes: waitingBytes }
    const seconds =
      failure === null ? (this.#drain.secondsFor(bytes) ?? 1) : (failure.retryAtMs - this.#deps.now()) / 1000
    return Math.min(retrySecondsMax, Math.max(1, Math.ceil(seconds)))
  }
}

function least(one: Sequence | null, other: Sequence | null): Sequence | null {
  if (one === null || other === null) return one ?? other
  return one < other ? one : other
}
