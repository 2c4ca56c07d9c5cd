/**
 * Who holds how many sessions of a pool.
 *
 * A statement cannot be stopped to make room for another, so some sessions are left to others whatever one owner asks for. Of
 * those who wait, one who holds fewer comes first: an owner with many slow statements waits for its own, and not the others for it.
 */
export class SessionShares<Session> {
  readonly #count: number
  readonly #max: number
  readonly #held = new Map<string, number>()
  readonly #owners = new Map<Session, string>()

  /** @param leftCount sessions that one owner leaves to others. */
  constructor(count: number, leftCount: number) {
    this.#count = count
    this.#max = Math.max(1, count - leftCount)
  }

  /** Whether an owner may hold one more. */
  hasRoom(owner: string | undefined): boolean {
    return owner === undefined || this.#heldBy(owner) < this.#max
  }

  /** What one owner may have of so many places, at the same share as of the sessions. */
  shareOf(places: number): number {
    return Math.ceil((places * this.#max) / this.#count)
  }

  take(session: Session, owner: string | undefined): void {
    if (owner === undefined) return
    this.#owners.set(session, owner)
    this.#held.set(owner, this.#heldBy(owner) + 1)
  }

  giveBack(session: Session): void {
    const owner = this.#owners.get(session)
    if (owner === undefined) return
    this.#owners.delete(session)
    const held = this.#heldBy(owner) - 1
    if (held === 0) this.#held.delete(owner)
    else this.#held.set(owner, held)
  }

  /** Of those whose owner may hold one more, the first whose owner holds fewest; undefined where there is none. */
  nextOf<Waiter extends { readonly owner: string | undefined }>(waiters: Iterable<Waiter>): Waiter | undefined {
    let next: Waiter | undefined
    let fewest = this.#max
    for (const waiter of waiters) {
      const held = waiter.owner === undefined ? 0 : this.#heldBy(waiter.owner)
      if (held >= fewest) continue
      next = waiter
      fewest = held
      if (held === 0) break
    }
    return next
  }

  #heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0
  }
}
