import { errors } from '../../shared/errors/errors.ts'
import { RateWindow } from '../rate-window.ts'
import type { Refusal } from '../token-source.types.ts'

export interface JwtRatesOptions {
  /** The most tokens with a limit that may be used within one second; each takes about 200 bytes. */
  readonly windowsMax: number
  /** Milliseconds of a clock that is never set back, such as `performance.now`. */
  readonly now: () => number
}

interface Entry {
  readonly window: RateWindow
  lastUsedMs: number
}

/**
 * Counts the requests of each JWT that has a limit.
 *
 * A window that may still be running is never given up, so nobody gets a new one by using many tokens: where all places are
 * taken by such windows, a token that has none is refused until one of them has ended.
 */
export class JwtRates {
  readonly #options: JwtRatesOptions
  // A Map keeps the order in which keys were set: the first one was not used for longest.
  readonly #entries = new Map<string, Entry>()

  constructor(options: JwtRatesOptions) {
    this.#options = options
  }

  /**
   * Counts a request; null when it may go on.
   *
   * @param id of the verdict on the token.
   * @param perSecondMax of its claims.
   */
  take(id: string, perSecondMax: number | null): Refusal | null {
    if (perSecondMax === null) return null
    const nowMs = this.#options.now()
    const entry = this.#entries.get(id)
    if (entry !== undefined) {
      this.#entries.delete(id)
      this.#entries.set(id, entry)
      entry.lastUsedMs = nowMs
      return entry.window.take() ? null : refusal(perSecondMax)
    }
    this.#forgetEnded(nowMs)
    if (this.#entries.size >= this.#options.windowsMax) return refusal(perSecondMax)
    const window = new RateWindow({ perSecondMax, now: this.#options.now })
    this.#entries.set(id, { window, lastUsedMs: nowMs })
    return window.take() ? null : refusal(perSecondMax)
  }

  get size(): number {
    return this.#entries.size
  }

  /** Two for each that is added, so that the windows of a rush do not stay for ever. */
  #forgetEnded(nowMs: number): void {
    let count = 0
    for (const [id, { lastUsedMs }] of this.#entries) {
      // A window ends a second after its first request at the latest, and so does one that was not used for a second.
      if (count === 2 || nowMs < lastUsedMs + windowMs) return
      this.#entries.delete(id)
      count += 1
    }
  }
}

const windowMs = 1_000

function refusal(perSecondMax: number): Refusal {
  const counted = { limit: 'token_requests', max: perSecondMax, windowSeconds: 1 } as const
  return { error: errors.RATE_EXCEEDED({ ...counted, what: 'Requests', whose: 'this token', retryAfterSeconds: 1 }) }
}
