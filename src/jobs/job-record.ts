// A job on disk: three records, of which those of its order and its checkpoint are there only until its end. So what is
// written again with each change is small. Jobs that have ended are put together, many in a record, as one packed text
// that is read when somebody asks for one of them: so a start has next to nothing to do with 10,000 of them.

import { deflateRawSync, inflateRawSync } from 'node:zlib'
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
import { mebibyte } from '../shared/bytes.ts'
import { rowsQuoted } from '../shared/errors/definition.ts'
import type { LoadedWrite } from '../storage/loaded-records.ts'
import { jobStatuses } from './job-states.ts'
import type { ErrorQuote, Job, JobOwner, JobSubject } from './jobs.types.ts'
import { shareKeyOf } from './waiting-counts.ts'

const recordFormat = 1
/** Far more than a group has, or the largest job alone. */
const unpackedBytesMax = 8 * mebibyte

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

/** What a job is in the text of a group. Nothing of it is logged any more. */
export function groupedText(record: JobRecord): string {
  return JSON.stringify({ id: record.job.id, ...fieldsOf({ ...record, logFields: {} }) })
}

/** @param texts of each of the jobs. */
export function groupWrite(key: string, records: readonly JobRecord[], texts: readonly string[]): LoadedWrite {
  const shareKeys = records.map(({ job }) => shareKeyOf(job))
  const shares = [...new Set(shareKeys)]
  const value = {
    format: recordFormat,
    ids: records.map(({ job }) => job.id),
    numbers: records.map(({ number }) => number),
    endedAtMs: records.map(({ job }) => job.updatedAtMs),
    shares,
    ...(shares.length > 1 ? { shareNumbers: shareKeys.map((one) => shares.indexOf(one)) } : {}),
    packed: deflateRawSync(`[${texts.join(',')}]`, { level: 1 }).toString('base64'),
  }
  return { kind: 'jobs', key, value }
}

function fieldsOf({ number, job, logFields }: JobRecord): object {
  const { kind, status, owner, subject, details, errors, errorQuotes, createdAtMs, updatedAtMs, startedAtMs } = job
  return {
    ...{ number, kind, status, owner, subject, details, errors, createdAtMs, updatedAtMs, startedAtMs, logFields },
    ...(errorQuotes.length === 0 ? {} : { errorQuotes }),
  }
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

/** Jobs that have ended, as they are on disk: what is needed of each at a start, and a packed text with all of them. */
export interface StoredGroup {
  readonly ids: readonly string[]
  readonly numbers: readonly number[]
  readonly endedAtMs: readonly number[]
  /** Of their kinds and owners; see `shareKeyOf`. */
  readonly shareKeys: readonly string[]
  /** JSON, deflated, in base64. */
  readonly packed: string
}

/** One job, a group, or null for what a job keeps beside its record. @throws CatalogRecordError */
export function decodeStored(key: string, record: unknown): JobRecord | StoredGroup | null {
  const isGroup = key.startsWith(groupPrefix)
  if (key.includes(' ') && !isGroup) return null
  return readRecord(`job ${key}`, record, (fields) => {
    checkFormat(fields, recordFormat)
    return isGroup ? decodeGroup(fields) : decodeJob(key, fields)
  })
}

function decodeGroup(fields: Fields): StoredGroup {
  const ids = readStrings(fields['ids'], 'ids')
  const numbersOf = (name: string): readonly number[] => {
    const numbers = readArray(fields[name], name)
    if (numbers.length !== ids.length) throw new Error(`'${name}' has another length than 'ids'`)
    if (!numbers.every(isInteger)) throw new Error(`'${name}' must have whole numbers`)
    return numbers
  }
  const packed = readString(fields, 'packed')
  // What an earlier release has put together does not say whose they are: they are a share of their own.
  const shares = fields['shares'] === undefined ? [] : readStrings(fields['shares'], 'shares')
  const [share = ''] = shares
  const shareNumbers = shares.length > 1 ? numbersOf('shareNumbers') : []
  const shareKeys = ids.map((_id, index) => shares[shareNumbers[index] ?? 0] ?? share)
  return { ids, numbers: numbersOf('numbers'), endedAtMs: numbersOf('endedAtMs'), shareKeys, packed }
}

/** The jobs of a group, in its order. @throws CatalogRecordError */
export function unpackGroup({ ids, packed }: StoredGroup): readonly JobRecord[] {
  return readRecord(`the jobs from ${ids[0]} on`, { packed }, () => {
    const text = inflateRawSync(Buffer.from(packed, 'base64'), { maxOutputLength: unpackedBytesMax }).toString()
    const found = readArray(JSON.parse(text), 'jobs').map((one) => {
      const fields = readObject(one, 'job')
      return decodeJob(readString(fields, 'id'), fields)
    })
    if (found.some(({ job }, index) => job.id !== ids[index]) || found.length !== ids.length) {
      throw new Error('it has other jobs than it says')
    }
    return found
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
      // Records of earlier releases have none, like those whose errors quote nothing.
      errorQuotes: readArray(fields['errorQuotes'] ?? [], 'errorQuotes').map(decodeQuote),
    },
    logFields: readObject(fields['logFields'], 'logFields'),
  }
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function decodeOwner(value: unknown): JobOwner {
  const fields = readObject(value, 'owner')
  return { tokenId: readStringOrNull(fields, 'tokenId'), tokenName: readString(fields, 'tokenName') }
}

function decodeQuote(value: unknown): ErrorQuote | null {
  if (value === null) return null
  const fields = readObject(value, 'errorQuotes')
  return { rows: readOneOf(fields, 'rows', rowsQuoted), withoutRows: readString(fields, 'withoutRows') }
}

function decodeSubject(value: unknown): JobSubject {
  const fields = readObject(value, 'subject')
  return {
    kind: readOneOf(fields, 'kind', ['datasource', 'pipe']),
    id: readString(fields, 'id'),
    name: readString(fields, 'name'),
  }
}
