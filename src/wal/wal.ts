/**
 * The write-ahead log: what was taken from senders and is not yet in the engine.
 *
 * 1. An append resolves after its bytes, and the name of the file they are in, were synced; never before.
 * 2. Entries have sequences without gaps, in the order of the appends; a batch is in the log as a whole or not at all.
 * 3. A refused append (WalRefusedError) left nothing. A failed one (WalFailedError) is not acknowledged: `reopen` cuts it
 *    off; after a crash whatever is whole counts as written. So a sender who repeats it needs a key that a note remembers.
 * 4. After a failed write or sync the descriptor is never synced again: everything is refused until `reopen`.
 * 5. Only the last group can be torn by a crash. Anything else that is broken, missing or out of place was on disk once:
 *    that is damage, and is never skipped without a word.
 * 6. The checkpoint is on disk before a segment goes; a segment goes only when all of it was released.
 * 7. While a few streams hold back the release, a compaction cuts out of old segments what the others do not need any more.
 * 8. Nothing is kept in memory but what waits for the disk and the generations; both have a maximum, as the log has.
 */
import { join } from 'node:path'
import { assert } from '../shared/assert.ts'
import { CheckpointKeeper } from './checkpoint-keeper.ts'
import { bookkeepingEntry, decodeBarrier, encodeSettled } from './entry-payloads.ts'
import type { FileLayer, LogFile } from './file-layer.ts'
import type { Generations } from './generations.ts'
import { GroupCommit } from './group-commit.ts'
import { type LogMark, LogMarker } from './log-mark.ts'
import { NamingTurns } from './naming-turns.ts'
import { type RecoveredLog, recoverLog } from './recovery.ts'
import { SegmentChain } from './segment-chain.ts'
import { SegmentCompactor } from './segment-compactor.ts'
import { segmentHeaderBytes } from './segment-format.ts'
import { type KnownSegment, readSegment, toWalEntry } from './segment-reader.ts'
import type { Sequence } from './sequence.ts'
import type { CompactionRequest, NewEntry, RecoveryReport, WalEntry, WalOptions, WalStats } from './wal.types.ts'
import { WalClosedError, WalRefusedError } from './wal-errors.ts'

/** The log's directory in the data directory. */
export const logDirectoryName = 'wal'

/** An open log. */
export interface Wal {
  /** What was found when it was opened. */
  readonly recovery: RecoveryReport
  /**
   * Resolves with the entry's sequence when it is on disk.
   *
   * @throws WalRefusedError when there is no room for it; nothing of it is in the log.
   * @throws WalFailedError when the disk failed; it is not acknowledged.
   * @throws WalClosedError after `close`.
   */
  append(entry: NewEntry): Promise<Sequence>
  /** Like `append`, for at least one entry: neighbours in the log, and after a crash either all there or none. */
  appendBatch(entries: readonly NewEntry[]): Promise<readonly Sequence[]>
  /**
   * The entries from `from` on that were on disk when it was called, in order, one window of memory at a time; payloads are
   * the reader's own. What is released meanwhile is left out, by whole segments.
   *
   * @throws WalCorruptError when what was whole at the start no longer is.
   */
  replay(from?: Sequence): AsyncIterable<WalEntry>
  /**
   * Says that nothing below is needed. Writes the checkpoint, and resolves after it, when whole segments have become free;
   * a lower sequence than before changes nothing. A note that is to outlive its segment must have been appended again.
   *
   * @throws WalCheckpointError when the checkpoint cannot be written: nothing was removed, and the next release tries again.
   */
  release(below: Sequence): Promise<void>
  /**
   * Says that everything below which is events is stored and outlives a power cut. Nothing is removed because of it: a start
   * that misses or loses something of the log knows by it what was still needed.
   */
  settle(below: Sequence): void
  /** Where a segment ends that at least `newestBytes` of the log come behind; null when none does. */
  boundaryBefore(newestBytes: number): Sequence | null
  /**
   * Cuts out of whole segments before `below` what is not needed; see `CompactionRequest`. What a stream that it does not
   * name has there must be stored, and outlive a power cut, by now; a note that is to outlive its segment must have been
   * appended again. Gives the bytes by which the log became smaller, or null when a look at the segments is not worth it.
   *
   * @throws what `append` and `release` do, and errors of the disk; the log is well, and the next compaction tries again.
   */
  compact(request: CompactionRequest): Promise<number | null>
  /** Whether `compact` would look at anything. */
  isWorthCompacting(request: Pick<CompactionRequest, 'below' | 'firstNeeded'>): boolean
  /** The generation of a stream by its last barrier on disk; 0 without one. */
  generationOf(stream: string): number
  stats(): WalStats
  /**
   * Brings a failed log back: reads again what was acknowledged, cuts off the doubtful rest, begins a new segment.
   * Nothing happens to a log that is well.
   *
   * @throws WalFailedError when the disk still fails; the log stays as it was.
   */
  reopen(): Promise<void>
  /**
   * Waits for what was appended, writes the checkpoint, lets the files go.
   *
   * @throws WalCheckpointError when that cannot be written; the log is closed all the same, and nothing in it is lost.
   */
  close(): Promise<void>
}

/**
 * Opens the log of a directory, or begins one; see `WalOptions.onDamage` for a damaged one.
 *
 * @throws WalCorruptError, WalFormatError with the file and the offset; the files are as they were.
 */
export async function openWal(options: WalOptions, files: FileLayer): Promise<Wal> {
  assert(options.totalBytesMax >= 2 * options.segmentBytesMax, 'a log has room for two segments')
  assert(options.segmentBytesMax > segmentHeaderBytes, 'a segment has room for entries')
  const log = await recoverLog(options, files)
  const wal = new SegmentedWal(options, files, log)
  await wal.openMark()
  return wal
}

class SegmentedWal implements Wal {
  readonly recovery: RecoveryReport
  readonly #options: WalOptions
  readonly #files: FileLayer
  readonly #logId: Uint8Array
  readonly #generations: Generations
  readonly #chain: SegmentChain
  readonly #commits: GroupCommit
  readonly #keeper: CheckpointKeeper
  readonly #compactor: SegmentCompactor
  readonly #naming = new NamingTurns()
  #settled: Sequence
  #marker: LogMarker | null = null
  #closing: Promise<void> | null = null

  constructor(options: WalOptions, files: FileLayer, log: RecoveredLog) {
    this.#options = options
    this.#files = files
    this.recovery = log.report
    this.#logId = log.logId
    this.#generations = log.generations
    this.#settled = log.report.settledSequence
    this.#chain = new SegmentChain(options, files, log)
    this.#commits = new GroupCommit(this.#chain, options, (entries, first) => this.#noteCommitted(entries, first))
    const { directory } = options
    const { logId, released } = log
    this.#keeper = new CheckpointKeeper(files, { directory, logId, released }, this.#chain, this.#generations)
    this.#compactor = new SegmentCompactor(options, { chain: this.#chain, files, naming: this.#naming, logId })
  }

  async openMark(): Promise<void> {
    const { onEvent, markPath } = this.#options
    const onError = (error: unknown): void => onEvent({ kind: 'mark-failed', error })
    this.#marker = await LogMarker.open(this.#files, markPath, { markOf: () => this.#mark(), onError })
  }

  async append(entry: NewEntry): Promise<Sequence> {
    const [sequence] = await this.appendBatch([entry])
    assert(sequence !== undefined, 'an entry has a sequence')
    return sequence
  }

  appendBatch(entries: readonly NewEntry[]): Promise<readonly Sequence[]> {
    assert(entries.length > 0, 'a batch has entries')
    for (const { kind, stream, payload } of entries) {
      if (kind !== 'barrier') continue
      const known = this.#generations.of(stream)
      assert(
        decodeBarrier(payload).generation > known,
        `the generation of a stream goes up, and ${stream} is at ${known}`,
      )
      if (!this.#generations.hasRoomFor(stream, this.#options.streamsMax)) {
        return Promise.reject(new WalRefusedError('too-many-streams'))
      }
    }
    return this.#commits.append(entries)
  }

  replay(from: Sequence = this.#keeper.released): AsyncIterable<WalEntry> {
    return this.#entriesOf(from, this.#chain.next)
  }

  async release(below: Sequence): Promise<void> {
    if (this.#closing !== null) throw new WalClosedError()
    assert(below <= this.#chain.next, 'only what is in the log is released')
    await this.#keeper.release(below)
    this.#marker?.note()
  }

  settle(below: Sequence): void {
    assert(below <= this.#chain.next, 'only what is in the log is settled')
    if (below <= this.#settled) return
    this.#settled = below
    this.#marker?.note()
  }

  boundaryBefore(newestBytes: number): Sequence | null {
    return this.#chain.boundaryBefore(newestBytes)
  }

  isWorthCompacting(request: Pick<CompactionRequest, 'below' | 'firstNeeded'>): boolean {
    return this.#compactor.hasWork(request)
  }

  async compact(request: CompactionRequest): Promise<number | null> {
    if (this.#closing !== null) throw new WalClosedError()
    if (!this.isWorthCompacting(request)) return null
    const payload = encodeSettled(request)
    const settled = bookkeepingEntry({ kind: 'settled', stream: '', atMs: request.atMs, payload })
    // Twice: without any, what is left of blocks whose names are cut out would count as never stored.
    await this.appendBatch([settled, settled])
    let freedBytes = 0
    // The checkpoint has the generations of all barriers that are cut out.
    await this.#keeper.holdWhile(async () => {
      freedBytes = await this.#compactor.compact(request)
    })
    return freedBytes
  }

  generationOf(stream: string): number {
    return this.#generations.of(stream)
  }

  stats(): WalStats {
    const chain = this.#chain
    const commits = this.#commits
    const keeper = this.#keeper
    const segments = chain.segments()
    const [first] = segments
    return {
      state: commits.state,
      nextSequence: chain.next,
      releasedSequence: keeper.released,
      segmentCount: segments.length,
      firstSegmentNext: first === undefined || segments.length < 2 ? null : first.next,
      totalBytes: chain.totalBytes,
      pendingBytes: commits.pendingBytes,
      pendingBatches: commits.pendingBatches,
      groupCount: commits.groupCount,
      entryCount: commits.entryCount,
    }
  }

  reopen(): Promise<void> {
    return this.#commits.reopen()
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    const isWhole = await this.#commits.close()
    await this.#chain.close()
    // The end of a failed log is in doubt; the next start finds it as after a crash.
    try {
      if (isWhole) await this.#keeper.close()
    } finally {
      await this.#marker?.close()
    }
  }

  #mark(): LogMark {
    const { written: released } = this.#keeper
    const settled = this.#settled > released ? this.#settled : released
    return { logId: this.#logId, released, settled, next: this.#chain.next, waitingRows: this.#options.waitingRows() }
  }

  #noteCommitted(entries: readonly NewEntry[], first: Sequence): void {
    for (const [index, { kind, stream, payload }] of entries.entries()) {
      if (kind === 'barrier') this.#generations.apply(stream, first + index, payload)
    }
    this.#marker?.note()
  }

  /** One segment after the other, each looked up when the one before is read: a compaction may have replaced it. */
  async *#entriesOf(from: Sequence, end: Sequence): AsyncIterable<WalEntry> {
    for (let position = from; position < end; ) {
      const opened = await this.#naming.take(() => this.#openSegmentOf(position, end))
      if (opened === null) return
      const { file, segment } = opened
      try {
        for await (const views of readSegment(file, this.#logId, segment)) {
          for (const view of views) {
            const { sequence, kind } = view.header
            if (sequence >= end) return
            if (sequence >= position && kind !== 'gone') yield toWalEntry(view)
          }
        }
      } finally {
        await file.close()
      }
      position = segment.next
    }
  }

  /** The first segment that has entries from `position` on, and is still needed; null when none begins before `end`. */
  async #openSegmentOf(
    position: Sequence,
    end: Sequence,
  ): Promise<{ readonly file: LogFile; readonly segment: KnownSegment } | null> {
    const { released } = this.#keeper
    const segment = this.#chain
      .segments()
      // What was released since the reader began is nothing that it asks for.
      .find(({ first, next }) => next > position && next > first && next > released)
    if (segment === undefined || segment.first >= end) return null
    return { file: await this.#files.open(join(this.#options.directory, segment.name), 'read'), segment }
  }
}
