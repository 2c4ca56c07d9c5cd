import type { FastifyRequest } from 'fastify'
import { Semaphore } from '../../ingest/semaphore.ts'
import { errors } from '../../shared/errors/errors.ts'
import { AddressShares, type ShareHold, type WaitingBody } from './address-shares.ts'
import { KeyedTurns } from './keyed-turns.ts'
import { arrivingBodyOf } from './request-body.ts'
import { RequestHold } from './request-hold.ts'

/** Small packed bodies may unpack to large ones, which nobody has counted yet. */
const unpackedAtOnceMax = 8
const retryAfterSeconds = 1
/** What bodies of one address may have of the memory until they have their answers, and of those that are unpacked. */
const addressShare = 1 / 2

/** The one bound of what bodies take of memory, however many connections bring them: events, forms and queries together. */
export class BodyBudget {
  readonly #bytesMax: number
  readonly #shares: AddressShares
  readonly #addressOf: (request: FastifyRequest) => string
  readonly #unpacking = new Semaphore(unpackedAtOnceMax)
  readonly #unpackingOf = new KeyedTurns(Math.ceil(unpackedAtOnceMax * addressShare))
  #heldBytes = 0

  /** @param addressOf what bodies of one client are counted by. */
  constructor(bytesMax: number, addressOf: (request: FastifyRequest) => string) {
    this.#bytesMax = bytesMax
    this.#addressOf = addressOf
    this.#shares = new AddressShares(Math.ceil(bytesMax * addressShare))
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
  holdFor(request: FastifyRequest): RequestHold {
    return new RequestHold(this, request, true)
  }

  /** What is taken by it is given back by `handOver`. */
  holdUntilRead(request: FastifyRequest): RequestHold {
    return new RequestHold(this, request, false)
  }

  /** What the bodies of the client of a request hold together. */
  shareOf(request: FastifyRequest): ShareHold {
    return this.#shares.open(this.#addressOf(request), arrivingBodyOf(request) ?? noBody)
  }

  /** Runs `unpack` when few others run, of the same client above all, and its bodies have room. @throws BODIES_TOO_MANY (503) */
  async unpack<Result>(hold: RequestHold, unpack: () => Promise<Result>): Promise<Result> {
    return await this.#unpackingOf.run(this.#addressOf(hold.request), async () => {
      await hold.untilRoom()
      await this.#unpacking.acquire()
      try {
        return await unpack()
      } finally {
        this.#unpacking.release()
      }
    })
  }
}

/** Of a request without one. */
const noBody: WaitingBody = { hasCome: true, brake: () => {}, letGo: () => {}, fail: () => {} }
