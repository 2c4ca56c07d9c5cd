import { withoutQuoted } from '../observe/quoted-rows.ts'
import type { OperationRecord, RecordedSource, WorkRecorder } from '../observe/work-recorder.types.ts'
import type { Job } from './jobs.types.ts'

/** What jobs of some kinds do to the data source that they work on, as the hosted service calls it. */
const operations: Readonly<Record<string, string>> = {
  delete_data: 'delete_data',
  populateview: 'populateview',
  repairview: 'repairview',
  import: 'append',
}

/**
 * Tells of a job that has another status; at its end also of what it has done to a data source, where nobody else does.
 *
 * @param recordedError what it has ended by, for others than its owner; null where it has not failed.
 */
export function tellJob(job: Job, recordedError: string | null, recorder: WorkRecorder | undefined): void {
  if (recorder?.isOn !== true) return
  const { id, kind, status, subject, details, createdAtMs, updatedAtMs, startedAtMs } = job
  const error = status === 'error' ? recordedError : null
  recorder.job({ id, kind, status, subject, details, error, createdAtMs, updatedAtMs, startedAtMs })
  const eventType = operations[kind]
  const dataSource = sourceOf(job)
  if (eventType === undefined || dataSource === null) return
  const told = eventOf(eventType, status)
  // An import that has not begun has done nothing.
  if (told === null || (kind === 'import' && startedAtMs === null)) return
  const beganAtMs = startedAtMs ?? createdAtMs
  const times = { startedAtMs: beganAtMs, elapsedMs: updatedAtMs - beganAtMs }
  const ending = status === 'cancelled' ? 'The job was cancelled.' : error
  const operation = { eventType: told, dataSource, ...times, ...rowsOf(job), jobId: id, ...pipeOf(job), error: ending }
  recorder.operation(kind === 'import' ? { ...operation, ...ofImport(job) } : operation)
}

/**
 * Tells once more of the status that a job had when an earlier process ended: rows of the service data sources that a kill found in memory
 * are gone. A row of the same status takes the place of the one that may be there.
 */
export function tellJobAgain(job: Job, recorder: WorkRecorder | undefined): void {
  if (recorder?.isOn !== true) return
  const { id, kind, status, subject, details, createdAtMs, updatedAtMs, startedAtMs, errors, errorQuotes } = job
  // What ended it is not known any more, but for its words, which may be the engine's.
  const words = errors.map((text, index) => withoutQuoted(errorQuotes[index]?.withoutRows ?? text))
  const error = status === 'error' ? words.join('; ') : null
  recorder.job({ id, kind, status, subject, details, error, createdAtMs, updatedAtMs, startedAtMs })
}

/** An import may end before its data source is found or made: then it has the name that was asked for alone. */
function sourceOf({ subject, kind, details: { target } }: Job): RecordedSource | null {
  if (subject !== null) return subject.kind === 'datasource' ? subject : null
  return kind === 'import' && typeof target === 'string' ? { id: '', name: target } : null
}

/** The pipe whose view a populate fills. */
function pipeOf({ details: { pipeId, pipeName } }: Job): Pick<OperationRecord, 'pipe'> {
  return typeof pipeId === 'string' && typeof pipeName === 'string' ? { pipe: { id: pipeId, name: pipeName } } : {}
}

function ofImport({ id, details }: Job): Partial<OperationRecord> {
  const { mode, format, storedRows, quarantinedRows, bytesRead } = details
  return {
    ...(mode === 'replace' ? { eventType: 'replace' } : {}),
    ...(typeof format === 'string' ? { options: { format } } : {}),
    importId: id,
    rows: numberOf(storedRows),
    quarantinedRows: numberOf(quarantinedRows),
    readBytes: numberOf(bytesRead),
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

function eventOf(eventType: string, status: Job['status']): string | null {
  switch (status) {
    case 'done':
    case 'error':
    case 'cancelled':
      return eventType
    case 'waiting':
      return eventType === 'populateview' ? 'populateview-queued' : null
    case 'working':
    case 'cancelling':
      return null
  }
}

function rowsOf({ details, status }: Job): Pick<OperationRecord, 'rows'> {
  const { rowsDeleted, rowsRead, isExchange } = details
  // What it has made goes with it.
  if (isExchange === true && status !== 'done') return { rows: 0 }
  const rows = rowsDeleted ?? rowsRead
  return typeof rows === 'number' ? { rows } : {}
}
