// Which partitions of a table behind a view change when some partitions of its source do.
//
// The keys were compared before (`replace-keys.ts`), as far as the text of a view shows what it does. Here the view is asked: it is run over each changed partition of the source alone, before and after, and the partitions that
// its rows fall into are those that change. Every partition of the source has to come to one of the target, as it does when
// the keys are the same, or the target's is the coarser one. Else a few rows of the source could change all of the target,
// and nobody who replaces a day expects that.

import { errors } from '../../shared/errors/errors.ts'
import type { TableSource } from '../../store/sql/table-source.ts'
import type { Store } from '../../store/store.types.ts'
import type { GraphTable, GraphView, TableGraph } from '../../store/tables.types.ts'
import type { CascadeTarget } from './replace-cascade.ts'
import type { Staging } from './replace-staging.ts'
import { copyView, sourceReadCount } from './replace-views.ts'

/** Ids of partitions; or `all`, which says that nothing of the old content stays. */
export type ChangedPartitions = readonly string[] | 'all'

/** What people call a table: the name of its data source, if it has one. */
export type TableNames = (table: string) => string

export interface PartitionDeps {
  readonly store: Pick<Store, 'copyQuery' | 'partitions' | 'tables'>
  readonly staging: Staging
  readonly graph: TableGraph
  readonly nameOf: TableNames
  /** What is read instead of each table that changes. */
  readonly replacements: ReadonlyMap<string, TableSource>
  /** What changes of each of them. */
  readonly changed: ReadonlyMap<string, ChangedPartitions>
}

/** @throws REPLACE_PARTITIONS_DIFFER (400), REPLACE_VIEW_FAILED (422). */
export async function changedPartitions(
  { table, views }: CascadeTarget,
  deps: PartitionDeps,
): Promise<ChangedPartitions> {
  const sources = views.map((view) => ({ view, ids: deps.changed.get(view.source) ?? [] }))
  const isWhole = sources.some(({ view, ids }) => ids === 'all' || isReadTwice(deps, view))
  if (sources.every(({ ids }) => ids.length === 0)) return []
  if (isWhole || !table.engine.endsWith('MergeTree')) return 'all'
  const changed = new Set<string>()
  const trial = await deps.staging.createLike(table.name)
  for (const { view, ids } of sources) {
    if (ids === 'all') continue
    for (const id of ids) {
      for (const partition of await partitionsBehind({ view, id, table, trial }, deps)) changed.add(partition)
    }
  }
  return [...changed]
}

/** A view that reads its source twice cannot be run over one partition of it: the other reading is to see all. */
function isReadTwice({ graph, changed }: PartitionDeps, view: GraphView): boolean {
  return changed.has(view.source) && sourceReadCount(graph, view) !== 1
}

interface SourcePartition {
  readonly view: GraphView
  readonly id: string
  readonly table: GraphTable
  /** An empty table like `table`, and empty again afterwards. */
  readonly trial: string
}

async function partitionsBehind(
  { view, id, table, trial }: SourcePartition,
  { store, graph, replacements, nameOf }: PartitionDeps,
): Promise<readonly string[]> {
  const { source } = view
  const before = new Map([[source, { table: source, partitionId: id }]])
  const changed = replacements.get(source)?.table ?? source
  const after = new Map([...replacements, [source, { table: changed, partitionId: id }]])
  for (const read of [before, after]) {
    await copyView(store, graph, { view, into: trial, target: table, replacements: read })
  }
  const partitions = await store.partitions.list(trial)
  if (partitions.length > 1) {
    const text = (await store.partitions.list(source)).find((partition) => partition.id === id)?.text ?? id
    throw errors.REPLACE_PARTITIONS_DIFFER({
      source: nameOf(source),
      target: nameOf(table.name),
      reason: `rows of partition ${text} come to the partitions ${partitions.map((one) => one.text).join(', ')}`,
    })
  }
  if (partitions.length > 0) await store.tables.truncate(trial)
  return partitions.map((partition) => partition.id)
}
