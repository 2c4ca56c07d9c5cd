// `progress=true`: a job as lines of JSON, one whenever it has changed, until its end.

import type { Transform } from 'node:stream'
import type { FastifyReply } from 'fastify'
import ndjson from 'ndjson'
import { isFinal } from '../../jobs/job-states.ts'
import type { Job, Jobs } from '../../jobs/jobs.types.ts'
import { abortSignal } from '../server/abort-signal.ts'

interface ProgressRequest {
  readonly id: string
  /** Who asks; see `Caller`. */
  readonly callerId: string
  readonly shapeOf: (job: Job) => object
}

export class JobProgress {
  readonly #jobs: Pick<Jobs, 'watch'>
  readonly #open = new Set<ProgressLines>()

  constructor(jobs: Pick<Jobs, 'watch'>) {
    this.#jobs = jobs
  }

  /** Answers with the lines of a job. @throws JOB_NOT_FOUND (404), JOB_WATCHES_TOO_MANY, JOB_WATCHES_OF_TOKEN_TOO_MANY (429). */
  send(reply: FastifyReply, { id, callerId, shapeOf }: ProgressRequest): FastifyReply {
    const lines = new ProgressLines(shapeOf)
    const unwatch = this.#jobs.watch(id, (job) => lines.tell(job), callerId)
    this.#open.add(lines)
    lines.stream.once('close', () => {
      unwatch()
      this.#open.delete(lines)
    })
    const signal = abortSignal(reply)
    if (signal.aborted) lines.stream.destroy()
    signal.addEventListener('abort', () => lines.stream.destroy())
    return reply.code(200).header('content-type', 'application/x-ndjson').send(lines.stream)
  }

  /** Ends all answers where they are. */
  end(): void {
    for (const lines of this.#open) lines.stream.end()
  }
}

class ProgressLines {
  readonly stream: Transform = ndjson.stringify()
  readonly #shapeOf: ProgressRequest['shapeOf']
  /** Whether the client has not taken what was written. */
  #isFull = false
  /** What it is told when it has: nobody needs what the job was meanwhile. */
  #latest: Job | null = null

  constructor(shapeOf: ProgressRequest['shapeOf']) {
    this.#shapeOf = shapeOf
    this.stream.on('drain', () => {
      this.#isFull = false
      if (this.#latest !== null) this.tell(this.#latest)
    })
  }

  tell(job: Job): void {
    if (this.stream.writableEnded || this.stream.destroyed) return
    const isLast = isFinal(job.status)
    if (this.#isFull && !isLast) {
      this.#latest = job
      return
    }
    this.#latest = null
    this.#isFull = !this.stream.write(this.#shapeOf(job))
    if (isLast) this.stream.end()
  }
}
