/** What is counted within a time. All times are milliseconds of one clock that is never set back. */
export interface Counted {
  usedAt(nowMs: number): number
  /** How long until there is more room; 0 where nothing is used. */
  resetMsAt(nowMs: number): number
  /** Absent where what is used, and how much may be, says it. */
  standingAt?(nowMs: number): Standing
}

export type Standing = 'ok' | 'warning' | 'reached'

/** Requests of the last `windowMs`. */
export interface Window extends Counted {
  readonly max: number
  readonly windowMs: number
  /** Precondition: fewer than `max` are in the window. */
  add(nowMs: number): void
}
