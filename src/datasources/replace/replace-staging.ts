// Tables that nobody reads, in which a replace makes the new content.

import type { DataSourceId } from '../../catalog/data-source.types.ts'
import { assert } from '../../shared/assert.ts'
import type { DefinitionNature, GraphTable, LikeTable, Tables } from '../../store/tables.types.ts'

/** Numbered, because a table of a view's may have a name as long as names can be. */
const stagingName = /^t_[0-9a-f]{32}_[0-9]+_staging$/

/** The staging tables of one replace. */
export class Staging {
  /** Of the data source that is replaced. */
  readonly id: DataSourceId
  readonly #store: Tables
  readonly #nature: DefinitionNature
  readonly #created: string[] = []

  /** @param nature of statements that make a table like one of the replace. */
  constructor(store: Tables, id: DataSourceId, nature: DefinitionNature) {
    this.#store = store
    this.id = id
    this.#nature = nature
  }

  get tables(): readonly string[] {
    return this.#created
  }

  /** An empty table of the same definition. */
  async createLike(table: string): Promise<string> {
    return await this.#create({ like: table, keeps: 'same' })
  }

  /** An empty table of the same columns that keeps every row as it comes, whatever the engine of the other does. */
  async createPlain({ name }: Pick<GraphTable, 'name'>): Promise<string> {
    // A table AS another has its keys and its TTL too, and no word takes them away; one that keeps no rows has none.
    const columns = await this.#create({ like: name, keeps: 'nothing' })
    return await this.#create({ like: columns, keeps: 'everything' })
  }

  /** Drops all of them, or whatever has their names by now. */
  async drop(): Promise<void> {
    for (const table of this.#created) await this.#store.drop(table)
  }

  async #create(like: LikeTable): Promise<string> {
    const name = `${this.id}_${this.#created.length}_staging`
    assert(stagingName.test(name), 'a start recognizes what a kill leaves')
    this.#created.push(name)
    await this.#store.recreateLike(name, like, this.#nature)
    return name
  }
}

/** Drops what a kill in the middle of a replace left, and gives their names. */
export async function dropStagingTables(tables: Pick<Tables, 'drop' | 'list'>): Promise<readonly string[]> {
  const names = [...(await tables.list()).keys()].filter((name) => stagingName.test(name))
  for (const name of names) await tables.drop(name)
  return names
}
