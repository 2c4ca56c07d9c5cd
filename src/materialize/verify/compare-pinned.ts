// What was filled, compared with what the target has, partition by partition.

import type { NodeView } from '../../catalog/pipe.types.ts'
import type { Store } from '../../store/store.types.ts'
import { populateTables } from '../populate/populate-tables.ts'
import type { Comparability } from './comparability.ts'
import type { VerifiedPartition } from './verify.types.ts'

/** Keys of rows that differ, for each partition. */
const samplesMax = 5

interface ComparedPinned extends Pick<Comparability, 'columns' | 'manner'> {
  readonly pinId: string
  readonly removals: NodeView['removals']
  readonly timeMaxMs: number
}

/** Of each partition, those that differ first. Raises `StoreError`. */
export async function comparePinned(
  store: Pick<Store, 'comparisons' | 'partitions'>,
  { pinId, columns, manner, removals, timeMaxMs }: ComparedPinned,
): Promise<readonly VerifiedPartition[]> {
  const { staging, found } = populateTables(pinId)
  const compared = await store.comparisons.compare({
    ...{ expected: staging, found, manner, columns, samplesMax, timeMaxMs },
  })
  const texts = new Map<string, string>()
  for (const table of [staging, found]) {
    for (const { id, text } of await store.partitions.list(table)) texts.set(id, text)
  }
  return compared
    .map(({ id, ...counts }): VerifiedPartition => {
      const { rowsMissing, rowsExtra, rowsDifferent } = counts
      const isEqual = rowsMissing + rowsExtra + rowsDifferent === 0
      return { id, text: texts.get(id) ?? id, reason: reasonOf(id, removals), isEqual, ...counts }
    })
    .sort((a, b) => Number(a.isEqual) - Number(b.isEqual))
}

/** Why what a partition has may be of rows that the source has no more. */
function reasonOf(id: string, removals: NodeView['removals']): string | null {
  if (removals === undefined) return null
  if (removals.partitions !== null && !removals.partitions.includes(id)) return null
  return removals.kind === 'truncate'
    ? 'the source was truncated, and the view keeps what it made of those rows'
    : 'rows of the source were deleted, and the view keeps what it made of them'
}
