import { type JobRecord, type StoredGroup, unpackGroup } from './job-record.ts'
import type { Job } from './jobs.types.ts'

/** A job in memory. */
export interface JobEntry {
  readonly number: number
  readonly logFields: JobRecord['logFields']
  job: Job
}

/**
 * The same job, as whoever asks sees it. Field by field: with a spread each job has a layout of its own, and a list of 10,000
 * takes fifteen times as long.
 */
export function shapedJob(job: Omit<Job, 'isCancellable'>, isCancellable: boolean): Job {
  return {
    id: job.id,
    kind: job.kind,
    status: job.status,
    owner: job.owner,
    subject: job.subject,
    createdAtMs: job.createdAtMs,
    updatedAtMs: job.updatedAtMs,
    startedAtMs: job.startedAtMs,
    isCancellable,
    details: job.details,
    errors: job.errors,
    errorQuotes: job.errorQuotes,
  }
}

/** Jobs that have ended in an earlier process: their text is read when somebody asks for one of them. */
export class JobGroup {
  readonly #stored: StoredGroup
  #jobs: readonly Job[] | null = null

  constructor(stored: StoredGroup) {
    this.#stored = stored
  }

  entries(): readonly GroupedEntry[] {
    return this.#stored.numbers.map((number, index) => new GroupedEntry(number, index, this))
  }

  /** @throws CatalogRecordError */
  jobs(): readonly Job[] {
    this.#jobs ??= unpackGroup(this.#stored).map(({ job }) => shapedJob(job, false))
    return this.#jobs
  }
}

/** One of them. It has ended, so nothing of it changes, and nothing is logged. */
export class GroupedEntry {
  readonly number: number
  readonly logFields = {}
  readonly #index: number
  readonly #group: JobGroup

  constructor(number: number, index: number, group: JobGroup) {
    this.number = number
    this.#index = index
    this.#group = group
  }

  /** @throws CatalogRecordError */
  get job(): Job {
    const job = this.#group.jobs()[this.#index]
    if (job === undefined) throw new Error('a group has as many jobs as numbers')
    return job
  }
}
