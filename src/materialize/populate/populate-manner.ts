// How large the chunks of a populate are, and how many are filled at once: it depends on what the view gives of their rows.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { tokenize } from '../../schema/syntax/lexer.ts'
import { mebibyte } from '../../shared/bytes.ts'
import type { PinnedPart } from '../../store/pins.types.ts'
import type { Store } from '../../store/store.types.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import type { PopulateCheckpoint, PopulatedBranch } from './populate.types.ts'
import { sampleOf } from './populate-chunks.ts'
import { chunkQuery, dependsOnOrder, groupsRows, mayGroupByKey } from './populate-query.ts'

export type ChunkManner = Required<Pick<PopulateCheckpoint, 'bytesMax' | 'isByKey' | 'rowsMax' | 'threads'>>

/** One SELECT of the view, with what is pinned for it. */
export interface PinnedBranch {
  readonly view: PopulatedBranch
  readonly source: DataSource | undefined
  readonly pin: string
  readonly parts: readonly PinnedPart[]
}

export interface MannerDeps {
  readonly store: Pick<Store, 'pins'>
  readonly graph: TableGraph
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
/** How much larger a chunk is that comes to few groups. */
const fewGroupsTimes = 4
/** Of the rows of a sample, at most so many groups are few: then all rows have no more than some 50,000, if they are alike. */
const fewGroupsShare = 1 / 3

/**
 * - Where rows are grouped by what they are sorted by, each chunk is a range of the sorting key.
 * - Where many rows come to few groups, chunks are large, and all threads compute one after the other: so there are few INSERTs, and no
 *   thread waits while another one has the last. With as many groups as rows that was half as fast, and took twice the memory.
 * - All else has chunks of common size, two of them at once.
 */
export async function mannerOf(branches: readonly PinnedBranch[], deps: MannerDeps): Promise<ChunkManner> {
  const { isOrdered, rowsMax } = deps
  const isGrouped = branches.every(({ view }) => groupsRows(view.select))
  const isByKey = isGrouped && !isOrdered && branches.every(isCutByKey)
  const common = { rowsMax, bytesMax: isGrouped ? groupedBytesMax : chunkBytesMax, isByKey, threads: 1 }
  if (!isGrouped || isByKey || isOrdered) return common
  for (const branch of branches) if (!(await givesFewGroups(branch, deps))) return common
  return {
    rowsMax: fewGroupsTimes * rowsMax,
    bytesMax: fewGroupsTimes * chunkBytesMax,
    isByKey: false,
    threads: chunksAtOnce,
  }
}

function isCutByKey({ view, source }: PinnedBranch): boolean {
  return source !== undefined && mayGroupByKey(view.select, source)
}

/** Raises `StoreError` of an engine that has ended. */
async function givesFewGroups(
  { view, pin, parts }: PinnedBranch,
  { store, graph }: Pick<MannerDeps, 'graph' | 'store'>,
): Promise<boolean> {
  const { pieces, rowCount } = sampleOf(parts)
  // A join would be computed for the sample alone.
  if (rowCount === 0 || dependsOnOrder(view.select) || readsOthers(view)) return false
  const query = chunkQuery(view, new Set(graph.tables.keys()), { pin, pieces, condition: null })
  const groupCount = await store.pins.countRows(query)
  return groupCount !== null && groupCount <= rowCount * fewGroupsShare
}

function readsOthers({ select }: PopulatedBranch): boolean {
  const keys = tokenize(select).map(({ key }) => key)
  return keys.some(
    (key, index) => key === 'JOIN' || (key === 'IN' && keys[index + 1] === '(' && keys[index + 2] === 'SELECT'),
  )
}
