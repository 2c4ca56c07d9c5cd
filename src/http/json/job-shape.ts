import { isMaker, type JobCaller } from '../../access/job-rights.ts'
import type { Pipe } from '../../catalog/pipe.types.ts'
import type { Job } from '../../jobs/jobs.types.ts'
import type { RowsQuoted } from '../../shared/errors/definition.ts'
import { type KindContext, kindShapes } from './job-kinds.ts'
import { timeText } from './time-text.ts'
import { withViewNames } from './view-names.ts'

/** For whom a job is told, and from where: see `baseUrlOf`. */
export interface JobReader {
  readonly caller: JobCaller
  readonly baseUrl: string
  /** By whose names views are told. */
  readonly pipes: () => readonly Pipe[]
}

export interface JobParts extends KindContext {
  /** The data source as a single resource; null where it is not there any more, or the caller may not see it. */
  readonly dataSource: object | null
}

const noParts: JobParts = { debug: new Set(), size: null, dataSource: null }

/** An item of `GET /v0/jobs`. */
export function jobListItem(job: Job, { caller, baseUrl }: JobReader): object {
  const { id, kind, status, createdAtMs, updatedAtMs } = job
  return {
    id,
    kind,
    status,
    created_at: timeText(createdAtMs),
    updated_at: timeText(updatedAtMs),
    job_url: jobUrl(id, baseUrl),
    ...dataSourceField(job, null),
    ...pipeFields(job, caller),
  }
}

/** The shape of `GET /v0/jobs/<id>`, of a line of its progress, and of `job` in the answer to who has made it. */
export function jobShape(job: Job, reader: JobReader, parts: JobParts = noParts): object {
  const { caller, baseUrl } = reader
  const { id, kind, status, createdAtMs, updatedAtMs, startedAtMs, isCancellable, errors } = job
  const readsRows = mayReadRows(job, caller)
  const { readsEverything } = caller.permissions
  return {
    kind,
    id,
    job_id: id,
    status,
    created_at: timeText(createdAtMs),
    updated_at: timeText(updatedAtMs),
    started_at: startedAtMs === null ? null : timeText(startedAtMs),
    is_cancellable: isCancellable,
    job_url: jobUrl(id, baseUrl),
    ...dataSourceField(job, parts.dataSource),
    ...pipeFields(job, caller),
    ...kindShapes[kind]?.(job, { ...parts, readsRows, readsEverything }),
    ...(errors.length === 0 ? {} : errorFields(toldErrors(job, reader))),
  }
}

const untoldError = 'The job failed on rows that the token may not read'

function errorFields(errors: readonly string[]): object {
  return { error: errors[0], errors }
}

/** Its errors without rows that the caller may not read: others than its maker read a job, and what makes it fail. */
function toldErrors(job: Job, { caller, pipes }: JobReader): readonly string[] {
  const readsRows = mayReadRows(job, caller)
  // Which errors a delete ends with tells of the rows that it finds.
  if (job.kind === 'delete_data' && !readsRows) return [untoldError]
  const mayHear: Readonly<Record<RowsQuoted, boolean>> = {
    sent: readsRows || isMaker(caller, job),
    stored: readsRows,
    'of views': caller.permissions.readsEverything,
  }
  return job.errors.map((text, index) => {
    const quote = job.errorQuotes[index] ?? null
    const told = quote === null || mayHear[quote.rows] ? text : quote.withoutRows
    return withViewNames(told, pipes, caller.permissions)
  })
}

/** Whether the caller may read all rows of what the job works on. */
function mayReadRows({ subject }: Job, { permissions }: JobCaller): boolean {
  if (subject?.kind !== 'datasource') return true
  const { id, name } = subject
  return permissions.allows('quarantine:read', { id, name, isQuarantine: false })
}

export function jobUrl(id: string, baseUrl: string): string {
  return `${baseUrl}/v0/jobs/${id}`
}

/** Whoever may be told of the job knows what it works on by the name that it had then. */
function dataSourceField({ subject }: Job, shape: object | null): object {
  if (subject?.kind !== 'datasource') return {}
  return { datasource: shape ?? { id: subject.id, name: subject.name } }
}

/** The pipe that a job belongs to, as far as the caller may know of it; null where there is none. */
export function seenPipeOf(job: Job, caller: JobCaller): { readonly id: string; readonly name: string } | null {
  const { subject, details } = job
  const { pipeId, pipeName } = details
  const noted = typeof pipeId === 'string' && typeof pipeName === 'string' ? { id: pipeId, name: pipeName } : null
  const pipe = subject?.kind === 'pipe' ? subject : noted
  if (pipe === null || isMaker(caller, job) || caller.permissions.sees('pipe', pipe.id)) return pipe
  return null
}

function pipeFields(job: Job, caller: JobCaller): object {
  const pipe = seenPipeOf(job, caller)
  return pipe === null ? {} : { pipe_id: pipe.id, pipe_name: pipe.name }
}
