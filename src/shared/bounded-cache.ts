export interface CacheBounds {
  readonly entriesMax: number
  /** Of all entries together, in what their weights are counted in. */
  readonly weightMax: number
}

interface Entry<Value> {
  readonly value: Value
  readonly weight: number
}

/** Keeps what was used last, within bounds of number and weight. */
export class BoundedCache<Value> {
  readonly #bounds: CacheBounds
  // A Map keeps the order in which keys were set: the first one was not used for longest.
  readonly #entries = new Map<string, Entry<Value>>()
  #weight = 0
  /** The key that was used last. */
  #newest: string | null = null

  constructor(bounds: CacheBounds) {
    this.#bounds = bounds
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // Most often it is the last one already. A Map whose keys come and go is built anew again and again.
    if (key !== this.#newest) {
      this.#entries.delete(key)
      this.#entries.set(key, entry)
      this.#newest = key
    }
    return entry.value
  }

  /** A value that is heavier than all may be together is not kept. */
  set(key: string, value: Value, weight: number): void {
    this.delete(key)
    const { entriesMax, weightMax } = this.#bounds
    if (weight > weightMax || entriesMax < 1) return
    this.#entries.set(key, { value, weight })
    this.#newest = key
    this.#weight += weight
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entriesMax && this.#weight <= weightMax) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#weight -= entry.weight
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  get size(): number {
    return this.#entries.size
  }
}
