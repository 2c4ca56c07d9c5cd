/** Requests of the last `windowMs`. All times are milliseconds of one clock that is never set back. */
export interface Window {
  readonly max: number
  readonly windowMs: number
  usedAt(nowMs: number): number
  /** How long until fewer are in the window; 0 where none is. */
  resetMsAt(nowMs: number): number
  /** Precondition: fewer than `max` are in the window. */
  add(nowMs: number): void
}
