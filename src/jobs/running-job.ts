import { assert } from '../shared/assert.ts'
import { kibibyte } from '../shared/bytes.ts'
import { errors } from '../shared/errors/errors.ts'
import type { JobBook } from './job-book.ts'
import type { Job, JobSubject, WorkingJob } from './jobs.types.ts'

const checkpointBytesMax = 1024 * kibibyte
const detailsBytesMax = 64 * kibibyte

interface RunningJobDeps {
  readonly book: JobBook
  /** Told of the job as it is from now on. */
  readonly changed: (job: Job) => void
}

/** What a job has to begin with; order and checkpoint are from disk. */
interface Begun {
  readonly order: unknown
  readonly checkpoint: unknown
  readonly signal: AbortSignal
}

/** A job in the hands of its kind. What its work does once it has ended is a fault. */
export class RunningJob implements WorkingJob {
  readonly id: string
  readonly order: unknown
  readonly signal: AbortSignal
  readonly #deps: RunningJobDeps
  #checkpoint: unknown
  #hasEnded = false

  constructor(id: string, { order, checkpoint, signal }: Begun, deps: RunningJobDeps) {
    this.id = id
    this.order = order
    this.signal = signal
    this.#checkpoint = checkpoint
    this.#deps = deps
  }

  get checkpoint(): unknown {
    return this.#checkpoint
  }

  get owner(): Job['owner'] {
    return this.#job.owner
  }

  get subject(): Job['subject'] {
    return this.#job.subject
  }

  get details(): Job['details'] {
    return this.#job.details
  }

  async saveCheckpoint(checkpoint: unknown): Promise<void> {
    this.#assertWorks()
    const kept = plainCopy(checkpoint, checkpointBytesMax, 'a checkpoint')
    await this.#deps.book.saveCheckpoint(this.id, kept)
    this.#checkpoint = kept
  }

  tell(details: Job['details']): void {
    this.#assertWorks()
    const told = plainCopy({ ...this.details, ...details }, detailsBytesMax, 'details')
    // A copy of an object is one.
    this.#deps.changed(this.#deps.book.tell(this.id, told as Job['details']))
  }

  async nameSubject(subject: JobSubject): Promise<void> {
    this.#assertWorks()
    const job = await this.#deps.book.change(this.id, () => ({ subject }))
    if (job !== null) this.#deps.changed(job)
  }

  /** Its work is over. */
  end(): void {
    this.#hasEnded = true
  }

  get #job(): Job {
    const job = this.#deps.book.find(this.id)
    assert(job !== undefined, 'a job that works is in the book')
    return job
  }

  #assertWorks(): void {
    assert(!this.#hasEnded, 'the work of the job is not over')
  }
}

/** The order as it is kept. @throws JOB_TOO_LARGE (413) */
export function keptOrder(order: unknown): unknown {
  const text = JSON.stringify(order ?? null)
  if (Buffer.byteLength(text) > orderBytesMax) throw errors.JOB_TOO_LARGE({ bytesMax: orderBytesMax })
  return JSON.parse(text)
}

const orderBytesMax = 256 * kibibyte

/** As it would be read from disk: nobody changes it from outside. */
function plainCopy(value: unknown, bytesMax: number, what: string): unknown {
  const text = JSON.stringify(value ?? null)
  assert(Buffer.byteLength(text) <= bytesMax, `${what} of a job has ${bytesMax} bytes at most`)
  return JSON.parse(text)
}
