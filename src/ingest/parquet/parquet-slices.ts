// A Parquet file in slices, each of which is one INSERT.
//
// The engine has no way to read a part of a file by one statement, so a slice is a file of its own: the row groups' bytes
// where they stand in the whole file, holes elsewhere, and metadata that speaks of these groups alone. Nothing is decoded to
// make one, and it takes as many bytes on the disk as its groups have. A row group that is too large for one INSERT is cut
// by row numbers, as an INSERT that is read more than once.

import { open } from 'node:fs/promises'
import { writeAll } from '../unpack/write-all.ts'
import { readAt } from './parquet-bytes.ts'
import { footerOf, joinedRanges, type ParquetFooter, parquetMagic, type RowGroup } from './parquet-footer.ts'

export interface SliceLimits {
  readonly rowsMax: number
  /** Of pages, unpacked. */
  readonly bytesMax: number
}

export interface ParquetSlice {
  readonly groups: readonly RowGroup[]
  /** The rows of the groups that are meant, from and up to a row number; null is all of them. */
  readonly range: { readonly start: number; readonly end: number } | null
  readonly rowCount: number
  readonly byteCount: number
}

/**
 * Cuts a file into slices of no more rows and bytes than `limits` allow, in the order of its rows. They are made one by one,
 * as the sender says how many rows there are.
 */
export function* slicesOf({ rowGroups }: ParquetFooter, limits: SliceLimits): Generator<ParquetSlice> {
  let gathered = new GatheredGroups()
  for (const group of rowGroups) {
    if (group.rowCount === 0) continue
    const rowCount = gathered.rowCount + group.rowCount
    const byteCount = gathered.byteCount + group.byteCount
    if (gathered.groups.length > 0 && (rowCount > limits.rowsMax || byteCount > limits.bytesMax)) {
      yield gathered
      gathered = new GatheredGroups()
    }
    const pieceCount = Math.ceil(Math.max(group.rowCount / limits.rowsMax, group.byteCount / limits.bytesMax))
    // A group that is a little too large costs less than a second reading of it.
    if (pieceCount <= 2) gathered.add(group)
    else yield* piecesOf(group, pieceCount)
  }
  if (gathered.groups.length > 0) yield gathered
}

/** A slice while it is gathered. */
class GatheredGroups implements ParquetSlice {
  readonly groups: RowGroup[] = []
  readonly range = null
  rowCount = 0
  byteCount = 0

  add(group: RowGroup): void {
    this.groups.push(group)
    this.rowCount += group.rowCount
    this.byteCount += group.byteCount
  }
}

function* piecesOf(group: RowGroup, pieceCount: number): Generator<ParquetSlice> {
  const rowsEach = Math.ceil(group.rowCount / pieceCount)
  for (let start = 0; start < group.rowCount; start += rowsEach) {
    const end = Math.min(group.rowCount, start + rowsEach)
    const byteCount = Math.round((group.byteCount * (end - start)) / group.rowCount)
    yield { groups: [group], range: { start, end }, rowCount: end - start, byteCount }
  }
}

const copyBytes = 1024 * 1024

/** Writes a slice of the file at `source` as a file of its own. */
export async function writeSlice(
  { source, target }: { readonly source: string; readonly target: string },
  footer: ParquetFooter,
  { groups }: ParquetSlice,
): Promise<void> {
  const from = await open(source)
  try {
    const to = await open(target, 'wx')
    try {
      await writeAll(to, Buffer.from(parquetMagic, 'latin1'), 0)
      let end = parquetMagic.length
      for (const range of joinedRanges(groups.flatMap((group) => group.ranges))) {
        for (let offset = range.start; offset < range.end; offset += copyBytes) {
          const bytes = await readAt(from, offset, Math.min(copyBytes, range.end - offset))
          await writeAll(to, bytes, offset)
        }
        end = Math.max(end, range.end)
      }
      await writeAll(to, footerOf(footer, groups), end)
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}
