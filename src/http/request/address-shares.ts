// What bodies of one address may hold of the memory for bodies, so that there is room for those of others. A body beyond it is not
// refused at once, and not read: it waits until others of its address have their answers.
//
// Bodies count as they come and not as they are announced, as a slow sender would else keep room that it does not use. So all of an
// address may be half read when its share is full. One at a time then goes on to its end, whatever it takes: the share is
// exceeded by one body at most, and nothing waits for ever.

import { errors } from '../../shared/errors/errors.ts'
import type { Brakable } from './byte-turns.ts'

/** A body that can be made to wait, or ended. */
export interface WaitingBody extends Brakable {
  /** Whether all of it is there: then it goes on, as room comes of its answer alone. */
  readonly hasCome: boolean
  fail(error: Error): void
}

interface Share {
  readonly address: string
  heldBytes: number
  holdCount: number
  /** The one that goes on although the share is full. */
  favoured: ShareHold | null
  /** In the order of their coming. */
  readonly waiting: Set<ShareHold>
}

/** Time that a body may wait for room. */
const waitMsMax = 10_000
const retryAfterSeconds = 1
/** What a body brings that is let go, before it can be made to wait again. */
const readBytesMax = 64 * 1024

export class AddressShares {
  readonly bytesMax: number
  /** Those with bodies, so at most as many as connections and their streams. */
  readonly #shares = new Map<string, Share>()

  /** @param bytesMax what the bodies of one address hold together, but for one. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Begins to count a body. To be closed when it has its answer. */
  open(address: string, body: WaitingBody): ShareHold {
    const share = this.#shares.get(address) ?? newShare(address)
    this.#shares.set(address, share)
    return new ShareHold(this, share, body)
  }

  /** Drops what nobody holds. */
  forget(share: Share): void {
    if (share.holdCount === 0) this.#shares.delete(share.address)
  }
}

function newShare(address: string): Share {
  return { address, heldBytes: 0, holdCount: 0, favoured: null, waiting: new Set() }
}

/** What one body holds of the share of its address. */
export class ShareHold {
  readonly #shares: AddressShares
  readonly #share: Share
  #body: WaitingBody
  #heldBytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(shares: AddressShares, share: Share, body: WaitingBody) {
    this.#shares = shares
    this.#share = share
    this.#body = body
    share.holdCount += 1
  }

  /** Brakes the body until there is room, where its address has none. */
  admit(): void {
    const share = this.#share
    if (share.heldBytes < this.#shares.bytesMax || share.waiting.has(this) || this.#body.hasCome) return
    share.favoured ??= this
    if (share.favoured === this) return
    share.waiting.add(this)
    this.#body.brake()
    this.#timer = setTimeout(() => {
      this.#endWaiting()
      this.#body.fail(errors.BODIES_TOO_MANY({ ofAddress: true, retryAfterSeconds }))
    }, waitMsMax).unref()
  }

  /** Resolves when there is room, for a body that has come and is to become larger. @throws BODIES_TOO_MANY (503) */
  untilRoom(): Promise<void> {
    return new Promise((resolve, reject) => {
      let isBraked = false
      const brake = (): void => {
        isBraked = true
      }
      this.#body = { hasCome: false, brake, letGo: resolve, fail: reject }
      this.admit()
      if (!isBraked) resolve()
    })
  }

  take(byteCount: number): void {
    this.#heldBytes += byteCount
    this.#share.heldBytes += byteCount
  }

  give(byteCount: number): void {
    const given = Math.min(byteCount, this.#heldBytes)
    this.#heldBytes -= given
    this.#share.heldBytes -= given
    // Who holds nothing any more may still take hours, as an import does.
    if (this.#heldBytes === 0 && this.#share.favoured === this) this.#share.favoured = null
    this.#wakeOthers()
  }

  /** Gives all back. */
  close(): void {
    const share = this.#share
    this.#endWaiting()
    share.holdCount -= 1
    this.give(this.#heldBytes)
    this.#shares.forget(share)
  }

  #endWaiting(): void {
    clearTimeout(this.#timer)
    this.#share.waiting.delete(this)
  }

  #wakeOthers(): void {
    const { waiting } = this.#share
    let roomBytes = this.#shares.bytesMax - this.#share.heldBytes
    for (const next of waiting) {
      if (roomBytes <= 0 && this.#share.favoured !== null) return
      if (roomBytes <= 0) this.#share.favoured = next
      roomBytes -= readBytesMax
      next.#endWaiting()
      next.#body.letGo()
    }
  }
}
