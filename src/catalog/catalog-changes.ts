import { errors } from '../shared/errors/errors.ts'
import type { CatalogStorage, CatalogWrite } from './catalog-storage.types.ts'

// A change takes a few milliseconds, and each is held by a request that waits for it.
const changesWaitingMax = 1_000
const retryAfterSeconds = 1

/** A change that was found possible. */
export interface PlannedChange<Result> {
  /** All of them or none; empty when there is nothing to change. */
  readonly writes: readonly CatalogWrite[]
  /** Makes readers see it; called once it is on disk. */
  readonly show: () => void
  readonly result: Result
}

/** Makes changes of the catalog one after the other, and counts them. */
export class CatalogChanges {
  readonly #storage: Pick<CatalogStorage, 'commit'>
  #catalogVersion: number
  #waitingCount = 0
  #lastChange: Promise<unknown> = Promise.resolve()

  constructor(storage: Pick<CatalogStorage, 'commit'>, catalogVersion: number) {
    this.#storage = storage
    this.#catalogVersion = catalogVersion
  }

  get catalogVersion(): number {
    return this.#catalogVersion
  }

  /**
   * Makes one change after all that were asked for before it; `plan` sees what they left, and may refuse.
   *
   * @throws CHANGES_TOO_MANY (503) when as many wait as may; what `plan` throws.
   */
  async make<Result>(plan: () => PlannedChange<Result>): Promise<Result> {
    if (this.#waitingCount >= changesWaitingMax) throw errors.CHANGES_TOO_MANY({ retryAfterSeconds })
    this.#waitingCount += 1
    const change = this.#lastChange.then(() => this.#commit(plan()))
    // The next change comes after this one, however it ends; its caller alone is told how.
    this.#lastChange = change.then(nothing, nothing)
    try {
      return await change
    } finally {
      this.#waitingCount -= 1
    }
  }

  /** Waits for the changes under way. */
  async close(): Promise<void> {
    await this.#lastChange
  }

  async #commit<Result>({ writes, show, result }: PlannedChange<Result>): Promise<Result> {
    if (writes.length === 0) return result
    const catalogVersion = this.#catalogVersion + 1
    await this.#storage.commit({ catalogVersion, writes })
    this.#catalogVersion = catalogVersion
    show()
    return result
  }
}

function nothing(): void {}
