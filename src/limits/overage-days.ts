/** How many queries over the rate each day had, days being those of UTC since the epoch, oldest first. */
export type CountsByDay = readonly (readonly [day: number, count: number])[]

export interface OverageDay {
  /** Epoch milliseconds of its beginning in UTC. */
  readonly startMs: number
  readonly queries: number
}

const dayMs = 86_400_000
/** This month and the one before it, whatever they are. */
const daysMax = 62

/** Counts queries over the rate by day, and can be written down. */
export class OverageDays {
  /** Oldest first, as a Map keeps them. */
  readonly #counts = new Map<number, number>()
  #hasChanged = false

  add(nowMs: number): void {
    const day = Math.floor(nowMs / dayMs)
    this.#counts.set(day, (this.#counts.get(day) ?? 0) + 1)
    this.#hasChanged = true
    this.#forgetBefore(day)
  }

  /** Days that had any, oldest first. */
  get days(): readonly OverageDay[] {
    return [...this.#counts].map(([day, queries]) => ({ startMs: day * dayMs, queries }))
  }

  /** Queries in the month of the day. */
  inMonthOf(nowMs: number): number {
    const fromMs = monthStartOf(nowMs)
    return this.days.reduce((sum, { startMs, queries }) => (startMs >= fromMs ? sum + queries : sum), 0)
  }

  /** What is to be written down; null where nothing has changed since it was asked last. */
  takeChanges(): CountsByDay | null {
    if (!this.#hasChanged) return null
    this.#hasChanged = false
    return [...this.#counts]
  }

  /** What was taken could not be written. */
  putBack(): void {
    this.#hasChanged = true
  }

  /** Takes up what an earlier process wrote down. Where the clock was set back since, it counts as if it were of today. */
  restore(counts: CountsByDay, nowMs: number): void {
    const today = Math.floor(nowMs / dayMs)
    for (const [day, count] of counts) {
      const known = Math.min(day, today)
      this.#counts.set(known, (this.#counts.get(known) ?? 0) + count)
    }
    this.#forgetBefore(today)
  }

  #forgetBefore(today: number): void {
    for (const day of this.#counts.keys()) {
      if (day > today - daysMax) return
      this.#counts.delete(day)
    }
  }
}

/** The beginning of the month in UTC. */
export function monthStartOf(nowMs: number): number {
  const date = new Date(nowMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}

/** The beginning of the next one. */
export function nextMonthOf(nowMs: number): number {
  const date = new Date(nowMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}
