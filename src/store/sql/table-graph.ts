// The tables of the workspace and the materialized views between them, as the engine itself knows them.

import { quoteString } from '../../shared/text-escapes.ts'
import type { Store } from '../store.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'

/** A table that rows can lie in. */
export interface GraphTable {
  readonly name: string
  /** Goes with the content when two tables are exchanged. */
  readonly uuid: string
  /** `MergeTree`, `Join`, `Null`, … */
  readonly engine: string
  /** As the engine prints it; empty when there is none. */
  readonly partitionKey: string
  readonly columns: readonly string[]
}

/** A materialized view: what is inserted into `source` comes to `target` through `select`. */
export interface GraphView {
  readonly name: string
  readonly source: string
  readonly target: string
  /** The engine's own text of the query; its tables are qualified. */
  readonly select: string
  /** What the query gives. */
  readonly columns: readonly string[]
}

export interface TableGraph {
  readonly tables: ReadonlyMap<string, GraphTable>
  readonly views: readonly GraphView[]
}

interface TableRow {
  readonly name: string
  readonly uuid: string
  readonly engine: string
  readonly partitionKey: string
  readonly select: string
  readonly target: string
  readonly targetDatabase: string
  readonly dependents: readonly string[]
}

/** Reads the graph; views whose target lies in another database are left out. Raises `StoreError`. */
export async function readTableGraph(store: Pick<Store, 'rows'>): Promise<TableGraph> {
  const database = quoteString(workspaceDatabase)
  const rows = await store.rows<TableRow>(
    `SELECT name, toString(uuid) AS uuid, engine, partition_key AS partitionKey, as_select AS select,
       target_table AS target, target_database AS targetDatabase,
       arrayMap(pair -> pair.2, arrayFilter(pair -> pair.1 = ${database},
         arrayZip(dependencies_database, dependencies_table))) AS dependents
     FROM system.tables WHERE database = ${database}`,
  )
  const columns = await readColumns(store)
  const columnsOf = (name: string): readonly string[] => columns.get(name) ?? []
  const sourceOf = new Map(rows.flatMap(({ name, dependents }) => dependents.map((view) => [view, name] as const)))
  const tables = new Map<string, GraphTable>()
  const views: GraphView[] = []
  for (const { name, uuid, engine, partitionKey, select, target, targetDatabase } of rows) {
    if (engine !== viewEngine) {
      tables.set(name, { name, uuid, engine, partitionKey, columns: columnsOf(name) })
      continue
    }
    const source = sourceOf.get(name)
    const isWithin = source !== undefined && targetDatabase === workspaceDatabase
    if (isWithin) views.push({ name, source, target, select, columns: columnsOf(name) })
  }
  return { tables, views }
}

/** A table, and all that views make of its rows, at any depth. */
export function tablesBehind({ views }: TableGraph, table: string): ReadonlySet<string> {
  const found = new Set([table])
  // A Set gives what is added while it is walked.
  for (const name of found) for (const { source, target } of views) if (source === name) found.add(target)
  return found
}

const viewEngine = 'MaterializedView'

async function readColumns(store: Pick<Store, 'rows'>): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await store.rows<{ readonly table: string; readonly names: readonly string[] }>(
    `SELECT table, groupArray(name) AS names FROM
       (SELECT table, name FROM system.columns WHERE database = ${quoteString(workspaceDatabase)} ORDER BY table, position)
     GROUP BY table`,
  )
  return new Map(rows.map(({ table, names }) => [table, names]))
}
