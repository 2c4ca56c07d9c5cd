/** Work that runs once at a time: whoever asks while it runs has it run once more behind. */
export class Rerun {
  readonly #run: () => Promise<void>
  #isAsked = false
  #running: Promise<void> | null = null

  /** @param run must not fail. */
  constructor(run: () => Promise<void>) {
    this.#run = run
  }

  /** What runs now; null where nothing does. */
  get running(): Promise<void> | null {
    return this.#running
  }

  /** Resolves once a run has ended that began no earlier than now. */
  ask(): Promise<void> {
    this.#isAsked = true
    this.#running ??= this.#runAsked().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #runAsked(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false
      await this.#run()
    }
  }
}
