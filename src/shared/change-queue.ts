/** Changes of one resource, one after the other; those of different resources run beside each other. */
import { errors } from './errors/errors.ts'

// Each is held by a request that waits for it.
const changesWaitingMax = 1_000
const retryAfterSeconds = 1

export class ChangeQueue {
  readonly #lastById = new Map<string, Promise<void>>()
  readonly #waitingMax: number
  #changeCount = 0

  constructor(waitingMax = changesWaitingMax) {
    this.#waitingMax = waitingMax
  }

  /**
   * Runs a change after all that were asked for before it. What it needs to know it must look up when it runs.
   *
   * @throws CHANGES_TOO_MANY (503) when as many wait as may; what `change` throws.
   */
  async run<Result>(id: string, change: () => Promise<Result>): Promise<Result> {
    if (this.#changeCount >= this.#waitingMax) throw errors.CHANGES_TOO_MANY({ retryAfterSeconds })
    this.#changeCount += 1
    const running = (this.#lastById.get(id) ?? Promise.resolve()).then(change)
    const settled = running.then(nothing, nothing)
    this.#lastById.set(id, settled)
    try {
      return await running
    } finally {
      this.#changeCount -= 1
      if (this.#lastById.get(id) === settled) this.#lastById.delete(id)
    }
  }

  /** Waits for the changes that were asked for so far. */
  async close(): Promise<void> {
    await Promise.all(this.#lastById.values())
  }
}

function nothing(): void {}
