import { errorFields } from '../observe/error-fields.ts'
import type { LogFields } from '../observe/logger.ts'
import { recordedError } from '../observe/quoted-rows.ts'
import { apiErrorOf } from '../shared/api-error-of.ts'
import { shortenedText } from '../shared/beginning-of.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import type { LimitName } from '../shared/limit-names.ts'
import type { JobEvent } from './job-states.ts'
import type { Job, LimitRefusal } from './jobs.types.ts'

/** How the work of a job has ended, in words for whoever asks for the job. */
export interface JobEnding {
  readonly event: Extract<JobEvent, 'succeed' | 'fail'>
  readonly errors: readonly string[]
  /** See `Job`. */
  readonly errorQuotes: Job['errorQuotes']
  /** The errors as the service data sources have them; null where there are none. */
  readonly recordedError: string | null
  /** Those of the errors that are refusals by a limit, one of each limit. */
  readonly refusals: readonly LimitRefusal[]
  /** What the log is to have, because it is no mistake of the caller; null where there is nothing. */
  readonly fault: unknown
  /** What the log is to have of the first error: not what it quotes of rows. */
  readonly logFields: LogFields
}

const errorsMax = 100
const errorCharsMax = 2_000

const withoutErrors = {
  errors: [],
  errorQuotes: [],
  recordedError: null,
  refusals: [],
  fault: null,
  logFields: {},
} as const

export const success: JobEnding = { event: 'succeed', ...withoutErrors }

/** Of work that was cancelled. */
export const stopped: JobEnding = { event: 'fail', ...withoutErrors }

/** @param thrown what the work failed with; several errors of the table are one AggregateError. */
export function failureOf(thrown: unknown): JobEnding {
  const parts: readonly unknown[] =
    thrown instanceof AggregateError && thrown.errors.length > 0 ? thrown.errors : [thrown]
  const parted = parts.slice(0, errorsMax).map(apiErrorOf)
  const told = parted.map((error) => (error.code === 'INTERNAL' ? errors.JOB_FAILED() : error))
  return {
    event: 'fail',
    errors: told.map(({ message }) => shortened(message)),
    errorQuotes: quotesOf(told),
    recordedError: told.map(recordedError).join('; '),
    refusals: refusalsOf(told),
    logFields: errorFields(parted[0]),
    fault: told.some(({ status }) => status >= 500) ? thrown : null,
  }
}

function quotesOf(told: readonly ApiError[]): Job['errorQuotes'] {
  if (told.every(({ quotes }) => quotes === undefined)) return []
  return told.map(({ quotes, withoutRows }) =>
    quotes === undefined || withoutRows === undefined ? null : { rows: quotes, withoutRows: shortened(withoutRows) },
  )
}

function refusalsOf(told: readonly ApiError[]): readonly LimitRefusal[] {
  const byLimit = new Map<LimitName, LimitRefusal>()
  for (const { limit, code, status } of told)
    if (limit !== undefined && !byLimit.has(limit)) byLimit.set(limit, { limit, code, status })
  return [...byLimit.values()]
}

function shortened(message: string): string {
  return shortenedText(message, errorCharsMax)
}
