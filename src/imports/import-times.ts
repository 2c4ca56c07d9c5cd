import type { DataSourceId } from '../catalog/data-source.types.ts'
import { BoundedCache } from '../shared/bounded-cache.ts'

/** As many as there may be data sources. */
const timesMax = 100_000

/** When the last import into each data source ended that brought rows, since the start of the service. */
export class ImportTimes {
  readonly #times = new BoundedCache<number>({ entriesMax: timesMax, weightMax: timesMax })

  /** Queries see the rows from now on. */
  note(dataSourceId: DataSourceId, atMs: number): void {
    this.#times.set(dataSourceId, atMs, 1)
  }

  /** Epoch milliseconds; null for none. */
  lastOf(dataSourceId: DataSourceId): number | null {
    return this.#times.get(dataSourceId) ?? null
  }
}
