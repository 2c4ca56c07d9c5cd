export interface RateWindowOptions {
  readonly perSecondMax: number
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
}

/** Counts requests in windows of one second, which begin with their first request: two numbers, however many they are. */
export class RateWindow {
  readonly #perSecondMax: number
  readonly #now: () => number
  #startMs = Number.NEGATIVE_INFINITY
  #count = 0

  constructor({ perSecondMax, now }: RateWindowOptions) {
    this.#perSecondMax = perSecondMax
    this.#now = now
  }

  /** Counts a request; false when it may not go on. */
  take(): boolean {
    const nowMs = this.#now()
    if (nowMs >= this.#startMs + windowMs) {
      this.#startMs = nowMs
      this.#count = 0
    }
    if (this.#count >= this.#perSecondMax) return false
    this.#count += 1
    return true
  }
}

const windowMs = 1_000
