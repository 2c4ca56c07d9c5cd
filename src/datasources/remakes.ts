// Data sources without rows that are made anew under their ids.
//
// What is to be is noted in the catalog before a table is touched, and shown in one commit with the view for which it is made. What is
// noted and not shown is taken back: at once when something fails, and at the start when the process died. Nothing is lost by that:
// beside rows that a view put there meanwhile, which are in its source, there can be none.

import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import { isPlainTable } from '../ingest/insert/plain-table.ts'
import type { Logger } from '../observe/logger.ts'
import { tableDefinition } from '../schema/definitions/table-definition.ts'
import { toChangeError } from '../store/caller-errors.ts'
import { quarantineDefinition, quarantineTable } from '../store/sql/quarantine-table.ts'
import type { Store } from '../store/store.types.ts'

type RemadeTables = { readonly tables: Pick<Store['tables'], 'recreate'> }

interface RemakesDeps {
  readonly catalog: Pick<Catalog, 'abandonRemake' | 'beginRemake' | 'remaking'>
  readonly store: RemadeTables
  readonly logger: Pick<Logger, 'error' | 'info'>
}

export class Remakes {
  readonly #deps: RemakesDeps
  /** What takes itself back if it fails. */
  readonly #underWay = new Set<DataSourceId>()

  constructor(deps: RemakesDeps) {
    this.#deps = deps
  }

  /**
   * Runs `change`, which has the new definition shown, while the tables are of it; the old ones stand again if it fails. Precondition: it
   * has no rows, and gets none meanwhile but by what `change` makes. @throws what `change` does; ENGINE_FAILED (500), …
   */
  async make<Result>(changed: DataSource, change: () => Promise<Result>): Promise<Result> {
    const { catalog, logger, store } = this.#deps
    const { id, name } = changed
    await this.#takeBackEarlier(id)
    this.#underWay.add(id)
    try {
      await catalog.beginRemake(changed)
      await recreateTables(store, changed).catch((error: unknown) => Promise.reject(toChangeError(error)))
      return await change()
    } catch (thrown) {
      await this.#takeBack(id).catch((err: unknown) =>
        logger.error({ err, id, name }, 'A Data Source that was to be overridden could not be put back yet.'),
      )
      throw thrown
    } finally {
      this.#underWay.delete(id)
    }
  }

  /** Takes back what an earlier process left half done, or an engine that ended. Raises `StoreError`. */
  async mend(engine: RemadeTables): Promise<void> {
    for (const { dataSource } of this.#deps.catalog.remaking()) {
      const { id, name } = dataSource
      if (this.#underWay.has(id)) continue
      this.#deps.logger.info({ id, name }, 'A half-made override of a Data Source is taken back.')
      await this.#takeBack(id, engine)
    }
  }

  async #takeBackEarlier(id: DataSourceId): Promise<void> {
    await this.#takeBack(id).catch((error: unknown) => Promise.reject(toChangeError(error)))
  }

  /** Only what the catalog has not shown. */
  async #takeBack(id: DataSourceId, engine = this.#deps.store): Promise<void> {
    const { catalog } = this.#deps
    const left = catalog.remaking().find(({ dataSource }) => dataSource.id === id)
    if (left === undefined) return
    await recreateTables(engine, left.dataSource)
    await catalog.abandonRemake(id)
  }
}

async function recreateTables({ tables }: RemadeTables, dataSource: DataSource): Promise<void> {
  const { id, columns } = dataSource
  await tables.recreate(id, tableDefinition(dataSource), { computes: !isPlainTable(dataSource) })
  await tables.recreate(quarantineTable(id), quarantineDefinition(columns))
}
