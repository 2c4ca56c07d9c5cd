import { errors } from '../../../../src/shared/errors/errors.ts'

/** One of each code about jobs, with its status and its message. */
export const madeJobErrors = {
  JOB_RESULT_DENIED: [
    errors.JOB_RESULT_DENIED(),
    403,
    'The rights of the token have changed since the query ran, so its result is not shown; start the query again',
  ],
  JOB_RESULT_NOT_FOUND: [
    errors.JOB_RESULT_NOT_FOUND({ id: 'j', reason: 'its kind is "import"' }),
    404,
    'The job "j" has no result: its kind is "import"',
  ],
  JOB_FILES_FULL: [
    errors.JOB_FILES_FULL({ bytesMax: 10 }),
    503,
    'The result does not fit: results of jobs have 10 bytes together at most; ask for less, run it again when older results are gone, or raise --job-results-bytes-max',
  ],
  JOB_NOT_CANCELLABLE: [
    errors.JOB_NOT_CANCELLABLE({ id: 'j-1', reason: 'it is being cancelled already' }),
    400,
    'The job "j-1" cannot be cancelled: it is being cancelled already',
  ],
  JOB_HIDDEN: [
    errors.JOB_HIDDEN(),
    403,
    'The token has no access to this job: use the token that made it, one that may do the same to its Data Source, or one with the scope ADMIN',
  ],
  JOB_NOT_FOUND: [
    errors.JOB_NOT_FOUND({ id: 'j-1' }),
    404,
    'There is no job "j-1"; jobs are forgotten some time after their end',
  ],
  JOB_CANCELLED: [errors.JOB_CANCELLED(), 409, 'The job was cancelled'],
  JOB_TOO_LARGE: [
    errors.JOB_TOO_LARGE({ bytesMax: 1024 }),
    413,
    'What the job is to do takes more than 1024 bytes to write down; send shorter parameters',
  ],
  JOBS_TOO_MANY: [
    errors.JOBS_TOO_MANY({ waitingMax: 10, retryAfterSeconds: 5 }),
    429,
    '10 jobs wait already, the most that may; repeat the request when some of them have ended',
  ],
  JOBS_OF_TOKEN_TOO_MANY: [
    errors.JOBS_OF_TOKEN_TOO_MANY({ kind: 'query', waitingMax: 10, retryAfterSeconds: 5 }),
    429,
    '10 jobs of the kind "query" wait already that this token has made, the most that may for one token; cancel some of them, or repeat the request when some have ended',
  ],
  JOB_WATCHES_OF_TOKEN_TOO_MANY: [
    errors.JOB_WATCHES_OF_TOKEN_TOO_MANY({ watchesMax: 10, retryAfterSeconds: 5 }),
    429,
    '10 requests of this token follow jobs already, the most that may at once for one token; ask for the job without "progress"',
  ],
  JOB_FILES_OF_TOKEN_FULL: [
    errors.JOB_FILES_OF_TOKEN_FULL({ bytesMax: 10 }),
    503,
    'The result does not fit: results of jobs of one token have 10 bytes together at most; ask for less, or remove older ones with DELETE /v0/jobs/<id>/result',
  ],
  JOB_WATCHES_TOO_MANY: [
    errors.JOB_WATCHES_TOO_MANY({ watchesMax: 10, retryAfterSeconds: 5 }),
    429,
    '10 requests follow jobs already, the most that may at once; ask for the job without "progress"',
  ],
  JOB_FAILED: [
    errors.JOB_FAILED(),
    500,
    'The job ended by a fault of the service; the log of the service has the reason under the id of the job',
  ],
  JOB_INTERRUPTED: [
    errors.JOB_INTERRUPTED(),
    503,
    'The service ended while the job worked, and a job of this kind cannot be continued: what it did until then may stand; check it, and start the job anew',
  ],
  JOB_KIND_UNKNOWN: [
    errors.JOB_KIND_UNKNOWN({ kind: 'copy' }),
    503,
    'This release of the service knows no jobs of the kind "copy"; run the release that made the job, or start it anew',
  ],
} as const
