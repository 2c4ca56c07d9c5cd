/** A bounded number of places, given out in the order of asking. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves when a place is free; it is then taken. Rejects with the reason of `signal`, and leaves the line. */
  async acquire(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const take = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1)
        reject(signal?.reason)
      }
      this.#waiting.push(take)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  /** Gives a place back, to whoever has waited longest. */
  release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
