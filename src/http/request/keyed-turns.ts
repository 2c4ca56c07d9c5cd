import { Semaphore } from '../../ingest/semaphore.ts'

/** Runs few at once for each key, in the order of their coming. */
export class KeyedTurns {
  readonly #count: number
  readonly #byKey = new Map<string, { readonly semaphore: Semaphore; userCount: number }>()

  constructor(count: number) {
    this.#count = count
  }

  async run<Result>(key: string, run: () => Promise<Result>): Promise<Result> {
    const turns = this.#byKey.get(key) ?? { semaphore: new Semaphore(this.#count), userCount: 0 }
    this.#byKey.set(key, turns)
    turns.userCount += 1
    await turns.semaphore.acquire()
    try {
      return await run()
    } finally {
      turns.semaphore.release()
      turns.userCount -= 1
      if (turns.userCount === 0) this.#byKey.delete(key)
    }
  }
}
