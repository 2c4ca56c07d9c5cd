/** How far one read of a file has come, and how long it has waited for the server. */
export class Reading {
  readonly offset: number
  readonly #now: () => number
  #receivedBytes = 0
  #waitedMs = 0
  /** Null while nobody waits. */
  #waitingSince: number | null = null

  /** @param now milliseconds of a clock that is never set. */
  constructor(offset: number, now: () => number) {
    this.offset = offset
    this.#now = now
  }

  get reachedBytes(): number {
    return this.offset + this.#receivedBytes
  }

  get waitedMs(): number {
    return this.#waitedMs + (this.#waitingSince === null ? 0 : this.#now() - this.#waitingSince)
  }

  received(byteCount: number): void {
    this.#receivedBytes += byteCount
  }

  /** The same chunks; whoever asks for one waits for the server until it is there. */
  async *timed(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        this.#waitingSince = this.#now()
        const next = await chunks.next()
        this.#waitedMs = this.waitedMs
        this.#waitingSince = null
        if (next.done === true) return
        yield next.value
      }
    } finally {
      await chunks.return(undefined)
    }
  }
}
