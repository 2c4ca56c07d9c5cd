import { errors } from '../../shared/errors/errors.ts'
import type { Sequence } from '../../wal/sequence.ts'

interface Waiter {
  readonly sequence: Sequence
  readonly end: (isStored: boolean) => void
  readonly fail: (error: Error) => void
}

/** Senders who wait until their events are stored. As many as requests are open, which the server bounds. */
export class StoredWaiters {
  readonly #waiting = new Set<Waiter>()

  get size(): number {
    return this.#waiting.size
  }

  /** Resolves with true when the entry is stored, with false when the time is over first. */
  wait(sequence: Sequence, timeMaxMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => waiter.end(false), timeMaxMs)
      const leave = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(waiter)
      }
      const waiter: Waiter = {
        sequence,
        end: (isStored) => {
          leave()
          resolve(isStored)
        },
        fail: (error) => {
          leave()
          reject(error)
        },
      }
      this.#waiting.add(waiter)
    })
  }

  /** Everything up to `last` is stored. */
  stored(last: Sequence): void {
    for (const waiter of this.#waiting) if (waiter.sequence <= last) waiter.end(true)
  }

  /** A view does not take the events. */
  fail(reason: string): void {
    for (const waiter of this.#waiting) waiter.fail(errors.VIEW_FAILED({ reason }))
  }

  /** Nobody will store anything any more. */
  giveUp(): void {
    for (const waiter of this.#waiting) waiter.end(false)
  }
}
