// The new content of every table of a cascade, in staging tables.
//
// Without a condition all of it is made anew. With one, only partitions in which rows change: the others are taken over
// from the old table, which shares their files with it, and what comes out is a whole table again. So there is one way in
// which new content takes the place of the old one, whatever is replaced.

import { assert } from '../../shared/assert.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type { GraphTable, TableGraph } from '../../store/sql/table-graph.ts'
import type { Store, TablePair } from '../../store/store.types.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'
import type { Cascade, CascadeTarget } from './replace-cascade.ts'
import { rowsAlias } from './replace-condition.ts'
import { type ChangedPartitions, changedPartitions, type TableNames } from './replace-partitions-behind-views.ts'
import { countRows, qualified, type Staging } from './replace-staging.ts'
import { copyView } from './replace-views.ts'

export interface ContentRooms {
  readonly store: Pick<Store, 'command' | 'copy' | 'rows'>
  readonly staging: Staging
  readonly graph: TableGraph
  readonly nameOf: TableNames
}

export interface RowsToMatch {
  /** A table that holds the rows as they came. */
  readonly input: string
  /** SQL over the columns, in brackets. */
  readonly condition: string
  /** Whether the landing table has a TTL: some of its rows may be gone when they are counted. */
  readonly ages: boolean
}

export interface MatchingRows {
  readonly rowCount: number
  readonly table: string
}

/** Tables by name, and what is read instead of each that changes. */
export class NewContent {
  readonly pairs: TablePair[] = []
  private readonly rooms: ContentRooms
  private readonly replacements = new Map<string, string>()
  private readonly changed = new Map<string, ChangedPartitions>()

  constructor(rooms: ContentRooms) {
    this.rooms = rooms
  }

  /** A staging table for all rows of the landing table. */
  async stageLanding({ landing }: Cascade): Promise<string> {
    return await this.stage(landing, 'all')
  }

  /**
   * The landing table with the rows of `input` that match in the place of its own that do. Gives their number, and the table
   * that has them alone.
   *
   */
  async stageMatching({ landing }: Cascade, { input, condition, ages }: RowsToMatch): Promise<MatchingRows> {
    const { store, staging } = this.rooms
    const { columns } = landing
    const names = columns.map((column) => `${rowsAlias}.${quoteName(column)} AS ${quoteName(column)}`).join(', ')
    const rowsOf = (table: string): string => `SELECT ${names} FROM ${qualified(table)} AS ${rowsAlias}`
    const added = await staging.createLike(landing.name)
    await store.copy({ table: added, columns, select: `${rowsOf(input)} WHERE ${condition}` })
    const addedIds = await partitionIds(store, added)
    const oldIds = await matchingPartitionIds(store, landing, condition)
    const ids = [...new Set([...addedIds, ...oldIds])]
    if (ids.length > 0) {
      const table = await this.stage(landing, ids)
      const kept = `${rowsOf(landing.name)}
        WHERE ${rowsAlias}._partition_id IN (${ids.map(quoteString).join(', ')}) AND NOT ifNull(${condition}, 0)`
      await store.copy({ table, columns, select: kept })
      // Behind the rows that are kept: where an engine lets the last row win, it is a new one.
      await this.takeOver(added, table, addedIds)
      await this.takeOthers(landing.name, table, ids)
    }
    const counted = ages ? `${qualified(input)} AS ${rowsAlias} WHERE ${condition}` : qualified(added)
    return { rowCount: await countRows(store, counted), table: added }
  }

  /** The tables behind the views, in order. */
  async stageTargets({ targets }: Cascade): Promise<void> {
    for (const target of targets) await this.stageTarget(target)
  }

  private async stageTarget(target: CascadeTarget): Promise<void> {
    const { rooms, replacements } = this
    const { graph, store } = rooms
    const partitions = await changedPartitions(target, { ...rooms, replacements, changed: this.changed })
    if (partitions !== 'all' && partitions.length === 0) return
    const before = new Map(replacements)
    const into = await this.stage(target.table, partitions)
    for (const view of target.views) {
      await copyView(store, graph, { view, into, target: target.table, replacements: before })
    }
    if (partitions === 'all') return
    const isChanged = new Set(partitions)
    for (const id of await partitionIds(store, into)) {
      if (!isChanged.has(id)) await store.command(`ALTER TABLE ${qualified(into)} DROP PARTITION ID ${quoteString(id)}`)
    }
    await this.takeOthers(target.table.name, into, partitions)
  }

  /** An empty table for the new content of another; from now on it is read instead. */
  private async stage({ name, engine }: GraphTable, changed: ChangedPartitions): Promise<string> {
    const { staging } = this.rooms
    const isKept = engine !== 'Null'
    // Rows of a Null table are kept only for what is computed from them.
    const table = isKept ? await staging.createLike(name) : await staging.createPlain({ name })
    if (isKept) this.pairs.push([name, table])
    this.replacements.set(name, qualified(table))
    this.changed.set(name, isKept ? changed : 'all')
    return table
  }

  /** Takes over all partitions of the old table but these. */
  private async takeOthers(from: string, into: string, ids: readonly string[]): Promise<void> {
    const others = await partitionIds(this.rooms.store, from)
    const changed = new Set(ids)
    await this.takeOver(
      from,
      into,
      others.filter((id) => !changed.has(id)),
    )
  }

  private async takeOver(from: string, into: string, ids: readonly string[]): Promise<void> {
    assert(from !== into, 'partitions go from one table to another')
    for (const id of ids) {
      await this.rooms.store.command(
        `ALTER TABLE ${qualified(into)} ATTACH PARTITION ID ${quoteString(id)} FROM ${qualified(from)}`,
        { isLong: true },
      )
    }
  }
}

async function partitionIds(store: Pick<Store, 'rows'>, table: string): Promise<readonly string[]> {
  const rows = await store.rows<{ readonly id: string }>(
    `SELECT DISTINCT partition_id AS id FROM system.parts
     WHERE active AND database = ${quoteString(workspaceDatabase)} AND table = ${quoteString(table)} ORDER BY id`,
  )
  return rows.map(({ id }) => id)
}

async function matchingPartitionIds(
  store: Pick<Store, 'rows'>,
  { name }: GraphTable,
  condition: string,
): Promise<readonly string[]> {
  const rows = await store.rows<{ readonly partition: string }>(
    `SELECT DISTINCT ${rowsAlias}._partition_id AS partition FROM ${qualified(name)} AS ${rowsAlias} WHERE ${condition}`,
    { isLong: true },
  )
  return rows.map(({ partition }) => partition)
}
