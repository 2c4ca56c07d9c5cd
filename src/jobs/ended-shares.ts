/**
 * Of the jobs that have ended, who has how many: by kind and owner, the oldest first. So that whoever has most loses the oldest,
 * whichever share that is, without a look at all of them. Most services never have so many jobs: until somebody asks, it is only
 * noted whose they are.
 */
export class EndedShares {
  readonly #shares = new Map<string, Set<string>>()
  /** The shares that have so many jobs. */
  readonly #bySize = new Map<number, Set<string>>()
  readonly #keys = new Map<string, string>()
  #largest = 0
  #isAsked = false

  get size(): number {
    return this.#keys.size
  }

  /** @param key of the share; see `shareKeyOf`. */
  add(id: string, key: string): void {
    this.#keys.set(id, key)
    if (this.#isAsked) this.#put(id, key)
  }

  /** The key of the share that it was in; undefined where it was in none. */
  remove(id: string): string | undefined {
    const key = this.#keys.get(id)
    const share = key === undefined ? undefined : this.#shares.get(key)
    this.#keys.delete(id)
    if (key === undefined || share === undefined) return key
    this.#change(key, share, () => share.delete(id))
    if (share.size === 0) this.#shares.delete(key)
    return key
  }

  /** The oldest job of a share that has most. */
  oldestOfLargest(): string | undefined {
    if (!this.#isAsked) for (const [id, key] of this.#keys) this.#put(id, key)
    this.#isAsked = true
    const [key = ''] = this.#bySize.get(this.#largest) ?? []
    const [id] = this.#shares.get(key) ?? []
    return id
  }

  #put(id: string, key: string): void {
    const share = this.#shares.get(key) ?? new Set()
    this.#shares.set(key, share)
    this.#change(key, share, () => share.add(id))
  }

  #change(key: string, share: ReadonlySet<string>, change: () => void): void {
    const before = this.#bySize.get(share.size)
    before?.delete(key)
    if (before?.size === 0) this.#bySize.delete(share.size)
    change()
    if (share.size > 0) {
      const same = this.#bySize.get(share.size) ?? new Set()
      this.#bySize.set(share.size, same.add(key))
    }
    // A share changes by one, so the largest does.
    if (share.size > this.#largest) this.#largest = share.size
    else if (!this.#bySize.has(this.#largest)) this.#largest = share.size
  }
}
