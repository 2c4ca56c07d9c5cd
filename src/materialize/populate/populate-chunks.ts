// How a pin is cut into chunks. The same parts are always cut in the same way, so that a chunk that is filled again after a kill has
// the rows that it had before.

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
}

/** Parts in one INSERT, whose names stand in its text. */
const piecesMax = 200
/** Rows that the engine reads together, as a rule. */
const granuleRows = 8_192

export function cutChunks(parts: readonly PinnedPart[], limits: ChunkLimits): readonly Chunk[] {
  const chunks: Chunk[] = []
  let open: OpenChunk | null = null
  /** Rows in the parts before. */
  let before = 0
  const close = (): void => {
    if (open !== null && open.pieces.length > 0) chunks.push({ pieces: open.pieces, rowCount: open.rowCount })
    open = null
  }
  for (const part of parts) {
    const rowsMax = chunkRows(part, limits)
    const isFitting = part.rowCount <= rowsMax
    if (!isFitting || !fits(open, part, limits)) close()
    if (isFitting) {
      open ??= { partition: part.partition, pieces: [], rowCount: 0, byteCount: 0 }
      addPiece(open, { part, range: null, before, step: limits.step })
      open.byteCount += part.byteCount
    } else {
      for (let from = 0; from < part.rowCount; from += rowsMax) {
        const range = { from, to: Math.min(from + rowsMax, part.rowCount) }
        open = { partition: part.partition, pieces: [], rowCount: 0, byteCount: 0 }
        addPiece(open, { part, range, before, step: limits.step })
        close()
      }
    }
    before += part.rowCount
  }
  close()
  return chunks
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
