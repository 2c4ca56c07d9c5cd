/**
 * Events from the request to the engine: the log, a line for each data source, and what goes between them.
 *
 * Opened before anything is served: what an earlier process left in the log waits in its lines, and is stored in the
 * background beside what comes in.
 */
import { join } from 'node:path'
import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource, DataSourceId } from '../../catalog/data-source.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { CloseTime } from '../../shared/close-time.ts'
import { type DiskReports, noDiskReports } from '../../shared/disk-fault.ts'
import { errors } from '../../shared/errors/errors.ts'
import { InsertPlaces } from '../../store/insert-places.ts'
import type { Store } from '../../store/store.types.ts'
import { diskFileLayer, type FileLayer } from '../../wal/file-layer.ts'
import { markName } from '../../wal/log-mark.ts'
import type { Sequence } from '../../wal/sequence.ts'
import { logDirectoryName, openWal, type Wal } from '../../wal/wal.ts'
import type { WalEvent, WalOptions } from '../../wal/wal.types.ts'
import type { BarrierRequest, EventsOutcome, EventsRequest } from '../ingest.types.ts'
import type { PartitionLimits } from '../insert/partition-limits.ts'
import { dropTrialTables } from '../insert/poison-rows.ts'
import { MemoryBudget } from '../memory-budget.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import { BacklogLimit } from './backlog-limit.ts'
import { BlockStore } from './block-store.ts'
import { DrainRate } from './drain-rate.ts'
import type { FlushRule, LineStatus } from './events.types.ts'
import { EventsGatherer } from './events-gatherer.ts'
import { EventsLine, type LineRooms } from './events-line.ts'
import { EventsLog } from './events-log.ts'
import { recoverEvents } from './events-recovery.ts'
import { IdempotencyIndex } from './idempotency-index.ts'
import { LogReader } from './log-reader.ts'

export interface EventsOptions extends FlushRule {
  readonly dataDir: string
  readonly frameBytes: number
  readonly recordBytesMax: number
  readonly insertsInFlightMax: number
  readonly eventsBodyBytesMax: number
  readonly eventsPendingBytesMax: number
  readonly eventsBacklogBytesMax: number
  readonly eventsLogBytesMax: number
  readonly eventsLogOnDamage: 'keep-aside' | 'refuse'
  readonly eventsWaitMaxMs: number
  readonly eventsIdempotency: 'body' | 'key'
  readonly idempotencyKeysMax: number
  readonly closeTimeoutMs: number
}

export interface EventsRooms {
  readonly store: Store
  readonly pool: ParsePool
  readonly partitionLimits: PartitionLimits
  readonly catalog: Pick<Catalog, 'find'>
  readonly logger: Logger
  readonly now: () => number
  /** Runs changes behind which rows of data sources are gone on purpose, so that nobody takes them for lost. */
  readonly whileRemoving?: <Result>(ids: readonly DataSourceId[], change: () => Promise<Result>) => Promise<Result>
  /** Told when the disk refuses what waits. */
  readonly disk?: DiskReports
  /** The disk; tests hand in one that fails. */
  readonly files?: FileLayer
}

/** More data sources than a workspace has, and those that were dropped but are still in the log. */
const streamsMax = 40_000
const segmentsPerLog = 16
const retrySecondsMax = 60
/** Blocks that may be under way beside the others because they take long, and from when on they do. */
const slowPlacesMax = 4
const slowAfterMs = 5_000
const forgottenIntervalMs = 60_000
const clock = (): number => performance.now()
/** What INSERTs under way get to end at a close at least, as a part of the time for closing. */
const endShare = 0.05

/** What the note of a key takes of the log, at most, counts and times included. */
const noteBytesMax = 64
/** A release writes the notes again, into the sixteenth of the log that is for bookkeeping alone. */
const notesShare = 1 / 32

function keysMaxOf({ idempotencyKeysMax, eventsLogBytesMax }: EventsOptions): number {
  return Math.max(1, Math.min(idempotencyKeysMax, Math.floor((eventsLogBytesMax * notesShare) / noteBytesMax)))
}

/** Opens the log and reads what is in it. @throws Error in words for the operator when the log is damaged. */
export async function openEvents(options: EventsOptions, rooms: EventsRooms): Promise<EventsRoom> {
  await dropTrialTables(rooms.store)
  const told: { room: EventsRoom | null } = { room: null }
  const onEvent = (event: WalEvent): void => told.room?.onWalEvent(event)
  const waitingRows = (): number => told.room?.waitingRows() ?? 0
  const wal = await openWal(walOptions(options, { onEvent, waitingRows }), rooms.files ?? diskFileLayer)
  const room = new EventsRoom(options, rooms, wal)
  told.room = room
  await room.recover()
  return room
}

function walOptions(options: EventsOptions, told: Pick<WalOptions, 'onEvent' | 'waitingRows'>): WalOptions {
  const { dataDir, eventsBodyBytesMax, eventsLogBytesMax, eventsPendingBytesMax, eventsLogOnDamage } = options
  const entryBytesMax = Math.max(eventsBodyBytesMax, 16 * 1024 * 1024)
  return {
    directory: join(dataDir, logDirectoryName),
    markPath: join(dataDir, markName),
    segmentBytesMax: Math.floor(eventsLogBytesMax / segmentsPerLog),
    zerosAheadBytes: 1024 * 1024,
    entryBytesMax,
    // Whoever waits for the disk is counted in the budget already; seals and notes come on top.
    pendingBytesMax: 2 * Math.max(eventsPendingBytesMax, entryBytesMax),
    totalBytesMax: eventsLogBytesMax,
    streamsMax,
    onDamage: eventsLogOnDamage,
    ...told,
  }
}

export class EventsRoom {
  private readonly options: EventsOptions
  private readonly rooms: EventsRooms
  private readonly wal: Wal
  private readonly keys: IdempotencyIndex
  private readonly budget: MemoryBudget
  private readonly log: EventsLog
  private readonly reader: LogReader
  private readonly lineRooms: LineRooms
  private readonly gatherer: EventsGatherer
  private readonly backlog: BacklogLimit
  private readonly drain = new DrainRate(clock)
  /** Since it was told last. */
  private forgottenKeys = 0
  private forgottenToldAt = Number.NEGATIVE_INFINITY
  private readonly lines = new Map<string, EventsLine>()
  /** Data sources whose events wait in the log until a change of them has ended, and when it has. */
  private readonly holds = new Map<string, Promise<void>>()
  /** Of these, the ones whose barrier is under way: new events wait for it. Never rejects. */
  private readonly barring = new Map<string, Promise<unknown>>()

  constructor(options: EventsOptions, rooms: EventsRooms, wal: Wal) {
    this.options = options
    this.rooms = rooms
    this.wal = wal
    const { store, pool, partitionLimits, logger, now, disk = noDiskReports } = rooms
    const { frameBytes, eventsBodyBytesMax: entryBytesMax, eventsLogBytesMax: logBytesMax } = options
    const retryAfterSeconds = (status?: LineStatus): number => this.retryAfterSeconds(status)
    this.keys = new IdempotencyIndex(keysMaxOf(options), (keyCount) => this.tellForgotten(keyCount))
    disk.alsoAsk(() => wal.stats().state !== 'failed')
    this.backlog = new BacklogLimit(options, () => this.statuses(), clock)
    this.budget = new MemoryBudget(options.eventsPendingBytesMax)
    this.log = new EventsLog(
      { wal, store, keys: this.keys, logger, disk },
      {
        entryBytesMax,
        logBytesMax,
        now,
        clock,
        retryAfterSeconds: () => this.retryAfterSeconds(),
        firstOutstanding: () => this.firstOutstanding(),
        outstandingBefore: (below) => this.outstandingBefore(below),
      },
    )
    this.reader = new LogReader({ log: this.log, budget: this.budget, logger, lines: () => this.lines.values() })
    const load = (sequences: readonly Sequence[]) => this.reader.load(sequences)
    this.lineRooms = {
      log: this.log,
      disk,
      blocks: new BlockStore({ store, pool, partitionLimits, log: this.log, logger, now, frameBytes, load }),
      places: new InsertPlaces({ placesMax: options.insertsInFlightMax, slowPlacesMax, slowAfterMs }),
      budget: this.budget,
      drain: this.drain,
      rule: options,
      logger,
      now,
      clock,
      onBehind: () => this.reader.wake(),
    }
    this.gatherer = new EventsGatherer(
      {
        pool,
        log: this.log,
        keys: this.keys,
        budget: this.budget,
        backlog: this.backlog,
        lineOf: (source) => this.lineOf(source),
      },
      { ...options, now, retryAfterSeconds },
    )
  }

  append(request: EventsRequest): Promise<EventsOutcome> {
    const isBarUnderWay = this.barring.has(request.dataSource.id)
    return isBarUnderWay ? this.untilHeld(request).then(() => this.gather(request)) : this.gather(request)
  }

  private gather(request: EventsRequest): Promise<EventsOutcome> {
    const { id, name } = request.dataSource
    // It may have gone since the request found it, or have got another schema.
    const dataSource = this.rooms.catalog.find(id)
    if (dataSource === undefined) return Promise.reject(errors.DATASOURCE_NOT_FOUND({ name }))
    return this.gatherer.append({ ...request, dataSource })
  }

  status(dataSourceId: string): LineStatus | null {
    return this.lines.get(dataSourceId)?.status ?? null
  }

  /** See `Ingest.withBarrier`. */
  async withBarrier<Result>({ dataSource, isFinal }: BarrierRequest, change: () => Promise<Result>): Promise<Result> {
    const line = this.lineOf(dataSource)
    for (let hold = this.holds.get(dataSource.id); hold !== undefined; hold = this.holds.get(dataSource.id)) {
      // What is to go for good has been hidden already, and must go.
      if (!isFinal) throw errors.DATASOURCE_BUSY({ name: dataSource.name, what: 'replaced' })
      await hold
    }
    if (line.isBarred) throw errors.CHANGE_BLOCKED({ name: dataSource.name, retryAfterSeconds: 1 })
    line.isBarred = true
    try {
      await this.gatherer.settle(line.stream)
      const isDrained = await line.drain(this.options.eventsWaitMaxMs)
      if (!isDrained && !isFinal) throw errors.CHANGE_BLOCKED({ name: dataSource.name, retryAfterSeconds: 1 })
      // From here on nothing of it is inserted, whatever is left: the engine is about to forget its tokens.
      if (isFinal) await this.giveUp(line, dataSource)
      await this.log.barrier(line.stream, isFinal)
      return await change()
    } finally {
      // Who still holds the line of what is gone must not write into the log behind its last barrier.
      if (!isFinal) line.isBarred = false
    }
  }

  isHeld(dataSourceId: string): boolean {
    return this.holds.has(dataSourceId)
  }

  /** See `Ingest.withHold`. */
  async withHold<Result>(dataSources: readonly DataSource[], change: () => Promise<Result>): Promise<Result> {
    for (const { id, name } of dataSources) {
      if (this.isHeld(id)) throw errors.DATASOURCE_BUSY({ name, what: 'replaced' })
      if (this.lines.get(id)?.isBarred === true) throw errors.DATASOURCE_BUSY({ name, what: 'changed' })
    }
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    for (const { id } of dataSources) this.holds.set(id, ended)
    try {
      const lines = await this.holdLines(dataSources)
      try {
        return await change()
      } finally {
        for (const line of lines) line.release()
      }
    } finally {
      for (const { id } of dataSources) this.holds.delete(id)
      end()
    }
  }

  /** Of all data sources. */
  waitingRows(): number {
    let total = 0
    for (const { waitingRows } of this.statuses()) total += waitingRows
    return total
  }

  onWalEvent(event: WalEvent): void {
    this.log.onEvent(event)
  }

  /** Takes over what the log holds; nothing is stored before `start`. */
  async recover(): Promise<void> {
    const { catalog, logger, now } = this.rooms
    const { recovery } = this.wal
    this.tellRecovery()
    const { lines, lost, losses } = await recoverEvents(() => this.wal.replay(), this.keys, {
      released: recovery.settledSequence,
      nowMs: now(),
    })
    for (const range of lost) {
      logger.error(
        { ...range },
        'Entries of the log are lost to damage; events among them that were not stored are gone.',
      )
    }
    for (const [stream, loss] of losses) {
      const dataSource = catalog.find(stream)?.name ?? stream
      logger.error(
        { dataSource, ...loss },
        'Events of a data source are lost to damage of the log; its others are stored.',
      )
    }
    for (const [stream, recovered] of lines) {
      const dataSource = catalog.find(stream)
      if (dataSource === undefined) {
        const { waitingRows } = recovered
        logger.warn({ id: stream, waitingRows }, 'Events of a data source that is gone are forgotten.')
        continue
      }
      this.lines.set(stream, new EventsLine(dataSource, this.lineRooms, recovered))
    }
  }

  /** Begins to store what an earlier process left. */
  start(): void {
    for (const line of this.lines.values()) line.wake()
    this.reader.wake()
  }

  /** Stores what waits, as far as that goes; the rest stays in the log. Precondition: nobody appends any more. */
  async close(timeMaxMs: number): Promise<void> {
    const closeTime = new CloseTime(timeMaxMs, clock)
    closeTime.begin()
    await this.gatherer.settle()
    const drained = await Promise.all([...this.lines.values()].map((line) => line.drain(timeMaxMs)))
    const waitingCount = drained.filter((isDrained) => !isDrained).length
    if (waitingCount > 0) {
      this.rooms.logger.warn({ dataSourceCount: waitingCount }, 'Events wait in the log for the next start.')
    }
    await this.reader.close()
    const endMs = Math.max(closeTime.leftUntil(1), this.options.closeTimeoutMs * endShare)
    await Promise.all([...this.lines.values()].map((line) => line.close(endMs)))
    await this.log.close()
  }

  /** Stores what waits of all of them, puts a barrier behind it, and holds what comes from then on. */
  private async holdLines(dataSources: readonly DataSource[]): Promise<readonly EventsLine[]> {
    const lines = dataSources.map((dataSource) => this.lineOf(dataSource))
    for (const line of lines) line.isBarred = true
    const barriers = Promise.allSettled(lines.map((line) => this.barAt(line)))
    for (const { id } of dataSources) this.barring.set(id, barriers)
    try {
      const failed = (await barriers).find((outcome) => outcome.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      for (const line of lines) line.hold()
      return lines
    } finally {
      for (const line of lines) line.isBarred = false
      for (const { id } of dataSources) this.barring.delete(id)
    }
  }

  /** Waits while a hold begins, which stores what came before; the time for that is bounded. */
  private async untilHeld({ dataSource, body }: EventsRequest): Promise<void> {
    const barrier = this.barring.get(dataSource.id)
    if (barrier === undefined) return
    const heldBytes = body.length
    if (!this.budget.tryTake(heldBytes)) {
      throw errors.BACKLOG_FULL({ retryAfterSeconds: this.retryAfterSeconds() })
    }
    await barrier
    this.budget.give(heldBytes)
    // Whoever waited for the barriers first, and lifts the bars, has heard of them by then.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }

  private async barAt(line: EventsLine): Promise<void> {
    const { name } = line
    await this.gatherer.settle(line.stream)
    if (!(await line.drain(this.options.eventsWaitMaxMs))) throw errors.CHANGE_BLOCKED({ name, retryAfterSeconds: 1 })
    if (line.mayHaveEntries) await this.log.barrier(line.stream, false)
  }

  private lineOf(dataSource: DataSource): EventsLine {
    const known = this.lines.get(dataSource.id)
    if (known !== undefined) return known
    const line = new EventsLine(dataSource, this.lineRooms)
    this.lines.set(dataSource.id, line)
    return line
  }

  private async giveUp(line: EventsLine, { name }: DataSource): Promise<void> {
    await line.close()
    const { waitingRows } = line.status
    if (waitingRows > 0) this.rooms.logger.warn({ dataSource: name, waitingRows }, 'Events go with their data source.')
    this.lines.delete(line.stream)
  }

  private firstOutstanding(): Sequence | null {
    let least: Sequence | null = null
    for (const { firstOutstanding } of this.lines.values()) {
      if (firstOutstanding !== null && (least === null || firstOutstanding < least)) least = firstOutstanding
    }
    return least
  }

  /** By data source, what is not stored and lies before `below`. */
  private outstandingBefore(below: Sequence): ReadonlyMap<string, Sequence> {
    const firsts = new Map<string, Sequence>()
    for (const { stream, firstOutstanding } of this.lines.values()) {
      if (firstOutstanding !== null && firstOutstanding < below) firsts.set(stream, firstOutstanding)
    }
    return firsts
  }

  private *statuses(): Iterable<LineStatus> {
    for (const { status } of this.lines.values()) yield status
  }

  /**
   * Seconds after which there may be room, at the rate at which events were stored: what waits for a data source, or is in
   * memory, will be stored by then. A data source that fails is not tried before its time.
   */
  private retryAfterSeconds(status?: LineStatus): number {
    const { failure = null, waitingBytes = 0 } = status ?? {}
    const bytes =
      status === undefined
        ? { heldBytes: this.budget.bytes, loggedBytes: this.backlog.soundWaitingBytes() }
        : { loggedBytes: waitingBytes }
    const seconds =
      failure === null ? (this.drain.secondsFor(bytes) ?? 1) : (failure.retryAtMs - this.rooms.now()) / 1000
    return Math.min(retrySecondsMax, Math.max(1, Math.ceil(seconds)))
  }

  /** A repeat under such a key is stored once more: the operator should know, and not once for each key. */
  private tellForgotten(keyCount: number): void {
    this.forgottenKeys += keyCount
    if (clock() - this.forgottenToldAt < forgottenIntervalMs) return
    this.forgottenToldAt = clock()
    const fields = { keyCount: this.forgottenKeys, keysMax: keysMaxOf(this.options) }
    this.rooms.logger.warn(fields, 'More idempotency keys came than are remembered; the oldest are forgotten early.')
    this.forgottenKeys = 0
  }

  private tellRecovery(): void {
    const { logger } = this.rooms
    const { cutTails, damages, harmlessLosses, keptAside, entryCount, byteCount, wasClosed, isNew } = this.wal.recovery
    for (const tail of cutTails) logger.info({ ...tail }, 'The end of the log that was never acknowledged is cut off.')
    for (const damage of damages) {
      const message =
        damage.lastLost === undefined
          ? 'A file of the log is damaged and was kept aside.'
          : 'A file of the log is gone.'
      logger.error({ ...damage, keptAside }, message)
    }
    for (const loss of harmlessLosses) {
      if (loss.kind === 'checkpoint') {
        const { reason } = loss
        logger.warn(
          { reason, keptAside },
          'The checkpoint of the log was lost and is made anew; no event is lost with it.',
        )
      } else {
        const { first, last } = loss
        const message =
          'The files of the log are gone. All events in them were stored; idempotency keys are forgotten, so that a repeat under one is stored once more.'
        logger.warn({ first, last }, message)
      }
    }
    if (!isNew && entryCount > 0) logger.info({ entryCount, byteCount, wasClosed }, 'The log is read.')
  }
}
