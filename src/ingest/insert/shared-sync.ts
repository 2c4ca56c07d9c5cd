/**
 * Brings what imports have stored onto the disk before they are acknowledged: a power cut takes nothing of an import that was
 * answered 200.
 *
 * One sync is of the whole file system, so it serves whoever asked before it began; those who come while it runs share the
 * next one. However many small imports end at once, two syncs answer all of them.
 */
export class SharedSync {
  readonly #sync: () => Promise<void>
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null

  constructor(sync: () => Promise<void>) {
    this.#sync = sync
  }

  /** Resolves when what was written before the call is on the disk. Throws what the disk refused with. */
  run(): Promise<void> {
    // One that has ended may have left another that is about to begin: two never run beside each other.
    if (this.#running === null && this.#next === null) return this.#start()
    this.#next ??= this.#startBehind(this.#running ?? Promise.resolve())
    return this.#next
  }

  async #startBehind(running: Promise<void>): Promise<void> {
    // Whoever asked for that one is told of its failure; this one says for itself what the disk takes.
    await Promise.allSettled([running])
    this.#next = null
    await this.#start()
  }

  #start(): Promise<void> {
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = null
    })
    this.#running = running
    return running
  }
}
