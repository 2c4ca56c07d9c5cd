import { type ApiError, errors } from '../shared/errors/errors.ts'

export interface RateWindowOptions {
  /** 0 sets no limit. */
  readonly perSecondMax: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

export interface RateRefusal {
  /** RATE_EXCEEDED (429). */
  readonly error: ApiError
  /** The headers by which clients tell when to come again, each a whole number. */
  readonly headers: Readonly<Record<'x-ratelimit-limit' | 'x-ratelimit-remaining' | 'x-ratelimit-reset', number>>
}

/** Counts requests in windows of one second, which begin with their first request. */
export class RateWindow {
  readonly #perSecondMax: number
  readonly #now: () => number
  #startMs = Number.NEGATIVE_INFINITY
  #count = 0

  constructor({ perSecondMax, now }: RateWindowOptions) {
    this.#perSecondMax = perSecondMax
    this.#now = now
  }

  /** Counts a request; null when it may go on. */
  take(): RateRefusal | null {
    const perSecondMax = this.#perSecondMax
    if (perSecondMax === 0) return null
    const nowMs = this.#now()
    // A clock that was set back begins a window too, or it would never end.
    if (nowMs >= this.#startMs + windowMs || nowMs < this.#startMs) {
      this.#startMs = nowMs
      this.#count = 0
    }
    if (this.#count < perSecondMax) {
      this.#count += 1
      return null
    }
    return {
      error: errors.RATE_EXCEEDED({ perSecondMax, retryAfterSeconds: 1 }),
      headers: { 'x-ratelimit-limit': perSecondMax, 'x-ratelimit-remaining': 0, 'x-ratelimit-reset': 1 },
    }
  }
}

const windowMs = 1_000
