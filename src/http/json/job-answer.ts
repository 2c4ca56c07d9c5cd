import type { Job } from '../../jobs/jobs.types.ts'
import { type JobReader, jobShape } from './job-shape.ts'

/** The answer to who has made a job: its id under each name that clients look for, where it is, and the job. */
export function jobAnswer(job: Job, reader: Omit<JobReader, 'pipes'>): object {
  const { id, status } = job
  return {
    id,
    job_id: id,
    job_url: `${reader.baseUrl}/v0/jobs/${id}`,
    job: jobShape(job, { ...reader, pipes: none }),
    status,
  }
}

/** It has failed at nothing yet that could name a view. */
function none(): readonly [] {
  return []
}
