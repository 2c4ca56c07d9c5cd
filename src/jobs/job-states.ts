import type { JobStatus } from './jobs.types.ts'

export const jobStatuses = [
  'waiting',
  'working',
  'done',
  'error',
  'cancelling',
  'cancelled',
] as const satisfies readonly JobStatus[]

/** What happens to a job: its work begins, succeeds or fails, or somebody asks to cancel it. */
export type JobEvent = 'start' | 'succeed' | 'fail' | 'cancel'

/** The specification's table. A job that is being cancelled is so to its end, however its work ends. */
const transitions: Readonly<Record<JobStatus, Readonly<Partial<Record<JobEvent, JobStatus>>>>> = {
  waiting: { start: 'working', cancel: 'cancelled' },
  working: { succeed: 'done', fail: 'error', cancel: 'cancelling' },
  cancelling: { succeed: 'cancelled', fail: 'cancelled' },
  done: {},
  error: {},
  cancelled: {},
}

/** Null where nothing follows. */
export function nextStatus(status: JobStatus, event: JobEvent): JobStatus | null {
  return transitions[status][event] ?? null
}

/** Whether nothing can follow any more. */
export function isFinal(status: JobStatus): boolean {
  return Object.keys(transitions[status]).length === 0
}
