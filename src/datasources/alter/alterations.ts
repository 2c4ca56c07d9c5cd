/**
 * Alters of data sources: noted in the catalog, made in the tables, then shown.
 *
 * What is noted and not shown is taken back: at once when something fails, by the next alter when that failed too, and at
 * the start when the process died.
 */
import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Ingest } from '../../ingest/ingest.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { toChangeError } from '../../store/caller-errors.ts'
import { changeBehindBarrier, changeWhileHeld } from '../barrier.ts'
import { movesQuarantineTime } from '../quarantine/quarantine-time.ts'
import { type AlteredTables, alterTables, takeBackTables } from './alter-tables.ts'
import type { Alteration } from './alteration.ts'

export interface AlterationDeps {
  readonly catalog: Pick<Catalog, 'abandonAlter' | 'altering' | 'beginAlter' | 'completeAlter' | 'revise'>
  readonly store: AlteredTables
  readonly ingest: Pick<Ingest, 'withBarrier' | 'withHold'>
  readonly logger: Logger
}

interface RunningChange {
  readonly ended: Promise<void>
  /** Whether it copies rows. */
  readonly copies: boolean
}

export class Alterations {
  readonly #deps: AlterationDeps
  /** Changes of tables under way, by data source. */
  readonly #underWay = new Map<string, RunningChange>()

  constructor(deps: AlterationDeps) {
    this.#deps = deps
  }

  /** Precondition: nothing else changes the data source meanwhile. @throws ENGINE_FAILED (500), CHANGE_BLOCKED (503), … */
  async make(current: DataSource, { changed, hasTableChanges }: Alteration): Promise<void> {
    const { catalog, ingest } = this.#deps
    const { id } = current
    if (!hasTableChanges) {
      const { description, kafkaStoreRawValue } = changed
      await catalog.revise(id, { description, kafkaStoreRawValue })
      return
    }
    await this.#takeBackEarlier(current)
    const copies = movesQuarantineTime(current, changed)
    const change = async (): Promise<void> => {
      const ended = this.#change(current, changed)
      this.#underWay.set(id, { ended, copies })
      await ended.finally(() => this.#underWay.delete(id))
    }
    if (copies) await changeWhileHeld(ingest, current, change)
    else await changeBehindBarrier(ingest, current, change)
  }

  async #change(current: DataSource, changed: DataSource): Promise<void> {
    const { catalog, store } = this.#deps
    await catalog.beginAlter(changed)
    try {
      await alterTables(store, current, changed)
      await catalog.completeAlter(current.id)
    } catch (error) {
      await this.#takeBackNow(current, changed)
      throw error
    }
  }

  /**
   * Takes back what an earlier process left half done, or an engine that ended. Raises `StoreError`.
   *
   * @param engine takes statements, copies too, while others have to wait.
   */
  async mend(engine: AlteredTables): Promise<void> {
    // What runs now takes itself back, or goes on in the engine that was started again. What copies rows does so behind this:
    // until then the engine takes no copies but ours.
    const awaited = [...this.#underWay.values()].filter(({ copies }) => !copies)
    await Promise.allSettled(awaited.map(({ ended }) => ended))
    for (const { dataSource, pending } of this.#deps.catalog.altering()) {
      const { id, name } = dataSource
      if (this.#underWay.has(id)) continue
      this.#deps.logger.info({ id, name }, 'A half-made change of a data source is rolled back.')
      await this.#takeBack(dataSource, pending, engine)
    }
  }

  async #takeBackEarlier({ id }: DataSource): Promise<void> {
    const left = this.#deps.catalog.altering().find(({ dataSource }) => dataSource.id === id)
    if (left === undefined) return
    try {
      await this.#takeBack(left.dataSource, left.pending)
    } catch (error) {
      throw toChangeError(error)
    }
  }

  async #takeBackNow(current: DataSource, changed: DataSource): Promise<void> {
    try {
      await this.#takeBack(current, changed)
    } catch (err) {
      const fields = { err, id: current.id, name: current.name }
      this.#deps.logger.error(fields, 'A change of a data source could not be rolled back yet; the next start does it.')
    }
  }

  async #takeBack(current: DataSource, changed: DataSource, engine = this.#deps.store): Promise<void> {
    await takeBackTables(engine, changed, current)
    await this.#deps.catalog.abandonAlter(current.id)
  }
}
