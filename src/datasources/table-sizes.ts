import type { DataSourceId } from '../catalog/data-source.types.ts'
import type { QueryLimits } from '../store/caller-errors.ts'
import { quarantineTable } from '../store/sql/quarantine-table.ts'
import type { Store } from '../store/store.types.ts'
import type { TableStatistics } from '../store/tables.types.ts'
import type { DataSourceStatistics } from './datasources.types.ts'
import { toReadError } from './reader-rows.ts'
import { SharedAnswer } from './shared-answer.ts'

/** Rows and bytes of data sources and their quarantines. */
export class TableSizes {
  readonly #tables: Pick<Store['tables'], 'list'>
  readonly #limits: QueryLimits
  /** The engine looks at every table for it. */
  readonly #all: SharedAnswer<ReadonlyMap<string, TableStatistics>>

  constructor(tables: Pick<Store['tables'], 'list'>, limits: QueryLimits) {
    this.#tables = tables
    this.#limits = limits
    this.#all = new SharedAnswer(() => tables.list())
  }

  /** `ids` is asked when the sizes are there: what was made meanwhile is among them. */
  async ofAll(ids: () => readonly DataSourceId[]): Promise<ReadonlyMap<string, DataSourceStatistics>> {
    try {
      const tables = await this.#all.get()
      return new Map(ids().map((id) => [id, statisticsIn(tables, id)]))
    } catch (error) {
      throw toReadError(error, this.#limits)
    }
  }

  async of(id: DataSourceId): Promise<DataSourceStatistics> {
    try {
      return statisticsIn(await this.#tables.list([id, quarantineTable(id)]), id)
    } catch (error) {
      throw toReadError(error, this.#limits)
    }
  }
}

const noRows: TableStatistics = { rowCount: 0, byteCount: 0 }

function statisticsIn(tables: ReadonlyMap<string, TableStatistics>, id: DataSourceId): DataSourceStatistics {
  return { landing: tables.get(id) ?? noRows, quarantine: tables.get(quarantineTable(id)) ?? noRows }
}
