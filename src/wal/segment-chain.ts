import { join } from 'node:path'
import { assert } from '../shared/assert.ts'
import { isDiskFull, withFile, writeFully } from './file-access.ts'
import type { FileLayer, LogFile } from './file-layer.ts'
import { type Batch, GroupEncoder } from './group-encoder.ts'
import type { RecoveredLog } from './recovery.ts'
import { encodeSegmentHeader, saltOf, segmentHeaderBytes, segmentName } from './segment-format.ts'
import { type KnownSegment, readSegment } from './segment-reader.ts'
import { type Sequence, toSequence } from './sequence.ts'
import type { WalEvent, WalOptions } from './wal.types.ts'
import { WalRefusedError } from './wal-errors.ts'

interface ActiveSegment {
  readonly name: string
  readonly first: Sequence
  readonly file: LogFile
  readonly salt: number
  /** Bytes that are synced; the next group goes behind them. */
  byteCount: number
  /** Bytes of the file; what is behind `byteCount` are zeros. */
  fileBytes: number
}

/** A larger group lengthens the file by itself: its bytes take longer than the journal, and would be written twice. */
const overZerosBytesMax = 64 * 1024

/** One write: its batches, and what they take on disk. */
export interface Group {
  readonly batches: readonly Batch[]
  readonly byteCount: number
  readonly entryCount: number
}

/**
 * The segments of an open log, of which the last takes the entries.
 *
 * A new one is begun by writing and syncing its header and its name; from then on nothing goes to the one before, whatever
 * fails. Beginning again after a failure makes the same file anew, because its name is the sequence that comes next.
 *
 * A write that lengthens a file waits for the file system's journal, which takes about as long as the write itself. So small
 * groups lengthen it rarely, by zeros behind themselves, and those that follow go over the zeros.
 */
export class SegmentChain {
  /** Behind the last entry that is on disk. */
  next: Sequence
  readonly #options: Pick<WalOptions, 'directory' | 'onEvent' | 'segmentBytesMax' | 'zerosAheadBytes'>
  readonly #files: FileLayer
  readonly #logId: Uint8Array
  readonly #encoder = new GroupEncoder()
  readonly #zeros: Uint8Array
  #sealed: KnownSegment[]
  #active: ActiveSegment | null = null
  /** Where a failed write or sync left bytes that nobody may trust. */
  #doubtful: KnownSegment | null = null
  #sealedBytes: number

  constructor(
    options: Pick<WalOptions, 'directory' | 'onEvent' | 'segmentBytesMax' | 'zerosAheadBytes'>,
    files: FileLayer,
    log: Pick<RecoveredLog, 'logId' | 'next' | 'segments'>,
  ) {
    this.#options = options
    this.#files = files
    this.#zeros = Buffer.alloc(options.zerosAheadBytes)
    this.#logId = log.logId
    this.next = log.next
    this.#sealed = [...log.segments]
    this.#sealedBytes = this.#sealed.reduce((total, { byteCount }) => total + byteCount, 0)
  }

  /** Bytes of all segments. */
  get totalBytes(): number {
    return this.#sealedBytes + (this.#active?.byteCount ?? this.#doubtful?.byteCount ?? 0)
  }

  /** All segments with the bytes of each that are on disk, in order. */
  segments(): readonly KnownSegment[] {
    const last = this.#active === null ? this.#doubtful : this.#snapshot(this.#active)
    return last === null ? [...this.#sealed] : [...this.#sealed, last]
  }

  /** The segments that take no entries any more and end at or before `below`, in order. */
  sealedBelow(below: Sequence): readonly KnownSegment[] {
    return this.#sealed.filter(({ next }) => next <= below)
  }

  /** Where a segment ends that at least `newestBytes` of the log come behind; null when none does. */
  boundaryBefore(newestBytes: number): Sequence | null {
    let behindBytes = this.totalBytes - this.#sealedBytes
    for (const { next, byteCount } of this.#sealed.toReversed()) {
      if (behindBytes >= newestBytes) return next
      behindBytes += byteCount
    }
    return null
  }

  /** One file has taken the place of neighbours. */
  replace(old: readonly KnownSegment[], by: KnownSegment): void {
    const start = this.#sealed.findIndex(({ name }) => name === old[0]?.name)
    const replaced = this.#sealed.splice(start, old.length, by)
    assert(
      replaced.every(({ name }, index) => name === old[index]?.name) && replaced.at(-1)?.next === by.next,
      'what is replaced are neighbours, and nothing between them is left out',
    )
    this.#sealedBytes += by.byteCount - replaced.reduce((total, { byteCount }) => total + byteCount, 0)
  }

  /** Bytes that a group may have when it begins with a batch of `byteCount`. */
  roomFor(byteCount: number): number {
    const empty = this.#options.segmentBytesMax - segmentHeaderBytes
    const left = this.#active === null ? empty : this.#options.segmentBytesMax - this.#active.byteCount
    return byteCount <= left ? left : empty
  }

  /**
   * Resolves when the group is on disk; `next` is behind it then.
   *
   * @throws WalRefusedError (disk-full) when there is no room: the group is cut off again and the chain is well.
   * @throws anything else: the chain must be failed with `fail()`.
   */
  async commit(group: Group): Promise<void> {
    const active = await this.#segmentWithRoom(group.byteCount)
    const chunks = this.#encoder.encode(group.batches, { sequence: this.next, salt: active.salt })
    const zeros = this.#zerosBehind(active, group.byteCount)
    const isWritten = zeros.length > 0 && (await this.#lengthen(active, [...chunks, zeros]))
    if (!isWritten) await this.#write(active, chunks)
    active.byteCount += group.byteCount
    this.next = toSequence(this.next + group.entryCount)
  }

  /** What is to be written behind a group that ends behind the zeros there are. */
  #zerosBehind({ byteCount, fileBytes }: ActiveSegment, groupBytes: number): Uint8Array {
    const end = byteCount + groupBytes
    const isOverZeros = end <= fileBytes || groupBytes > overZerosBytesMax
    return this.#zeros.subarray(0, isOverZeros ? 0 : Math.max(0, this.#options.segmentBytesMax - end))
  }

  /** False when there is no room for a group and the zeros behind it: there may be for the group alone. */
  async #lengthen(active: ActiveSegment, chunks: readonly Uint8Array[]): Promise<boolean> {
    try {
      await this.#write(active, chunks)
      return true
    } catch (error) {
      if (error instanceof WalRefusedError) return false
      throw error
    }
  }

  async #write(active: ActiveSegment, chunks: readonly Uint8Array[]): Promise<void> {
    const { byteCount, file } = active
    try {
      await writeFully(file, chunks, byteCount)
    } catch (error) {
      if (!isDiskFull(error)) throw error
      // Synced, so that no mixture of this group and the next one can come out of a crash.
      await file.truncate(byteCount)
      await file.datasync()
      active.fileBytes = byteCount
      throw new WalRefusedError('disk-full', { cause: error })
    }
    const end = chunks.reduce((total, { length }) => total + length, byteCount)
    active.fileBytes = Math.max(active.fileBytes, end)
  }

  /** Lets go of the descriptor whose write or sync failed: it is never used again. */
  async fail(): Promise<void> {
    if (this.#active === null) return
    const active = this.#active
    this.#doubtful = this.#snapshot(active)
    this.#active = null
    await this.#closeFile(active)
  }

  /** Cuts off what is doubtful, through a new descriptor, and begins a new segment. @throws when the disk still fails. */
  async reopen(): Promise<void> {
    const doubtful = this.#doubtful
    // A segment without entries is made anew under the same name.
    if (doubtful !== null && doubtful.next > doubtful.first) {
      const path = join(this.#options.directory, doubtful.name)
      await withFile(this.#files, { path, mode: 'update' }, async (file) => {
        // The cache may have dropped pages: what was acknowledged is read again before it is built upon.
        for await (const _ of readSegment(file, this.#logId, doubtful));
        await file.truncate(doubtful.byteCount)
        await file.datasync()
      })
      this.#seal(doubtful)
    }
    this.#doubtful = null
    this.#active = await this.#beginSegment()
  }

  /** Unlinks the segments of which nothing from `released` on is needed; what cannot be unlinked is kept for later. */
  async removeBelow(released: Sequence): Promise<void> {
    const unneeded = this.#removable(released)
    if (unneeded.length === 0) return
    for (const segment of unneeded) await this.#remove(segment)
    await this.#files.syncDirectory(this.#options.directory).catch((error: unknown) => {
      // Names that come back after a power cut are removed by the next start.
      this.#options.onEvent({ kind: 'cleanup-failed', file: '.', error })
    })
  }

  hasRemovable(released: Sequence): boolean {
    return this.#removable(released).length > 0
  }

  async close(): Promise<void> {
    const active = this.#active
    this.#active = null
    if (active === null) return
    this.#seal(this.#snapshot(active))
    await this.#cutZeros(active)
    await this.#closeFile(active)
  }

  async #segmentWithRoom(byteCount: number): Promise<ActiveSegment> {
    const active = this.#active
    const isEmpty = active !== null && active.first === this.next
    if (active !== null && (isEmpty || active.byteCount + byteCount <= this.#options.segmentBytesMax)) return active
    if (active !== null) await this.close()
    try {
      this.#active = await this.#beginSegment()
    } catch (error) {
      throw isDiskFull(error) ? new WalRefusedError('disk-full', { cause: error }) : error
    }
    return this.#active
  }

  async #beginSegment(): Promise<ActiveSegment> {
    const { directory } = this.#options
    const first = this.next
    const name = segmentName(first)
    const header = encodeSegmentHeader(this.#logId, first)
    const file = await this.#files.open(join(directory, name), 'append')
    const segment = {
      name,
      first,
      file,
      salt: saltOf(header),
      byteCount: segmentHeaderBytes,
      fileBytes: segmentHeaderBytes,
    }
    try {
      await writeFully(file, [header], 0)
      await this.#files.syncDirectory(directory)
    } catch (error) {
      await this.#closeFile(segment)
      throw error
    }
    return segment
  }

  #removable(released: Sequence): readonly KnownSegment[] {
    return this.#sealed.filter(({ next }) => next <= released)
  }

  async #remove(segment: KnownSegment): Promise<void> {
    try {
      await this.#files.unlink(join(this.#options.directory, segment.name))
    } catch (error) {
      this.#options.onEvent({ kind: 'cleanup-failed', file: segment.name, error })
      return
    }
    this.#sealed = this.#sealed.filter((other) => other !== segment)
    this.#sealedBytes -= segment.byteCount
  }

  #seal(segment: KnownSegment): void {
    assert(segment.next === this.next, 'the last segment ends where the log does')
    this.#sealed.push(segment)
    this.#sealedBytes += segment.byteCount
  }

  #snapshot({ name, first, byteCount }: ActiveSegment): KnownSegment {
    return { name, first, next: this.next, byteCount }
  }

  /** Gives their room back. They mean nothing, so an error changes nothing, and is told. */
  async #cutZeros({ byteCount, file, fileBytes, name }: ActiveSegment): Promise<void> {
    if (fileBytes === byteCount) return
    await file.truncate(byteCount).catch((error: unknown) => {
      this.#options.onEvent({ kind: 'cleanup-failed', file: name, error })
    })
  }

  /** Its content is synced, or given up: an error changes nothing, and is told. */
  async #closeFile({ file, name }: { readonly file: LogFile; readonly name: string }): Promise<void> {
    await file.close().catch((error: unknown) => {
      const event: WalEvent = { kind: 'cleanup-failed', file: name, error }
      this.#options.onEvent(event)
    })
  }
}
