/**
 * One question that many ask at once: at most one asking runs and one waits, however many there are.
 *
 * Whoever asks gets an answer that was begun after he asked, so that he sees what he did before.
 */
export class SharedAnswer<Answer> {
  readonly #ask: () => Promise<Answer>
  #running: Promise<Answer> | null = null
  #next: Promise<Answer> | null = null

  constructor(ask: () => Promise<Answer>) {
    this.#ask = ask
  }

  get(): Promise<Answer> {
    if (this.#running === null) return this.#begin()
    this.#next ??= this.#running.then(nothing, nothing).then(() => {
      this.#next = null
      return this.#begin()
    })
    return this.#next
  }

  #begin(): Promise<Answer> {
    const running = this.#ask().finally(() => {
      if (this.#running === running) this.#running = null
    })
    this.#running = running
    return running
  }
}

function nothing(): void {}
