import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Recorder } from '../metrics/recorder.ts'
import type { Logger } from '../observe/logger.ts'
import type { WorkRecorder } from '../observe/work-recorder.types.ts'
import { assert } from '../shared/assert.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { errors } from '../shared/errors/errors.ts'
import { createImportId } from '../shared/ids.ts'
import type { RecordStorage } from '../storage/storage.types.ts'
import { type JobBook, openJobBook } from './job-book.ts'
import { type JobEnding, stopped } from './job-ending.ts'
import { JobNews } from './job-news.ts'
import { JobRunner } from './job-runner.ts'
import { isFinal } from './job-states.ts'
import type { Job, JobFilter, JobKind, Jobs, NewJob, OnJobLimit } from './jobs.types.ts'
import { newcomersShareOf } from './newcomers-share.ts'
import { keptOrder } from './running-job.ts'
import { tellJob, tellJobAgain } from './told-jobs.ts'

export interface JobsOptions {
  /** Jobs of one kind that may wait. */
  readonly jobsWaitingMax: number
  /** Those of them that one owner may have. */
  readonly jobsWaitingPerTokenMax: number
  /** Jobs that have ended and are still told of. */
  readonly jobsKeptMax: number
  /** The shortest time between two tellings of one job, to its watchers and to the log. */
  readonly tellIntervalMs?: number
  /** How long a change waits that the disk has refused. */
  readonly retryMs?: number
  /** How long a job works at least before it yields to others. */
  readonly jobSliceMs?: number
  /** Watches of all jobs at once. */
  readonly watchesMax?: number
  /** Those of them that one caller may have. */
  readonly watchesPerCallerMax?: number
  /** How long after the start jobs that have ended are read; who asks for one before waits for it. */
  readonly readAheadDelayMs?: number
}

export interface JobsDeps {
  readonly storage: RecordStorage
  /** Where jobs that end are counted; absent where they are not. */
  readonly recorder?: Pick<Recorder, 'jobEnded'> | undefined
  /** Told of each job that has another status. */
  readonly workRecorder?: WorkRecorder | undefined
  readonly onLimit?: OnJobLimit | undefined
  readonly logger: Logger
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** The specification's: jobs of this time, or so many of the last. */
const keptMs = 72 * 3_600_000
const keptLast = 100

const tellIntervalMs = 1_000
const retryMs = 1_000
const sliceMs = 60_000
const watchesMax = 1_000
const watchesPerCallerMax = 200
const closeTimeMaxMs = 30_000
/** Of jobs that changed so long before a start: with time for a machine to be mended. */
const toldAgainMs = 24 * 3_600_000
const retryAfterSeconds = 10
/** When the start of the service is over. */
const readAheadDelayMs = 2_000
/** How often it is looked for jobs that are kept no longer, beside each end of one. */
const forgetIntervalMs = 60_000

/**
 * Opens the jobs that the storage has; none works before `start`.
 *
 * @throws StorageDamagedError, CatalogRecordError
 */
export async function openJobs(options: JobsOptions, deps: JobsDeps): Promise<Jobs> {
  const stoppable = new Set<string>()
  const book = await openJobBook(
    { isCancellable: (kind, status) => status === 'waiting' || (status === 'working' && stoppable.has(kind)) },
    deps.storage,
  )
  return new OpenJobs(options, { ...deps, book, stoppable })
}

interface OpenDeps extends JobsDeps {
  readonly book: JobBook
  /** The kinds that can be cancelled while they work. */
  readonly stoppable: Set<string>
}

class OpenJobs implements Jobs {
  readonly #options: JobsOptions
  readonly #deps: OpenDeps
  readonly #news: JobNews
  readonly #runner: JobRunner
  /** What requests ask for, one after the other, and no more of them than may wait. */
  readonly #requests = new ChangeQueue()
  #forgetting: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #readTimer: NodeJS.Timeout | null = null
  #isClosing = false

  constructor(options: JobsOptions, deps: OpenDeps) {
    this.#options = options
    this.#deps = deps
    const limits = { watchesMax, watchesPerCallerMax, ...options, intervalMs: options.tellIntervalMs ?? tellIntervalMs }
    this.#news = new JobNews(limits, (job) => {
      this.#deps.logger.debug({ ...this.#fieldsOf(job), ...numbersOf(job.details) }, 'A job goes on.')
    })
    this.#runner = new JobRunner(
      { retryMs: options.retryMs ?? retryMs, sliceMs: options.jobSliceMs ?? sliceMs },
      {
        ...deps,
        changedStatus: (job, ending) => this.#changedStatus(job, ending),
        changedDetails: (job) => this.#news.changed(job),
      },
    )
  }

  register(kind: JobKind): void {
    this.#runner.register(kind)
    if (kind.isCancellableWhileWorking) this.#deps.stoppable.add(kind.name)
    this.#deps.book.refresh(kind.name)
  }

  async start(): Promise<void> {
    const { book, now, workRecorder } = this.#deps
    const sinceMs = now() - toldAgainMs
    for (const job of book.recent()) if (job.updatedAtMs >= sinceMs) tellJobAgain(job, workRecorder)
    await this.#runner.start()
    this.#forgetSoon()
    this.#readTimer = setTimeout(
      () => void this.#readAhead(),
      this.#options.readAheadDelayMs ?? readAheadDelayMs,
    ).unref()
    this.#timer = setInterval(() => this.#forgetSoon(), forgetIntervalMs).unref()
  }

  async add(job: NewJob): Promise<Job> {
    assert(this.#runner.kindOf(job.kind) !== undefined, `jobs of the kind ${job.kind} are registered`)
    const order = keptOrder(job.order)
    return await this.#requests.run('jobs', async () => {
      if (this.#isClosing) throw errors.SHUTTING_DOWN()
      this.#refuseTooMany(job)
      const added = await this.#deps.book.add(createImportId(), { ...job, order }, this.#deps.now())
      this.#changedStatus(added)
      this.#runner.enqueue(added)
      return added
    })
  }

  find(id: string): Job | undefined {
    return this.#deps.book.find(id)
  }

  list(filter: JobFilter): readonly Job[] {
    const { book } = this.#deps
    // Those that have ended are many, and are not read for who asks for the others.
    const isOfUnended = filter.statuses?.some(isFinal) === false
    const jobs = isOfUnended ? book.unended() : book.jobs()
    return jobs.filter(matcherOf(filter)).reverse()
  }

  async cancel(id: string): Promise<Job> {
    return await this.#requests.run('jobs', async () => {
      if (this.#isClosing) throw errors.SHUTTING_DOWN()
      return await this.#runner.cancel(id)
    })
  }

  watch(id: string, tell: (job: Job) => void, watcherId?: string): () => void {
    const job = this.find(id)
    if (job === undefined) throw errors.JOB_NOT_FOUND({ id })
    return this.#news.watch(job, tell, watcherId)
  }

  async close(timeMaxMs = closeTimeMaxMs): Promise<void> {
    this.#isClosing = true
    if (this.#timer !== null) clearInterval(this.#timer)
    if (this.#readTimer !== null) clearTimeout(this.#readTimer)
    await this.#runner.close(timeMaxMs)
    await this.#deps.book.close()
    await this.#requests.close()
    await this.#forgetting
    this.#news.close()
  }

  /** @throws JOBS_ACTIVE_TOO_MANY, JOBS_TOO_MANY, JOBS_OF_TOKEN_TOO_MANY (429) */
  #refuseTooMany(job: NewJob): void {
    this.#refuseActive(job)
    const { waiting } = this.#deps.book
    const { jobsWaitingMax: waitingMax, jobsWaitingPerTokenMax: ownMax } = this.#options
    const all = waiting.ofKind(job.kind)
    const own = waiting.ofOwner(job)
    if (all >= waitingMax) throw errors.JOBS_TOO_MANY({ waitingMax, retryAfterSeconds })
    // Where one may fill all of the queue there are no shares.
    const isForNewcomers = ownMax < waitingMax && all >= waitingMax - newcomersShareOf(waitingMax)
    if (own < ownMax && (own === 0 || !isForNewcomers)) return
    throw errors.JOBS_OF_TOKEN_TOO_MANY({ kind: job.kind, waitingMax: own, retryAfterSeconds })
  }

  /** @throws JOBS_ACTIVE_TOO_MANY (429) */
  #refuseActive({ kind }: NewJob): void {
    const active = this.#runner.kindOf(kind)?.active
    if (active === undefined) return
    const { max: activeMax, limit } = active
    const activeCount = this.#deps.book.unended().filter((job) => job.kind === kind).length
    if (activeCount >= activeMax) throw errors.JOBS_ACTIVE_TOO_MANY({ kind, activeMax, limit, retryAfterSeconds })
  }

  #changedStatus(job: Job, ending: JobEnding = stopped): void {
    const { fault, logFields, recordedError } = ending
    const { id, status } = job
    const fields = { ...this.#fieldsOf(job), status, ...(status === 'error' ? logFields : {}) }
    if (fault === null) this.#deps.logger.info(fields, 'A job has another status.')
    else this.#deps.logger.error({ ...fields, err: fault }, 'A job has ended by a fault.')
    this.#news.changed(this.find(id) ?? job)
    tellJob(this.find(id) ?? job, recordedError, this.#deps.workRecorder)
    if (!isFinal(status)) return
    if (status === 'error') this.#tellLimits(job, ending)
    const { kind, startedAtMs, updatedAtMs } = job
    this.#deps.recorder?.jobEnded(kind, status, startedAtMs === null ? 0 : updatedAtMs - startedAtMs)
    this.#forgetSoon()
  }

  #tellLimits(job: Job, { refusals }: JobEnding): void {
    const { requestId } = this.#deps.book.logFieldsOf(job.id)
    for (const refusal of refusals) this.#deps.onLimit?.(refusal, job, typeof requestId === 'string' ? requestId : '')
  }

  #fieldsOf({ id, kind, subject }: Job): object {
    const about = subject === null ? {} : { [subject.kind]: subject.name }
    return { ...this.#deps.book.logFieldsOf(id), jobId: id, kind, ...about }
  }

  /** A few jobs in each turn of the loop, so that the first list waits for none of them. */
  async #readAhead(): Promise<void> {
    try {
      while (!this.#isClosing && this.#deps.book.readAhead()) await nextTurn()
    } catch (err) {
      this.#deps.logger.error({ err }, 'Jobs that have ended cannot be read.')
    }
  }

  #forgetSoon(): void {
    if (this.#isClosing) return
    this.#forgetting ??= this.#forget().finally(() => {
      this.#forgetting = null
    })
  }

  /** What fails here is tried again with the next end of a job. */
  async #forget(): Promise<void> {
    const { book, logger, now } = this.#deps
    try {
      let isAll = false
      while (!isAll && !this.#isClosing) {
        const isHeld = (id: string): boolean => this.#runner.isHeld(id)
        const retention = { keptMs, keptLast, keptMax: this.#options.jobsKeptMax, isHeld }
        const forgotten = await book.forget(retention, now())
        for (const job of forgotten.jobs) await this.#giveBack(job)
        isAll = forgotten.isAll
      }
      while (!this.#isClosing && (await book.group()));
    } catch (err) {
      logger.warn({ err }, 'Jobs that are kept no longer could not be removed; it is tried again.')
    }
  }

  /** Has its kind remove what it keeps beside the record. */
  async #giveBack(job: Job): Promise<void> {
    try {
      await this.#runner.kindOf(job.kind)?.forget?.(job.id)
    } catch (err) {
      this.#deps.logger.warn({ ...this.#fieldsOf(job), err }, 'What a forgotten job has kept could not be removed.')
    }
  }
}

function matcherOf(filter: JobFilter): (job: Job) => boolean {
  const { kinds, statuses, createdAfterMs, createdBeforeMs, subjectId, subjectName } = filter
  return ({ kind, status, createdAtMs, subject }) =>
    (kinds === undefined || kinds.includes(kind)) &&
    (statuses === undefined || statuses.includes(status)) &&
    (createdAfterMs === undefined || createdAtMs > createdAfterMs) &&
    (createdBeforeMs === undefined || createdAtMs < createdBeforeMs) &&
    (subjectId === undefined || subject?.id === subjectId) &&
    (subjectName === undefined || subject?.name === subjectName)
}

/** What of the details goes into the log: texts may be of rows. */
function numbersOf(details: Job['details']): object {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => typeof value === 'number'))
}
