import type { OperationRecord, WorkRecorder } from '../observe/work-recorder.types.ts'
import type { Job } from './jobs.types.ts'

/** What jobs of some kinds do to the data source that they work on, as the hosted service calls it. */
const operations: Readonly<Record<string, string>> = { delete_data: 'delete_data', populateview: 'populateview' }

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
  if (eventType === undefined || subject?.kind !== 'datasource') return
  const told = eventOf(eventType, status)
  if (told === null) return
  const beganAtMs = startedAtMs ?? createdAtMs
  const times = { startedAtMs: beganAtMs, elapsedMs: updatedAtMs - beganAtMs }
  const ending = status === 'cancelled' ? 'The job was cancelled.' : error
  recorder.operation({ eventType: told, dataSource: subject, ...times, ...rowsOf(job), jobId: id, error: ending })
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

function rowsOf({ details }: Job): Pick<OperationRecord, 'rows'> {
  const { rowsDeleted, rowsRead } = details
  const rows = rowsDeleted ?? rowsRead
  return typeof rows === 'number' ? { rows } : {}
}
