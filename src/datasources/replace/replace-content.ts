// The new content of every table of a cascade, in staging tables.
//
// Without a condition all of it is made anew. With one, only partitions in which rows change: the others are taken over
// from the old table, which shares their files with it, and what comes out is a whole table again. So there is one way in
// which new content takes the place of the old one, whatever is replaced.

import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import type { TableSource } from '../../store/sql/table-source.ts'
import type { Store, TablePair } from '../../store/store.types.ts'
import type { GraphTable, TableGraph } from '../../store/tables.types.ts'
import type { Cascade, CascadeTarget } from './replace-cascade.ts'
import { type ChangedPartitions, changedPartitions, type TableNames } from './replace-partitions-behind-views.ts'
import type { Staging } from './replace-staging.ts'
import { copyView } from './replace-views.ts'

export interface ContentDeps {
  readonly store: Pick<Store, 'copy' | 'copyQuery' | 'partitions' | 'tables'>
  readonly staging: Staging
  readonly graph: TableGraph
  readonly nameOf: TableNames
}

export interface RowsToMatch {
  /** A table that holds the rows as they came. */
  readonly input: string
  /** Over the columns, in brackets. */
  readonly condition: CheckedExpression
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
  readonly #deps: ContentDeps
  readonly #replacements = new Map<string, TableSource>()
  readonly #changed = new Map<string, ChangedPartitions>()

  constructor(deps: ContentDeps) {
    this.#deps = deps
  }

  /** A staging table for all rows of the landing table. */
  async stageLanding({ landing }: Cascade): Promise<string> {
    return await this.#stage(landing, 'all')
  }

  /**
   * The landing table with the rows of `input` that match in the place of its own that do. Gives their number, and the table
   * that has them alone.
   *
   */
  async stageMatching({ landing }: Cascade, { input, condition, ages }: RowsToMatch): Promise<MatchingRows> {
    const { store, staging } = this.#deps
    const columns = landing.columns.map((name) => ({ name }))
    const added = await staging.createLike(landing.name)
    await store.copy({ table: added, from: input, columns, rows: { kind: 'matching', condition } })
    const addedIds = await this.#partitionIds(added)
    const oldIds = await store.partitions.matching(landing.name, condition)
    const ids = [...new Set([...addedIds, ...oldIds])]
    if (ids.length > 0) {
      const table = await this.#stage(landing, ids)
      const kept = { kind: 'others', condition, partitions: ids } as const
      await store.copy({ table, from: landing.name, columns, rows: kept })
      // Behind the rows that are kept: where an engine lets the last row win, it is a new one.
      await this.#takeOver(added, table, addedIds)
      await this.#takeOthers(landing.name, table, ids)
    }
    const rowCount = await (ages ? store.tables.countRows(input, condition) : store.tables.countRows(added))
    return { rowCount, table: added }
  }

  /** The tables behind the views, in order; ends between two of them with the reason of the signal. */
  async stageTargets({ targets }: Cascade, signal?: AbortSignal): Promise<void> {
    for (const target of targets) {
      signal?.throwIfAborted()
      await this.#stageTarget(target)
    }
  }

  async #stageTarget(target: CascadeTarget): Promise<void> {
    const deps = this.#deps
    const replacements = this.#replacements
    const { graph, store } = deps
    const partitions = await changedPartitions(target, { ...deps, replacements, changed: this.#changed })
    if (partitions !== 'all' && partitions.length === 0) return
    const before = new Map(replacements)
    const into = await this.#stage(target.table, partitions)
    for (const view of target.views) {
      await copyView(store, graph, { view, into, target: target.table, replacements: before })
    }
    if (partitions === 'all') return
    const isChanged = new Set(partitions)
    for (const id of await this.#partitionIds(into)) {
      if (!isChanged.has(id)) await store.partitions.drop(into, id)
    }
    await this.#takeOthers(target.table.name, into, partitions)
  }

  /** An empty table for the new content of another; from now on it is read instead. */
  async #stage({ name, engine }: GraphTable, changed: ChangedPartitions): Promise<string> {
    const { staging } = this.#deps
    const isKept = engine !== 'Null'
    // Rows of a Null table are kept only for what is computed from them.
    const table = isKept ? await staging.createLike(name) : await staging.createPlain({ name })
    if (isKept) this.pairs.push([name, table])
    this.#replacements.set(name, { table })
    this.#changed.set(name, isKept ? changed : 'all')
    return table
  }

  /** Takes over all partitions of the old table but these. */
  async #takeOthers(from: string, into: string, ids: readonly string[]): Promise<void> {
    const others = await this.#partitionIds(from)
    const changed = new Set(ids)
    await this.#takeOver(
      from,
      into,
      others.filter((id) => !changed.has(id)),
    )
  }

  async #takeOver(from: string, into: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.#deps.store.partitions.attach(id, { from, into })
  }

  async #partitionIds(table: string): Promise<readonly string[]> {
    return (await this.#deps.store.partitions.list(table)).map(({ id }) => id)
  }
}
