// How a pin is cut into chunks. The same parts are always cut in the same way, so that a chunk that is filled again after a kill has
// the rows that it had before.

import type { ChunkPiece, PinnedPart, RowRange } from '../../store/pins.types.ts'

/** Rows that one INSERT fills, all of one partition. */
export interface Chunk {
  readonly pieces: readonly ChunkPiece[]
  /** How many it reads; what a condition leaves out is among them. */
  readonly rowCount: number
  /** Whether it has all rows of all parts. Absent is false. */
  readonly areAll?: boolean
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
  /** Set where chunks are larger than common ones, as far as their rows come to few groups. Not together with `isByKey`. */
  readonly wide?: WideChunks
}

export interface WideChunks {
  /** Groups that a thread may make of one; see `groupsMaxOf`. */
  readonly groupsMax: number
  /** The same as a share of the rows of a common chunk. Absent in checkpoints of earlier releases, where `groupsMax` says it alone. */
  readonly groupsShare?: number
  /** What the chunks behind one that comes to more groups are cut by. */
  readonly common: Pick<ChunkLimits, 'bytesMax' | 'rowsMax'>
  /** How many there are, before the one that came to more groups; absent while none did. */
  readonly count?: number
}

/** Parts in one INSERT, whose names stand in its text. */
const piecesMax = 200
/** Rows that the engine reads together, as a rule. */
const granuleRows = 8_192

export function cutChunks(parts: readonly PinnedPart[], limits: ChunkLimits): readonly Chunk[] {
  let before = 0
  const placed = parts.map((part) => {
    const place = { part, before, from: 0 }
    before += part.rowCount
    return place
  })
  if (limits.isByKey !== true) return cutWide(placed, limits)
  const partitions = [...new Set(parts.map(({ partition }) => partition))]
  return partitions.flatMap((partition) => {
    const own = placed.filter(({ part }) => part.partition === partition)
    const slices = keySlices(own, limits)
    const rest = own.filter((one) => !slices.parts.includes(one))
    return [...cutByKey(slices, limits), ...cutInTurn(rest, limits)]
  })
}

/** A part, how many rows are in those before, and from which of its rows on it is cut. */
interface PlacedPart {
  readonly part: PinnedPart
  readonly before: number
  readonly from: number
}

/** Wide chunks as long as they come to few groups, then common ones. */
function cutWide(parts: readonly PlacedPart[], limits: ChunkLimits): readonly Chunk[] {
  const chunks = cutInTurn(parts, limits)
  const { wide } = limits
  if (wide?.count === undefined) {
    const areAll = chunks.length === 1 && limits.step === 1
    return areAll ? chunks.map((chunk) => ({ ...chunk, areAll })) : chunks
  }
  const kept = chunks.slice(0, wide.count)
  const cut = new Map(kept.flatMap(({ pieces }) => pieces.map(({ part, range }) => [part, range?.to ?? null] as const)))
  const rest = parts.flatMap((placed) => {
    const from = cut.get(placed.part.name)
    if (from === undefined) return [placed]
    return from === null || from >= placed.part.rowCount ? [] : [{ ...placed, from }]
  })
  return [...kept, ...cutInTurn(rest, { ...limits, ...wide.common })]
}

/** One part after the other: small ones together, large ones in pieces. */
function cutInTurn(parts: readonly PlacedPart[], limits: ChunkLimits): readonly Chunk[] {
  const chunks: Chunk[] = []
  let open: OpenChunk | null = null
  const close = (): void => {
    if (open !== null && open.pieces.length > 0) chunks.push({ pieces: open.pieces, rowCount: open.rowCount })
    open = null
  }
  for (const { part, before, from: first } of parts) {
    const rowsMax = chunkRows(part, limits)
    const isFitting = first === 0 && part.rowCount <= rowsMax
    if (!isFitting || !fits(open, part, limits)) close()
    if (isFitting) {
      open ??= newChunk(part.partition)
      addPiece(open, { part, range: null, before, step: limits.step })
      open.byteCount += part.byteCount
    } else {
      const rows = limits.isEven === true ? evenRows(part.rowCount - first, rowsMax) : rowsMax
      for (let from = first; from < part.rowCount; from += rows) {
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
