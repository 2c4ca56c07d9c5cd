import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { ShareHold } from './address-shares.ts'
import { announcedBytes, announcesBody } from './request-body.ts'

/** A body that comes with its headers, and that no share counts. */
export const smallBytesMax = 16 * 1024

/** Whether a request has no body, or a small one. */
export function hasSmallBody(headers: IncomingHttpHeaders): boolean {
  return !announcesBody(headers) || (announcedBytes(headers) ?? Number.POSITIVE_INFINITY) <= smallBytesMax
}

/** What one request holds of the budget. */
export interface BodyHold {
  /** @throws BODIES_TOO_MANY (503) when there is no room; where only its address has none, the body is not read on until it has. */
  take(byteCount: number): void
  give(byteCount: number): void
}

/** What is held. */
interface HeldBudget {
  /** @throws BODIES_TOO_MANY (503) */
  take(byteCount: number): void
  give(byteCount: number): void
  shareOf(request: FastifyRequest): ShareHold
}

/** What one request holds of the budget of bodies, and of the share of its address. */
export class RequestHold implements BodyHold {
  readonly request: FastifyRequest
  readonly #budget: HeldBudget
  readonly #givesAtEnd: boolean
  readonly #isCounted: boolean
  #share: ShareHold | null = null
  #heldBytes = 0
  #isWatched = false

  /** @param givesAtEnd whether what it takes is given back with the answer, and not by `handOver`. */
  constructor(budget: HeldBudget, request: FastifyRequest, givesAtEnd: boolean) {
    this.request = request
    this.#budget = budget
    this.#givesAtEnd = givesAtEnd
    const announced = announcedBytes(request.headers)
    // A small body costs less than its connection does.
    this.#isCounted = announced === undefined || announced > smallBytesMax
  }

  /** Has the body wait before it is read where its address has no room. */
  admit(): void {
    if (this.#isCounted) this.#openShare()?.admit()
  }

  take(byteCount: number): void {
    if (this.#isGone()) return
    this.#budget.take(byteCount)
    this.#heldBytes += byteCount
    if (this.#isCounted) {
      const share = this.#openShare()
      share?.take(byteCount)
      share?.admit()
    }
    if (this.#givesAtEnd) this.#watch()
  }

  give(byteCount: number): void {
    this.#giveMemory(byteCount)
    this.#share?.give(byteCount)
  }

  /** Says that others count the bytes of the body, and what they became, from now on; its address has them until the answer. */
  handOver(unpackedBytes = 0): void {
    this.#giveMemory(this.#heldBytes)
    if (unpackedBytes > smallBytesMax && !this.#isGone()) this.#openShare()?.take(unpackedBytes)
  }

  /** Resolves when its address has room for what the body is unpacked to. @throws BODIES_TOO_MANY (503) */
  async untilRoom(): Promise<void> {
    if (!this.#isGone()) await this.#openShare()?.untilRoom()
  }

  #openShare(): ShareHold | null {
    if (this.#isGone()) return null
    this.#share ??= this.#budget.shareOf(this.request)
    this.#watch()
    return this.#share
  }

  /** What comes when its client has left is let go soon, and nobody would tell when. */
  #isGone(): boolean {
    const response = this.request.exchange?.response
    return response === undefined || response.destroyed
  }

  #giveMemory(byteCount: number): void {
    const given = Math.min(byteCount, this.#heldBytes)
    this.#heldBytes -= given
    this.#budget.give(given)
  }

  #watch(): void {
    if (this.#isWatched) return
    this.#isWatched = true
    this.request.exchange?.response.once('close', () => {
      this.#giveMemory(this.#heldBytes)
      this.#share?.close()
    })
  }
}
