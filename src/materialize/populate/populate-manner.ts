// How large the chunks of a populate are, and how many are filled at once: it depends on what the view gives of their rows.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { mebibyte } from '../../shared/bytes.ts'
import type { PinnedPart } from '../../store/pins.types.ts'
import { readViewQuery, type ViewQuery } from '../view-query.ts'
import type { PopulateCheckpoint, PopulatedBranch } from './populate.types.ts'
import type { WideChunks } from './populate-chunks.ts'
import { dependsOnOrder, groupsRows, mayGroupByKey } from './populate-query.ts'

export type ChunkManner = Required<Pick<PopulateCheckpoint, 'bytesMax' | 'isByKey' | 'rowsMax' | 'threads'>> &
  Pick<PopulateCheckpoint, 'wide'>

/** One SELECT of the view, with the data source that it reads, and what is pinned of that. */
export interface FilledBranch {
  readonly view: Pick<PopulatedBranch, 'select'>
  readonly source: DataSource | undefined
  readonly parts: readonly PartSize[]
}

type PartSize = Pick<PinnedPart, 'byteCount' | 'rowCount'>

export interface MannerRules {
  /** Whether what is inserted later has to come later. */
  readonly isOrdered: boolean
  /** Rows of a common chunk. */
  readonly rowsMax: number
}

/** INSERTs that run beside each other, each with one thread, so that its rows keep their order; or the threads of one INSERT at a time. */
export const chunksAtOnce = 2

/** Of what a chunk reads, before compression: all of it is in memory together, but where it is grouped. */
const chunkBytesMax = 64 * mebibyte
const groupedBytesMax = 128 * mebibyte
/** A chunk is one block, and the engine cuts no block of so many rows. */
const wideRowsMax = 100_000_000

/**
 * How many times the rows of a common chunk a wide one has, and how many groups a thread may make of it, as a share of these rows. With small
 * states, as those of counts and sums are, it takes no more memory than two common chunks at once; others may grow with each row, or
 * take kilobytes for each group. Groups that lie together are faster in common chunks: 3.3 million of 20 M rows three times as fast.
 */
const wideOfSmall = { times: 10, groupsShare: 1 / 2 }
const wideOfOthers = { times: 4, groupsShare: 1 / 40 }

/**
 * - Where rows are grouped by what they are sorted by, each chunk is a range of the sorting key.
 * - Where groups are all that a chunk gives, chunks are wide, and all threads compute one after the other: so there are few INSERTs, no
 *   thread waits while another one has the last, and groups that all chunks have are written less often. As soon as one comes to more
 *   groups than it may, chunks are common: of as many groups as rows wide ones were half as fast, and took twice the memory.
 * - All else has chunks of common size, two of them at once.
 */
export function mannerOf(branches: readonly FilledBranch[], { isOrdered, rowsMax }: MannerRules): ChunkManner {
  const isGrouped = branches.every(({ view }) => groupsRows(view.select))
  const isByKey = isGrouped && !isOrdered && branches.every(isCutByKey)
  const common = { rowsMax, bytesMax: isGrouped ? groupedBytesMax : chunkBytesMax }
  if (!isGrouped || isByKey || isOrdered) return { ...common, isByKey, threads: 1 }
  const queries = branches.map(({ view }) => readViewQuery(view.select))
  // Whoever fills a chunk again must come to the same groups.
  const isWide = queries.every(({ givesGroups, isSteady }) => givesGroups && isSteady) && !branches.some(isInOrder)
  if (!isWide) return { ...common, isByKey, threads: 1 }
  const { times, groupsShare } = queries.every(hasSmallStates) ? wideOfSmall : wideOfOthers
  const parts = branches.flatMap((branch) => branch.parts)
  const groupsMax = Math.max(1, Math.floor(groupsShare * commonRows(parts, common)))
  return {
    rowsMax: Math.min(times * rowsMax, wideRowsMax),
    bytesMax: times * chunkBytesMax,
    isByKey: false,
    threads: chunksAtOnce,
    wide: { groupsMax, groupsShare, common },
  }
}

/** Groups that a thread may make of a wide chunk: fewer where one of its parts has larger rows than there are on average. */
export function groupsMaxOf({ groupsMax, groupsShare, common }: WideChunks, parts: readonly PartSize[]): number {
  if (groupsShare === undefined) return groupsMax
  const rows = Math.min(...parts.map((part) => commonRows([part], common)))
  return Math.max(1, Math.min(groupsMax, Math.floor(groupsShare * rows)))
}

/** How many rows a common chunk has, by what the rows of the parts have on average. */
function commonRows(parts: readonly PartSize[], { rowsMax, bytesMax }: WideChunks['common']): number {
  const rowCount = parts.reduce((rows, part) => rows + part.rowCount, 0)
  const byteCount = parts.reduce((bytes, part) => bytes + part.byteCount, 0)
  return Math.min(rowsMax, (bytesMax * rowCount) / Math.max(1, byteCount))
}

const smallStates =
  /^(?:count|sum|sumwithoverflow|sumkahan|sumcount|avg|avgweighted|min|max|corr|(?:var|stddev|covar)(?:pop|samp)|group_?bit_?(?:and|or|xor))(?:if|array|ornull|ordefault|merge|(?:simple)?state)*$/

function hasSmallStates({ aggregateNames }: ViewQuery): boolean {
  return [...aggregateNames].every((name) => smallStates.test(name))
}

function isCutByKey({ view, source }: FilledBranch): boolean {
  return source !== undefined && mayGroupByKey(view.select, source)
}

function isInOrder({ view }: FilledBranch): boolean {
  return dependsOnOrder(view.select)
}
