/**
 * The frames of a body, each with the bytes of the body that it was made of.
 *
 * A body that is gone on with is read anew from its beginning, or from where the first bytes that are not stored begin: what is
 * stored of it is passed over, the parts of blocks that have a name are cut exactly as they were, and in between it is cut into
 * frames as any other body.
 */

import { type Frame, type FrameAssembler, type FrameBuffers, framePaddingBytes } from '../../codec/frame-assembler.ts'
import { assert } from '../../shared/assert.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { ImportLedger } from '../insert/import-ledger.ts'
import type { PlaceRange } from '../insert/range-set.ts'

export interface PlacedFrame {
  readonly frame: Frame
  readonly range: PlaceRange
}

export interface PlacedFramesDeps {
  readonly ledger: Pick<ImportLedger, 'borders' | 'known' | 'stored'> | undefined
  readonly buffers: FrameBuffers
  /** Makes what cuts bytes into frames, at the beginning of the body or, `isContinued`, at a record in its middle. */
  readonly createAssembler: (isContinued: boolean) => FrameAssembler
}

interface Region extends PlaceRange {
  readonly kind: 'known' | 'open' | 'stored'
}

const lineFeed = 0x0a
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

export class PlacedFrames {
  readonly #deps: PlacedFramesDeps
  readonly #regions: readonly Region[]
  #index = 0
  /** The next byte of the body. */
  #place = 0
  /** Where the next frame of an open region begins. */
  #frameStart = 0
  #assembler: FrameAssembler | null = null
  /** Of a region that is known. */
  #copied: Uint8Array | null = null

  constructor(deps: PlacedFramesDeps) {
    this.#deps = deps
    this.#regions = deps.ledger === undefined ? [whole] : regionsOf(deps.ledger)
  }

  /** The bytes at the beginning of the body that are stored. */
  get storedBytes(): number {
    return this.#regions.find(({ kind }) => kind !== 'stored')?.start ?? 0
  }

  /** The body is read from `storedBytes` on. Precondition: nothing of it was pushed. */
  passOverStored(): void {
    assert(this.#place === 0, 'a body is passed over before it is read')
    this.#place = this.storedBytes
    this.#frameStart = this.#place
    this.#index = this.#regions.findIndex(({ kind }) => kind !== 'stored')
  }

  /** Takes the next bytes, which are copied, and gives the frames that are full. @throws as `FrameAssembler.push` does. */
  *push(chunk: Uint8Array): Generator<PlacedFrame> {
    let rest = chunk
    while (rest.length > 0) {
      const region = this.#region
      const piece = rest.subarray(0, Math.min(rest.length, region.end - this.#place))
      rest = rest.subarray(piece.length)
      this.#place += piece.length
      if (region.kind === 'open') for (const frame of this.#assemblerAt(region).push(piece)) yield this.#placed(frame)
      else if (region.kind === 'known') this.#copy(piece, region)
      if (this.#place === region.end) yield* this.#endRegion(region)
    }
  }

  /** Behind the last chunk: what is left of the body. @throws as `FrameAssembler.end` does; IMPORT_NOT_RESUMABLE (409) for a body that was longer. */
  *end(): Generator<PlacedFrame> {
    const region = this.#region
    if (region.kind === 'known' && this.#place > region.start) {
      // The line feed behind a last record is one of ours.
      this.#place += 1
      if (this.#place !== region.end) throw errors.IMPORT_NOT_RESUMABLE()
      this.#copy(Uint8Array.of(lineFeed), region)
      yield* this.#endRegion(region)
      return
    }
    const assembler = this.#assembler
    if (assembler === null) return
    for (const frame of assembler.setOpenLinesAside()) yield this.#placed(frame)
    const last = assembler.end()
    if (last !== null) yield this.#placed(last)
  }

  /** For a body that breaks off: the whole records gathered so far. */
  flush(): PlacedFrame | null {
    const frame = this.#assembler?.flush() ?? null
    return frame === null ? null : this.#placed(frame)
  }

  /** See `FrameAssembler.takeOpenRecord`; in front of `flush`. */
  takeOpenRecord(): Frame | null {
    return this.#assembler?.takeOpenRecord() ?? null
  }

  close(): void {
    this.#assembler?.close()
    this.#assembler = null
  }

  get #region(): Region {
    const region = this.#regions[this.#index]
    assert(region !== undefined, 'the last region has no end')
    return region
  }

  #assemblerAt({ start }: Region): FrameAssembler {
    this.#assembler ??= this.#deps.createAssembler(start > 0)
    return this.#assembler
  }

  #placed(frame: Frame): PlacedFrame {
    const start = this.#frameStart
    const markBytes = start === 0 ? (this.#assembler?.markBytes ?? 0) : 0
    this.#frameStart = start + frame.byteCount + markBytes
    return { frame, range: { start, end: this.#frameStart } }
  }

  #copy(piece: Uint8Array, region: Region): void {
    this.#copied ??= this.#deps.buffers.take(region.end - region.start + framePaddingBytes)
    const offset = this.#place - region.start - piece.length
    assert(offset >= 0 && offset + piece.length <= region.end - region.start, 'a part is as long as it was')
    this.#copied.set(piece, offset)
  }

  /** What a region has gathered: all of an open one, as a record ends where it does. */
  *#endRegion(region: Region): Generator<PlacedFrame> {
    this.#index += 1
    if (region.kind === 'open') {
      // A quote that is not closed within the longest record was a line of its own, and so it is again.
      if (this.#assembler !== null) {
        for (const frame of this.#assembler.setOpenLinesAside()) yield this.#placed(frame)
      }
      const last = this.flush()
      if (last !== null) yield last
      this.close()
      if (this.#frameStart !== region.end) throw errors.IMPORT_NOT_RESUMABLE()
    }
    this.#frameStart = region.end
    const bytes = this.#copied
    this.#copied = null
    if (region.kind !== 'known' || bytes === null) return
    const byteCount = region.end - region.start
    const hasMark = region.start === 0 && byteOrderMark.equals(bytes.subarray(0, byteOrderMark.length))
    const markBytes = hasMark ? byteOrderMark.length : 0
    if (hasMark) bytes.copyWithin(0, markBytes, byteCount)
    yield { frame: { bytes, byteCount: byteCount - markBytes }, range: { start: region.start, end: region.end } }
  }
}

const whole: Region = { kind: 'open', start: 0, end: Number.POSITIVE_INFINITY }

/** The whole body in regions, in order. Precondition: what is known overlaps only with itself. */
function regionsOf({ borders, known, stored }: NonNullable<PlacedFramesDeps['ledger']>): readonly Region[] {
  const edges = [0, ...borders.filter((border) => border > 0), Number.POSITIVE_INFINITY]
  const isKnown = new Set(known.map(({ start, end }) => `${start}-${end}`))
  return edges.slice(1).map((end, index) => {
    const range = { start: edges[index] ?? 0, end }
    if (stored.covers(range)) return { ...range, kind: 'stored' }
    return { ...range, kind: isKnown.has(`${range.start}-${end}`) ? 'known' : 'open' }
  })
}
