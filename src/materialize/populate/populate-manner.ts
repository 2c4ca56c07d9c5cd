// How large the chunks of a populate are, and how many are filled at once: it depends on what the view gives of their rows.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { mebibyte } from '../../shared/bytes.ts'
import type { PopulateCheckpoint, PopulatedBranch } from './populate.types.ts'
import type { Chunk, GrownLimits } from './populate-chunks.ts'
import { dependsOnOrder, groupsRows, mayGroupByKey } from './populate-query.ts'

export type ChunkManner = Required<Pick<PopulateCheckpoint, 'bytesMax' | 'isByKey' | 'mayGrow' | 'rowsMax'>>

/** One SELECT of the view, with the data source of its rows. */
export interface SourcedBranch {
  readonly view: Pick<PopulatedBranch, 'select'>
  readonly source: DataSource | undefined
}

export interface MannerOptions {
  /** Whether what is inserted later has to come later. */
  readonly isOrdered: boolean
  /** Rows of a chunk, as far as nothing speaks for more. */
  readonly rowsMax: number
}

/** INSERTs that run beside each other, each with one thread, so that its rows keep their order; or the threads of one INSERT at a time. */
export const chunksAtOnce = 2

/** Of what a chunk reads, before compression: all of it is in memory together, but where it is grouped. */
const chunkBytesMax = 64 * mebibyte
const groupedBytesMax = 128 * mebibyte
const grownBytesMax = 256 * mebibyte
/** How much larger a chunk may be that comes to few groups. */
const grownTimes = 10
/** The first chunk tells something of others only if it has so many rows. */
const tellingRowsMin = 131_072

/**
 * - Where rows are grouped by what they are sorted by, each chunk is a range of the sorting key.
 * - Other grouped rows may come to the same groups in each chunk, so few large chunks have less to write: the first one shows how large.
 * - All else has chunks of common size, two of them at once.
 */
export function mannerOf(branches: readonly SourcedBranch[], { isOrdered, rowsMax }: MannerOptions): ChunkManner {
  const isGrouped = branches.every(({ view }) => groupsRows(view.select))
  const isFree = isGrouped && !isOrdered
  const isByKey = isFree && branches.every(isCutByKey)
  // The first chunk tells of its own SELECT alone, and is computed by several threads.
  const mayGrow = isFree && !isByKey && branches.every(({ view }, index) => index === 0 && !dependsOnOrder(view.select))
  return { rowsMax, bytesMax: isGrouped ? groupedBytesMax : chunkBytesMax, isByKey, mayGrow }
}

function isCutByKey({ view, source }: SourcedBranch): boolean {
  return source !== undefined && mayGroupByKey(view.select, source)
}

/**
 * What chunks behind the first may have, or null for no more than it. They come to no more groups than a common one has rows, as rows that
 * are alike come to no more than by its share: with more, sorting and writing them would take as long as what is saved. They are filled one
 * after the other by all threads, so that no thread waits while another one has the last.
 *
 * @param groupCount what the view gave of the first chunk; 0 where it is not known.
 */
export function grownLimits({ rowCount }: Chunk, groupCount: number, rowsMax: number): GrownLimits | null {
  if (groupCount === 0 || rowCount < tellingRowsMin) return null
  const rows = Math.min(grownTimes * rowsMax, Math.floor((rowCount * rowsMax) / groupCount))
  return rows < 2 * rowsMax ? null : { rowsMax: rows, bytesMax: grownBytesMax }
}
