import type { Job } from '../../jobs/jobs.types.ts'
import { type JobReader, jobShape, jobUrl } from './job-shape.ts'

/** What whoever has made a job is answered: older clients look for `job` and `job_url`, newer ones for `job_id`. */
export function startedJobShape(job: Job, reader: JobReader) {
  const { id, status } = job
  return { id, job_id: id, job_url: jobUrl(id, reader.baseUrl), status, job: jobShape(job, reader) }
}
