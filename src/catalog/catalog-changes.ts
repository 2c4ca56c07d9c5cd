import { ChangeQueue } from '../shared/change-queue.ts'
import type { LoadedRecords, LoadedWrite } from '../storage/loaded-records.ts'

const catalogVersionKey = 'catalog_version'

/** A change that was found possible. */
export interface PlannedChange<Result> {
  /** All of them or none; empty when there is nothing to change. */
  readonly writes: readonly LoadedWrite[]
  /** Makes readers see it; called once it is on disk. */
  readonly show: () => void
  readonly result: Result
}

/** Makes changes of the catalog one after the other, and counts them. */
export class CatalogChanges {
  readonly #records: LoadedRecords
  readonly #queue = new ChangeQueue()
  #catalogVersion: number

  /** @param records of the kind `meta` too. */
  constructor(records: LoadedRecords) {
    this.#records = records
    this.#catalogVersion = Number(records.take('meta').get(catalogVersionKey) ?? 0)
  }

  get catalogVersion(): number {
    return this.#catalogVersion
  }

  /**
   * Makes one change after all that were asked for before it; `plan` sees what they left, and may refuse.
   *
   * @throws CHANGES_TOO_MANY (503) when as many wait as may; what `plan` throws.
   */
  make<Result>(plan: () => PlannedChange<Result>): Promise<Result> {
    return this.#queue.run('catalog', () => this.#commit(plan()))
  }

  /** Waits for the changes under way. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  async #commit<Result>({ writes, show, result }: PlannedChange<Result>): Promise<Result> {
    if (writes.length === 0) return result
    const catalogVersion = this.#catalogVersion + 1
    await this.#records.write([{ kind: 'meta', key: catalogVersionKey, value: catalogVersion }, ...writes])
    this.#catalogVersion = catalogVersion
    show()
    return result
  }
}
