/**
 * Inserts a named block: its rows, then the rows set aside, each under a token of its own made of the block's id.
 *
 * The same block may be inserted any number of times and is stored once, in the table, the quarantine and every view: the
 * engine knows the tokens, and everything that goes into the statements comes out of the log. Whoever inserts it has passed the gate of
 * the data source (`AppendGate`).
 */

import type { DataSource } from '../../catalog/data-source.types.ts'
import { partExpression } from '../../codec/arrow/part-expression.ts'
import type { PartLayout } from '../../codec/arrow/part-layout.types.ts'
import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { assert } from '../../shared/assert.ts'
import type { AppendRequest, Store } from '../../store/store.types.ts'
import { ingestPlanOf } from '../ingest-plan.ts'
import type { NamedBlock, ParsedRows } from './block.types.ts'
import { partitionBoundOf } from './partition-bound.ts'
import type { PartitionLimits } from './partition-limits.ts'

interface BlockDeps {
  readonly store: Pick<Store, 'append'>
  readonly partitionLimits: PartitionLimits
}

interface InsertedRows extends ParsedRows {
  /** What takes the place of the parts of rows. */
  readonly source?: Pick<AppendRequest, 'from' | 'layout' | 'parts' | 'rowCount'>
}

/** @throws StoreError; PartitionsExceededError when its rows are of too many partitions: nothing of it was inserted then. */
export async function insertBlock(
  { store, partitionLimits }: BlockDeps,
  dataSource: DataSource,
  { blockId, namedAtMs }: NamedBlock,
  rows: InsertedRows,
): Promise<void> {
  const plan = ingestPlanOf(dataSource, null)
  if (rows.rowCount > 0) {
    const { source = { layout: plan.landing.layout, parts: rows.parts, rowCount: rows.rowCount } } = rows
    assert(source.rowCount === rows.rowCount, 'all rows of a block are inserted')
    const bound = partitionBoundOf(dataSource, plan.landing.layout)
    // A table has the columns that its key speaks of.
    const partition = bound === undefined || rows.source === undefined ? bound : { ...bound, columns: [] }
    const bounds = await partitionLimits.bodyOf(plan.landing.table).boundCut(partition, rows.rowCount)
    await store.append({ ...plan.landing, ...bounds, ...source, blockId, mayBeCutAnew: true, isKept: true })
  }
  if (rows.quarantinedRowCount > 0) {
    const quarantine = { ...plan.quarantine, layout: at(plan.quarantine.layout, dataSource, namedAtMs) }
    const rowCount = rows.quarantinedRowCount
    await store.append({
      ...quarantine,
      parts: rows.quarantineParts,
      rowCount,
      blockId: `${blockId}-q`,
      mayBeCutAnew: true,
    })
  }
}

/** Rows are set aside when their block is named, however often it is inserted. */
function at({ fields, targets }: PartLayout, { columns }: DataSource, epochMs: number): PartLayout {
  const timeName = quarantineTimeColumn(columns)
  const expression = partExpression(`toDateTime(${Math.floor(epochMs / 1000)})`)
  return {
    fields,
    targets: targets.map((target) => (target.column === timeName ? { ...target, expression } : target)),
  }
}
