// The two tables of a data source: its own, named by its id, and the quarantine beside it.

import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import { isPlainTable } from '../ingest/insert/plain-table.ts'
import { columnsClause, engineClause } from '../schema/definitions/table-definition.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'
import { clickhouseCodes } from '../store/engine-codes.ts'
import { quarantineDefinition, quarantineTable } from '../store/sql/quarantine-table.ts'
import type { Store, TableStatistics } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import { workspaceDatabase } from '../store/workspace-database.ts'

type Tables = Pick<Store, 'command' | 'rows'>

/** Creates both tables, or what is missing of them. Raises `StoreError` when the engine refuses the definition. */
export async function createTables(tables: Tables, dataSource: DataSource): Promise<void> {
  const { id, columns, engine, indexes } = dataSource
  const definition = `(${columnsClause(columns, indexes)}) ${engineClause(engine, columns)}`
  await createTable(tables, id, { definition, computes: !isPlainTable(dataSource) })
  const quarantine = quarantineDefinition(columns)
  await createTable(tables, quarantineTable(id), { definition: quarantine, computes: false })
}

export interface CreatedTable {
  /** What follows its name. */
  readonly definition: string
  /** Whether the engine has more to compute for it than a moment takes. */
  readonly computes: boolean
}

/** Creates a table unless it stands. Raises `StoreError`. */
export async function createTable(tables: Tables, table: string, created: CreatedTable): Promise<void> {
  const { definition, computes } = created
  await tables.command(`CREATE TABLE IF NOT EXISTS ${qualified(table)} ${definition}`, { computes })
}

/** Drops both tables, or what there is of them. No query finds them any more when this resolves. */
export async function dropTables(tables: Tables, id: DataSourceId | string): Promise<void> {
  await tables.command(`DROP TABLE IF EXISTS ${qualified(id)}`)
  await tables.command(`DROP TABLE IF EXISTS ${qualified(quarantineTable(id))}`)
}

/** The tables of a replay: the rows that are chosen, those that did not fit, and one that rows are tried in. */
export function replayTables(id: DataSourceId | string): { readonly chosen: string; readonly misfits: string } {
  return { chosen: `${id}_replay`, misfits: `${id}_replay_misfits` }
}

/** Drops what a replay made. Raises `StoreError`. */
export async function dropReplayTables(tables: Tables, id: DataSourceId | string): Promise<void> {
  const { chosen, misfits } = replayTables(id)
  for (const table of [chosen, misfits, `${id}_replay_trial`]) {
    await tables.command(`DROP TABLE IF EXISTS ${qualified(table)}`)
  }
}

/** Ids of the data sources that have tables of a replay. Raises `StoreError`. */
export async function replayOwners(tables: Tables): Promise<readonly string[]> {
  const rows = await tables.rows<{ readonly id: string }>(
    `SELECT DISTINCT substring(name, 1, 34) AS id FROM system.tables
     WHERE database = ${quoteString(workspaceDatabase)} AND match(name, '^t_[0-9a-f]{32}_replay')`,
  )
  return rows.map(({ id }) => id)
}

/** Rows of the tables of data sources that stand, quarantines included, by table name. */
export async function listTables(tables: Tables): Promise<ReadonlyMap<string, number>> {
  const rows = await tables.rows<{ readonly name: string; readonly rowCount: number }>(
    `SELECT name, ifNull(total_rows, 0) AS rowCount FROM system.tables
     WHERE database = ${quoteString(workspaceDatabase)} AND match(name, '^t_[0-9a-f]{32}(_quarantine)?$')`,
  )
  return new Map(rows.map(({ name, rowCount }) => [name, rowCount]))
}

/** Deletes all rows; an engine that keeps none has nothing to do. Raises `StoreError`. */
export async function truncateTable(tables: Tables, table: string): Promise<void> {
  try {
    await tables.command(`TRUNCATE TABLE ${qualified(table)}`)
  } catch (error) {
    // Only the engine Null says so.
    if (!(error instanceof StoreError) || error.clickhouseCode !== clickhouseCodes.notImplemented) throw error
  }
}

/** Rows and bytes of some tables, by name; one that is not there is left out. Raises `StoreError`. */
export async function sizesOf(tables: Tables, names: readonly string[]): Promise<ReadonlyMap<string, TableStatistics>> {
  const rows = await tables.rows<TableStatistics & { readonly name: string }>(
    `SELECT name, ifNull(total_rows, 0) AS rowCount, ifNull(total_bytes, 0) AS byteCount FROM system.tables
     WHERE database = ${quoteString(workspaceDatabase)} AND name IN (${names.map(quoteString).join(', ')})`,
  )
  return new Map(rows.map(({ name, rowCount, byteCount }) => [name, { rowCount, byteCount }]))
}

/** The id of the data source that a table of `listTables` belongs to. */
export function ownerOf(table: string): string {
  return table.slice(0, 't_'.length + 32)
}

/** The table as statements name it. */
export function qualified(table: string): string {
  return `${quoteName(workspaceDatabase)}.${quoteName(table)}`
}
