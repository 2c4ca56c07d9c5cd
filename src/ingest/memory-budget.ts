/** Counts the bytes that bodies hold in memory, from their coming until the engine has them or the log alone does. */
export class MemoryBudget {
  readonly bytesMax: number
  #held = 0
  readonly #waiting: (() => void)[] = []

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#held
  }

  /** Takes the bytes, unless there is no room; when nothing is held, anything is taken, or a large body never would be. */
  tryTake(byteCount: number): boolean {
    if (this.#held > 0 && this.#held + byteCount > this.bytesMax) return false
    this.#held += byteCount
    return true
  }

  /** Takes the bytes when there is room for them. */
  async take(byteCount: number): Promise<void> {
    while (!this.tryTake(byteCount)) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    }
  }

  give(byteCount: number): void {
    this.#held -= byteCount
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
