/**
 * Cuts a body that arrives in chunks of any size into frames of whole records.
 *
 * Invariants: the frames' bytes, one after the other, are the body's bytes (and a final line feed where the body has
 * none); a cut falls only where `RecordBoundary` says that a record ends; no record is longer than `recordBytesMax`.
 * Each frame has its own buffer for the way to a worker and back; buffers come from `FrameBuffers`, to which whoever is done
 * with a frame gives them back.
 */

import { countLineFeeds, estimateLineFeeds, tinyLinesMax } from '../schema/columns/row-weight.ts'
import { errors } from '../shared/errors/errors.ts'

/** Unused bytes behind a frame's last line feed: the scanners compare ahead of where they stand. */
export const framePaddingBytes = 64
/** What a frame begins with, until its body has shown that it has more. */
const firstBytes = 64 * 1024
/** Rows are counted by pieces of this size, and a frame may have as many more. */
const countedBytes = 16 * 1024
/** The same where they are estimated; chunks are seldom larger. */
const estimatedBytes = 64 * 1024
/** How often a body may be looked at again behind lines that nothing can be read of: somebody may write one in every line. */
const repeatedShareMax = 8

const lineFeed = 0x0a
const byteOrderMark = [0xef, 0xbb, 0xbf]

/** Says where records end. It sees each byte once, in order. */
export interface RecordBoundary {
  /**
   * Looks at `bytes[from…to]`, which follow on what it has seen before.
   * Gives the offset behind the last record that ends there, or -1 when none does.
   */
  advance(bytes: Uint8Array, from: number, to: number): number

  /**
   * Of a record that does not end: how many of its bytes make a line that nothing can be read of, with its line feed. It then
   * begins anew behind that line. 0 when there is none, or the rest is to be read as it is.
   */
  skipOpenLine(record: Uint8Array): number
}

export interface Frame {
  readonly bytes: Uint8Array
  readonly byteCount: number
}

/**
 * Buffers of frames for reuse. A fresh buffer costs page faults, and as memory outside the JavaScript heap it makes the
 * garbage collector run often. So the first `keptMax` are memory that threads share, which is neither moved nor counted
 * by the collector, and go round for ever; only what is needed beyond them is made for one frame.
 */
export class FrameBuffers {
  readonly #bufferBytes: number
  readonly #keptMax: number
  readonly #kept: Uint8Array[] = []
  #sharedCount = 0

  constructor(limits: { readonly frameBytes: number; readonly keptMax: number }) {
    this.#bufferBytes = limits.frameBytes + framePaddingBytes
    this.#keptMax = limits.keptMax
  }

  /** A buffer of at least `byteCount` bytes and of at least a frame; what is in it is left over from its last use. */
  take(byteCount: number): Uint8Array {
    if (byteCount > this.#bufferBytes) return new Uint8Array(byteCount)
    const kept = this.#kept.pop()
    if (kept !== undefined) return kept
    if (this.#sharedCount === this.#keptMax) return new Uint8Array(this.#bufferBytes)
    this.#sharedCount += 1
    return new Uint8Array(new SharedArrayBuffer(this.#bufferBytes))
  }

  giveBack(buffer: Uint8Array): void {
    if (buffer.buffer instanceof SharedArrayBuffer) this.#kept.push(buffer)
  }
}

export interface FrameLimits {
  /** Bytes that a frame holds, unless one record is longer. */
  readonly frameBytes: number
  readonly recordBytesMax: number
  /** True where a body is gone on with in its middle, in which a byte order mark is none. */
  readonly isContinued?: boolean
  /** Records that a frame holds, and a few more; without it they are estimated, and a frame holds about `tinyLinesMax`. */
  readonly frameRowsMax?: number
}

export class FrameAssembler {
  readonly #limits: FrameLimits
  readonly #boundary: RecordBoundary
  readonly #buffers: FrameBuffers
  #buffer: Uint8Array
  #byteCount = 0
  /** Offset behind the last whole record in the buffer. */
  #recordsEnd = 0
  /** A byte order mark at the very beginning is no part of the first record. */
  #isStartChecked: boolean
  /** Bytes of that mark, which are in no frame. */
  #markBytes = 0
  #failure: unknown = null
  /** Line feeds in the buffer, counted or estimated. */
  #lineCount = 0
  #pieceCount = 0
  /** Bytes of the body so far, and how many of them were looked at once more. */
  #arrivedBytes = 0
  #repeatedBytes = 0

  constructor(limits: FrameLimits, boundary: RecordBoundary, buffers: FrameBuffers) {
    this.#limits = limits
    this.#boundary = boundary
    this.#buffers = buffers
    this.#isStartChecked = limits.isContinued === true
    this.#buffer =
      limits.frameBytes <= firstBytes ? buffers.take(framePaddingBytes) : new Uint8Array(firstBytes + framePaddingBytes)
  }

  /** Bytes of the body before its first record: those of a byte order mark. */
  get markBytes(): number {
    return this.#markBytes
  }

  /**
   * Takes the next bytes of the body and gives the frames that are full. The chunk is copied.
   *
   * @throws RECORD_TOO_LARGE (413) when a record is longer than `recordBytesMax`; `flush` then still gives what is whole.
   *   Frames of the same chunk are given first, and the next call throws.
   */
  push(chunk: Uint8Array): readonly Frame[] {
    this.#throwIfFailed()
    const frames: Frame[] = []
    try {
      this.#take(chunk, frames)
    } catch (error) {
      if (frames.length === 0) throw error
      this.#failure = error
    }
    return frames
  }

  /**
   * Behind the last chunk, and before `end`: where a quote is never closed, only its line is lost. Gives the frames that end
   * with such a line, so that nothing behind it belongs to it.
   */
  *setOpenLinesAside(): Generator<Frame> {
    this.#throwIfFailed()
    for (let hasMore = true; hasMore && this.#byteCount > this.#recordsEnd; ) {
      const frames: Frame[] = []
      hasMore = this.#setOpenLineAside(frames)
      yield* frames
    }
  }

  /** The last frame of a body that has ended: what is left, with a final line feed. Throws as `push` does. */
  end(): Frame | null {
    this.#throwIfFailed()
    if (this.#byteCount === this.#recordsEnd) return this.flush()
    if (this.#byteCount === this.#buffer.length - framePaddingBytes) this.#enlarge(1)
    this.#buffer[this.#byteCount] = lineFeed
    this.#byteCount += 1
    this.#recordsEnd = this.#byteCount
    return this.flush()
  }

  /**
   * For a body that breaks off, in front of `flush`: the unfinished record, where it is one because of a quote that is not
   * closed, and has lines behind it. Nobody can tell whether they are rows, or the text of a cell.
   */
  takeOpenRecord(): Frame | null {
    const rest = this.#buffer.slice(this.#recordsEnd, this.#byteCount)
    if (rest.length === 0 || this.#boundary.skipOpenLine(rest) === 0) return null
    this.#byteCount = this.#recordsEnd
    const bytes = this.#buffers.take(rest.length + framePaddingBytes)
    bytes.set(rest)
    return { bytes, byteCount: rest.length }
  }

  /** The whole records gathered so far, for a body that breaks off; an unfinished record is forgotten. */
  flush(): Frame | null {
    if (this.#recordsEnd === 0) return null
    const frame = { bytes: this.#buffer, byteCount: this.#recordsEnd }
    this.#buffer = new Uint8Array(0)
    this.#byteCount = 0
    this.#recordsEnd = 0
    return frame
  }

  /** Gives back the buffer that no frame has left with; nothing is taken afterwards. */
  close(): void {
    this.#buffers.giveBack(this.#buffer)
    this.#buffer = new Uint8Array(0)
    this.#byteCount = 0
    this.#recordsEnd = 0
  }

  #take(chunk: Uint8Array, frames: Frame[]): void {
    let taken = 0
    while (taken < chunk.length) {
      const room = this.#buffer.length - framePaddingBytes - this.#byteCount
      if (room === 0) {
        frames.push(...this.#makeRoom())
        continue
      }
      // Never more than the longest record and its line feed at a time: so the limit holds to the byte.
      const untilLimit = this.#recordsEnd + this.#limits.recordBytesMax + 1 - this.#byteCount
      const piece = chunk.subarray(taken, taken + Math.min(room, untilLimit, this.#pieceBytesMax))
      this.#buffer.set(piece, this.#byteCount)
      this.#look(this.#byteCount + piece.length)
      taken += piece.length
      this.#arrivedBytes += piece.length
      if (this.#byteCount - this.#recordsEnd > this.#limits.recordBytesMax && !this.#setOpenLineAside(frames)) {
        throw errors.RECORD_TOO_LARGE({ bytesMax: this.#limits.recordBytesMax })
      }
      if (this.#isFullOfRows(piece)) frames.push(this.#cut())
    }
  }

  get #pieceBytesMax(): number {
    return this.#limits.frameRowsMax === undefined ? estimatedBytes : countedBytes
  }

  #isFullOfRows(piece: Uint8Array): boolean {
    const { frameRowsMax } = this.#limits
    this.#pieceCount += 1
    this.#lineCount += frameRowsMax === undefined ? estimateLineFeeds(piece, this.#pieceCount) : countLineFeeds(piece)
    return this.#lineCount >= (frameRowsMax ?? tinyLinesMax) && this.#recordsEnd > 0
  }

  #throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure
  }

  #look(byteCount: number): void {
    let from = this.#byteCount
    this.#byteCount = byteCount
    if (!this.#isStartChecked) {
      if (byteCount < byteOrderMark.length && this.#beginsWithMark()) return
      this.#skipByteOrderMark()
      from = 0
    }
    const end = this.#boundary.advance(this.#buffer, from, this.#byteCount)
    if (end >= 0) this.#recordsEnd = end
  }

  /** A line that nothing can be read of ends a frame, and what is behind it is looked at once more. False without such a line. */
  #setOpenLineAside(frames: Frame[]): boolean {
    const lineBytes = this.#boundary.skipOpenLine(this.#buffer.subarray(this.#recordsEnd, this.#byteCount))
    const restBytes = this.#byteCount - this.#recordsEnd - lineBytes
    const isTooCostly = this.#repeatedBytes + restBytes > repeatedShareMax * this.#arrivedBytes
    if (lineBytes === 0 || isTooCostly) return false
    this.#recordsEnd += lineBytes
    const rest = this.#buffer.slice(this.#recordsEnd, this.#byteCount)
    this.#repeatedBytes += rest.length
    this.#arrivedBytes -= rest.length
    this.#byteCount = this.#recordsEnd
    frames.push(this.#cut())
    this.#take(rest, frames)
    return true
  }

  /** Whether the bytes so far are a byte order mark, or its beginning. */
  #beginsWithMark(): boolean {
    return byteOrderMark.every((byte, offset) => offset >= this.#byteCount || this.#buffer[offset] === byte)
  }

  #skipByteOrderMark(): void {
    this.#isStartChecked = true
    if (this.#byteCount < byteOrderMark.length || !this.#beginsWithMark()) return
    this.#buffer.copyWithin(0, byteOrderMark.length, this.#byteCount)
    this.#byteCount -= byteOrderMark.length
    this.#markBytes = byteOrderMark.length
  }

  /** Hands the whole records over and carries the unfinished one on; a record that fills the buffer makes it larger. */
  #makeRoom(): readonly Frame[] {
    if (this.#buffer.length === firstBytes + framePaddingBytes && this.#buffer.length < this.#limits.frameBytes) {
      this.#growToFrame()
      return []
    }
    if (this.#recordsEnd === 0) {
      this.#enlarge(Math.min(this.#byteCount, this.#limits.recordBytesMax - this.#byteCount + 1))
      return []
    }
    return [this.#cut()]
  }

  /** The whole records as a frame; what is behind them begins the next one. */
  #cut(): Frame {
    const tail = this.#buffer.subarray(this.#recordsEnd, this.#byteCount)
    const next = this.#buffers.take(tail.length + framePaddingBytes)
    next.set(tail)
    const frame = { bytes: this.#buffer, byteCount: this.#recordsEnd }
    this.#buffer = next
    this.#byteCount = tail.length
    this.#recordsEnd = 0
    this.#lineCount = 0
    return frame
  }

  #growToFrame(): void {
    const whole = this.#buffers.take(framePaddingBytes)
    whole.set(this.#buffer.subarray(0, this.#byteCount))
    this.#buffer = whole
  }

  #enlarge(byteCount: number): void {
    const larger = new Uint8Array(this.#buffer.length + byteCount)
    larger.set(this.#buffer)
    this.#buffers.giveBack(this.#buffer)
    this.#buffer = larger
  }
}

/** NDJSON: a raw line feed never occurs inside a JSON string (RFC 8259 §7), so a cut behind any one splits no record. */
export class NdjsonBoundary implements RecordBoundary {
  advance(bytes: Uint8Array, from: number, to: number): number {
    const last = bytes.subarray(from, to).lastIndexOf(lineFeed)
    return last < 0 ? -1 : from + last + 1
  }

  /** A line without an end is a record without one. */
  skipOpenLine(): number {
    return 0
  }
}
