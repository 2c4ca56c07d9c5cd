/** How long the requests of one turn of the event loop have taken by now. A turn begins with its first request. */
export class TurnTime {
  readonly #now: () => number
  #startedAtMs: number | null = null

  /** @param now milliseconds of a clock that only goes on. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Milliseconds. */
  get passedMs(): number {
    const nowMs = this.#now()
    if (this.#startedAtMs === null) {
      this.#startedAtMs = nowMs
      setImmediate(this.#end)
    }
    return nowMs - this.#startedAtMs
  }

  readonly #end = (): void => {
    this.#startedAtMs = null
  }
}
