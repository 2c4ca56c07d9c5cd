import type { Window } from './window.types.ts'

const minuteMs = 60_000

/** How many came in each minute since the epoch that had any, oldest first. */
export type CountsByMinute = readonly (readonly [minute: number, count: number])[]

/**
 * Counts requests in a long window that slides by minutes, and can be written down: no more than `max` of them ever lie within
 * `windowMs`. A request is counted until its whole minute has left the window.
 */
export class KeptWindow implements Window {
  readonly max: number
  readonly windowMs: number
  /** Oldest first, as a Map keeps them; no more than the window has minutes, and one. */
  readonly #counts = new Map<number, number>()
  #used = 0
  #hasChanged = false

  constructor({ max, windowMs }: Pick<Window, 'max' | 'windowMs'>) {
    this.max = max
    this.windowMs = windowMs
  }

  usedAt(nowMs: number): number {
    for (const [minute, count] of this.#counts) {
      if (this.#endMs(minute) > nowMs) break
      this.#counts.delete(minute)
      this.#used -= count
    }
    return this.#used
  }

  resetMsAt(nowMs: number): number {
    this.usedAt(nowMs)
    const [oldest] = this.#counts.keys()
    return oldest === undefined ? 0 : this.#endMs(oldest) - nowMs
  }

  add(nowMs: number): void {
    this.#count(Math.floor(nowMs / minuteMs), 1)
    this.#hasChanged = true
  }

  /** What is to be written down; null where nothing has changed since it was asked last. */
  takeChanges(): CountsByMinute | null {
    if (!this.#hasChanged) return null
    this.#hasChanged = false
    return [...this.#counts]
  }

  /** What was taken could not be written. */
  putBack(): void {
    this.#hasChanged = true
  }

  /** Takes up what an earlier process wrote down. Where the clock was set back since, it counts as if it were of now. */
  restore(counts: CountsByMinute, nowMs: number): void {
    const nowMinute = Math.floor(nowMs / minuteMs)
    for (const [minute, count] of counts) this.#count(Math.min(minute, nowMinute), count)
  }

  #count(minute: number, count: number): void {
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + count)
    this.#used += count
  }

  #endMs(minute: number): number {
    return (minute + 1) * minuteMs + this.windowMs
  }
}
