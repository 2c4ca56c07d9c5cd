/**
 * The write-ahead log as events use it: what is written into it, when it may forget, and how it comes back from a failure.
 *
 * 1. Bodies, and the notes of their keys, go into the log in one batch: after a crash both are there or neither.
 * 2. Nothing is released that is not stored. Before a release the engine's files are synced, and notes that are still
 *    needed are in the log once more.
 * 3. That a block is stored is written only after the engine's files were synced: a power cut may take what the engine has,
 *    and a start passes over what the log calls stored. What was stored since is inserted once more, under its token.
 * 4. While a few data sources hold the release back, what the others do not need is cut out of the older part of the log.
 *    Of them alone nothing is cut out, so that they fill their share of the log and no more.
 * 5. A failed log is opened again by itself, with growing pauses; senders are refused meanwhile.
 */
import type { Logger } from '../../observe/logger.ts'
import { type DiskReports, diskFaultOf, fullDiskReason } from '../../shared/disk-fault.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import type { Store } from '../../store/store.types.ts'
import {
  bookkeepingEntry,
  encodeBarrier,
  encodeBlockName,
  encodeNotes,
  encodeStored,
} from '../../wal/entry-payloads.ts'
import type { Sequence } from '../../wal/sequence.ts'
import type { Wal } from '../../wal/wal.ts'
import type { NewEntry, WalEntry, WalEvent } from '../../wal/wal.types.ts'
import { WalCheckpointError, WalRefusedError } from '../../wal/wal-errors.ts'
import type { NamedBlock } from '../insert/block.types.ts'
import type { IdempotencyIndex } from './idempotency-index.ts'
import { toLogRefusal } from './log-errors.ts'

export interface EventsLogOptions {
  readonly entryBytesMax: number
  /** Bytes of the whole log. */
  readonly logBytesMax: number
  readonly now: () => number
  /** Milliseconds that never go back. */
  readonly clock: () => number
  /** For senders who are refused. */
  readonly retryAfterSeconds: () => number
  /** The first entry that is not stored; null when all are. */
  readonly firstOutstanding: () => Sequence | null
  /** By data source, the first entry that is not stored, where it lies before `below`. */
  readonly outstandingBefore: (below: Sequence) => ReadonlyMap<string, Sequence>
}

interface LogDeps {
  readonly wal: Wal
  readonly store: Pick<Store, 'sync'>
  readonly keys: IdempotencyIndex
  readonly logger: Logger
  readonly disk: DiskReports
}

const reopenPauseMs = { first: 100, longest: 2_000 }
/** A release costs a sync of the engine's files. */
const releaseIntervalMs = 1_000
/** How long what is stored may wait for a sync while no release brings one: a start after a crash repeats it. */
const syncIntervalMs = 5_000
/** Blocks after which a sync does not wait: far fewer than the engine remembers the tokens of. */
const unsyncedBlocksMax = 1_000
/** Many notes share an entry. */
const notesPerEntry = 10_000
/** The newest part of the log: most of it is stored and forgotten in a moment, so it is not worth a look. */
const newestShare = 1 / 4
/** How long the log has no room until that counts as a state: a release that makes room comes once a second. */
const fullMsMin = 2_000

export class EventsLog {
  readonly #deps: LogDeps
  readonly #options: EventsLogOptions
  /** Notes of blocks that the engine has, and the disk perhaps not. */
  #unsynced: NewEntry[] = []
  /** A release or a sync, one at a time. */
  #working: Promise<void> | null = null
  #nextWork: NodeJS.Timeout | undefined
  #hasFailed = false
  #releasedAt = Number.NEGATIVE_INFINITY
  #reopening: NodeJS.Timeout | undefined
  #isClosed = false
  /** Since when rows were refused for want of room, and how large the log was then; null when some were taken since. */
  #full: { readonly sinceMs: number; readonly bytes: number } | null = null

  constructor(deps: LogDeps, options: EventsLogOptions) {
    this.#deps = deps
    this.#options = options
  }

  /**
   * Resolves with the entries' sequences when they are on disk.
   * @throws errors of the error table (413, 500, 503) when they are not.
   */
  async append(entries: readonly NewEntry[]): Promise<readonly Sequence[]> {
    const hadFailed = this.#deps.wal.stats().state === 'failed'
    try {
      const sequences = await this.#deps.wal.appendBatch(entries)
      if (this.#full !== null && entries[0]?.kind === 'rows') this.#full = null
      return sequences
    } catch (thrown) {
      if (thrown instanceof WalRefusedError && thrown.reason === 'log-full') {
        this.#full ??= { sinceMs: this.#options.clock(), bytes: this.#deps.wal.stats().totalBytes }
        // When nothing is stored any more, nothing else would make room.
        this.releaseSoon()
      }
      const { entryBytesMax, retryAfterSeconds } = this.#options
      throw toLogRefusal(thrown, { hadFailed, entryBytesMax, retryAfterSeconds: retryAfterSeconds() })
    }
  }

  /** Whether rows are refused for want of room, and have been for a while. */
  get isFull(): boolean {
    if (this.#full === null) return false
    // Room came, and nobody has tried since.
    if (this.#deps.wal.stats().totalBytes < this.#full.bytes) this.#full = null
    return this.#full !== null && this.#options.clock() - this.#full.sinceMs >= fullMsMin
  }

  /** Names a block; it may be inserted once this has resolved. Throws as `append` does. */
  async nameBlock(stream: string, block: NamedBlock): Promise<void> {
    const payload = encodeBlockName(block)
    const entry = bookkeepingEntry({ kind: 'blockName', stream, atMs: block.namedAtMs, payload })
    // Twice: without any, a start could not tell a block that is stored already from events that still wait.
    await this.append([entry, entry])
  }

  /** A block is in the engine; the log hears of it after the next sync. */
  noteStored(stream: string, block: NamedBlock, counts: { rowCount: number; quarantinedRowCount: number }): void {
    const payload = encodeStored({ blockId: block.blockId, last: block.sequences.at(-1) ?? null, ...counts })
    this.#unsynced.push(bookkeepingEntry({ kind: 'stored', stream, atMs: this.#options.now(), payload }))
    this.releaseSoon()
    if (this.#unsynced.length % unsyncedBlocksMax === 0) this.#work(() => this.#syncStored())
    else this.#workLater()
  }

  /** Nothing that is in the log of this stream by now is inserted any more. Throws as `append` and `Store.sync` do. */
  async barrier(stream: string, isFinal: boolean): Promise<void> {
    // What is stored is not repeated behind the barrier, so it has to outlive a power cut before; and the log calls it
    // stored, so that nothing comes back should the barrier's own entry be damaged.
    if (!isFinal) await this.#syncAll()
    const generation = this.#deps.wal.generationOf(stream) + 1
    const payload = encodeBarrier({ generation, isFinal })
    try {
      await this.append([bookkeepingEntry({ kind: 'barrier', stream, atMs: this.#options.now(), payload })])
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.code !== 'LOG_FAILED') throw thrown
      // No event is lost or doubled by a barrier too many, so whoever wants the change may simply repeat it.
      const reason = diskFaultOf(thrown) ?? 'it failed, and is tried again'
      throw errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds: this.#options.retryAfterSeconds(), cause: thrown })
    }
  }

  replay(from?: Sequence): AsyncIterable<WalEntry> {
    return this.#deps.wal.replay(from)
  }

  /** The log's own words, for the log of the service. */
  onEvent(event: WalEvent): void {
    const { logger, disk } = this.#deps
    switch (event.kind) {
      case 'disk-full':
        // The disk's own state has its one line, however often it refuses.
        disk.report(diskFaultOf(event.error) ?? fullDiskReason, event.error)
        return
      case 'failed':
        disk.report(diskFaultOf(event.error) ?? 'the disk cannot be read or written', event.error)
        logger.error(
          { err: event.error },
          'The disk failed under the log: events are refused until it is opened again.',
        )
        this.#reopenLater(reopenPauseMs.first)
        return
      case 'reopened':
        logger.info({}, 'The log was opened again.')
        return
      case 'mark-failed':
        logger.warn(
          { err: event.error },
          'How far the log is written could not be noted; should its files be cut, that may not be noticed.',
        )
        return
      case 'cleanup-failed':
        logger.warn(
          { err: event.error, file: event.file },
          'A file of the log that is not needed could not be removed.',
        )
    }
  }

  /** Lets the log forget what is stored, if that frees a file. Never rejects. */
  releaseSoon(): void {
    const { clock, firstOutstanding } = this.#options
    const { firstSegmentNext, totalBytes } = this.#deps.wal.stats()
    if (firstSegmentNext === null) return
    const isPressing = totalBytes > this.#options.logBytesMax / 2
    if (!isPressing && clock() - this.#releasedAt < releaseIntervalMs) return
    const first = firstOutstanding()
    if (first !== null && first < firstSegmentNext) {
      if (isPressing) this.#compactSoon()
      return
    }
    this.#work(async () => {
      try {
        await this.#release()
      } finally {
        this.#releasedAt = clock()
      }
    })
  }

  /** Closes the log; what is not stored stays in it. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#reopening)
    clearTimeout(this.#nextWork)
    await this.#working
    const { wal, logger } = this.#deps
    try {
      if (wal.stats().state === 'open') {
        await this.#release()
        await this.#syncStored()
      }
    } catch (err) {
      logger.error(
        { err },
        'The log could not forget what is stored before it was closed; the next start reads it again.',
      )
    }
    try {
      await wal.close()
    } catch (err) {
      if (!(err instanceof WalCheckpointError)) throw err
      logger.error(
        { err },
        'The log could not note what is stored before it was closed; the next start reads it again.',
      )
    }
  }

  /** Never rejects; what fails is tried again, also when nothing more is stored: senders may wait for room. */
  #work(task: () => Promise<void>): void {
    if (this.#working !== null || this.#isClosed) return
    const isRetry = this.#hasFailed
    this.#hasFailed = false
    this.#working = task()
      .catch((err: unknown) => {
        this.#hasFailed = true
        // A state has one line, however often it is tried again.
        if (!isRetry) this.#deps.logger.error({ err }, 'The log could not forget what is stored; it is tried again.')
      })
      .finally(() => {
        this.#working = null
        this.#workLater()
      })
  }

  #workLater(): void {
    const isNeeded = this.#hasFailed || this.#unsynced.length > 0
    if (this.#nextWork !== undefined || this.#isClosed || !isNeeded) return
    this.#nextWork = setTimeout(() => {
      this.#nextWork = undefined
      this.releaseSoon()
      this.#work(() => this.#syncStored())
    }, syncIntervalMs)
    this.#nextWork.unref()
  }

  /** Syncs the engine, then writes down what it had by then. */
  async #syncStored(): Promise<void> {
    if (this.#unsynced.length === 0) return
    const settled = await this.#firstNeeded()
    const notes = this.#unsynced
    this.#unsynced = []
    try {
      await this.#deps.store.sync()
      if (notes.length > 0) await this.append(notes)
      this.#deps.wal.settle(settled)
    } catch (error) {
      this.#unsynced = [...notes, ...this.#unsynced]
      throw error
    }
  }

  async #release(): Promise<void> {
    const { wal } = this.#deps
    const bound = await this.#firstNeeded()
    if (bound <= wal.stats().releasedSequence) return
    await this.#syncAll()
    wal.settle(bound)
    await this.#carryNotes(bound, new Map())
    await wal.release(bound)
  }

  /** Everything below is stored. */
  async #firstNeeded(): Promise<Sequence> {
    const next = this.#deps.wal.stats().nextSequence
    await this.#untilCounted()
    const below = this.#options.firstOutstanding() ?? next
    return below < next ? below : next
  }

  /** Cuts what is stored out from between what is not, where that makes the log smaller. */
  #compactSoon(): void {
    const { wal } = this.#deps
    const below = wal.boundaryBefore(this.#options.logBytesMax * newestShare)
    if (below === null) return
    if (!wal.isWorthCompacting({ below, firstNeeded: this.#options.outstandingBefore(below) })) return
    this.#work(() => this.#compact(below))
  }

  async #compact(below: Sequence): Promise<void> {
    const { wal, logger } = this.#deps
    const { now, outstandingBefore } = this.#options
    await this.#untilCounted()
    const firstNeeded = outstandingBefore(below)
    // What is not outstanding by now was stored before this sync.
    await this.#syncAll()
    await this.#carryNotes(below, firstNeeded)
    const freedBytes = await wal.compact({ below, firstNeeded, atMs: now() })
    if (freedBytes === null) return
    const fields = { freedBytes, dataSourceCount: firstNeeded.size }
    logger.debug(fields, 'What is stored was cut out of the log from between events that are not.')
  }

  /** Whoever appended what is on disk hears of it before this resolves, and counts it as outstanding. */
  async #untilCounted(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
  }

  async #syncAll(): Promise<void> {
    if (this.#unsynced.length > 0) await this.#syncStored()
    else await this.#deps.store.sync()
  }

  async #carryNotes(below: Sequence, firstNeeded: ReadonlyMap<string, Sequence>): Promise<void> {
    const { keys } = this.#deps
    const { now } = this.#options
    const notes = keys.notesBelow(below, now(), ({ stream, sequence }) => {
      const first = firstNeeded.get(stream)
      return first !== undefined && sequence >= first
    })
    for (let start = 0; start < notes.length; start += notesPerEntry) {
      const some = notes.slice(start, start + notesPerEntry)
      const entry = bookkeepingEntry({ kind: 'note', stream: '', atMs: now(), payload: encodeNotes(some) })
      const [sequence] = await this.append([entry])
      if (sequence !== undefined) keys.moveTo(some, sequence)
    }
  }

  #reopenLater(pauseMs: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#reopening)
    this.#reopening = setTimeout(() => {
      this.#deps.wal.reopen().catch((err: unknown) => {
        // A state has one line, however often it is tried again.
        if (pauseMs === reopenPauseMs.first) this.#deps.logger.warn({ err }, 'The log could not be opened again yet.')
        this.#reopenLater(Math.min(pauseMs * 2, reopenPauseMs.longest))
      })
    }, pauseMs)
    this.#reopening.unref()
  }
}
