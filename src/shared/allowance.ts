/** How many there may be at once, and how many more a millisecond gives, up to those at once. */
export interface AllowanceRules {
  readonly atOnce: number
  readonly perMs: number
}

/** What may be taken: some at once, and more as time goes on. */
export class Allowance {
  readonly #rules: AllowanceRules
  readonly #now: () => number
  #left: number
  #refilledAtMs: number

  /** @param now milliseconds of any clock; one that goes back gives as much as one that goes on. */
  constructor(rules: AllowanceRules, now: () => number) {
    this.#rules = rules
    this.#now = now
    this.#left = rules.atOnce
    this.#refilledAtMs = now()
  }

  /** False when there is none left. The clock is read only then. */
  take(): boolean {
    if (this.#left < 1) this.#refill()
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  #refill(): void {
    const nowMs = this.#now()
    const passedMs = Math.abs(nowMs - this.#refilledAtMs)
    this.#left = Math.min(this.#rules.atOnce, this.#left + passedMs * this.#rules.perMs)
    this.#refilledAtMs = nowMs
  }
}
