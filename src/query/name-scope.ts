import type { DataSource } from '../catalog/data-source.types.ts'
import type { NameScope, TableSource } from '../sql/source.types.ts'
import { quarantineTable } from '../store/quarantine-table.ts'

type ReadDataSource = Pick<DataSource, 'id' | 'name' | 'columns' | 'engine'>

/** The data sources of the catalog, as those see them who read. */
export interface DataSourceReader {
  /** By name or id. */
  find(nameOrId: string): ReadDataSource | undefined
}

const quarantineSuffix = '_quarantine'

/** What names stand for in a query that belongs to no pipe: data sources, and their quarantines as `<name>_quarantine`. */
export function workspaceScope(catalog: DataSourceReader, database: string): NameScope {
  return {
    find(parts) {
      const [nameOrId] = parts
      if (nameOrId === undefined || parts.length !== 1) return undefined
      const dataSource = catalog.find(nameOrId)
      if (dataSource !== undefined)
        return tableSource(dataSource, { database, table: dataSource.id, name: dataSource.name })
      if (!nameOrId.endsWith(quarantineSuffix)) return undefined
      const owner = catalog.find(nameOrId.slice(0, -quarantineSuffix.length))
      if (owner === undefined) return undefined
      const name = `${owner.name}${quarantineSuffix}`
      return tableSource(owner, { database, table: quarantineTable(owner.id), name })
    },
  }
}

function tableSource(
  { columns, engine }: ReadDataSource,
  place: Pick<TableSource, 'database' | 'table' | 'name'>,
): TableSource {
  return {
    kind: 'table',
    ...place,
    columns: columns.map(({ name }) => name),
    isJoin: engine.name === 'Join',
    isMergeTree: engine.name.endsWith('MergeTree'),
    filter: null,
  }
}
