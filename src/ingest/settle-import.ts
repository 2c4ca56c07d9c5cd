/**
 * Stores the blocks that an earlier process has left in doubt, of the parts that it has kept: so their counts are exact without the
 * body, which may be another one by now, or is not to be read any more.
 */

import type { PartFile } from '../codec/arrow/part.types.ts'
import type { Store } from '../store/store.types.ts'
import { type BodyWriterOptions, openBodyWriters } from './bodies/body-writers.ts'
import type { SettleRequest } from './ingest.types.ts'
import type { BlockWriter } from './insert/block-writer.ts'
import type { NamedPlaces } from './insert/import-ledger.types.ts'
import type { LedgerSide } from './insert/ledger-side.ts'
import type { PartitionLimits } from './insert/partition-limits.ts'
import type { SharedSync } from './insert/shared-sync.ts'
import { openSlice } from './parquet/parquet-file.ts'
import { ParquetImport } from './parquet/parquet-import.ts'

export interface SettleDeps {
  readonly store: Store
  readonly partitionLimits: PartitionLimits
  readonly sync: SharedSync
}

/** See `Ingest.settleImport`. */
export async function settleImport(
  request: SettleRequest,
  deps: SettleDeps,
  options: BodyWriterOptions,
): Promise<void> {
  const { ledger, kept, format } = request
  const sides = [ledger.quarantine, ledger.rows]
  for (const side of sides) {
    for (const block of side.left) {
      const counts = await kept.storedCounts(block.blockId)
      if (counts !== null) side.settle(block, counts)
    }
  }
  try {
    if (format === 'parquet') await settleSlices(request, deps, options)
    else await settleParts(request, deps, options)
  } finally {
    await ledger.settle()
  }
}

async function settleParts(request: SettleRequest, deps: SettleDeps, options: BodyWriterOptions): Promise<void> {
  const { ledger, kept } = request
  const writers = openBodyWriters(request, deps, options)
  const settle = async (side: LedgerSide, writer: BlockWriter): Promise<void> => {
    for (const block of side.left) {
      const files = await kept.partsOf(block)
      if (files !== null) await addParts(block, files, writer)
    }
    await writer.finish()
  }
  // In the order in which they were named: the rows come behind those set aside around them.
  await settle(ledger.quarantine, writers.quarantine)
  await settle(ledger.rows, writers.rows)
}

async function addParts(
  { ranges, parts = [] }: NamedPlaces,
  files: readonly PartFile[],
  writer: BlockWriter,
): Promise<void> {
  for (const [index, part] of files.entries()) {
    const range = ranges[index]
    const counts = parts[index]?.counts
    if (range === undefined || counts === undefined) throw new Error('a part that is kept has its places')
    await writer.add(part, counts.rows, { range, counts, invalidRows: counts.invalidRows })
  }
}

async function settleSlices(request: SettleRequest, deps: SettleDeps, options: BodyWriterOptions): Promise<void> {
  const { dataSource, importId, ledger, kept, signal } = request
  for (const block of ledger.rows.left) {
    const [slice] = (await kept.partsOf(block)) ?? []
    if (slice === undefined) continue
    try {
      const file = await openSlice(slice, deps.store)
      await new ParquetImport({ dataSource, importId, ledger, signal, file }, deps, options).settle(block, slice)
    } finally {
      await deps.store.discard([slice])
    }
  }
}
