/**
 * The jobs that there are, in memory and on disk.
 *
 * Invariants: a change is seen when it is on disk, but for details, which are written with the next change; changes are made
 * one after the other, each out of what the one before left.
 */
import { assert } from '../shared/assert.ts'
import { errors } from '../shared/errors/errors.ts'
import { type LoadedRecords, type LoadedWrite, loadRecords } from '../storage/loaded-records.ts'
import type { RecordStorage } from '../storage/storage.types.ts'
import {
  checkpointKeyOf,
  decodeJob,
  decodeWrapped,
  isJobKey,
  type JobRecord,
  jobWrite,
  orderKeyOf,
  wrappedWrite,
} from './job-record.ts'
import { isFinal } from './job-states.ts'
import type { Job, JobStatus, NewJob } from './jobs.types.ts'

/** What becomes another by a change. */
export type JobChange = Partial<Pick<Job, 'status' | 'updatedAtMs' | 'startedAtMs' | 'subject' | 'errors'>>

/** How long jobs are kept that have ended. */
export interface Retention {
  readonly keptMs: number
  /** The last of them are kept longer than that. */
  readonly keptLast: number
  /** More are never kept. */
  readonly keptMax: number
}

interface Entry {
  readonly number: number
  readonly logFields: JobRecord['logFields']
  job: Job
}

interface BookOptions {
  /** Whether a job in this state can be cancelled now. */
  readonly isCancellable: (kind: string, status: JobStatus) => boolean
}

/** Of one transaction, between two of which others have their turn. */
const removalsPerWrite = 500

/** @throws StorageDamagedError, CatalogRecordError */
export async function openJobBook(options: BookOptions, storage: RecordStorage): Promise<JobBook> {
  return new JobBook(options, { storage, records: await loadRecords(storage, ['jobs']) })
}

export class JobBook {
  readonly #options: BookOptions
  readonly #storage: RecordStorage
  readonly #records: LoadedRecords
  /** In the order in which they were made. */
  readonly #entries = new Map<string, Entry>()
  /** When they ended, in that order. */
  readonly #endedAtMs = new Map<string, number>()
  #waitingCount = 0
  #lastNumber = 0
  #lastChange: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(
    options: BookOptions,
    { storage, records }: { readonly storage: RecordStorage; readonly records: LoadedRecords },
  ) {
    this.#options = options
    this.#storage = storage
    this.#records = records
    const found = [...records.take('jobs')].flatMap(([key, record]) => (isJobKey(key) ? [decodeJob(key, record)] : []))
    for (const record of found.sort((one, other) => one.number - other.number)) this.#enter(record)
    const ended = found.filter(({ job }) => isFinal(job.status))
    ended.sort((one, other) => one.job.updatedAtMs - other.job.updatedAtMs || one.number - other.number)
    for (const { job } of ended) this.#endedAtMs.set(job.id, job.updatedAtMs)
  }

  get waitingCount(): number {
    return this.#waitingCount
  }

  find(id: string): Job | undefined {
    return this.#entries.get(id)?.job
  }

  /** In the order in which they were made. */
  jobs(): readonly Job[] {
    return Array.from(this.#entries.values(), ({ job }) => job)
  }

  /** Those that wait or work, in the order in which they were made. */
  unended(): readonly Job[] {
    return this.jobs().filter(({ status }) => !isFinal(status))
  }

  /** Nothing of one that is forgotten. */
  logFieldsOf(id: string): JobRecord['logFields'] {
    return this.#entries.get(id)?.logFields ?? {}
  }

  /** Takes a new job; on disk when the promise resolves. @throws DISK_UNAVAILABLE, SHUTTING_DOWN (503). */
  add(id: string, { order, logFields, details = {}, ...rest }: NewJob, nowMs: number): Promise<Job> {
    return this.#exclusive(async () => {
      const times = { createdAtMs: nowMs, updatedAtMs: nowMs, startedAtMs: null }
      const record = {
        number: this.#lastNumber + 1,
        job: { ...rest, id, status: 'waiting', details, errors: [], ...times },
        logFields,
      } as const
      await this.#records.write([jobWrite(record), wrappedWrite(orderKeyOf(id), order)])
      return this.#enter(record).job
    })
  }

  /**
   * Changes a job; on disk when the promise resolves.
   *
   * @param decide is given the job as it is when its turn has come; null changes nothing. What it throws is thrown.
   * @returns the job as it is from now on; null when nothing was changed.
   * @throws JOB_NOT_FOUND (404); DISK_UNAVAILABLE, SHUTTING_DOWN (503).
   */
  change(id: string, decide: (job: Job) => JobChange | null): Promise<Job | null> {
    return this.#exclusive(async () => {
      const entry = this.#entries.get(id)
      if (entry === undefined) throw errors.JOB_NOT_FOUND({ id })
      const change = decide(entry.job)
      if (change === null) return null
      const hasEnded = change.status !== undefined && isFinal(change.status)
      await this.#records.write([
        jobWrite({ ...entry, job: { ...entry.job, ...change } }),
        ...(hasEnded ? removalsOf(id) : []),
      ])
      this.#apply(entry, change)
      return entry.job
    })
  }

  /** Puts fields into the details; not on disk yet. */
  tell(id: string, details: Job['details']): Job {
    const entry = this.#expect(id)
    entry.job = { ...entry.job, details: { ...entry.job.details, ...details } }
    return entry.job
  }

  /** On disk when the promise resolves, with the details as they are then. @throws DISK_UNAVAILABLE, SHUTTING_DOWN (503). */
  saveCheckpoint(id: string, checkpoint: unknown): Promise<void> {
    return this.#exclusive(async () => {
      await this.#records.write([jobWrite(this.#expect(id)), wrappedWrite(checkpointKeyOf(id), checkpoint)])
    })
  }

  orderOf(id: string): Promise<unknown> {
    return this.#read(orderKeyOf(id))
  }

  /** Null when none was saved. */
  checkpointOf(id: string): Promise<unknown> {
    return this.#read(checkpointKeyOf(id))
  }

  /** Removes what is kept no longer, in part when that is much. @returns what was removed, and whether that is all. */
  forget(retention: Retention, nowMs: number): Promise<{ readonly jobs: readonly Job[]; readonly isAll: boolean }> {
    return this.#exclusive(async () => {
      const ids = this.#outdated(retention, nowMs)
      const now = ids.slice(0, removalsPerWrite)
      await this.#records.write(now.map((key) => ({ kind: 'jobs', key, value: null })))
      const jobs = now.map((id) => this.#expect(id).job)
      for (const id of now) {
        this.#entries.delete(id)
        this.#endedAtMs.delete(id)
      }
      return { jobs, isAll: now.length === ids.length }
    })
  }

  /** Asks for each job of a kind anew whether it can be cancelled. */
  refresh(kind: string): void {
    for (const entry of this.#entries.values()) if (entry.job.kind === kind) this.#apply(entry, {})
  }

  /** Waits for the changes under way; every later one is refused with SHUTTING_DOWN (503). */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#lastChange
  }

  #outdated({ keptMs, keptLast, keptMax }: Retention, nowMs: number): readonly string[] {
    const ids: string[] = []
    let left = this.#endedAtMs.size
    for (const [id, endedAtMs] of this.#endedAtMs) {
      const isOutdated = left > keptMax || (left > keptLast && nowMs - endedAtMs > keptMs)
      if (!isOutdated) break
      ids.push(id)
      left -= 1
    }
    return ids
  }

  #enter({ number, job, logFields }: JobRecord): Entry {
    const isCancellable = this.#options.isCancellable(job.kind, job.status)
    const entry = { number, logFields, job: { ...job, isCancellable } }
    this.#entries.set(job.id, entry)
    this.#lastNumber = number
    if (job.status === 'waiting') this.#waitingCount += 1
    return entry
  }

  #apply(entry: Entry, change: JobChange): void {
    const before = entry.job
    const after = { ...before, ...change }
    entry.job = { ...after, isCancellable: this.#options.isCancellable(after.kind, after.status) }
    if (before.status === after.status) return
    if (before.status === 'waiting') this.#waitingCount -= 1
    if (isFinal(after.status)) this.#endedAtMs.set(after.id, after.updatedAtMs)
  }

  async #read(key: string): Promise<unknown> {
    const record = await this.#storage.get('jobs', key)
    return record === null ? null : decodeWrapped(key, record.value)
  }

  #expect(id: string): Entry {
    const entry = this.#entries.get(id)
    assert(entry !== undefined, 'the job is in the book')
    return entry
  }

  #exclusive<Result>(make: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(errors.SHUTTING_DOWN())
    const made = this.#lastChange.then(make)
    this.#lastChange = made.catch(() => undefined)
    return made
  }
}

function removalsOf(id: string): readonly LoadedWrite[] {
  return [orderKeyOf(id), checkpointKeyOf(id)].map((key) => ({ kind: 'jobs', key, value: null }))
}
