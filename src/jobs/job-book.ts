/**
 * The jobs that there are, in memory and on disk.
 *
 * Invariants: a change is seen when it is on disk, but for details and some beginnings, which are written with the next change; changes
 * are made one after the other, each out of what the one before left.
 */
import { assert } from '../shared/assert.ts'
import { errors } from '../shared/errors/errors.ts'
import { type LoadedRecords, type LoadedWrite, loadRecords } from '../storage/loaded-records.ts'
import type { RecordStorage } from '../storage/storage.types.ts'
import { type EndedJob, EndedJobs, groupJobsMax, type Retention } from './ended-jobs.ts'
import { GroupedEntry, type JobEntry, JobGroup, shapedJob } from './job-entry.ts'
import {
  checkpointKeyOf,
  decodeStored,
  decodeWrapped,
  type JobRecord,
  jobWrite,
  orderKeyOf,
  wrappedWrite,
} from './job-record.ts'
import { isFinal } from './job-states.ts'
import type { Job, JobStatus, NewJob } from './jobs.types.ts'
import { shareKeyOf, WaitingCounts } from './waiting-counts.ts'

/** What becomes another by a change. */
export type JobChange = Partial<
  Pick<Job, 'status' | 'updatedAtMs' | 'startedAtMs' | 'subject' | 'errors' | 'errorQuotes'>
>

interface DecidedChange {
  readonly entry: JobEntry
  readonly change: JobChange
}

/** A job as a start finds it. */
interface Loaded {
  readonly id: string
  /** Of its record. */
  readonly key: string
  readonly entry: JobEntry | GroupedEntry
  readonly shareKey: string
  /** Null for one that has not ended. */
  readonly endedAtMs: number | null
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
  readonly #entries = new Map<string, JobEntry | GroupedEntry>()
  readonly #ended = new EndedJobs()
  /** Of which nobody has asked for a job yet. */
  readonly #unread = new Set<JobGroup>()
  readonly #waiting = new WaitingCounts()
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
    const found = [...records.take('jobs')].flatMap(([key, value]) => this.#load(key, value))
    found.sort((one, other) => one.entry.number - other.entry.number)
    for (const { id, entry } of found) this.#enter(id, entry)
    const ended = found.filter(hasEnded)
    ended.sort((one, other) => one.endedAtMs - other.endedAtMs || one.entry.number - other.entry.number)
    for (const one of ended) this.#ended.add(one)
  }

  /** How many jobs wait. */
  get waiting(): Pick<WaitingCounts, 'ofKind' | 'ofOwner'> {
    return this.#waiting
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
    return this.#ownEntries().flatMap(({ job }) => (isFinal(job.status) ? [] : [job]))
  }

  /** Those that have not ended, and the last of the others, which are in no group yet. */
  recent(): readonly Job[] {
    return this.#ownEntries().map(({ job }) => job)
  }

  /**
   * Reads some of the jobs that have ended and that nobody has asked for yet, so that who does need not wait.
   *
   * @returns whether there are more. @throws CatalogRecordError
   */
  readAhead(): boolean {
    const [group] = this.#unread
    if (group === undefined) return false
    this.#unread.delete(group)
    group.jobs()
    return true
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
        job: { ...rest, id, status: 'waiting', details, errors: [], errorQuotes: [], ...times },
        logFields,
      } as const
      await this.#records.write([jobWrite(record), wrappedWrite(orderKeyOf(id), order)])
      return this.#enter(id, this.#entryOf(record)).job
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
      const decided = this.#decide(id, decide)
      if (decided === null) return null
      const { entry, change } = decided
      const hasEnded = change.status !== undefined && isFinal(change.status)
      await this.#records.write([
        jobWrite({ ...entry, job: { ...entry.job, ...change } }),
        ...(hasEnded ? removalsOf(id) : []),
      ])
      this.#apply(entry, change)
      return entry.job
    })
  }

  /** As `change`, but not on disk yet: a kill takes it back. @throws JOB_NOT_FOUND (404), SHUTTING_DOWN (503) */
  changeUnwritten(id: string, decide: (job: Job) => JobChange | null): Promise<Job | null> {
    return this.#exclusive(async () => {
      const decided = this.#decide(id, decide)
      if (decided !== null) this.#apply(decided.entry, decided.change)
      return decided?.entry.job ?? null
    })
  }

  /** Puts fields into the details; not on disk yet. */
  tell(id: string, details: Job['details']): Job {
    const entry = this.#expect(id)
    const { job } = entry
    entry.job = shapedJob({ ...job, details: { ...job.details, ...details } }, job.isCancellable)
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
      const ids = this.#ended.outdated(retention, nowMs, removalsPerWrite)
      const { writes, parted, apply } = this.#ended.removal(ids, (id) => this.#recordOf(id))
      await this.#records.write(writes)
      apply()
      for (const record of parted) this.#entries.set(record.job.id, this.#entryOf(record))
      const jobs = ids.flatMap((id) => this.find(id) ?? [])
      for (const id of ids) this.#entries.delete(id)
      return { jobs, isAll: ids.length < removalsPerWrite }
    })
  }

  /** Puts jobs that have ended into one record, where there are enough of them. @returns whether there may be more. */
  group(): Promise<boolean> {
    return this.#exclusive(async () => {
      if (this.#ended.singleCount < groupJobsMax) return false
      const { writes, apply } = this.#ended.grouping((id) => this.#recordOf(id))
      await this.#records.write(writes)
      apply()
      return true
    })
  }

  /** Asks for each job of a kind anew whether it can be cancelled. */
  refresh(kind: string): void {
    for (const entry of this.#ownEntries()) if (entry.job.kind === kind) this.#apply(entry, {})
  }

  /** Waits for the changes under way; every later one is refused with SHUTTING_DOWN (503). */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#lastChange
  }

  /** @throws CatalogRecordError */
  #load(key: string, value: unknown): readonly Loaded[] {
    const stored = decodeStored(key, value)
    if (stored === null) return []
    if ('job' in stored) {
      const { id, status, updatedAtMs } = stored.job
      const endedAtMs = isFinal(status) ? updatedAtMs : null
      return [{ id, key, entry: this.#entryOf(stored), shareKey: shareKeyOf(stored.job), endedAtMs }]
    }
    const group = new JobGroup(stored)
    this.#unread.add(group)
    const { ids, endedAtMs, shareKeys } = stored
    // Field by field, as there are many of them.
    return group.entries().map((entry, index) => ({
      id: ids[index] ?? '',
      key,
      entry,
      shareKey: shareKeys[index] ?? '',
      endedAtMs: endedAtMs[index] ?? 0,
    }))
  }

  #entryOf({ number, job, logFields }: JobRecord): JobEntry {
    return { number, logFields, job: shapedJob(job, this.#options.isCancellable(job.kind, job.status)) }
  }

  #enter<Entry extends JobEntry | GroupedEntry>(id: string, entry: Entry): Entry {
    this.#entries.set(id, entry)
    this.#lastNumber = entry.number
    if (isOwn(entry) && entry.job.status === 'waiting') this.#waiting.add(entry.job, 1)
    return entry
  }

  /** Without those that ended in an earlier process, in the order in which they were made. */
  #ownEntries(): readonly JobEntry[] {
    return [...this.#entries.values()].filter(isOwn)
  }

  /** Null where nothing is to change. @throws JOB_NOT_FOUND (404) */
  #decide(id: string, decide: (job: Job) => JobChange | null): DecidedChange | null {
    const entry = this.#entries.get(id)
    if (entry === undefined) throw errors.JOB_NOT_FOUND({ id })
    const change = decide(entry.job)
    if (change === null) return null
    assert(isOwn(entry), 'a job that has ended does not change')
    return { entry, change }
  }

  #apply(entry: JobEntry, change: JobChange): void {
    const before = entry.job
    const after = { ...before, ...change }
    entry.job = shapedJob(after, this.#options.isCancellable(after.kind, after.status))
    if (before.status === after.status) return
    if (before.status === 'waiting') this.#waiting.add(before, -1)
    if (!isFinal(after.status)) return
    const { id, updatedAtMs: endedAtMs } = after
    this.#ended.add({ id, endedAtMs, key: id, shareKey: shareKeyOf(after) })
  }

  async #read(key: string): Promise<unknown> {
    const record = await this.#storage.get('jobs', key)
    return record === null ? null : decodeWrapped(key, record.value)
  }

  #recordOf(id: string): JobRecord {
    const entry = this.#entries.get(id)
    assert(entry !== undefined, 'the job is in the book')
    return { number: entry.number, job: entry.job, logFields: entry.logFields }
  }

  #expect(id: string): JobEntry {
    const entry = this.#entries.get(id)
    assert(entry !== undefined && isOwn(entry), 'the job is in the book, and of this process')
    return entry
  }

  #exclusive<Result>(make: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(errors.SHUTTING_DOWN())
    const made = this.#lastChange.then(make)
    this.#lastChange = made.catch(() => undefined)
    return made
  }
}

function hasEnded(job: Loaded): job is Loaded & EndedJob {
  return job.endedAtMs !== null
}

function isOwn(entry: JobEntry | GroupedEntry): entry is JobEntry {
  return !(entry instanceof GroupedEntry)
}

function removalsOf(id: string): readonly LoadedWrite[] {
  return [orderKeyOf(id), checkpointKeyOf(id)].map((key) => ({ kind: 'jobs', key, value: null }))
}
