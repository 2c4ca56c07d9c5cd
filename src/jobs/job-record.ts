// A job on disk: three records, of which those of its order and its checkpoint are there only until its end. So what is
// written again with each change is small, and so is what is left of 10,000 jobs that have ended.

import {
  checkFormat,
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

/** Whether a key is that of a job, and not of what is kept for it. */
export function isJobKey(key: string): boolean {
  return !key.includes(' ')
}

export function jobWrite({ number, job, logFields }: JobRecord): LoadedWrite {
  const { id, kind, status, owner, subject, details, errors, createdAtMs, updatedAtMs, startedAtMs } = job
  const times = { createdAtMs, updatedAtMs, startedAtMs }
  const value = { format: recordFormat, number, kind, status, owner, subject, details, errors, ...times, logFields }
  return { kind: 'jobs', key: id, value }
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

/** @throws CatalogRecordError */
export function decodeJob(id: string, record: unknown): JobRecord {
  return readRecord(`job ${id}`, record, (fields) => {
    checkFormat(fields, recordFormat)
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
  })
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
