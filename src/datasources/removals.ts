import type { Catalog } from '../catalog/catalog.ts'
import type { DataSourceId } from '../catalog/data-source.types.ts'
import type { Logger } from '../observe/logger.ts'
import type { Store } from '../store/store.types.ts'
import { dropTables } from './tables.ts'

interface RemovalsDeps {
  readonly catalog: Pick<Catalog, 'remove'>
  readonly store: Pick<Store, 'replays' | 'tables' | 'views'>
  readonly logger: Pick<Logger, 'error'>
}

/** Removes data sources that nobody finds any more: their tables, then their entries of the catalog. */
export class Removals {
  readonly #deps: RemovalsDeps
  /** Hidden data sources that are to go, and could not yet, with the views that go along. */
  readonly #leftovers = new Map<DataSourceId, readonly string[]>()

  constructor(deps: RemovalsDeps) {
    this.#deps = deps
  }

  /** Drops the tables, and the views over them before, and others that go with these, then the hidden entry. */
  async remove(id: DataSourceId, others: readonly string[] = []): Promise<void> {
    const { replays, tables, views } = this.#deps.store
    for (const name of [...others, ...(await views.naming(id))]) await views.drop(name)
    await replays.drop(id)
    await dropTables(tables, id)
    await this.#deps.catalog.remove(id)
  }

  /** What could not be taken back holds its name: it is tried again before another data source is made. */
  async endLeftovers(): Promise<void> {
    for (const [id, others] of [...this.#leftovers]) await this.takeBack(id, others)
  }

  /** Drops a data source that nobody finds any more. What fails here is tried again by the next creation, or at the next start. */
  async takeBack(id: DataSourceId, others: readonly string[] = []): Promise<void> {
    try {
      await this.remove(id, others)
      this.#leftovers.delete(id)
    } catch (err) {
      const isKnown = this.#leftovers.has(id)
      this.#leftovers.set(id, others)
      if (!isKnown)
        this.#deps.logger.error(
          { err, id },
          'A data source could not be removed yet; the next creation or start does it.',
        )
    }
  }
}
