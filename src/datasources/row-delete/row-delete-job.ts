// Deletes of rows as jobs: one that a kill has stopped goes on at the next start.

import type { JobKind, JobSubject, NewJob, WorkingJob } from '../../jobs/jobs.types.ts'
import type { DataSources } from '../datasources.types.ts'
import type { PlannedRowDelete, RowDeleteCheckpoint, RowDeleteOrder } from './row-delete.types.ts'

export const rowDeleteJobKind = 'delete_data'

/** The job that carries out a delete. */
export function toRowDeleteJob({ dataSource, order }: PlannedRowDelete): Omit<NewJob, 'owner'> {
  const { id, name } = dataSource
  const subject: JobSubject = { kind: 'datasource', id, name }
  const details = { deleteCondition: order.condition }
  return { kind: rowDeleteJobKind, subject, order, details, logFields: { dataSource: name } }
}

export interface RowDeleteJobsOptions {
  readonly deleteJobsWorkingMax: number
  /** Those that wait and work together; 0 sets no limit. */
  readonly deleteJobsActiveMax: number
}

/** What runs such jobs, to be registered. */
export function createRowDeleteJobs(
  { deleteJobsWorkingMax: workingMax, deleteJobsActiveMax: max }: RowDeleteJobsOptions,
  dataSources: Pick<DataSources, 'deleteRows'>,
): JobKind {
  const run = async (job: WorkingJob): Promise<void> => {
    const { rowsDeleted } = await dataSources.deleteRows({
      id: job.id,
      // Both come back as they were written: the order by `toRowDeleteJob`, the checkpoint by the delete.
      order: job.order as RowDeleteOrder,
      checkpoint: job.checkpoint as RowDeleteCheckpoint | null,
      signal: job.signal,
      save: (checkpoint) => job.saveCheckpoint(checkpoint),
    })
    job.tell({ rowsDeleted })
  }
  const active = max === 0 ? {} : { active: { max, limit: 'delete_jobs' } as const }
  return { name: rowDeleteJobKind, workingMax, ...active, isCancellableWhileWorking: false, canResume: true, run }
}
