// The options of jobs, a part of the one table.

import type { OptionDefinition } from './config.types.ts'
import { gibibyte, mebibyte } from './shared/bytes.ts'

export const jobOptions = {
  jobsWaitingMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 100_000,
    default: 1_000,
    sentence:
      'Jobs of one kind that may wait for their turn. Beyond it, requests for more get 429; jobs of other kinds have places of their own.',
  },
  jobsWaitingPerTokenMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 100_000,
    default: 200,
    sentence:
      'Those of `jobsWaitingMax` that one token may have made. Beyond it, its requests for more get 429; those of others are taken. Where it is less than `jobsWaitingMax`, the last quarter of that is for tokens of which no job waits. Each JWT counts by itself.',
  },
  jobSliceMs: {
    kind: 'integer',
    unit: 'ms',
    min: 100,
    max: 86_400_000,
    default: 60_000,
    sentence:
      'How long an import by URL works at least before it stops for jobs of a token that has no place at all; it goes on in its turn. Twice as long each time. A replace does not stop.',
  },
  jobsKeptMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 1_000_000,
    default: 10_000,
    sentence:
      'Jobs that have ended and are still told of: those of the last 72 hours, and the last 100. Beyond it, the token that has most jobs of a kind loses the oldest of them. A job whose result may still be read is kept beside them.',
  },
  deleteJobsWorkingMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 100,
    default: 3,
    sentence:
      'Deletes of rows that work at once, one a Data Source. Others wait; where one token holds all of these places, one more is for the others.',
  },
  populateJobsWorkingMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 100,
    default: 1,
    sentence: 'Populates of Materialized Views that work at once. Others wait.',
  },
  populateChunkRowsMax: {
    kind: 'integer',
    unit: 'rows',
    min: 1,
    max: 100_000_000,
    default: 2_000_000,
    sentence:
      'Rows that one INSERT of a populate reads, of at most 64 MiB in the columns that the view reads, or 128 MiB where it groups them. Where groups are all that it gives, ten times as many at first, of at most 640 MiB, as long as they come to few groups. More are faster where a view groups many rows into few, and take more memory.',
  },
  verifyRowsMax: {
    kind: 'integer',
    unit: 'rows',
    min: 1,
    max: 1_000_000_000,
    default: 20_000_000,
    sentence:
      'Rows of a Materialized View and of its source, together, that are compared while a request waits. Beyond it, the request is refused.',
  },
  verifyTimeMaxMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 3_600_000,
    default: 60_000,
    sentence: 'Longest comparison of a Materialized View with its source while a request waits.',
  },
  queryJobsWorkingMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 64,
    default: 2,
    sentence:
      'Queries that run as jobs at once. Others wait; where one token holds all of these places, one more is for the others. They take sessions of `readSessions`, of which one stays free for other queries where there are several.',
  },
  queryJobTimeMaxMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1_000,
    max: 86_400_000,
    default: 600_000,
    sentence: 'Longest run of a query as a job.',
  },
  jobResultsBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: mebibyte,
    max: Number.MAX_SAFE_INTEGER,
    default: gibibyte,
    sentence:
      'Results of queries that ran as jobs have so many bytes together. A job whose result would be beyond ends in error. One result has no more than `resultBytesMax`.',
  },
  jobResultsBytesPerTokenMax: {
    kind: 'integer',
    unit: 'bytes',
    min: mebibyte,
    max: Number.MAX_SAFE_INTEGER,
    default: 256 * mebibyte,
    sentence:
      'Those of `jobResultsBytesMax` that the results of one token may have. Each JWT counts by itself. A result counts for 64 KiB at least. Where it is less than `jobResultsBytesMax`, the last quarter of that is for tokens that have next to none of it.',
  },
  jobResultHoursMax: {
    kind: 'integer',
    unit: 'hours',
    min: 1,
    max: 72,
    default: 24,
    sentence: 'How long the result of a query that ran as a job is kept.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
