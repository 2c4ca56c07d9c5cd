/** A bounded number of places, given out in the order of asking. */
export class Semaphore {
  private free: number
  private readonly waiting: (() => void)[] = []

  constructor(places: number) {
    this.free = places
  }

  /** Resolves when a place is free; it is then taken. */
  async acquire(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1
      return
    }
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve)
    })
  }

  /** Gives a place back, to whoever has waited longest. */
  release(): void {
    const next = this.waiting.shift()
    if (next === undefined) this.free += 1
    else next()
  }
}
