// What would break when a data source goes: views that read its tables or write into them. They are found in the engine,
// never kept: whoever makes a view, the engine knows it.

import type { DataSourceId } from '../catalog/data-source.types.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'
import type { Store } from '../store/store.types.ts'
import { workspaceDatabase } from '../store/workspace-database.ts'

type Tables = Pick<Store, 'command' | 'rows'>

/** Names of the views that read from the data source or its quarantine, or write into them, in order. Raises `StoreError`. */
export async function dependentViews(tables: Tables, id: DataSourceId): Promise<readonly string[]> {
  // An id is 128 random bits, so wherever it stands in a view's text, the data source is meant.
  const rows = await tables.rows<{ readonly name: string }>(
    `SELECT name FROM system.tables WHERE database = ${quoteString(workspaceDatabase)}
     AND engine IN ('MaterializedView', 'View') AND position(create_table_query, ${quoteString(id)}) > 0 ORDER BY name`,
  )
  return rows.map(({ name }) => name)
}

/** Drops views, not the tables that they write into. Raises `StoreError`. */
export async function dropViews(tables: Tables, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await tables.command(`DROP VIEW IF EXISTS ${quoteName(workspaceDatabase)}.${quoteName(name)}`)
  }
}
