import type { FastifyRequest } from 'fastify'
import { Semaphore } from '../../ingest/semaphore.ts'
import { errors } from '../../shared/errors/errors.ts'

/** Small packed bodies may unpack to large ones, which nobody has counted yet. */
const unpackedAtOnceMax = 8
const retryAfterSeconds = 1

/** What one request holds of the budget. */
export interface BodyHold {
  /** @throws BODIES_TOO_MANY (503) when there is no room. */
  take(byteCount: number): void
  give(byteCount: number): void
}

/** The one bound of what bodies take of memory, however many connections bring them: events, forms and queries together. */
export class BodyBudget {
  readonly #bytesMax: number
  readonly #unpacking = new Semaphore(unpackedAtOnceMax)
  #heldBytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** @throws BODIES_TOO_MANY (503) when there is no room; when nothing is held, anything is taken. */
  take(byteCount: number): void {
    if (this.#heldBytes > 0 && this.#heldBytes + byteCount > this.#bytesMax) {
      throw errors.BODIES_TOO_MANY({ retryAfterSeconds })
    }
    this.#heldBytes += byteCount
  }

  give(byteCount: number): void {
    this.#heldBytes -= byteCount
  }

  /** What is taken by it is given back when the request has its answer, or its client has left. */
  holdFor({ exchange }: FastifyRequest): BodyHold {
    const response = exchange?.response
    let byteCount = 0
    let isWatched = false
    const give = (fewer: number): void => {
      const given = Math.min(fewer, byteCount)
      byteCount -= given
      this.give(given)
    }
    const take = (more: number): void => {
      // What comes when its client has left is let go soon, and nobody would tell when.
      if (response === undefined || response.destroyed) return
      this.take(more)
      byteCount += more
      if (!isWatched) response.once('close', () => give(byteCount))
      isWatched = true
    }
    return { take, give }
  }

  /** Runs `unpack` when few others run. */
  async unpack<Result>(unpack: () => Promise<Result>): Promise<Result> {
    await this.#unpacking.acquire()
    try {
      return await unpack()
    } finally {
      this.#unpacking.release()
    }
  }
}
