import type { RateFacts } from '../shared/errors/definition.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import type { LimitName } from '../shared/limit-names.ts'
import type { Window } from './window.types.ts'

export interface LimitedWindow {
  readonly limit: LimitName
  readonly window: Window
}

export interface RateLimitOptions {
  /** What is counted, as a sentence about it begins: `Events`. */
  readonly what: string
  /** What holds together, the shortest first. */
  readonly windows: readonly LimitedWindow[]
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
}

/** Requests of one kind, counted for the whole service in one window or several: all must have room. */
export class RateLimit {
  readonly windows: readonly LimitedWindow[]
  readonly #policy: string
  readonly #what: string
  readonly #now: () => number

  constructor({ what, windows, now }: RateLimitOptions) {
    this.windows = windows
    this.#policy = windows.map(policyOf).join(', ')
    this.#what = what
    this.#now = now
  }

  /** The field `RateLimit-Policy` of an answer; empty where nothing holds. */
  get policy(): string {
    return this.#policy
  }

  /** Counts a request; the error (RATE_EXCEEDED, 429) when it may not go on, and is not counted. */
  take(): ApiError | null {
    const nowMs = this.#now()
    let slowest: LimitedWindow | null = null
    for (const limited of this.windows) {
      const { window } = limited
      if (window.usedAt(nowMs) < window.max) continue
      if (slowest === null || window.resetMsAt(nowMs) > slowest.window.resetMsAt(nowMs)) slowest = limited
    }
    if (slowest !== null) return this.#refusal(slowest, nowMs)
    for (const { window } of this.windows) window.add(nowMs)
    return null
  }

  /** What is left where least is; null where nothing holds. */
  facts(): RateFacts | null {
    const nowMs = this.#now()
    return leastOf(this.windows.map((limited) => factsOf(limited, nowMs)))
  }

  #refusal(limited: LimitedWindow, nowMs: number): ApiError {
    const { resetSeconds, ...facts } = factsOf(limited, nowMs)
    return errors.RATE_EXCEEDED({
      ...facts,
      what: this.#what,
      whose: 'the whole service',
      retryAfterSeconds: resetSeconds,
    })
  }
}

/** Requests in a time, never those under way at once. */
export type WindowFacts = RateFacts & { readonly windowSeconds: number }

/** The one with the least left, the first of several; null where there is none. */
export function leastOf<Facts extends RateFacts>(all: readonly Facts[]): Facts | null {
  return all.reduce<Facts | null>(
    (least, one) => (least === null || one.remaining < least.remaining ? one : least),
    null,
  )
}

export function factsOf({ limit, window }: LimitedWindow, nowMs: number): WindowFacts {
  return {
    limit,
    max: window.max,
    windowSeconds: window.windowMs / 1_000,
    remaining: Math.max(0, window.max - window.usedAt(nowMs)),
    resetSeconds: Math.ceil(window.resetMsAt(nowMs) / 1_000),
  }
}

export function policyOf({ limit, window }: LimitedWindow): string {
  return `"${limit}";q=${window.max};w=${window.windowMs / 1_000}`
}
