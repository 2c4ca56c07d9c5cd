import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type { Statements } from '../statements.types.ts'
import type { GraphTable, GraphView, NewView, TableGraph, Views } from '../tables.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { qualified } from './qualified.ts'

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

/** Read again whenever a definition may have changed. */
interface KnownGraph {
  /** `Store.definitionVersion` for which it holds. */
  readonly version: number
  readonly graph: TableGraph
}

/** `Views` by statements that every adapter of the store can run. */
export class ViewStatements implements Views {
  readonly #statements: Statements
  #known: KnownGraph | null = null

  constructor(statements: Statements) {
    this.#statements = statements
  }

  async graph(): Promise<TableGraph> {
    // Taken before the engine is asked: a change meanwhile makes the answer old.
    const version = this.#statements.definitionVersion
    if (this.#known?.version === version) return this.#known.graph
    const graph = await this.#readGraph()
    this.#known = { version, graph }
    return graph
  }

  async #readGraph(): Promise<TableGraph> {
    const [rows, columns] = await Promise.all([
      this.#statements.rows<TableRow>(
        `SELECT name, toString(uuid) AS uuid, engine, partition_key AS partitionKey, as_select AS select,
           target_table AS target, target_database AS targetDatabase,
           arrayMap(pair -> pair.2, arrayFilter(pair -> pair.1 = ${database},
             arrayZip(dependencies_database, dependencies_table))) AS dependents
         FROM system.tables WHERE database = ${database}`,
      ),
      this.#columns(),
    ])
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

  async naming(name: string): Promise<readonly string[]> {
    const rows = await this.#statements.rows<{ readonly name: string }>(
      `SELECT name FROM system.tables WHERE database = ${database}
       AND engine IN ('MaterializedView', 'View') AND position(create_table_query, ${quoteString(name)}) > 0 ORDER BY name`,
    )
    return rows.map((row) => row.name)
  }

  async drop(name: string): Promise<void> {
    await this.#statements.command(`DROP VIEW IF EXISTS ${quoteName(workspaceDatabase)}.${quoteName(name)}`)
  }

  async names(): Promise<readonly string[]> {
    const rows = await this.#statements.rows<{ readonly name: string }>(
      `SELECT name FROM system.tables WHERE database = ${database} AND engine = '${viewEngine}' ORDER BY name`,
    )
    return rows.map((row) => row.name)
  }

  async create({ name, target, query }: NewView): Promise<void> {
    await this.#statements.command(
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${qualified(name)} TO ${qualified(target)} AS ${query}`,
    )
  }

  async sees(name: string, table: string): Promise<boolean> {
    // The engine keeps of each table which views depend on it.
    const found = await this.#statements.rows(
      `SELECT name FROM system.tables WHERE database = ${database} AND name = ${quoteString(table)}
       AND has(arrayZip(dependencies_database, dependencies_table), (${database}, ${quoteString(name)}))`,
    )
    return found.length > 0
  }

  async #columns(): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.#statements.rows<{ readonly table: string; readonly names: readonly string[] }>(
      `SELECT table, groupArray(name) AS names FROM
         (SELECT table, name FROM system.columns WHERE database = ${database} ORDER BY table, position)
       GROUP BY table`,
    )
    return new Map(rows.map(({ table, names }) => [table, names]))
  }
}

const database = quoteString(workspaceDatabase)
const viewEngine = 'MaterializedView'
