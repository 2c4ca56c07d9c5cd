// How a pin is cut into chunks. The same parts are always cut in the same way, so that a chunk that is filled again after a kill has
// the rows that it had before.

import { assert } from '../../shared/assert.ts'
import type { ChunkPiece, PinnedPart, RowRange } from '../../store/pins.types.ts'

/** Rows that one INSERT fills, all of one partition. */
export interface Chunk {
  readonly pieces: readonly ChunkPiece[]
  /** How many it reads; what a condition leaves out is among them. */
  readonly rowCount: number
}

export interface ChunkLimits {
  readonly rowsMax: number
  /** Of rows before compression, as far as the average of their part tells. */
  readonly bytesMax: number
  /** Takes one row of so many; 1 takes all. */
  readonly step: number
  /**
   * Whether a chunk takes the same share of each large part of a partition, and so one range of the sorting key, rather than one part
   * after the other: then rows that are grouped by what they are sorted by come to fewer chunks. Absent is false.
   */
  readonly isByKey?: boolean
  /** Whether pieces of a part that is cut are alike, as small ones cost as much as large ones. Absent is false. */
  readonly isEven?: boolean
}

/** Parts in one INSERT, whose names stand in its text. */
const piecesMax = 200
/** Rows that the engine reads together, as a rule. */
const granuleRows = 8_192
/** How much is grouped before a populate is cut, to see how many groups there are: 10 to 120 ms, as memory is at hand or not. */
const sampleGranules = 16

export function cutChunks(parts: readonly PinnedPart[], limits: ChunkLimits): readonly Chunk[] {
  let before = 0
  const placed = parts.map((part) => {
    const place = { part, before }
    before += part.rowCount
    return place
  })
  if (limits.isByKey !== true) return cutInTurn(placed, limits)
  const partitions = [...new Set(parts.map(({ partition }) => partition))]
  return partitions.flatMap((partition) => {
    const own = placed.filter(({ part }) => part.partition === partition)
    const slices = keySlices(own, limits)
    const rest = own.filter((one) => !slices.parts.includes(one))
    return [...cutByKey(slices, limits), ...cutInTurn(rest, limits)]
  })
}

/** Some rows from all over the parts, always the same ones of the same parts; none where there are too few. */
export function sampleOf(parts: readonly PinnedPart[]): Chunk {
  const granules = parts.flatMap(({ name, rowCount }) => {
    return Array.from({ length: Math.floor(rowCount / granuleRows) }, (_, index) => ({ name, index }))
  })
  if (granules.length < sampleGranules) return { pieces: [], rowCount: 0 }
  const pieces = Array.from({ length: sampleGranules }, (_, index) => {
    const granule = granules[Math.floor((index * granules.length) / sampleGranules)]
    assert(granule !== undefined, 'there are as many granules as are taken')
    const from = granule.index * granuleRows
    return { part: granule.name, range: { from, to: from + granuleRows } }
  })
  return { pieces, rowCount: sampleGranules * granuleRows }
}

/** A part, and how many rows are in those before. */
interface PlacedPart {
  readonly part: PinnedPart
  readonly before: number
}

/** One part after the other: small ones together, large ones in pieces. */
function cutInTurn(parts: readonly PlacedPart[], limits: ChunkLimits): readonly Chunk[] {
  const chunks: Chunk[] = []
  let open: OpenChunk | null = null
  const close = (): void => {
    if (open !== null && open.pieces.length > 0) chunks.push({ pieces: open.pieces, rowCount: open.rowCount })
    open = null
  }
  for (const { part, before } of parts) {
    const rowsMax = chunkRows(part, limits)
    const isFitting = part.rowCount <= rowsMax
    if (!isFitting || !fits(open, part, limits)) close()
    if (isFitting) {
      open ??= newChunk(part.partition)
      addPiece(open, { part, range: null, before, step: limits.step })
      open.byteCount += part.byteCount
    } else {
      const rows = limits.isEven === true ? evenRows(part.rowCount, rowsMax) : rowsMax
      for (let from = 0; from < part.rowCount; from += rows) {
        const range = { from, to: Math.min(from + rows, part.rowCount) }
        open = newChunk(part.partition)
        addPiece(open, { part, range, before, step: limits.step })
        close()
      }
    }
  }
  close()
  return chunks
}

interface KeySlices {
  readonly parts: readonly PlacedPart[]
  readonly count: number
}

/** The parts of a partition that are large enough to give a granule or more to each slice. */
function keySlices(own: readonly PlacedPart[], limits: ChunkLimits): KeySlices {
  const most = sliceCount(own, limits)
  const parts = own.filter(({ part }) => part.rowCount >= (most + 1) * granuleRows).slice(0, piecesMax)
  const count = parts.length === 0 ? 0 : sliceCount(parts, limits)
  // Two are filled at once, and neither is to be the last one alone.
  return { parts, count: count > 1 ? count + (count % 2) : count }
}

/** So many that none is too large, though pieces end with granules. */
function sliceCount(parts: readonly PlacedPart[], { rowsMax, bytesMax }: ChunkLimits): number {
  const rowCount = parts.reduce((sum, { part }) => sum + part.rowCount, 0)
  const byteCount = parts.reduce((sum, { part }) => sum + part.byteCount, 0)
  const most = Math.max(1, Math.min(rowsMax, Math.floor((bytesMax * rowCount) / Math.max(1, byteCount))))
  return rowCount <= most ? 1 : Math.ceil(rowCount / Math.max(most - parts.length * granuleRows, most / 2))
}

function cutByKey({ parts, count }: KeySlices, { step }: ChunkLimits): readonly Chunk[] {
  const chunks: Chunk[] = []
  for (let slice = 0; slice < count; slice += 1) {
    const chunk = newChunk('')
    for (const { part, before } of parts) {
      const edge = (index: number): number =>
        index === count ? part.rowCount : granuleRows * Math.floor((part.rowCount * index) / count / granuleRows)
      addPiece(chunk, { part, range: { from: edge(slice), to: edge(slice + 1) }, before, step })
    }
    if (chunk.pieces.length > 0) chunks.push({ pieces: chunk.pieces, rowCount: chunk.rowCount })
  }
  return chunks
}

function newChunk(partition: string): OpenChunk {
  return { partition, pieces: [], rowCount: 0, byteCount: 0 }
}

interface OpenChunk {
  readonly partition: string
  readonly pieces: ChunkPiece[]
  rowCount: number
  byteCount: number
}

/** Whole granules, so that no two chunks read the same. */
function chunkRows({ rowCount, byteCount }: PinnedPart, { rowsMax, bytesMax }: ChunkLimits): number {
  const byBytes = Math.floor(bytesMax / Math.max(1, byteCount / rowCount))
  const rows = Math.min(rowsMax, byBytes)
  return rows < granuleRows ? Math.max(1, rows) : rows - (rows % granuleRows)
}

/** So many that as few pieces as may be are as large as each other, as far as granules let them. */
function evenRows(rowCount: number, rowsMax: number): number {
  const rows = Math.ceil(rowCount / Math.ceil(rowCount / rowsMax))
  return rowsMax % granuleRows === 0 ? granuleRows * Math.ceil(rows / granuleRows) : rows
}

function fits(open: OpenChunk | null, part: PinnedPart, { rowsMax, bytesMax }: ChunkLimits): boolean {
  if (open === null) return true
  const isSmall = open.rowCount + part.rowCount <= rowsMax && open.byteCount + part.byteCount <= bytesMax
  return open.partition === part.partition && isSmall && open.pieces.length < piecesMax
}

interface NewPiece {
  readonly part: PinnedPart
  readonly range: RowRange | null
  readonly before: number
  readonly step: number
}

/** Rows are counted through all parts, so that every so many are taken of many small parts too. */
function addPiece(chunk: OpenChunk, { part, range, before, step }: NewPiece): void {
  const { from, to } = range ?? { from: 0, to: part.rowCount }
  if (step === 1) {
    chunk.pieces.push({ part: part.name, range })
    chunk.rowCount += to - from
    return
  }
  const rest = (step - (before % step)) % step
  const first = from + ((((rest - from) % step) + step) % step)
  if (first >= to) return
  chunk.pieces.push({ part: part.name, range, sample: { step, rest } })
  chunk.rowCount += Math.ceil((to - first) / step)
}
