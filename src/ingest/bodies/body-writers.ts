// What stores the rows of a body, and those set aside.

import type { Store } from '../../store/store.types.ts'
import type { ImportRequest } from '../ingest.types.ts'
import { ingestPlanOf } from '../ingest-plan.ts'
import { BlockWriter } from '../insert/block-writer.ts'
import { leftBy } from '../insert/left-by.ts'
import { partitionBoundOf } from '../insert/partition-bound.ts'
import type { PartitionLimitOptions, PartitionLimits } from '../insert/partition-limits.ts'
import type { PlaceRange } from '../insert/range-set.ts'
import { RefusedBlocks } from '../insert/refused-block.ts'
import { refusedRowsLayout } from '../insert/refused-values.ts'

export interface BodyWriterOptions extends PartitionLimitOptions {
  readonly insertRowsMax: number
  readonly insertBytesMax: number
  readonly insertsInFlightMax: number
}

export interface BodyWriterDeps {
  readonly store: Store
  readonly partitionLimits: PartitionLimits
}

export interface BodyWriters {
  readonly rows: BlockWriter
  readonly quarantine: BlockWriter
  readonly refused: RefusedBlocks
}

/** Cells of one INSERT into the quarantine: its columns hold texts, and each takes memory of the engine though it is NULL. */
const setAsideCellsMax = 8_000_000

export function openBodyWriters(
  request: Pick<ImportRequest, 'dataSource' | 'importId' | 'ledger' | 'signal' | 'tables'>,
  { store, partitionLimits }: BodyWriterDeps,
  options: BodyWriterOptions,
): BodyWriters {
  const { dataSource, importId, ledger } = request
  const plan = ingestPlanOf(dataSource, importId, request.tables)
  const { insertRowsMax, insertBytesMax: bytesMax, insertsInFlightMax, partitionsPerBodyMax } = options
  const limits = { rowsMax: insertRowsMax, bytesMax, insertsInFlightMax, partitionsPerBodyMax, leftBy: leftBy(request) }
  const setAsideRowsMax = Math.max(1, Math.floor(setAsideCellsMax / (plan.columns.length + 2)))
  const quarantine = new BlockWriter(store, plan.quarantine, {
    ...limits,
    rowsMax: Math.min(insertRowsMax, setAsideRowsMax),
    ledger: ledger?.quarantine,
  })
  const { table, layout } = plan.landing
  const bound = partitionBoundOf(dataSource, layout)
  const body = partitionLimits.bodyOf(table)
  const refused = new RefusedBlocks(
    { store, body, leftBy: limits.leftBy },
    {
      dataSource,
      tables: { landing: table, quarantine: plan.quarantine.table },
      landing: layout,
      partition: bound,
      fields: layout.fields,
      quarantine: refusedRowsLayout(plan.columns, importId),
      isParquet: false,
    },
  )
  // So no row is stored without those set aside around it, whatever ends the import.
  const before = (ranges: readonly PlaceRange[]): Promise<void> => quarantine.insertAllOf(ranges)
  const rows = new BlockWriter(
    store,
    plan.landing,
    { ...limits, ledger: ledger?.rows, before },
    { bound, body, refused },
  )
  return { rows, quarantine, refused }
}
