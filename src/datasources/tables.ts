// The two tables of a data source: its own, named by its id, and the quarantine beside it.

import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import { isPlainTable } from '../ingest/insert/plain-table.ts'
import { tableDefinition } from '../schema/definitions/table-definition.ts'
import { quarantineDefinition, quarantineTable } from '../store/sql/quarantine-table.ts'
import type { TableState, Tables } from '../store/tables.types.ts'

/** Creates both tables, or what is missing of them. Raises `StoreError` when the engine refuses the definition. */
export async function createTables(tables: Pick<Tables, 'create'>, dataSource: DataSource): Promise<void> {
  const { id, columns } = dataSource
  await tables.create(id, tableDefinition(dataSource), { computes: !isPlainTable(dataSource) })
  await tables.create(quarantineTable(id), quarantineDefinition(columns))
}

/** Drops both tables, or what there is of them. No query finds them any more when this resolves. */
export async function dropTables(tables: Pick<Tables, 'drop'>, id: DataSourceId | string): Promise<void> {
  await tables.drop(id)
  await tables.drop(quarantineTable(id))
}

/** Ids of the data sources that have tables of a replay. Raises `StoreError`. */
export async function replayOwners(tables: Pick<Tables, 'list'>): Promise<ReadonlySet<string>> {
  const names = [...(await tables.list()).keys()]
  return new Set(names.filter((name) => /^t_[0-9a-f]{32}_replay/.test(name)).map(ownerOf))
}

/** The tables of data sources that stand, quarantines included, by name. Raises `StoreError`. */
export async function listTables(tables: Pick<Tables, 'list'>): Promise<ReadonlyMap<string, TableState>> {
  return new Map([...(await tables.list())].filter(([name]) => /^t_[0-9a-f]{32}(_quarantine)?$/.test(name)))
}

/** The id of the data source that a table belongs to. */
export function ownerOf(table: string): string {
  return table.slice(0, 't_'.length + 32)
}
