// Tables that nobody reads, in which a replace makes the new content.

import type { DataSourceId } from '../../catalog/data-source.types.ts'
import { assert } from '../../shared/assert.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type { GraphTable } from '../../store/sql/table-graph.ts'
import type { CommandNature, Store } from '../../store/store.types.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'

type Tables = Pick<Store, 'command' | 'rows'>

/** Numbered, because a table of a view's may have a name as long as names can be. */
const stagingPattern = '^t_[0-9a-f]{32}_[0-9]+_staging$'

/** The staging tables of one replace. */
export class Staging {
  /** Of the data source that is replaced. */
  readonly id: DataSourceId
  private readonly store: Tables
  private readonly nature: CommandNature
  private readonly created: string[] = []

  /** @param nature of statements that make a table like one of the replace. */
  constructor(store: Tables, id: DataSourceId, nature: CommandNature) {
    this.store = store
    this.id = id
    this.nature = nature
  }

  get tables(): readonly string[] {
    return this.created
  }

  /** An empty table of the same definition. */
  async createLike(table: string): Promise<string> {
    return await this.create(`AS ${qualified(table)}`)
  }

  /** An empty table of the same columns that keeps every row as it comes, whatever the engine of the other does. */
  async createPlain({ name }: Pick<GraphTable, 'name'>): Promise<string> {
    // A table AS another has its keys and its TTL too, and no word takes them away; one that keeps no rows has none.
    const columns = await this.create(`AS ${qualified(name)} ENGINE = Null`)
    return await this.create(
      `AS ${qualified(columns)} ENGINE = MergeTree ORDER BY tuple()
       SETTINGS share_nested_offsets = 0, non_replicated_deduplication_window = 10000`,
    )
  }

  /** Drops all of them, or whatever has their names by now. */
  async drop(): Promise<void> {
    for (const table of this.created) await dropTable(this.store, table)
  }

  private async create(definition: string): Promise<string> {
    const name = `${this.id}_${this.created.length}_staging`
    assert(new RegExp(stagingPattern).test(name), 'a start recognizes what a kill leaves')
    this.created.push(name)
    await dropTable(this.store, name)
    await this.store.command(`CREATE TABLE ${qualified(name)} ${definition}`, this.nature)
    return name
  }
}

/** Drops what a kill in the middle of a replace left, and gives their names. */
export async function dropStagingTables(store: Tables): Promise<readonly string[]> {
  const rows = await store.rows<{ readonly name: string }>(
    `SELECT name FROM system.tables
     WHERE database = ${quoteString(workspaceDatabase)} AND match(name, ${quoteString(stagingPattern)})`,
  )
  for (const { name } of rows) await dropTable(store, name)
  return rows.map(({ name }) => name)
}

export async function dropTable(store: Pick<Tables, 'command'>, table: string): Promise<void> {
  await store.command(`DROP TABLE IF EXISTS ${qualified(table)}`)
}

/** @param from what stands behind FROM. */
export async function countRows(store: Pick<Tables, 'rows'>, from: string): Promise<number> {
  const [row] = await store.rows<{ readonly count: number }>(`SELECT count() AS count FROM ${from}`, { isLong: true })
  return row?.count ?? 0
}

export function qualified(table: string): string {
  return `${quoteName(workspaceDatabase)}.${quoteName(table)}`
}
