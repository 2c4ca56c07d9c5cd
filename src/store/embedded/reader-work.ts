/** How long statements of readers have run, all together, that of each thread by itself. */
export class ReaderWork {
  readonly #now: () => number
  #threadCount = 0
  #sinceMs: number
  #threadMs = 0

  /** @param now milliseconds of a clock that is never set back. */
  constructor(now: () => number) {
    this.#now = now
    this.#sinceMs = now()
  }

  /** Those that run now count up to now. */
  get threadMs(): number {
    this.#count()
    return this.#threadMs
  }

  /** Gives what ends it. */
  begin(threadCount: number): () => void {
    this.#count()
    this.#threadCount += threadCount
    return () => {
      this.#count()
      this.#threadCount -= threadCount
    }
  }

  #count(): void {
    const nowMs = this.#now()
    this.#threadMs += this.#threadCount * (nowMs - this.#sinceMs)
    this.#sinceMs = nowMs
  }
}
