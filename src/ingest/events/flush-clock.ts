import type { FlushRule } from './events.types.ts'

/**
 * Tells when what has gathered is old enough, or has had silence for long enough, to become a block.
 *
 * `clock` counts milliseconds that never go back: a time of day that is set back by an hour would hold events for one.
 */
export class FlushClock {
  readonly #rule: FlushRule
  readonly #clock: () => number
  readonly #onDue: () => void
  #firstAtMs: number | null = null
  #lastAtMs = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(rule: FlushRule, clock: () => number, onDue: () => void) {
    this.#rule = rule
    this.#clock = clock
    this.#onDue = onDue
  }

  get isOver(): boolean {
    const dueAtMs = this.#dueAtMs()
    return dueAtMs !== null && dueAtMs <= this.#clock()
  }

  /** A body has joined what gathers. */
  noteBody(): void {
    this.#lastAtMs = this.#clock()
    this.#firstAtMs ??= this.#lastAtMs
    if (this.#timer === undefined) this.arm(null)
  }

  /** What had gathered is gone; the next body begins anew. */
  reset(): void {
    this.#firstAtMs = null
  }

  /** Calls `onDue` when the time is over, or at `wakeAtMs` of the clock when nothing has gathered. */
  arm(wakeAtMs: number | null): void {
    const dueAtMs = wakeAtMs ?? this.#dueAtMs()
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (dueAtMs === null || this.#isClosed) return
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        // More came meanwhile and moved the time, or the timer was early by a part of a millisecond.
        const isEarly = (wakeAtMs ?? this.#dueAtMs() ?? 0) > this.#clock()
        if (isEarly) this.arm(wakeAtMs)
        else this.#onDue()
      },
      Math.max(1, dueAtMs - this.#clock()),
    )
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #dueAtMs(): number | null {
    if (this.#firstAtMs === null) return null
    const { eventsFlushIdleMs, eventsFlushAgeMs } = this.#rule
    return Math.min(this.#lastAtMs + eventsFlushIdleMs, this.#firstAtMs + eventsFlushAgeMs)
  }
}
