/** The time that a close has, out of which each module gets what those before it left. */
export class CloseTime {
  readonly #timeMaxMs: number
  readonly #clock: () => number
  #begunAt: number | null = null

  constructor(timeMaxMs: number, clock: () => number) {
    this.#timeMaxMs = timeMaxMs
    this.#clock = clock
  }

  begin(): void {
    this.#begunAt ??= this.#clock()
  }

  /** Milliseconds until this share of the time is over. */
  leftUntil(share: number): number {
    const now = this.#clock()
    return Math.max(0, (this.#begunAt ?? now) + this.#timeMaxMs * share - now)
  }
}
