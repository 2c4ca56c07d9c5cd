/**
 * The events of one data source between the log and the engine: what waits, who waits for it, and when it goes on.
 *
 * What fails is let go from memory: it is in the log, and read back when its time has come. So a data source that cannot be
 * stored costs no memory, and holds up no other.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import { type Recorder, SourceCounts } from '../../metrics/recorder.ts'
import { toldReason } from '../../observe/error-fields.ts'
import type { Logger } from '../../observe/logger.ts'
import { noRecorder, type WorkRecorder } from '../../observe/work-recorder.types.ts'
import { assert } from '../../shared/assert.ts'
import { type DiskReports, diskFaultOf } from '../../shared/disk-fault.ts'
import { engineErrorName } from '../../shared/engine-error-name.ts'
import { errors } from '../../shared/errors/errors.ts'
import { within } from '../../shared/within.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Sequence } from '../../wal/sequence.ts'
import type { NamedBlock } from '../insert/block.types.ts'
import { type InsertFailureKind, insertFailureKind } from '../insert/insert-failure.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import { BlockInserter, type BlockInserterDeps } from './block-inserter.ts'
import type { BlockCounts } from './block-store.ts'
import type {
  EventsFreshness,
  EventsStatus,
  EventsViews,
  FlushRule,
  LoggedBatch,
  RecoveredSource,
} from './events.types.ts'
import { EventsQueue, firstOf, rowsOf } from './events-queue.ts'
import { InsertRetry } from './insert-retry.ts'
import type { KeptBlocks } from './kept-blocks.ts'
import type { BehindSource } from './log-reader.ts'
import { PlaceTimes } from './place-times.ts'
import { StoredWaiters } from './stored-waiters.ts'

export interface DataSourceEventsDeps extends BlockInserterDeps {
  readonly budget: Pick<MemoryBudget, 'bytesMax' | 'give'>
  readonly rule: FlushRule
  readonly logger: Logger
  readonly disk: Pick<DiskReports, 'report'>
  /** Milliseconds that never go back, for everything that waits. */
  readonly clock: () => number
  /** Told when some events are in the log alone, and may be read. */
  readonly onBehind: () => void
  /** Absent where no views change. */
  readonly views?: EventsViews | undefined
  readonly kept?: Pick<KeptBlocks, 'noteStored'> | undefined
  /** Told of each block that is stored; absent tells nobody. */
  readonly workRecorder?: WorkRecorder | undefined
  /** Where what comes in is counted; absent where it is not. */
  readonly sources?: Recorder['sources'] | undefined
}

/** Failures of a view after which it may be set aside: one may pass. */
const viewFailuresMax = 2

const nothing: RecoveredSource = { named: [], behind: null, waitingRows: 0, waitingBytes: 0, acceptedMs: null }

export class DataSourceEvents implements BehindSource {
  readonly stream: string
  /** While it is true, new events are refused: their data source is about to change. */
  isBarred = false
  /** False as long as the log has nothing of it that a start would store, and so needs no barrier. */
  mayHaveEntries: boolean
  /** While it is true, nothing is inserted: what comes is in the log, and read back when it is false again. */
  #isHeld = false
  #isClosed = false
  #dataSource: DataSource
  #waitingRows: number
  #waitingBytes: number
  #running: Promise<void> | null = null
  readonly #deps: DataSourceEventsDeps
  readonly #queue: EventsQueue
  readonly #inserter: BlockInserter
  readonly #retry: InsertRetry
  readonly #waiters = new StoredWaiters()
  readonly #counts: SourceCounts
  /** Readers who wait for what was acknowledged to somebody: blocks are not made sooner for them. */
  readonly #readers = new StoredWaiters()
  readonly #times = new PlaceTimes()
  readonly #workRecorder: WorkRecorder
  /** By the clock. */
  #begunAtMs = 0

  constructor(dataSource: DataSource, deps: DataSourceEventsDeps, recovered: RecoveredSource = nothing) {
    const { rule, budget, clock } = deps
    const { named, behind, waitingRows, waitingBytes, acceptedMs } = recovered
    this.stream = dataSource.id
    this.#dataSource = dataSource
    this.#deps = deps
    this.#waitingRows = waitingRows
    this.#waitingBytes = waitingBytes
    this.mayHaveEntries = recovered !== nothing
    this.#counts = deps.sources?.of(dataSource.id) ?? new SourceCounts()
    this.#workRecorder = deps.workRecorder ?? noRecorder
    this.#retry = new InsertRetry(deps)
    this.#queue = new EventsQueue({ rule, budget, clock, onTime: () => this.wake() }, behind)
    this.#inserter = new BlockInserter({ stream: this.stream, named, queue: this.#queue }, deps, {
      onSlow: (isFirst) => this.#onSlow(isFirst),
      onStored: (block, counts) => this.#onStored(block, counts),
      isClosed: () => this.#isClosed,
    })
    const first = this.firstOutstanding
    if (first !== null && acceptedMs !== null) this.#times.recover(first, acceptedMs)
  }

  /** Of the data source. */
  get name(): string {
    return this.#dataSource.name
  }

  get status(): EventsStatus {
    const waitingRows = this.#waitingRows
    return { waitingRows, waitingBytes: this.#waitingBytes, failure: this.#retry.failure, delay: this.#inserter.delay }
  }

  get freshness(): EventsFreshness {
    const first = this.firstOutstanding
    const { acknowledgedAtMs, queryableAtMs } = this.#times
    return { acknowledgedAtMs, queryableAtMs, waitingSinceMs: first === null ? null : this.#times.timeOf(first) }
  }

  /** The first entry that is not stored; null when all are. */
  get firstOutstanding(): Sequence | null {
    return this.#inserter.first ?? this.#queue.first
  }

  get epoch(): number {
    return this.#queue.epoch
  }

  get behindFrom(): Sequence | null {
    return this.#queue.behind?.first ?? null
  }

  get mayRead(): boolean {
    const { blockCount, delay } = this.#inserter
    if (this.#queue.behind === null || blockCount > 1 || this.#isClosed || this.#isHeld || delay !== null) return false
    // When not even the name of a block could be written, there is nothing but what is behind to try again.
    return this.#retry.failure === null || (blockCount === 0 && !this.#retry.isPausing)
  }

  /** Takes what was just written into the log, in its order. */
  add(batch: LoggedBatch, dataSource: DataSource): void {
    const mayHold = !this.#isClosed && !this.#isHeld && this.#retry.failure === null && this.#inserter.delay === null
    const isInMemory = this.#queue.add(batch, mayHold)
    this.mayHaveEntries = true
    this.#dataSource = dataSource
    this.#times.note(firstOf(batch), batch.acceptedAtMs)
    this.#waitingRows += rowsOf(batch)
    this.#waitingBytes += batch.loggedBytes
    this.#count(batch)
    if (isInMemory) this.wake()
  }

  wants(sequence: Sequence, epoch: number): boolean {
    return !this.#isClosed && this.#queue.wants(sequence, epoch)
  }

  feed(batch: LoggedBatch, epoch: number): boolean {
    if (!this.wants(firstOf(batch), epoch)) return false
    this.#queue.takeBack(batch)
    this.wake()
    return true
  }

  endReading(epoch: number, last: Sequence): void {
    this.#queue.endReading(epoch, last)
  }

  /**
   * Resolves with true when the entry and all before it are stored, and with false when they are not after `timeMaxMs`.
   * @throws VIEW_FAILED (422) when a view does not take them.
   */
  untilStored(sequence: Sequence, timeMaxMs: number): Promise<boolean> {
    const first = this.firstOutstanding
    if (first === null || first > sequence) return Promise.resolve(true)
    const stored = this.#waiters.wait(sequence, timeMaxMs)
    this.wake()
    return stored
  }

  /**
   * The same for a reader, who does not hurry the events and hears nothing of failures. False as well when the data source goes, and
   * when `signal` is aborted.
   */
  untilQueryable(sequence: Sequence, timeMaxMs: number, signal: AbortSignal): Promise<boolean> {
    const first = this.firstOutstanding
    if (first === null || first > sequence) return Promise.resolve(true)
    return this.#readers.wait(sequence, timeMaxMs, signal)
  }

  /** Resolves with true when nothing waits any more; with false when something fails, or `timeMaxMs` are over. */
  async drain(timeMaxMs: number): Promise<boolean> {
    const last = this.#queue.last ?? this.#inserter.last
    if (last === null) return true
    if (this.#retry.failure !== null) return false
    try {
      return await this.untilStored(last, timeMaxMs)
    } catch {
      // What failed is told by the status; here it is only not stored.
      return false
    }
  }

  /** Stores nothing until `release`. Precondition: nothing waits. */
  hold(): void {
    assert(this.firstOutstanding === null, 'what waits is stored before events are held')
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    if (this.mayRead) this.#deps.onBehind()
    this.wake()
  }

  /** Tries again what has failed, or stores what is due. */
  wake(): void {
    if (this.#running !== null) return
    if (!this.#isDue()) {
      if (this.#retry.failure !== null && this.mayRead) this.#deps.onBehind()
      return
    }
    this.#running = this.#run().finally(() => {
      this.#running = null
      // What came in while the last block ended.
      if (this.#isDue()) this.wake()
      else this.#queue.wakeAt(this.#retry.retryAt)
    })
  }

  /**
   * Gives up what waits: it stays in the log. Resolves when no insert runs, or the time is over: the engine may not be able to
   * stop one, and its block is in the log and stored once under its id by the next start.
   */
  async close(timeMaxMs?: number): Promise<void> {
    this.#isClosed = true
    this.#queue.close()
    if (timeMaxMs === undefined) await this.#running
    else if (this.#running !== null && !(await within(timeMaxMs, this.#running))) this.#inserter.abandon()
    this.#letGo()
    this.#waiters.giveUp()
    this.#readers.giveUp()
  }

  #isDue(): boolean {
    if (this.#isClosed || this.#isHeld || this.#retry.isPausing) return false
    return this.#inserter.blockCount > 0 || this.#queue.isDue(this.#waiters.size > 0)
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    while (this.#isDue()) {
      this.#begunAtMs = this.#deps.clock()
      try {
        await this.#inserter.storeNext(this.#dataSource)
        if (this.mayRead) this.#deps.onBehind()
      } catch (error) {
        this.#fail(error)
        await this.#setViewAside(error)
      }
    }
  }

  /** A view that fails again and again waits by itself. */
  async #setViewAside(error: unknown): Promise<void> {
    const { views } = this.#deps
    const { failure } = this.#retry
    if (views === undefined || this.#isClosed || failure?.kind !== 'view') return
    if (failure.attemptCount < viewFailuresMax) return
    if (await views.setAside(this.stream, error)) this.#retry.endPause()
  }

  #onSlow(isFirst: boolean): void {
    if (isFirst) {
      const fields = { dataSource: this.name, waitingRows: this.#waitingRows }
      const message = 'The events of a data source take long to store; those of others go on meanwhile.'
      this.#deps.logger.warn(fields, message)
    }
    this.#queue.letGo()
  }

  #count(batch: LoggedBatch): void {
    const { events } = this.#counts
    events.rows += batch.rowCount
    events.quarantinedRows += batch.quarantinedRowCount
    events.bytes += batch.loggedBytes
  }

  #onStored(block: NamedBlock, counts: BlockCounts): void {
    this.#deps.kept?.noteStored(this.stream, block)
    this.#waitingRows -= counts.rowCount + counts.quarantinedRowCount
    this.#waitingBytes -= block.loggedBytes
    if (this.firstOutstanding === null) {
      this.#waitingRows = 0
      this.#waitingBytes = 0
    }
    if (this.#workRecorder.isOn) this.#tellStored(block, counts)
    const hadFailed = this.#retry.noteStored()
    if (hadFailed) this.#deps.logger.info({ dataSource: this.name }, 'The events of a data source are stored again.')
    this.#noteQueryable(block)
    if (this.mayRead) this.#deps.onBehind()
  }

  #noteQueryable({ sequences: [first, ...rest] }: NamedBlock): void {
    if (first === undefined) return
    const last = rest.at(-1) ?? first
    const next = this.firstOutstanding
    const sinceMs = this.#times.timeOf(first)
    // The clock may have been set back meanwhile.
    if (sinceMs !== null) this.#counts.lag.note(Math.max(0, this.#deps.now() - sinceMs))
    this.#times.noteQueryable(last, next === null)
    this.#waiters.stored(last, next)
    this.#readers.stored(last, next)
  }

  #tellStored({ blockId, loggedBytes }: NamedBlock, { rowCount, quarantinedRowCount }: BlockCounts): void {
    const counts = { rows: rowCount, quarantinedRows: quarantinedRowCount, readBytes: loggedBytes }
    this.#workRecorder.operation({ ...this.#appended, ...counts, blockIds: [blockId], error: null })
  }

  get #appended() {
    const elapsedMs = this.#deps.clock() - this.#begunAtMs
    const startedAtMs = this.#deps.now() - elapsedMs
    return { eventType: 'append-hfi', dataSource: this.#dataSource, startedAtMs, elapsedMs }
  }

  #fail(error: unknown): void {
    const kind = this.#inserter.isAbandoned ? 'closed' : insertFailureKind(error)
    if (kind === 'closed') {
      this.#isClosed = true
      return
    }
    const { logger, disk } = this.#deps
    const diskFault = diskFaultOf(error)
    if (diskFault !== null) disk.report(diskFault, error)
    const { message, attemptCount } = this.#retry.noteFailure(kind === 'view' ? 'view' : 'engine', error)
    if (attemptCount === 1) {
      const fields = { err: error, dataSource: this.name, waitingRows: this.#waitingRows }
      logger.error(fields, 'Events of a data source cannot be stored: they stay in the log, and are tried again.')
      this.#workRecorder.operation({ ...this.#appended, error: recordedReason(kind, error) })
    }
    this.#letGo()
    if (kind === 'view') this.#waiters.fail(message)
  }

  /** Whatever is in memory is in the log alone from now on. */
  #letGo(): void {
    this.#inserter.letGo()
    this.#queue.letGo()
  }
}

/** Why events are not stored, without values of rows; the log has more. */
function recordedReason(kind: InsertFailureKind, error: unknown): string {
  if (!(error instanceof StoreError) || diskFaultOf(error) !== null) return toldReason(error)
  if (kind === 'view') return toldReason(errors.VIEW_FAILED({ reason: error.message, cause: error }))
  const name = engineErrorName(error.message)
  return `The database does not take the events${name === '' ? '' : ` (${name})`}; the log has the reason`
}
