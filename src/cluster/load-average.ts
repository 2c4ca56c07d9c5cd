/** How fast the average follows: what was a minute ago counts for 1/e, as in the load average of Linux. */
const decayMs = 60_000

/** The load average over one minute, of samples at any times. */
export class LoadAverage {
  #value = 0

  get value(): number {
    return this.#value
  }

  /** @param count threads that ran or wanted to, on the average of the time since the last sample. */
  add(count: number, sinceLastMs: number): void {
    const kept = Math.exp(-Math.max(0, sinceLastMs) / decayMs)
    this.#value = this.#value * kept + count * (1 - kept)
  }
}
