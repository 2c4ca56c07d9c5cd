/**
 * Runs the jobs of the book: of each kind as many at once as it allows, and their owners in turn.
 *
 * A job begins, and has ended, when that is on disk; what the disk refuses is tried again. Only of a kind whose jobs may begin anew, one
 * that begins as soon as it was added is on disk as waiting until it has more to say: a write less for whoever waits for it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../observe/logger.ts'
import { assert } from '../shared/assert.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { within } from '../shared/within.ts'
import type { JobBook, JobChange } from './job-book.ts'
import { failureOf, type JobEnding, stopped, success } from './job-ending.ts'
import { nextStatus } from './job-states.ts'
import type { Job, JobKind } from './jobs.types.ts'
import { KindQueue, type QueuedJob } from './kind-queue.ts'
import { RunningJob } from './running-job.ts'

interface RunnerOptions {
  /** How long a change waits that the disk has refused. */
  readonly retryMs: number
  /** How long a job works at least before it yields to others; twice as long each time, so that all get on. */
  readonly sliceMs: number
}

interface RunnerDeps {
  readonly book: JobBook
  readonly logger: Logger
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Told of each job that has another status, and of what has ended it. */
  readonly changedStatus: (job: Job, ending?: JobEnding) => void
  /** Told of each job that has other details, or another subject. */
  readonly changedDetails: (job: Job) => void
}

interface Running {
  readonly controller: AbortController
  readonly queue: KindQueue
  readonly beganAtMs: number
  /** Once it is in the hands of its kind. */
  job: RunningJob | null
  /** Its work is over, and that is not on disk yet. */
  isOver: boolean
  /** It was asked to stop for others. */
  isYielding: boolean
}

/** How often it is looked for somebody who has no place. */
const shareIntervalMs = 1_000
/** How long after it was written a job is one that was just added. */
const newMs = 500
/** How long a start waits for what an earlier process has left to be ended. */
const startTimeMaxMs = 10_000
/** What a job of an earlier process has to tell what there is of it, at a start, which does not wait for it, and at a cancel. */
const settleTimesMaxMs = { atStart: 8_000, atCancel: 1_000 }

export class JobRunner {
  readonly #options: RunnerOptions
  readonly #deps: RunnerDeps
  readonly #queues = new Map<string, KindQueue>()
  readonly #running = new Map<string, Running>()
  readonly #works = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  /** How often a job has yielded. */
  readonly #yields = new Map<string, number>()
  #sharing: NodeJS.Timeout | undefined
  #isStarted = false

  constructor(options: RunnerOptions, deps: RunnerDeps) {
    this.#options = options
    this.#deps = deps
  }

  register(kind: JobKind): void {
    assert(!this.#isStarted, 'kinds of jobs are registered before the start')
    assert(!this.#queues.has(kind.name), `jobs of the kind ${kind.name} are registered once`)
    this.#queues.set(kind.name, new KindQueue(kind))
  }

  kindOf(name: string): JobKind | undefined {
    return this.#queues.get(name)?.kind
  }

  /** Whether somebody may still ask for what the kind of a job keeps of it. */
  isHeld(id: string): boolean {
    for (const { kind } of this.#queues.values()) if (kind.isHeld?.(id) === true) return true
    return false
  }

  /** Ends what an earlier process has left and cannot go on, and begins to run the rest: first what worked already. */
  async start(): Promise<void> {
    assert(!this.#isStarted, 'jobs are started once')
    const left = this.#deps.book.unended()
    const settled = [
      ...left.filter(({ status }) => status !== 'waiting'),
      ...left.filter(({ status }) => status === 'waiting'),
    ].map((job) => this.#track(this.#takeOver(job)))
    await within(startTimeMaxMs, Promise.all(settled))
    this.#isStarted = true
    this.#sharing = setInterval(() => this.#share(), Math.min(shareIntervalMs, this.#options.sliceMs)).unref()
    for (const queue of this.#queues.values()) this.#pump(queue)
  }

  /** Runs a job that waits when its turn comes. */
  enqueue(job: Pick<Job, 'id' | 'kind' | 'owner'>): void {
    const queue = this.#expectQueue(job.kind)
    queue.push(queuedOf(job))
    this.#pump(queue)
  }

  /** @throws JOB_NOT_FOUND (404), JOB_NOT_CANCELLABLE (400), DISK_UNAVAILABLE, SHUTTING_DOWN (503). */
  async cancel(id: string): Promise<Job> {
    const job = await this.#deps.book.change(id, (before) => {
      const isOver = this.#running.get(id)?.isOver === true
      const status = before.isCancellable && !isOver ? nextStatus(before.status, 'cancel') : null
      if (status === null) throw errors.JOB_NOT_CANCELLABLE({ id, reason: reasonAgainst(before) })
      return { status, updatedAtMs: this.#deps.now() }
    })
    assert(job !== null, 'a job that is cancelled has changed')
    this.#deps.changedStatus(job)
    this.#queues.get(job.kind)?.remove(queuedOf(job))
    const running = this.#running.get(id)
    if (running !== undefined) running.controller.abort(errors.JOB_CANCELLED())
    // One that an earlier process has begun, and that waits for its place to go on.
    else if (job.status === 'cancelling') void this.#track(this.#settle(job, settleTimesMaxMs.atCancel))
    return job
  }

  /** Ends what works where it is. */
  async close(timeMaxMs: number): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#sharing)
    for (const { controller } of this.#running.values()) controller.abort(errors.SHUTTING_DOWN())
    if (await within(timeMaxMs, Promise.all(this.#works))) return
    this.#deps.logger.warn({ count: this.#works.size, timeMaxMs }, 'Jobs still work, as the service closes.')
  }

  /** What becomes of a job of an earlier process. */
  async #takeOver(job: Job): Promise<void> {
    const { id, kind: name, status } = job
    const queue = this.#queues.get(name)
    if (status === 'cancelling') {
      const settled = this.#settle(job, settleTimesMaxMs.atStart)
      if (queue?.kind.settle === undefined) return await settled
      void this.#track(settled)
      return
    }
    if (queue === undefined) {
      await this.#persist(id, ({ status: before }) => this.#changeBy(before, 'start'))
      return await this.#end(id, failureOf(errors.JOB_KIND_UNKNOWN({ kind: name })))
    }
    if (status === 'working' && !queue.kind.canResume) return await this.#end(id, failureOf(errors.JOB_INTERRUPTED()))
    if (status === 'working') queue.resume(queuedOf(job))
    else queue.push(queuedOf(job))
  }

  /** Ends a job of an earlier process that is cancelled, with what its kind tells of it. */
  async #settle({ id, kind: name }: Job, timeMaxMs: number): Promise<void> {
    const kind = this.kindOf(name)
    if (kind?.settle !== undefined) {
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeMaxMs)])
      const job = await this.#hand(id, signal)
      try {
        await kind.settle(job)
      } catch (err) {
        this.#deps.logger.warn({ jobId: id, kind: name, err }, 'What a cancelled job has left could not be told.')
      } finally {
        job.end()
      }
      // The next start asks again.
      if (this.#closing.signal.aborted) return
    }
    await this.#end(id, stopped)
  }

  async #hand(id: string, signal: AbortSignal): Promise<RunningJob> {
    const { book, changedDetails: changed } = this.#deps
    const [order, checkpoint] = await Promise.all([book.orderOf(id), book.checkpointOf(id)])
    return new RunningJob(id, { order, checkpoint, signal }, { book, changed })
  }

  #pump(queue: KindQueue): void {
    if (!this.#isStarted) return
    while (!this.#closing.signal.aborted) {
      const job = queue.take()
      if (job === undefined) return
      void this.#track(this.#work(queue, job))
    }
  }

  async #work(queue: KindQueue, job: QueuedJob): Promise<void> {
    const { id } = job
    const state = { job: null, isOver: false, isYielding: false }
    const running: Running = { controller: new AbortController(), queue, beganAtMs: performance.now(), ...state }
    this.#running.set(id, running)
    let goesOn = false
    try {
      if (!(await this.#begin(id, queue.kind))) return
      const ending = await this.#run(queue.kind, id, running)
      goesOn = ending === null && running.isYielding
      running.isOver = ending !== null
      if (ending === null) return
      await this.#end(id, ending)
      if (running.job !== null) void this.#track(this.#tidy(queue.kind, running.job))
    } finally {
      this.#running.delete(id)
      queue.leave(job)
      if (goesOn) queue.push(job)
      else this.#yields.delete(id)
      this.#pump(queue)
    }
  }

  /** Has a job stop for others, where somebody waits who has no place at all: the one that works longest, of each kind. */
  #share(): void {
    for (const queue of this.#queues.values()) {
      if (!queue.hasExcluded) continue
      const works = [...this.#running].filter(([, one]) => one.queue === queue && !one.isOver)
      if (works.some(([, { isYielding }]) => isYielding)) continue
      const [oldest] = works
        .filter(([id, one]) => this.#mayYield(id, one))
        .sort(([, one], [, other]) => one.beganAtMs - other.beganAtMs)
      if (oldest === undefined) continue
      const [id, running] = oldest
      running.isYielding = true
      this.#yields.set(id, (this.#yields.get(id) ?? 0) + 1)
      this.#deps.logger.info({ jobId: id, kind: queue.kind.name }, 'A job stops for others, and goes on in its turn.')
      running.controller.abort(errors.SHUTTING_DOWN())
    }
  }

  #mayYield(id: string, { job, queue, beganAtMs }: Running): boolean {
    const sliceMs = this.#options.sliceMs * 2 ** (this.#yields.get(id) ?? 0)
    return job !== null && performance.now() - beganAtMs >= sliceMs && queue.kind.mayYield?.(job) === true
  }

  async #tidy(kind: JobKind, job: RunningJob): Promise<void> {
    try {
      await kind.ended?.(job)
    } catch (err) {
      this.#deps.logger.error({ jobId: job.id, kind: kind.name, err }, 'What was left to do behind a job has failed.')
    }
  }

  /** Whether it works from now on: it may have been cancelled, and nothing begins while the service closes. */
  async #begin(id: string, { beginsAnew = false }: JobKind): Promise<boolean> {
    const { book, now } = this.#deps
    const found = book.find(id)
    if (found?.status === 'working') return true
    const start = ({ status }: Job): JobChange | null => {
      const change = this.#closing.signal.aborted ? null : this.#changeBy(status, 'start')
      return change === null ? null : { ...change, startedAtMs: now() }
    }
    // Of one that has waited, the disk may take nothing by now.
    const isNew = found !== undefined && now() - found.createdAtMs < newMs
    const job = await (beginsAnew && isNew ? book.changeUnwritten(id, start) : this.#persist(id, start))
    if (job !== null) this.#deps.changedStatus(job)
    return job !== null
  }

  /** Null for a job that goes on, at the next start or in its turn. */
  async #run(kind: JobKind, id: string, running: Running): Promise<JobEnding | null> {
    const { book } = this.#deps
    const { signal } = running.controller
    try {
      const job = await this.#hand(id, signal)
      running.job = job
      signal.throwIfAborted()
      await kind.run(job)
      return success
    } catch (thrown) {
      if (!signal.aborted) return failureOf(thrown)
      if (book.find(id)?.status !== 'working') return stopped
      return kind.canResume ? null : failureOf(errors.JOB_INTERRUPTED())
    } finally {
      running.job?.end()
    }
  }

  async #end(id: string, ending: JobEnding): Promise<void> {
    const { event, errors: sentences, errorQuotes } = ending
    const job = await this.#persist(id, ({ status: before }) => {
      const change = this.#changeBy(before, event)
      return change?.status === 'error' ? { ...change, errors: sentences, errorQuotes } : change
    })
    if (job !== null) this.#deps.changedStatus(job, ending)
  }

  #changeBy(before: Job['status'], event: Parameters<typeof nextStatus>[1]): JobChange | null {
    const status = nextStatus(before, event)
    return status === null ? null : { status, updatedAtMs: this.#deps.now() }
  }

  /** Changes a job, again and again until the disk takes it. @throws DISK_UNAVAILABLE, SHUTTING_DOWN (503) once the service closes. */
  async #persist(id: string, decide: (job: Job) => JobChange | null): Promise<Job | null> {
    const { signal } = this.#closing
    for (;;) {
      try {
        return await this.#deps.book.change(id, decide)
      } catch (err) {
        if (signal.aborted || !(err instanceof ApiError) || err.code !== 'DISK_UNAVAILABLE') throw err
        this.#deps.logger.warn({ jobId: id, err }, 'The status of a job could not be written; it is tried again.')
      }
      // A close ends the wait, and the next try is the last.
      await delay(this.#options.retryMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  /** Waits for it at the close. What it fails with is told: the job is what its record says then, and the next start finds it so. */
  #track(work: Promise<void>): Promise<void> {
    const tracked = work
      .catch((err: unknown) => this.#deps.logger.error({ err }, 'The end of a job could not be written.'))
      .finally(() => this.#works.delete(tracked))
    this.#works.add(tracked)
    return tracked
  }

  #expectQueue(kind: string): KindQueue {
    const queue = this.#queues.get(kind)
    assert(queue !== undefined, `jobs of the kind ${kind} are registered`)
    return queue
  }
}

function queuedOf({ id, owner }: Pick<Job, 'id' | 'owner'>): QueuedJob {
  return { id, ownerId: owner.tokenId }
}

function reasonAgainst({ status, kind }: Job): string {
  switch (status) {
    case 'cancelling':
      return 'it is being cancelled already'
    case 'working':
      return `a job of the kind "${kind}" cannot be stopped while it works`
    default:
      return `its status is "${status}", and it has ended`
  }
}
