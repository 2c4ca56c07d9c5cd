/**
 * The write-ahead log as events use it: what is written into it, when it may forget, and how it comes back from a failure.
 *
 * 1. Bodies, and the notes of their keys, go into the log in one batch: after a crash both are there or neither.
 * 2. Nothing is released that is not stored. Before a release the engine's files are synced, and notes that are still
 *    needed are in the log once more.
 * 3. A failed log is opened again by itself, with growing pauses; senders are refused meanwhile.
 */
import type { Logger } from '../observe/logger.ts'
import type { Store } from '../store/store.types.ts'
import { bookkeepingEntry, encodeBarrier, encodeNotes, encodeSeal, encodeStored } from '../wal/entry-payloads.ts'
import type { Sequence } from '../wal/sequence.ts'
import type { Wal } from '../wal/wal.ts'
import type { NewEntry, WalEntry, WalEvent } from '../wal/wal.types.ts'
import type { SealedBlock } from './events.types.ts'
import type { IdempotencyIndex } from './idempotency-index.ts'
import { toLogRefusal } from './log-errors.ts'

export interface EventsLogOptions {
  readonly entryBytesMax: number
  /** Bytes of the whole log. */
  readonly logBytesMax: number
  readonly now: () => number
  /** For senders who are refused. */
  readonly retryAfterSeconds: () => number
  /** The first entry that is not stored; null when all are. */
  readonly firstOutstanding: () => Sequence | null
}

interface LogRooms {
  readonly wal: Wal
  readonly store: Pick<Store, 'sync'>
  readonly keys: IdempotencyIndex
  readonly logger: Logger
}

const reopenPauseMs = { first: 100, longest: 10_000 }
/** A release costs a sync of the engine's files. */
const releaseIntervalMs = 1_000
/** Many notes share an entry. */
const notesPerEntry = 10_000

export class EventsLog {
  private readonly rooms: LogRooms
  private readonly options: EventsLogOptions
  private releasing: Promise<void> | null = null
  private releasedAtMs = Number.NEGATIVE_INFINITY
  private reopening: NodeJS.Timeout | undefined
  private isClosed = false

  constructor(rooms: LogRooms, options: EventsLogOptions) {
    this.rooms = rooms
    this.options = options
  }

  /**
   * Resolves with the entries' sequences when they are on disk.
   * @throws errors of the error table (413, 500, 503) when they are not.
   */
  async append(entries: readonly NewEntry[]): Promise<readonly Sequence[]> {
    const hadFailed = this.rooms.wal.stats().state === 'failed'
    try {
      return await this.rooms.wal.appendBatch(entries)
    } catch (thrown) {
      const { entryBytesMax, retryAfterSeconds } = this.options
      throw toLogRefusal(thrown, { hadFailed, entryBytesMax, retryAfterSeconds: retryAfterSeconds() })
    }
  }

  /** Names a block; it may be inserted once this has resolved. Throws as `append` does. */
  async seal(stream: string, block: SealedBlock): Promise<void> {
    const payload = encodeSeal(block)
    await this.append([bookkeepingEntry({ kind: 'seal', stream, atMs: block.sealedAtMs, payload })])
  }

  /** Notes that a block is in the engine. Without the note a restart would only try it once more, to no effect. */
  noteStored(stream: string, block: SealedBlock, counts: { rowCount: number; quarantinedRowCount: number }): void {
    const payload = encodeStored({ blockId: block.blockId, ...counts })
    const entry = bookkeepingEntry({ kind: 'stored', stream, atMs: this.options.now(), payload })
    this.append([entry]).catch((err: unknown) => {
      this.rooms.logger.debug({ err, blockId: block.blockId }, 'The log has no note of a stored block.')
    })
    this.releaseSoon()
  }

  /** Nothing that is in the log of this stream by now is inserted any more. Throws as `append` does. */
  async barrier(stream: string, isFinal: boolean): Promise<void> {
    const generation = this.rooms.wal.generationOf(stream) + 1
    const payload = encodeBarrier({ generation, isFinal })
    await this.append([bookkeepingEntry({ kind: 'barrier', stream, atMs: this.options.now(), payload })])
  }

  replay(from?: Sequence): AsyncIterable<WalEntry> {
    return this.rooms.wal.replay(from)
  }

  /** The log's own words, for the log of the service. */
  onEvent(event: WalEvent): void {
    const { logger } = this.rooms
    switch (event.kind) {
      case 'disk-full':
        logger.error({ err: event.error }, 'The disk is full: events are refused until there is room.')
        return
      case 'failed':
        logger.error(
          { err: event.error },
          'The disk failed under the log: events are refused until it is opened again.',
        )
        this.reopenLater(reopenPauseMs.first)
        return
      case 'reopened':
        logger.info({}, 'The log was opened again.')
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
    const { now, firstOutstanding } = this.options
    const { firstSegmentNext, totalBytes } = this.rooms.wal.stats()
    if (firstSegmentNext === null || this.releasing !== null || this.isClosed) return
    const isPressing = totalBytes > this.options.logBytesMax / 2
    if (!isPressing && now() - this.releasedAtMs < releaseIntervalMs) return
    const first = firstOutstanding()
    if (first !== null && first < firstSegmentNext) return
    this.releasing = this.release()
      .catch((err: unknown) => {
        this.rooms.logger.error({ err }, 'The log could not forget what is stored; it is tried again.')
      })
      .finally(() => {
        this.releasedAtMs = now()
        this.releasing = null
      })
  }

  /** Closes the log; what is not stored stays in it. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.reopening)
    await this.releasing
    const { wal, logger } = this.rooms
    try {
      if (wal.stats().state === 'open') await this.release()
    } catch (err) {
      logger.error(
        { err },
        'The log could not forget what is stored before it was closed; the next start reads it again.',
      )
    }
    await wal.close()
  }

  private async release(): Promise<void> {
    const { wal, store } = this.rooms
    const next = wal.stats().nextSequence
    // Whoever appended what is below `next` hears of it before this turn ends, and counts it as outstanding.
    await new Promise<void>((resolve) => setImmediate(resolve))
    const below = this.options.firstOutstanding() ?? next
    const bound = below < next ? below : next
    if (bound <= wal.stats().releasedSequence) return
    await store.sync()
    await this.carryNotes(bound)
    await wal.release(bound)
  }

  private async carryNotes(below: Sequence): Promise<void> {
    const { keys } = this.rooms
    const { now } = this.options
    const notes = keys.notesBelow(below, now())
    for (let start = 0; start < notes.length; start += notesPerEntry) {
      const some = notes.slice(start, start + notesPerEntry)
      const entry = bookkeepingEntry({ kind: 'note', stream: '', atMs: now(), payload: encodeNotes(some) })
      const [sequence] = await this.append([entry])
      if (sequence !== undefined) keys.moveTo(some, sequence)
    }
  }

  private reopenLater(pauseMs: number): void {
    if (this.isClosed) return
    clearTimeout(this.reopening)
    this.reopening = setTimeout(() => {
      this.rooms.wal.reopen().catch((err: unknown) => {
        this.rooms.logger.warn({ err }, 'The log could not be opened again yet.')
        this.reopenLater(Math.min(pauseMs * 2, reopenPauseMs.longest))
      })
    }, pauseMs)
    this.reopening.unref()
  }
}
