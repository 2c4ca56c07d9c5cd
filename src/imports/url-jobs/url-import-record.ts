/** What is kept of an import by URL: its task, sealed, and where it is. */
import type { LedgerCounts } from '../../ingest/insert/import-ledger.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { UrlImportCheckpoint, UrlImportTask } from './url-import.types.ts'

/** Seals texts that must be kept and given back; see `SecretBox`. */
export interface TaskSeal {
  seal(plain: string): string
  /** Null when its key is missing. */
  open(sealed: string): string | null
}

interface KeptTask {
  readonly format: 1
  readonly sealed: string
}

export function encodeTask(task: UrlImportTask, box: TaskSeal): KeptTask {
  return { format: 1, sealed: box.seal(JSON.stringify(task)) }
}

/** @throws JOB_ORDER_LOST (409) when the key is missing that it was sealed with. */
export function decodeTask(kept: unknown, box: TaskSeal): UrlImportTask {
  // What was sealed is as it was: the format says which release wrote it.
  const { format, sealed } = kept as KeptTask
  const plain = format === 1 ? box.open(sealed) : null
  if (plain === null) throw errors.JOB_ORDER_LOST()
  return JSON.parse(plain) as UrlImportTask
}

export const noRows: LedgerCounts = { records: 0, storedRows: 0, quarantinedRows: 0, invalidLines: 0, shortLines: 0 }

/** A job that begins, or where an earlier process has left it. */
export function checkpointOf(kept: unknown): UrlImportCheckpoint {
  if (kept !== null && kept !== undefined) {
    // The storage gives records as they were written.
    const checkpoint = kept as UrlImportCheckpoint
    if (checkpoint.format !== 1) throw errors.JOB_ORDER_LOST()
    return checkpoint
  }
  return {
    format: 1,
    subject: null,
    urlIndex: 0,
    identity: null,
    rows: null,
    ledger: null,
    before: { ...noRows, bytes: 0 },
  }
}

export function addRows(a: LedgerCounts, b: LedgerCounts): LedgerCounts {
  return {
    records: a.records + b.records,
    storedRows: a.storedRows + b.storedRows,
    quarantinedRows: a.quarantinedRows + b.quarantinedRows,
    invalidLines: a.invalidLines + b.invalidLines,
    shortLines: a.shortLines + b.shortLines,
  }
}
