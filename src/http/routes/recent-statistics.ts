import type { DataSourceId } from '../../catalog/data-source.types.ts'
import type { DataSourceStatistics } from '../../datasources/datasources.types.ts'
import { BoundedCache } from '../../shared/bounded-cache.ts'

interface Asked {
  readonly askedAtMs: number
  readonly statistics: Promise<DataSourceStatistics>
}

/** Data sources whose sizes are kept. */
const keptMax = 100
/** How old a size may be. */
const oldestMs = 1_000

/** Sizes of data sources as they were within the last second, for whoever waits for a job and asks for it again and again. */
export class RecentStatistics {
  readonly #ask: (id: DataSourceId) => Promise<DataSourceStatistics>
  /** Milliseconds of a clock that only goes on. */
  readonly #now: () => number
  readonly #kept = new BoundedCache<Asked>({ entriesMax: keptMax, weightMax: keptMax })

  constructor(ask: (id: DataSourceId) => Promise<DataSourceStatistics>, now = () => performance.now()) {
    this.#ask = ask
    this.#now = now
  }

  /** @throws ENGINE_UNAVAILABLE (503) */
  async of(id: DataSourceId): Promise<DataSourceStatistics> {
    const nowMs = this.#now()
    const kept = this.#kept.get(id)
    const isRecent = kept !== undefined && nowMs - kept.askedAtMs < oldestMs
    const asked = isRecent ? kept : { askedAtMs: nowMs, statistics: this.#ask(id) }
    if (!isRecent) this.#kept.set(id, asked, 1)
    try {
      return await asked.statistics
    } catch (thrown) {
      if (this.#kept.get(id) === asked) this.#kept.delete(id)
      throw thrown
    }
  }
}
