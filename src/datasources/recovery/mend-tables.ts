// Catalog and tables after a start: what belongs to nobody goes, and what is missing is made again.

import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { Store } from '../../store/store.types.ts'
import type { TableState } from '../../store/tables.types.ts'
import { createTables, dropTables, listTables, ownerOf, replayOwners } from '../tables.ts'

interface MendedDeps {
  readonly catalog: Pick<Catalog, 'find' | 'list' | 'replayOf'>
  readonly store: Pick<Store, 'replays' | 'tables'>
  readonly logger: Logger
}

/** Precondition: no data source is half made or half gone. Raises `StoreError`. */
export async function mendTables(deps: MendedDeps): Promise<void> {
  const { catalog, store } = deps
  for (const id of await replayOwners(store.tables)) {
    const dataSource = catalog.find(id)
    // Without a note nothing has been done with them.
    const isNoted = dataSource !== undefined && catalog.replayOf(dataSource.id) !== null
    if (!isNoted) await store.replays.drop(id)
  }
  const tables = await listTables(store.tables)
  for (const dataSource of catalog.list()) await mendTablesOf(dataSource, tables, deps)
  for (const owner of new Set([...tables.keys()].map(ownerOf))) {
    if (catalog.find(owner) === undefined) await mendOrphan(owner, tables, deps)
  }
}

type TablesByName = ReadonlyMap<string, TableState>

async function mendTablesOf(
  dataSource: DataSource,
  tables: TablesByName,
  { store, logger }: MendedDeps,
): Promise<void> {
  const { id, name } = dataSource
  if (tables.has(id) && tables.has(quarantineTable(id))) return
  logger.error({ id, name }, 'A data source had lost a table; it is made again, without its rows.')
  await createTables(store.tables, dataSource)
}

/** A table comes after its entry and goes before it, so one without an entry means that the catalog has lost it. */
async function mendOrphan(owner: string, tables: TablesByName, { store, logger }: MendedDeps): Promise<void> {
  const rowCount = (tables.get(owner)?.rowCount ?? 0) + (tables.get(quarantineTable(owner))?.rowCount ?? 0)
  if (rowCount > 0) {
    logger.error({ id: owner, rowCount }, 'Tables with rows belong to no data source; they are left alone.')
    return
  }
  logger.warn({ id: owner }, 'Empty tables that belong to no data source are dropped.')
  await dropTables(store.tables, owner)
}
