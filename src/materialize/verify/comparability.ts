// What of a view can be compared with its query over the rows that its source has now.
//
// A view sees blocks: what is computed of each of them alone comes out otherwise over all rows. It sees rows before they are merged, and
// keeps what it made of rows that are gone. Where that may be so, a difference would say nothing, and to repair it would lose rows.

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { NodeView } from '../../catalog/pipe.types.ts'
import { findEngineName, isMergeTree } from '../../schema/engines/engine-options.ts'
import type { ComparedColumn, ComparedManner } from '../../store/comparisons.types.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import { readViewQuery, type ViewQuery } from '../view-query.ts'
import { comparedColumns, type LeftOutColumn } from './comparable-columns.ts'
import { keyNames, optionName } from './engine-keys.ts'

export interface Comparability {
  /** Why all of it cannot be compared, as clauses; empty where it can. */
  readonly reasons: readonly string[]
  /** Why nothing can take the place of what the target has, whatever is asked for; clauses. */
  readonly obstacles: readonly string[]
  readonly manner: ComparedManner
  readonly columns: readonly ComparedColumn[]
  readonly leftOut: readonly LeftOutColumn[]
}

export interface ComparedView {
  readonly view: NodeView
  readonly source: DataSource
  readonly target: DataSource
}

export function comparability({ view, source, target }: ComparedView, graph: TableGraph): Comparability {
  const query = readViewQuery(view.select)
  const obstacles = [...ofKeeping(source), ...ofTarget(target), ...ofOthers(view, graph)]
  const reasons = [...obstacles, ...ofRowsGone(source, target), ...query.blockwise, ...ofGroups(query, target)]
  const { columns, leftOut } = comparedColumns({ view, query, target })
  return { reasons, obstacles, manner: mannerOf(target, query), columns, leftOut }
}

function isKept({ engine }: DataSource): boolean {
  const name = findEngineName(engine.name)
  return name !== undefined && isMergeTree(name)
}

function ofKeeping(source: DataSource): readonly string[] {
  if (isKept(source)) return []
  return [
    source.engine.name === 'Null'
      ? `Data Source "${source.name}" has the engine Null, which keeps no rows`
      : `Data Source "${source.name}" has the engine ${source.engine.name}, of which no moment can be kept`,
  ]
}

function ofTarget(target: DataSource): readonly string[] {
  if (isKept(target)) return []
  return [
    `Data Source "${target.name}", which it fills, has the engine ${target.engine.name}, of which no moment can be kept`,
  ]
}

function ofOthers(view: NodeView, { views }: TableGraph): readonly string[] {
  if (view.more !== undefined && view.more.length > 0) {
    return ['its query is a UNION ALL, each SELECT of which is a view of its own into the same Data Source']
  }
  const others = views.filter(({ name, target }) => target === view.targetId && name !== view.id)
  return others.length === 0
    ? []
    : ['other Materialized Views fill its Data Source too, and nobody knows whose rows are']
}

/** What the view saw and the source has no more, and what the target has no more. */
function ofRowsGone(source: DataSource, target: DataSource): readonly string[] {
  const reasons: string[] = []
  if (isKept(source) && source.engine.name !== 'MergeTree') {
    reasons.push(
      `Data Source "${source.name}" has the engine ${source.engine.name}, which merges rows that the view has seen each`,
    )
  }
  if (source.engine.options['ttl'] !== undefined) {
    reasons.push(`Data Source "${source.name}" has a TTL, and the view keeps what it made of rows that are gone`)
  }
  if (target.engine.options['ttl'] !== undefined) {
    reasons.push(`Data Source "${target.name}", which it fills, has a TTL, so rows of it are gone`)
  }
  return reasons
}

/** Keys by which rows are brought together must not be of one block alone. */
function ofGroups({ isGrouped, aggregates }: ViewQuery, { engine }: DataSource): readonly string[] {
  if (!isGrouped) return []
  if (engine.name.endsWith('CollapsingMergeTree')) {
    return [`its groups are those of each block, which the engine ${engine.name} does not bring together`]
  }
  const keys = [...keyNames(engine, 'sorting_key').all, ...keyNames(engine, 'partition_key').all]
  const own = keys.find((name) => aggregates.has(name))
  return own === undefined
    ? []
    : [`its column '${own}' is of the rows of one block, and its Data Source is sorted or partitioned by it`]
}

function mannerOf({ engine }: DataSource, { isGrouped }: ViewQuery): ComparedManner {
  switch (engine.name) {
    case 'AggregatingMergeTree':
    case 'SummingMergeTree':
      return { kind: 'merged' }
    case 'ReplacingMergeTree':
      // Of the groups of blocks any may be the last.
      return isGrouped
        ? { kind: 'last', version: null, deleted: null }
        : { kind: 'last', version: optionName(engine, 'ver'), deleted: optionName(engine, 'is_deleted') }
    case 'CollapsingMergeTree':
    case 'VersionedCollapsingMergeTree':
      return { kind: 'signs', sign: optionName(engine, 'sign') ?? 'sign' }
    default:
      return { kind: isGrouped ? 'groups' : 'rows' }
  }
}
