/**
 * A bounded number of places that owners share: a place that is free goes to the one who holds the fewest, and among those to
 * who has waited longest.
 */
export class FairPlaces {
  #free: number
  readonly #ownerMax: number
  readonly #held = new Map<unknown, number>()
  readonly #waiting: { readonly owner: unknown; readonly take: () => void }[] = []

  /** No owner has more than `ownerMax` of the places. */
  constructor(places: number, ownerMax = places) {
    this.#free = places
    this.#ownerMax = ownerMax
  }

  /** Resolves when this owner has one more place. */
  async acquire(owner: unknown): Promise<void> {
    await new Promise<void>((take) => {
      this.#waiting.push({ owner, take })
      this.#giveOut()
    })
  }

  /** Gives a place of this owner back. */
  release(owner: unknown): void {
    const left = this.#heldBy(owner) - 1
    if (left === 0) this.#held.delete(owner)
    else this.#held.set(owner, left)
    this.#free += 1
    this.#giveOut()
  }

  #giveOut(): void {
    for (let next = this.#next(); this.#free > 0 && next >= 0; next = this.#next()) {
      const [chosen] = this.#waiting.splice(next, 1)
      if (chosen === undefined) return
      this.#free -= 1
      this.#held.set(chosen.owner, this.#heldBy(chosen.owner) + 1)
      chosen.take()
    }
  }

  /** The index of who is next among those that wait, or -1. */
  #next(): number {
    let found = -1
    let fewest = this.#ownerMax
    for (const [index, { owner }] of this.#waiting.entries()) {
      const count = this.#heldBy(owner)
      if (count >= fewest) continue
      found = index
      fewest = count
    }
    return found
  }

  #heldBy(owner: unknown): number {
    return this.#held.get(owner) ?? 0
  }
}
