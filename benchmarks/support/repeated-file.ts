import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import { type BodyPlan, bodyPieces, workloads } from './workloads.ts'

export type Packing = 'gzip' | 'none' | 'zstd'

/** A file that is never on a disk: its header, and the same rows again and again. Packed, each turn is a member of its own. */
export interface RepeatedFile {
  readonly byteCount: number
  /** Unpacked. */
  readonly textBytes: number
  readonly rowCount: number
  /** The bytes from `start` up to `end`, in pieces. */
  pieces(start: number, end: number): Generator<Buffer>
}

/** Makes the file of at least `textBytes` bytes of text, of `plan.rowCount` rows at a time. */
export async function repeatedFile(plan: BodyPlan, packing: Packing, textBytes: number): Promise<RepeatedFile> {
  const text = Buffer.concat([...bodyPieces(plan)])
  const headerText = Buffer.from(plan.format === 'csv' ? `${workloads[plan.workload].csvHeader}\n` : '')
  const rowsText = text.subarray(headerText.length)
  const turns = Math.max(1, Math.ceil((textBytes - headerText.length) / rowsText.length))
  const header = headerText.length === 0 ? headerText : await packed(headerText, packing)
  const rows = await packed(rowsText, packing)
  const byteCount = header.length + turns * rows.length
  return {
    byteCount,
    textBytes: headerText.length + turns * rowsText.length,
    rowCount: turns * plan.rowCount,
    *pieces(start, end) {
      for (let place = start; place < end; ) {
        const isHeader = place < header.length
        const within = isHeader ? place : (place - header.length) % rows.length
        const piece = (isHeader ? header : rows).subarray(within, within + Math.min(pieceBytes, end - place))
        yield piece
        place += piece.length
      }
    },
  }
}

const pieceBytes = 1024 * 1024

async function packed(bytes: Buffer, packing: Packing): Promise<Buffer> {
  if (packing === 'gzip') return gzipSync(bytes, { level: 1 })
  return packing === 'zstd' ? await compress(bytes, 1) : bytes
}
