import { setImmediate } from 'node:timers/promises'

/** How long the event loop may be held by work that is done piece by piece. */
const sliceMs = 10

/** Gives others their turn while many pieces of work are done. */
export class TimeSlices {
  #startMs = performance.now()

  /** Between two pieces: waits for the next turn of the event loop when this one has taken long enough. */
  async giveWay(): Promise<void> {
    if (performance.now() - this.#startMs < sliceMs) return
    await setImmediate()
    this.#startMs = performance.now()
  }
}
