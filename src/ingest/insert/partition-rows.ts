// Finds the lines of a block whose rows are of partitions that it must not have.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { bytesAtOnceMax } from '../../schema/columns/row-weight.ts'
import type { Store } from '../../store/store.types.ts'
import { ingestPlanOf } from '../ingest-plan.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import { groupBodies, type RecordBody } from '../parse/record-body.ts'
import { parseGroup } from './block-parser.ts'
import { partitionBoundOf } from './partition-bound.ts'
import { linesOf } from './poison-rows.ts'

export interface PartitionRowsDeps {
  readonly store: Pick<Store, 'partitionsByRow'>
  readonly pool: ParsePool
  readonly frameBytes: number
}

/** The reason under which such rows are kept. */
export const beyondReason =
  'the row is of a partition more than events that are inserted together, or their Data Source, may have'

/** By number, the lines whose rows are of none of the `allowed` partitions. Lines in `known` are left out. */
export async function findBeyond(
  { store, pool, frameBytes }: PartitionRowsDeps,
  dataSource: DataSource,
  block: {
    readonly bodies: readonly RecordBody[]
    readonly known: readonly number[]
    readonly allowed: ReadonlySet<string>
  },
): Promise<readonly number[]> {
  const plan = ingestPlanOf(dataSource, null)
  const partition = partitionBoundOf(dataSource, plan.landing.layout)
  if (partition === undefined) return []
  const known = new Set(block.known)
  const lines = linesOf(block.bodies)
  const numbers = lines.map((_, number) => number).filter((number) => !known.has(number))
  // Each line is a body, so that the counts of the bodies tell which lines are rows.
  const bodies = numbers.flatMap((number) => lines[number] ?? [])
  const found: number[] = []
  let position = 0
  for (const group of groupBodies(bodies, bytesAtOnceMax(plan.columns, frameBytes))) {
    const { parts, rowCount, bodies: counts } = await parseGroup(pool, plan, group)
    const request = { ...plan.landing, parts, rowCount, blockId: 'none', partition }
    const names = rowCount === 0 ? [] : await store.partitionsByRow(request)
    let row = 0
    for (const { rows } of counts) {
      const name = rows === 0 ? undefined : names[row]?.name
      row += rows
      const number = numbers[position]
      position += 1
      if (name !== undefined && number !== undefined && !block.allowed.has(name)) found.push(number)
    }
  }
  return found
}
