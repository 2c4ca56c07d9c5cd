// A job on disk: three records, of which those of its order and its checkpoint are there only until its end. So what is
// written again with each change is small. Jobs that have ended are put together, many in a record: a start reads 10,000 of
// them in a third of the time.

import {
  checkFormat,
  type Fields,
  readArray,
  readInteger,
  readObject,
  readOneOf,
  readRecord,
  readString,
  readStringOrNull,
  readStrings,
} from '../catalog/record-fields.ts'
import type { LogFields } from '../observe/logger.ts'
import type { LoadedWrite } from '../storage/loaded-records.ts'
import { jobStatuses } from './job-states.ts'
import type { Job, JobOwner, JobSubject } from './jobs.types.ts'

const recordFormat = 1

/** What a job is on disk, but for its order and its checkpoint. */
export interface JobRecord {
  /** Grows by one with each job: what came first where the clock does not tell. */
  readonly number: number
  /** Whether it can be cancelled is a matter of its kind, and not on disk. */
  readonly job: Omit<Job, 'isCancellable'>
  readonly logFields: LogFields
}

export function orderKeyOf(id: string): string {
  return `${id} order`
}

export function checkpointKeyOf(id: string): string {
  return `${id} checkpoint`
}

/** The key of a record of jobs that have ended; each is in one such record. */
export function groupKeyOf({ number }: JobRecord): string {
  return `${groupPrefix}${number}`
}

const groupPrefix = 'ended '

export function jobWrite(record: JobRecord): LoadedWrite {
  return { kind: 'jobs', key: record.job.id, value: { format: recordFormat, ...fieldsOf(record) } }
}

/** What a job has in the record of a group. */
export function groupedFields(record: JobRecord): object {
  // Nothing of it is logged any more.
  return { id: record.job.id, ...fieldsOf({ ...record, logFields: {} }) }
}

export function groupWrite(key: string, jobs: readonly object[]): LoadedWrite {
  return { kind: 'jobs', key, value: { format: recordFormat, jobs } }
}

function fieldsOf({ number, job, logFields }: JobRecord): object {
  const { kind, status, owner, subject, details, errors, createdAtMs, updatedAtMs, startedAtMs } = job
  return { number, kind, status, owner, subject, details, errors, createdAtMs, updatedAtMs, startedAtMs, logFields }
}

/** The value may be null, and a record that is null would be none. */
export function wrappedWrite(key: string, value: unknown): LoadedWrite {
  return { kind: 'jobs', key, value: { format: recordFormat, value } }
}

/** @throws CatalogRecordError */
export function decodeWrapped(key: string, record: unknown): unknown {
  return readRecord(`job ${key}`, record, (fields) => {
    checkFormat(fields, recordFormat)
    return fields['value']
  })
}

/** The jobs of a record: one, many that have ended, or none where it is what a job keeps beside it. @throws CatalogRecordError */
export function decodeJobs(key: string, record: unknown): readonly JobRecord[] {
  if (key.includes(' ') && !key.startsWith(groupPrefix)) return []
  return readRecord(`job ${key}`, record, (fields) => {
    checkFormat(fields, recordFormat)
    if (!key.startsWith(groupPrefix)) return [decodeJob(key, fields)]
    return readArray(fields['jobs'], 'jobs').map((one) => {
      const job = readObject(one, 'job')
      return decodeJob(readString(job, 'id'), job)
    })
  })
}

function decodeJob(id: string, fields: Fields): JobRecord {
  const { owner, subject, startedAtMs } = fields
  return {
    number: readInteger(fields, 'number'),
    job: {
      id,
      kind: readString(fields, 'kind'),
      status: readOneOf(fields, 'status', jobStatuses),
      owner: decodeOwner(owner),
      subject: subject === null ? null : decodeSubject(subject),
      createdAtMs: readInteger(fields, 'createdAtMs'),
      updatedAtMs: readInteger(fields, 'updatedAtMs'),
      startedAtMs: startedAtMs === null ? null : readInteger(fields, 'startedAtMs'),
      details: readObject(fields['details'], 'details'),
      errors: readStrings(fields['errors'], 'errors'),
    },
    logFields: readObject(fields['logFields'], 'logFields'),
  }
}

function decodeOwner(value: unknown): JobOwner {
  const fields = readObject(value, 'owner')
  return { tokenId: readStringOrNull(fields, 'tokenId'), tokenName: readString(fields, 'tokenName') }
}

function decodeSubject(value: unknown): JobSubject {
  const fields = readObject(value, 'subject')
  return {
    kind: readOneOf(fields, 'kind', ['datasource', 'pipe']),
    id: readString(fields, 'id'),
    name: readString(fields, 'name'),
  }
}
