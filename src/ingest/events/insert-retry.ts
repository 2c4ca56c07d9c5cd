/** The pause between an INSERT that failed and the next try of the same block. */
import { withoutInternals } from '../../store/engine-message.ts'
import type { EventsFailure, FailureKind } from './events.types.ts'

interface RetryTimes {
  /** Epoch milliseconds, for what people read. */
  readonly now: () => number
  /** Milliseconds that never go back, for the pause itself. */
  readonly clock: () => number
}

const pauseMs = { first: 250, longest: 30_000 }

/** Why the last INSERT of a data source failed, and when it is tried again: at first soon, then after twice the time each. */
export class InsertRetry {
  readonly #times: RetryTimes
  #failure: EventsFailure | null = null
  /** By the clock; means something while there is a failure. */
  #retryAt = 0

  constructor(times: RetryTimes) {
    this.#times = times
  }

  /** Null while INSERTs succeed. */
  get failure(): EventsFailure | null {
    return this.#failure
  }

  /** When the next try is, by the clock; null while INSERTs succeed. */
  get retryAt(): number | null {
    return this.#failure === null ? null : this.#retryAt
  }

  get isPausing(): boolean {
    return this.#failure !== null && this.#retryAt > this.#times.clock()
  }

  /** An INSERT has failed: the pause begins. */
  noteFailure(kind: FailureKind, error: unknown): EventsFailure {
    const nowMs = this.#times.now()
    const attemptCount = (this.#failure?.attemptCount ?? 0) + 1
    const waitMs = Math.min(pauseMs.first * 2 ** Math.min(attemptCount - 1, 16), pauseMs.longest)
    this.#retryAt = this.#times.clock() + waitMs
    const sinceMs = this.#failure?.sinceMs ?? nowMs
    this.#failure = { kind, message: reasonOf(error), sinceMs, retryAtMs: nowMs + waitMs, attemptCount }
    return this.#failure
  }

  /** What it failed by is mended: the next try may be at once. */
  endPause(): void {
    this.#retryAt = this.#times.clock()
  }

  /** An INSERT has succeeded; true when it had failed before. */
  noteStored(): boolean {
    const hadFailed = this.#failure !== null
    this.#failure = null
    return hadFailed
  }
}

/** What the engine says, for people. */
export function reasonOf(error: unknown): string {
  return withoutInternals(error instanceof Error ? error.message : String(error))
}
