// Who follows which job, and how often it is told: changes come with every block, and people read lines.

import { errors } from '../shared/errors/errors.ts'
import { isFinal } from './job-states.ts'
import type { Job } from './jobs.types.ts'

type Tell = (job: Job) => void

interface NewsOptions {
  /** The shortest time between two tellings of one job. */
  readonly intervalMs: number
  /** Watches of all callers at once. Those of the service itself are not counted. */
  readonly watchesMax: number
  /** Those of one caller. */
  readonly watchesPerCallerMax: number
}

const retryAfterSeconds = 5

interface Topic {
  /** What is told, and the caller who watches; undefined for the service itself. */
  readonly tells: Map<Tell, string | undefined>
  latest: Job
  toldDetails: Job['details']
  lastToldMs: number
  timer: NodeJS.Timeout | null
}

export class JobNews {
  readonly #options: NewsOptions
  /** Told of every job whose details are others than they were when it was told of last. */
  readonly #tellDetails: Tell
  readonly #topics = new Map<string, Topic>()
  #watchCount = 0
  readonly #countsByCaller = new Map<string, number>()

  constructor(options: NewsOptions, tellDetails: Tell) {
    this.#options = options
    this.#tellDetails = tellDetails
  }

  /** Tells of the job at once and from now on, to its end. @throws JOB_WATCHES_TOO_MANY, JOB_WATCHES_OF_TOKEN_TOO_MANY (429) */
  watch(job: Job, tell: Tell, watcherId?: string): () => void {
    if (watcherId !== undefined) this.#refuseTooMany(watcherId)
    if (isFinal(job.status)) {
      tell(job)
      return () => undefined
    }
    const topic = this.#topicOf(job)
    // A function of its own, so that one that watches twice is told twice.
    const own: Tell = (told) => tell(told)
    topic.tells.set(own, watcherId)
    this.#count(watcherId, 1)
    topic.lastToldMs = performance.now()
    tell(job)
    return () => this.#remove(topic, own)
  }

  /** Tells of a change: now, when the interval is over, or at once when the job has ended. */
  changed(job: Job): void {
    const topic = this.#topicOf(job)
    topic.latest = job
    const waitMs = topic.lastToldMs + this.#options.intervalMs - performance.now()
    if (isFinal(job.status)) this.#end(topic)
    else if (waitMs <= 0) this.#tell(topic)
    else topic.timer ??= setTimeout(() => this.#tell(topic), waitMs).unref()
  }

  close(): void {
    for (const { timer } of this.#topics.values()) if (timer !== null) clearTimeout(timer)
    this.#topics.clear()
  }

  #topicOf(job: Job): Topic {
    const found = this.#topics.get(job.id)
    if (found !== undefined) return found
    const told = { toldDetails: job.details, lastToldMs: Number.NEGATIVE_INFINITY }
    const topic: Topic = { tells: new Map(), latest: job, timer: null, ...told }
    this.#topics.set(job.id, topic)
    return topic
  }

  #tell(topic: Topic): void {
    if (topic.timer !== null) clearTimeout(topic.timer)
    topic.timer = null
    topic.lastToldMs = performance.now()
    const { latest, toldDetails } = topic
    if (latest.details !== toldDetails) this.#tellDetails(latest)
    topic.toldDetails = latest.details
    for (const tell of topic.tells.keys()) tell(latest)
  }

  #end(topic: Topic): void {
    this.#tell(topic)
    this.#topics.delete(topic.latest.id)
    for (const tell of topic.tells.keys()) this.#remove(topic, tell)
  }

  #remove({ tells }: Topic, tell: Tell): void {
    const watcherId = tells.get(tell)
    if (tells.delete(tell)) this.#count(watcherId, -1)
  }

  #refuseTooMany(watcherId: string): void {
    const { watchesMax, watchesPerCallerMax: ownMax } = this.#options
    if (this.#watchCount >= watchesMax) throw errors.JOB_WATCHES_TOO_MANY({ watchesMax, retryAfterSeconds })
    if ((this.#countsByCaller.get(watcherId) ?? 0) < ownMax) return
    throw errors.JOB_WATCHES_OF_TOKEN_TOO_MANY({ watchesMax: ownMax, retryAfterSeconds })
  }

  #count(watcherId: string | undefined, change: 1 | -1): void {
    if (watcherId === undefined) return
    this.#watchCount += change
    const count = (this.#countsByCaller.get(watcherId) ?? 0) + change
    if (count === 0) this.#countsByCaller.delete(watcherId)
    else this.#countsByCaller.set(watcherId, count)
  }
}
