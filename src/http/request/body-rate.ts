export interface BodyRateRules {
  /** Bytes a second that a sender brings at least while it is waited for; 0 asks for none. */
  readonly bodyRateMin: number
  /** What they are measured over, so that a sender may pause. */
  readonly bodyRateWindowMs: number
}

interface BodyRateDeps {
  /** A clock in milliseconds that never goes back. */
  readonly now: () => number
  readonly onSlow: () => void
}

/**
 * Whether a sender brings its body fast enough. Only the time counts in which we wait for bytes: a sender that is slowed down by us
 * (TCP tells it to) has its window stand still.
 */
export class BodyRate {
  readonly #windowMs: number
  readonly #windowBytes: number
  readonly #deps: BodyRateDeps
  #timer: NodeJS.Timeout | undefined
  #waitedMs = 0
  #waitsSinceMs = 0
  #bytes = 0

  constructor({ bodyRateMin, bodyRateWindowMs }: BodyRateRules, deps: BodyRateDeps) {
    this.#windowMs = bodyRateWindowMs
    this.#windowBytes = Math.ceil((bodyRateMin * bodyRateWindowMs) / 1_000)
    this.#deps = deps
  }

  take(byteCount: number): void {
    this.#bytes += byteCount
  }

  /** From now on bytes are waited for. */
  wait(): void {
    if (this.#timer !== undefined) return
    this.#waitsSinceMs = this.#deps.now()
    this.#timer = setTimeout(this.#endWindow, Math.max(0, this.#windowMs - this.#waitedMs))
  }

  /** From now on none are. */
  rest(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waitedMs += this.#deps.now() - this.#waitsSinceMs
  }

  readonly #endWindow = (): void => {
    this.#timer = undefined
    if (this.#bytes < this.#windowBytes) {
      this.#deps.onSlow()
      return
    }
    this.#bytes = 0
    this.#waitedMs = 0
    this.wait()
  }
}
