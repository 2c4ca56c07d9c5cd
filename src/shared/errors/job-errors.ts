// What a job, or a request about one, is refused for, and what a job itself ends with. Sorted by status.

import type { LimitName } from '../limit-names.ts'
import { define, type RetryLater } from './definition.ts'

export const jobErrors = {
  JOB_NOT_CANCELLABLE: define({
    status: 400,
    when: 'The job has ended or is being cancelled already, or it works and its kind cannot be stopped then.',
    message: ({ id, reason }: { readonly id: string; readonly reason: string }) =>
      `The job "${id}" cannot be cancelled: ${reason}`,
  }),
  JOB_HIDDEN: define({
    status: 403,
    when: 'The token has no access to the job. Whether there is such a job is not told.',
    message: () =>
      'The token has no access to this job: use the token that made it, one that may do the same to its Data Source, or one with the scope ADMIN',
  }),
  JOB_RESULT_DENIED: define({
    status: 403,
    when: 'The rights of the token are others than those that the answer of a query was made with. With the scope ADMIN it is read all the same.',
    message: () =>
      'The rights of the token have changed since the query ran, so its result is not shown; start the query again',
  }),
  JOB_NOT_FOUND: define({
    status: 404,
    when: 'No job has this id, or it ended so long ago that it is forgotten.',
    message: ({ id }: { readonly id: string }) =>
      `There is no job "${id}"; jobs are forgotten some time after their end`,
  }),
  JOB_RESULT_NOT_FOUND: define({
    status: 404,
    when: 'The job has no result: it does not run a query, it has not ended well, or the time of `jobResultHoursMax` is over.',
    message: ({ id, reason }: { readonly id: string; readonly reason: string }) =>
      `The job "${id}" has no result: ${reason}`,
  }),
  JOB_CANCELLED: define({
    status: 409,
    when: 'What a job did when it was cancelled. No request is answered so: the job has the status `cancelled`.',
    message: () => 'The job was cancelled',
  }),
  JOB_TOO_LARGE: define({
    status: 413,
    when: 'What a job is to do takes more than 256 KiB to write down.',
    message: ({ bytesMax }: { readonly bytesMax: number }) =>
      `What the job is to do takes more than ${bytesMax} bytes to write down; send shorter parameters`,
    limit: () => 'job_order_size',
  }),
  JOBS_ACTIVE_TOO_MANY: define({
    status: 429,
    when: 'As many jobs of one kind wait and work as the plan, or an option such as `deleteJobsActiveMax`, allows. Repeat the request when one of them has ended.',
    limit: ({ limit }: ActiveJobs) => limit,
    message: ({ kind, activeMax, limit }) =>
      `Jobs of the kind "${kind}" that wait or work are limited to ${activeMax} for the whole service (limit "${limit}"); repeat the request when one of them has ended`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  JOBS_TOO_MANY: define({
    status: 429,
    when: 'As many jobs wait as `jobsWaitingMax` allows. Repeat the request when some of them have ended.',
    limit: () => 'jobs_waiting',
    message: ({ waitingMax }: RetryLater & { readonly waitingMax: number }) =>
      `${waitingMax} jobs wait already, the most that may; repeat the request when some of them have ended`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater & { readonly waitingMax: number }) => retryAfterSeconds,
  }),
  JOBS_OF_TOKEN_TOO_MANY: define({
    status: 429,
    when: 'As many jobs of one kind wait that one token has made as `jobsWaitingPerTokenMax` allows, or some, and the rest of the queue is for tokens of which none waits. Other tokens are taken all the same. A JWT counts by itself.',
    limit: () => 'jobs_waiting_per_token',
    message: ({ kind, waitingMax }: RetryLater & { readonly kind: string; readonly waitingMax: number }) =>
      `${waitingMax} jobs of the kind "${kind}" wait already that this token has made, the most that may for one token; cancel some of them, or repeat the request when some have ended`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater & { readonly kind: string; readonly waitingMax: number }) =>
      retryAfterSeconds,
  }),
  JOB_WATCHES_TOO_MANY: define({
    status: 429,
    when: 'As many requests with `progress=true` follow jobs as may at once.',
    message: ({ watchesMax }: RetryLater & { readonly watchesMax: number }) =>
      `${watchesMax} requests follow jobs already, the most that may at once; ask for the job without "progress"`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater & { readonly watchesMax: number }) => retryAfterSeconds,
    limit: () => 'job_watches',
  }),
  JOB_WATCHES_OF_TOKEN_TOO_MANY: define({
    status: 429,
    when: 'As many requests of one token with `progress=true` follow jobs as may at once. Other tokens are taken all the same.',
    message: ({ watchesMax }: RetryLater & { readonly watchesMax: number }) =>
      `${watchesMax} requests of this token follow jobs already, the most that may at once for one token; ask for the job without "progress"`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater & { readonly watchesMax: number }) => retryAfterSeconds,
    limit: () => 'job_watches_per_token',
  }),
  JOB_FAILED: define({
    status: 500,
    when: 'A job ended by a fault of the service; the log has the reason under the id of the job.',
    message: () =>
      'The job ended by a fault of the service; the log of the service has the reason under the id of the job',
  }),
  JOB_FILES_FULL: define({
    status: 503,
    when: 'The results of queries that ran as jobs have as many bytes as `jobResultsBytesMax` allows. The job ends in error; older results go by themselves.',
    limit: () => 'job_results',
    message: ({ bytesMax }: { readonly bytesMax: number }) =>
      `The result does not fit: results of jobs have ${bytesMax} bytes together at most; ask for less, run it again when older results are gone, or raise --job-results-bytes-max`,
  }),
  JOB_FILES_OF_TOKEN_FULL: define({
    status: 503,
    when: 'The results of queries that one token ran as jobs have as many bytes as `jobResultsBytesPerTokenMax` allows. The job ends in error; other tokens have a share of their own.',
    limit: () => 'job_results_per_token',
    message: ({ bytesMax }: { readonly bytesMax: number }) =>
      `The result does not fit: results of jobs of one token have ${bytesMax} bytes together at most; ask for less, or remove older ones with DELETE /v0/jobs/<id>/result`,
  }),
  JOB_INTERRUPTED: define({
    status: 503,
    when: 'The service ended while a job worked that cannot be continued. What it did until then may stand.',
    message: () =>
      'The service ended while the job worked, and a job of this kind cannot be continued: what it did until then may stand; check it, and start the job anew',
  }),
  JOB_KIND_UNKNOWN: define({
    status: 503,
    when: 'A job waited at the end of a service that knows its kind, and the next one does not.',
    message: ({ kind }: { readonly kind: string }) =>
      `This release of the service knows no jobs of the kind "${kind}"; run the release that made the job, or start it anew`,
  }),
}

interface ActiveJobs extends RetryLater {
  readonly kind: string
  readonly activeMax: number
  readonly limit: LimitName
}
