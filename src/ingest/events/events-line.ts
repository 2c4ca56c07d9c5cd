/**
 * The events of one data source between the log and the engine.
 *
 * 1. Blocks are sealed in the order of the log, and cover it without gaps: what is behind the last seal is what waits.
 * 2. One block is inserted at a time, after its seal is on disk; it is tried again under the same id until it is stored.
 * 3. What fails is let go from memory: it is in the log, and read back when its time has come. So a data source that
 *    cannot be stored costs no memory, and holds up no other.
 */

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { assert } from '../../shared/assert.ts'
import { type DiskReports, diskFaultOf } from '../../shared/disk-fault.ts'
import { within } from '../../shared/within.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import type { InsertPlaces } from '../../store/insert-places.ts'
import type { Sequence } from '../../wal/sequence.ts'
import { toSequence } from '../../wal/sequence.ts'
import type { SealedBlock } from '../insert/block.types.ts'
import { insertFailureKind, mayBeOfRows } from '../insert/insert-failure.ts'
import { PartitionsExceededError } from '../insert/partition-limits.ts'
import { isPlainTable } from '../insert/plain-table.ts'
import { isCostly } from '../insert/staged-rows.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { BlockCounts, BlockSource, BlockStore } from './block-store.ts'
import type { DrainedBytes, DrainRate } from './drain-rate.ts'
import type { FlushRule, LineDelay, LineFailure, LineStatus, LoggedBatch } from './events.types.ts'
import type { EventsLog } from './events-log.ts'
import { FlushClock } from './flush-clock.ts'
import type { BehindLine } from './log-reader.ts'
import { StoredWaiters } from './stored-waiters.ts'

export interface LineRooms {
  readonly log: Pick<EventsLog, 'noteStored' | 'seal'>
  readonly blocks: BlockStore
  /** Inserts that may run at once, of all data sources. */
  readonly places: InsertPlaces
  readonly budget: MemoryBudget
  readonly drain: DrainRate
  readonly rule: FlushRule
  readonly logger: Logger
  readonly disk: DiskReports
  /** Epoch milliseconds, for what people read. */
  readonly now: () => number
  /** Milliseconds that never go back, for everything that waits. */
  readonly clock: () => number
  /** Told when some events are in the log alone. */
  readonly onBehind: () => void
}

/** A line as the log left it. */
export interface RecoveredLine {
  readonly sealed: readonly SealedBlock[]
  readonly behind: Behind | null
  readonly waitingRows: number
  readonly waitingBytes: number
}

export interface Behind {
  readonly first: Sequence
  readonly last: Sequence
}

const retryPauseMs = { first: 250, longest: 30_000 }

export class EventsLine implements BehindLine {
  readonly stream: string
  epoch = 0
  /** While it is true, new events are refused: their data source is about to change. */
  isBarred = false
  /** False as long as the log has nothing of it that a start would store, and so needs no barrier. */
  mayHaveEntries: boolean
  /** While it is true, nothing is inserted: what comes is in the log, and read back when it is false again. */
  private isHeld = false
  /** While there is one, a block takes long: what comes must not wait in memory that others need. */
  private delay: LineDelay | null = null
  private begunAtMs = 0
  private isToldSlow = false
  private dataSource: DataSource
  private readonly rooms: LineRooms
  private readonly clock: FlushClock
  private readonly waiters = new StoredWaiters()
  private queue: LoggedBatch[] = []
  /** What is being named in the log: neither in the queue nor a block, and not stored. */
  private sealing: readonly LoggedBatch[] = []
  private queuedRows = 0
  private queuedBytes = 0
  private lastAdded = 0
  /** Blocks that are named in the log and not stored, oldest first. */
  private readonly sealed: SealedBlock[]
  /** What the first of `sealed` was made of, while that is in memory. */
  private content: readonly LoggedBatch[] | null = null
  private behind: Behind | null
  private failure: LineFailure | null = null
  /** By the clock; means something while there is a failure. */
  private retryAt = 0
  private waitingRows: number
  private waitingBytes: number
  private running: Promise<void> | null = null
  private isClosed = false
  /** The log closes while an insert runs: nothing is noted any more. */
  private isLeft = false

  constructor(dataSource: DataSource, rooms: LineRooms, recovered: RecoveredLine = nothing) {
    this.stream = dataSource.id
    this.dataSource = dataSource
    this.rooms = rooms
    this.sealed = [...recovered.sealed]
    this.behind = recovered.behind
    this.waitingRows = recovered.waitingRows
    this.waitingBytes = recovered.waitingBytes
    this.mayHaveEntries = recovered !== nothing
    this.clock = new FlushClock(rooms.rule, rooms.clock, () => this.wake())
  }

  /** Of the data source. */
  get name(): string {
    return this.dataSource.name
  }

  get status(): LineStatus {
    const { waitingRows, waitingBytes, failure, delay } = this
    return { waitingRows, waitingBytes, failure, delay }
  }

  /** The first entry that is not stored; null when all are. */
  get firstOutstanding(): Sequence | null {
    const first = this.sealed[0] ?? this.sealing[0] ?? this.queue[0]
    return first?.sequences[0] ?? this.behind?.first ?? null
  }

  get mayRead(): boolean {
    if (this.behind === null || this.sealed.length > 1 || this.isClosed || this.isHeld || this.delay !== null)
      return false
    // When even the seal of a block failed, there is nothing but what is behind to try again.
    return this.failure === null || (this.sealed.length === 0 && !this.isPausing)
  }

  get behindFrom(): Sequence | null {
    return this.behind?.first ?? null
  }

  /** Takes what was just written into the log, in its order. */
  add(batch: LoggedBatch, dataSource: DataSource): void {
    assert(firstOf(batch) > this.lastAdded, 'batches come in the order of the log')
    this.lastAdded = lastOf(batch)
    this.mayHaveEntries = true
    this.dataSource = dataSource
    this.waitingRows += rowsOf(batch)
    this.waitingBytes += batch.loggedBytes
    if (this.behind === null && this.failure === null && !this.isClosed && !this.isHeld && this.delay === null) {
      this.enqueue(batch)
      return
    }
    this.rooms.budget.give(batch.heldBytes)
    this.fallBehind(firstOf(batch), lastOf(batch))
  }

  wants(sequence: Sequence, epoch: number): boolean {
    if (epoch !== this.epoch || this.behind === null || this.isClosed) return false
    return sequence >= this.behind.first && sequence <= this.behind.last
  }

  feed(batch: LoggedBatch, epoch: number): boolean {
    if (!this.wants(firstOf(batch), epoch)) return false
    this.readUpTo(lastOf(batch))
    this.enqueue(batch)
    return true
  }

  endReading(epoch: number, last: Sequence): void {
    if (epoch === this.epoch && this.behind !== null && last >= this.behind.first) this.readUpTo(last)
  }

  /**
   * Resolves with true when the entry and all before it are stored, and with false when they are not after `timeMaxMs`.
   * @throws VIEW_FAILED (422) when a view does not take them.
   */
  untilStored(sequence: Sequence, timeMaxMs: number): Promise<boolean> {
    const first = this.firstOutstanding
    if (first === null || first > sequence) return Promise.resolve(true)
    const stored = this.waiters.wait(sequence, timeMaxMs)
    this.wake()
    return stored
  }

  /** Resolves with true when nothing waits any more; with false when something fails, or `timeMaxMs` are over. */
  async drain(timeMaxMs: number): Promise<boolean> {
    const last = this.lastOutstanding()
    if (last === null) return true
    if (this.failure !== null) return false
    try {
      return await this.untilStored(last, timeMaxMs)
    } catch {
      // What failed is told by the line's status; here it is only not stored.
      return false
    }
  }

  /** Stores nothing until `release`. Precondition: nothing waits. */
  hold(): void {
    assert(this.firstOutstanding === null, 'what waits is stored before a line is held')
    this.isHeld = true
  }

  release(): void {
    this.isHeld = false
    if (this.mayRead) this.rooms.onBehind()
    this.wake()
  }

  /** Tries again what has failed, or stores what is due. */
  wake(): void {
    if (this.running !== null) return
    if (!this.isDue()) {
      if (this.failure !== null && this.mayRead) this.rooms.onBehind()
      return
    }
    this.running = this.run().finally(() => {
      this.running = null
      // What came in while the last block ended.
      if (this.isDue()) this.wake()
      else this.clock.arm(this.failure === null ? null : this.retryAt)
    })
  }

  /**
   * Gives up what waits: it stays in the log. Resolves when no insert runs, or the time is over: the engine may not be able to
   * stop one, and its block is in the log and stored once under its id by the next start.
   */
  async close(timeMaxMs?: number): Promise<void> {
    this.isClosed = true
    this.clock.close()
    if (timeMaxMs === undefined) await this.running
    else if (this.running !== null) this.isLeft = !(await within(timeMaxMs, this.running))
    this.letGo()
    this.waiters.giveUp()
  }

  private isDue(): boolean {
    if (this.isClosed || this.isHeld) return false
    if (this.isPausing) return false
    if (this.sealed.length > 0) return true
    if (this.queue.length === 0) return false
    const { eventsFlushRowsMax, eventsFlushBytesMax } = this.rooms.rule
    // A share of the whole budget: the limits of a block may be larger than what may be held.
    if (this.queuedBytes >= Math.min(eventsFlushBytesMax, this.rooms.budget.bytesMax / 4)) return true
    if (this.queuedRows >= eventsFlushRowsMax) return true
    return this.waiters.size > 0 || this.clock.isOver
  }

  private enqueue(batch: LoggedBatch): void {
    this.queue.push(batch)
    this.queuedRows += rowsOf(batch)
    this.queuedBytes += batch.heldBytes
    this.clock.noteBody()
    this.wake()
  }

  private get isPausing(): boolean {
    return this.failure !== null && this.retryAt > this.rooms.clock()
  }

  /** Never rejects. */
  private async run(): Promise<void> {
    while (this.isDue()) {
      try {
        await this.storeNext()
      } catch (error) {
        this.fail(error)
      }
    }
  }

  private async storeNext(): Promise<void> {
    const { places } = this.rooms
    const block = this.sealed[0] ?? (await this.sealNext())
    const source = { dataSource: this.dataSource, stream: this.stream, block, content: this.content }
    try {
      const counts = await places.use(
        { key: this.stream, isPlain: isPlainTable(this.dataSource) },
        () => this.insert(source),
        () => this.noteSlow(null),
      )
      if (this.isLeft) return
      if (this.delay === null) this.isToldSlow = false
      this.finish(block, counts)
    } catch (error) {
      if (this.isLeft) throw error
      // What is done about it takes its time, and must not take the place of others.
      if (isCostly(error)) await this.storeInPieces(source, error)
      else if (mayBeOfRows(error) || error instanceof PartitionsExceededError) await this.isolate(source, error)
      else throw error
    } finally {
      this.delay = null
    }
    if (this.mayRead) this.rooms.onBehind()
  }

  private async insert(source: BlockSource): Promise<BlockCounts> {
    const { blocks, drain, now } = this.rooms
    this.begunAtMs = now()
    const heldBytes = this.content?.reduce((total, batch) => total + batch.heldBytes, 0) ?? source.block.loggedBytes
    let drained: DrainedBytes | null = null
    drain.begin()
    try {
      const counts = await blocks.insert(source)
      drained = { loggedBytes: source.block.loggedBytes, heldBytes }
      return counts
    } finally {
      drain.end(drained)
    }
  }

  private async isolate(source: BlockSource, error: unknown): Promise<void> {
    try {
      this.sealed[0] = await this.rooms.blocks.isolate(source, error)
      this.letGoContent()
    } catch (thrown) {
      // The search for what is refused needs INSERTs too.
      if (!isCostly(thrown)) throw thrown
      await this.storeInPieces(source, thrown)
    }
  }

  private async storeInPieces(source: BlockSource, error: unknown): Promise<void> {
    this.noteSlow(error)
    this.letGoContent()
    const { block, counts } = await this.rooms.blocks.insertInPieces(source, {
      failure: error,
      isGivenUp: () => this.isClosed,
    })
    if (this.isLeft) return
    this.finish(block, counts)
  }

  private noteSlow(failure: unknown): void {
    const { logger } = this.rooms
    if (!this.isToldSlow) {
      const fields = { dataSource: this.dataSource.name, waitingRows: this.waitingRows }
      logger.warn(fields, 'The events of a data source take long to store; those of others go on meanwhile.')
    }
    this.isToldSlow = true
    this.delay = { sinceMs: this.begunAtMs, reason: failure === null ? null : reasonOf(failure) }
    this.letGoQueue()
  }

  private async sealNext(): Promise<SealedBlock> {
    const taken = this.takeBatches()
    this.sealing = taken
    try {
      const block = await this.rooms.blocks.seal(this.stream, taken)
      this.sealed.push(block)
      this.content = taken
      return block
    } catch (error) {
      // Nothing of it is sealed: it is what waits first, as before.
      this.replaceQueue([...taken, ...this.queue])
      throw error
    } finally {
      this.sealing = []
    }
  }

  private takeBatches(): readonly LoggedBatch[] {
    const { eventsFlushRowsMax, eventsFlushBytesMax } = this.rooms.rule
    let count = 0
    let rowCount = 0
    let byteCount = 0
    for (const batch of this.queue) {
      rowCount += rowsOf(batch)
      byteCount += batch.heldBytes
      if (count > 0 && (rowCount > eventsFlushRowsMax || byteCount > eventsFlushBytesMax)) break
      count += 1
    }
    const taken = this.queue.slice(0, count)
    this.replaceQueue(this.queue.slice(count))
    return taken
  }

  private replaceQueue(queue: LoggedBatch[]): void {
    this.queue = queue
    this.queuedRows = queue.reduce((total, batch) => total + rowsOf(batch), 0)
    this.queuedBytes = queue.reduce((total, batch) => total + batch.heldBytes, 0)
    if (queue.length === 0) this.clock.reset()
  }

  private finish(
    block: SealedBlock,
    counts: { readonly rowCount: number; readonly quarantinedRowCount: number },
  ): void {
    const { logger, log } = this.rooms
    this.sealed.shift()
    this.letGoContent()
    this.waitingRows -= counts.rowCount + counts.quarantinedRowCount
    this.waitingBytes -= block.loggedBytes
    if (this.firstOutstanding === null) {
      this.waitingRows = 0
      this.waitingBytes = 0
    }
    if (this.failure !== null) {
      logger.info({ dataSource: this.dataSource.name }, 'The events of a data source are stored again.')
      this.failure = null
    }
    log.noteStored(this.stream, block, counts)
    const last = block.sequences.at(-1)
    if (last !== undefined) this.waiters.stored(last)
    if (this.mayRead) this.rooms.onBehind()
  }

  private fail(error: unknown): void {
    const kind = this.isLeft ? 'closed' : insertFailureKind(error)
    if (kind === 'closed') {
      this.isClosed = true
      return
    }
    const { now, clock, logger, disk } = this.rooms
    const diskFault = diskFaultOf(error)
    if (diskFault !== null) disk.report(diskFault, error)
    const attemptCount = (this.failure?.attemptCount ?? 0) + 1
    const pauseMs = Math.min(retryPauseMs.first * 2 ** Math.min(attemptCount - 1, 16), retryPauseMs.longest)
    const message = reasonOf(error)
    const sinceMs = this.failure?.sinceMs ?? now()
    this.retryAt = clock() + pauseMs
    this.failure = {
      kind: kind === 'view' ? 'view' : 'engine',
      message,
      sinceMs,
      retryAtMs: now() + pauseMs,
      attemptCount,
    }
    if (attemptCount === 1) {
      const fields = { err: error, dataSource: this.dataSource.name, waitingRows: this.waitingRows }
      logger.error(fields, 'Events of a data source cannot be stored: they stay in the log, and are tried again.')
    }
    this.letGo()
    if (kind === 'view') this.waiters.fail(message)
  }

  /** Whatever is in memory is in the log alone from now on. */
  private letGo(): void {
    this.letGoContent()
    this.letGoQueue()
  }

  private letGoQueue(): void {
    const queued = this.queue
    this.replaceQueue([])
    const [first] = queued
    const last = queued.at(-1)
    if (first === undefined || last === undefined) return
    for (const { heldBytes } of queued) this.rooms.budget.give(heldBytes)
    this.fallBehind(firstOf(first), lastOf(last))
    this.epoch += 1
  }

  private letGoContent(): void {
    for (const { heldBytes } of this.content ?? []) this.rooms.budget.give(heldBytes)
    this.content = null
  }

  private fallBehind(first: Sequence, last: Sequence): void {
    const { behind } = this
    this.behind =
      behind === null
        ? { first, last }
        : { first: first < behind.first ? first : behind.first, last: last > behind.last ? last : behind.last }
  }

  private readUpTo(last: Sequence): void {
    if (this.behind === null) return
    this.behind = last >= this.behind.last ? null : { first: toSequence(last + 1), last: this.behind.last }
  }

  private lastOutstanding(): Sequence | null {
    const last = this.queue.at(-1) ?? this.sealing.at(-1) ?? this.sealed.at(-1)
    return this.behind?.last ?? last?.sequences.at(-1) ?? null
  }
}

const nothing: RecoveredLine = { sealed: [], behind: null, waitingRows: 0, waitingBytes: 0 }

/** For people: what the engine says. */
function reasonOf(error: unknown): string {
  return withoutInternals(error instanceof Error ? error.message : String(error))
}

function rowsOf({ rowCount, quarantinedRowCount }: LoggedBatch): number {
  return rowCount + quarantinedRowCount
}

function firstOf({ sequences: [first] }: LoggedBatch): Sequence {
  assert(first !== undefined, 'a batch has entries')
  return first
}

function lastOf({ sequences }: LoggedBatch): Sequence {
  const last = sequences.at(-1)
  assert(last !== undefined, 'a batch has entries')
  return last
}
