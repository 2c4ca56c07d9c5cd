// What the sender of an import is told when the disk failed in its middle: whether a repeat would store rows twice.

import { diskFaultOf } from '../shared/disk-fault.ts'
import { errors } from '../shared/errors/errors.ts'
import { tablesBehind } from '../store/sql/table-graph.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import type { ImportTables } from './ingest-plan.ts'

export interface DiskFailureContext {
  readonly store: Pick<Store, 'parts' | 'views'>
  readonly tables: ImportTables
  /** Whether the tables are the import's own, and are dropped when it fails. */
  readonly isStaged: boolean
  readonly storedRows: number
  readonly quarantinedRows: number
  /** When the import began; epoch milliseconds. */
  readonly startedAtMs: number
}

const retryAfterSeconds = 2

/**
 * The failure of an import: DISK_UNAVAILABLE (503) when the disk refused and nothing is stored, DISK_FAILED (500) when rows
 * are in by then, or may be. Other failures stay as they are.
 */
export async function toImportFailure(failure: Error | null, context: DiskFailureContext): Promise<Error | null> {
  const reason = diskFaultOf(failure)
  if (failure === null || reason === null) return failure
  const cause = failure
  const { isStaged, storedRows, quarantinedRows } = context
  const isUnknown = isOfEngine(failure) && (await mayHaveStored(context))
  if (isStaged || (storedRows + quarantinedRows === 0 && !isUnknown)) {
    return errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds, cause })
  }
  return errors.DISK_FAILED({ reason, storedRows, quarantinedRows, cause })
}

/** A part that the disk refused before the engine was asked is in no table. */
function isOfEngine(failure: Error): boolean {
  for (let error: unknown = failure; error instanceof Error; error = error.cause) {
    if (error instanceof StoreError) return true
  }
  return false
}

/**
 * Whether a part was written since the import began, in one of its tables or behind a view: the engine commits the parts of
 * an INSERT one after the other, so one that failed may have left some. Parts of other senders count too: where nobody can
 * tell, the answer must not say that nothing was stored.
 */
async function mayHaveStored({ store, tables, startedAtMs }: DiskFailureContext): Promise<boolean> {
  try {
    const behind = tablesBehind(await store.views.graph(), tables.landing)
    const since = Math.floor(startedAtMs / 1000)
    return (await store.parts.countSince([...behind, tables.quarantine], since)) > 0
  } catch {
    // An engine that cannot be asked either may have anything.
    return true
  }
}
