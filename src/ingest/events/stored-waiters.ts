import { errors } from '../../shared/errors/errors.ts'
import type { Sequence } from '../../wal/sequence.ts'

interface Waiter {
  readonly sequence: Sequence
  readonly end: (isStored: boolean) => void
  readonly fail: (error: Error) => void
}

/** Who waits until events are stored. As many as requests are open, which the server bounds. */
export class StoredWaiters {
  readonly #waiting = new Set<Waiter>()

  get size(): number {
    return this.#waiting.size
  }

  /** Resolves with true when the entry is stored, with false when the time is over first, or whoever waits has left. */
  wait(sequence: Sequence, timeMaxMs: number, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted === true) return Promise.resolve(false)
    return new Promise((resolve, reject) => {
      const giveUp = (): void => waiter.end(false)
      const timer = setTimeout(giveUp, timeMaxMs)
      const leave = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        this.#waiting.delete(waiter)
      }
      signal?.addEventListener('abort', giveUp)
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

  /** Everything up to `last` is stored, and what comes before `next`, the first entry that waits; all when none does. */
  stored(last: Sequence, next: Sequence | null): void {
    for (const waiter of this.#waiting) {
      // A place of the log that others have written to may lie between the two.
      if (waiter.sequence <= last || next === null || waiter.sequence < next) waiter.end(true)
    }
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
