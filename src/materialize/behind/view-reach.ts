// Which tables a view has to do with: where its rows come from, and how far they go.

import type { DataSource, DataSourceId } from '../../catalog/data-source.types.ts'
import { materializedNodes } from '../../catalog/node-views.ts'
import type { MaterializedNode, NodeView, Pipe, ViewBehind, ViewBehindFrom } from '../../catalog/pipe.types.ts'
import { isMirror } from '../populate/populate-tables.ts'
import { cascadeFrom } from '../view-graph.ts'
import { readViewQuery } from '../view-query.ts'

/** The data sources whose blocks come to a view, at any depth: its own source, and all that views fill it from. */
export function rootsOf({ sourceId }: { readonly sourceId: string }, pipes: readonly Pipe[]): ReadonlySet<string> {
  const nodes = materializedNodes(pipes)
  const roots = new Set<string>([sourceId])
  // A set that grows is walked to its end.
  for (const root of roots) {
    for (const { view } of nodes) if (view.targetId === root) roots.add(view.sourceId)
  }
  return roots
}

/** The data sources to which its rows come, at any depth: the one that it fills, and all that views fill from there. */
export function reachOf({ targetId }: Pick<NodeView, 'targetId'>, pipes: readonly Pipe[]): ReadonlySet<string> {
  return new Set([targetId, ...cascadeFrom(targetId, pipes).map(({ view }) => view.targetId)])
}

/** The views that blocks of a data source pass, at any depth, and that lack some. */
export function viewsBehind(dataSourceId: string, pipes: readonly Pipe[]): readonly MaterializedNode[] {
  return materializedNodes(pipes).filter(({ view }) => {
    return view.behind !== undefined && rootsOf(view, pipes).has(dataSourceId)
  })
}

/** The views that fill what a view reads, at any depth. */
export function viewsAbove(view: Pick<NodeView, 'sourceId'>, pipes: readonly Pipe[]): readonly MaterializedNode[] {
  const roots = rootsOf(view, pipes)
  return materializedNodes(pipes).filter(({ view: { targetId } }) => roots.has(targetId))
}

/** Those of them that see the blocks of a data source. */
export function topViews(view: NodeView, from: ViewBehindFrom, pipes: readonly Pipe[]): readonly MaterializedNode[] {
  return viewsAbove(view, pipes).filter(({ view: { sourceId } }) => sourceId === from.sourceId)
}

/** The data source whose blocks are kept for a view that is behind. */
export function keptSourceOf({ sourceId, behind }: Pick<NodeView, 'behind' | 'sourceId'>): DataSourceId {
  return behind?.from?.sourceId ?? sourceId
}

/** The tables to which blocks come once more that are repeated for a view. */
export function repeatedReachOf(view: NodeView, pipes: readonly Pipe[]): ReadonlySet<string> {
  const from = wayTo(view, pipes)
  if (from === null || from.viewIds.length === 0) return reachOf(view, pipes)
  return new Set(topViews(view, from, pipes).flatMap((top) => [...reachOf(top.view, pipes)]))
}

/** The one data source from which all rows of a view's source come through views, and these; null where there are several. */
function wayTo(view: Pick<NodeView, 'sourceId'>, pipes: readonly Pipe[]): ViewBehindFrom | null {
  const above = viewsAbove(view, pipes)
  const filled = new Set<string>(above.map(({ view: { targetId } }) => targetId))
  const sources = new Set([view, ...above.map((one) => one.view)].map(({ sourceId }) => sourceId))
  const [sourceId, ...others] = [...sources].filter((id) => !filled.has(id))
  if (sourceId === undefined || others.length > 0) return null
  return { sourceId, viewIds: above.map(({ view: { id } }) => id).toSorted() }
}

/**
 * Whose blocks can be repeated for a view that lacks them, so that its target has them once whatever happened before; null where none can.
 * They come to its source alone, or to one data source from which views make all that its source gets, and the same again. Each table behind
 * knows blocks again or keeps no rows.
 */
export function repeatableFrom(
  view: NodeView,
  pipes: readonly Pipe[],
  find: (id: string) => Pick<DataSource, 'engine'> | undefined,
): ViewBehindFrom | null {
  const from = wayTo(view, pipes)
  if (from === null || !viewsAbove(view, pipes).every(({ view: { select } }) => readViewQuery(select).isSteady)) {
    return null
  }
  return knowsBlocks([...repeatedReachOf(view, pipes)], find) ? from : null
}

/** Whether the rows that were kept for a view come to it as they did when it was parked. */
export function isWayKept(view: NodeView, pipes: readonly Pipe[]): boolean {
  const way = wayTo(view, pipes)
  const { from = { sourceId: view.sourceId, viewIds: [] } } = view.behind ?? {}
  return way?.sourceId === from.sourceId && String(way.viewIds) === String(from.viewIds)
}

/** Whether tables take a block once however often it comes: they know it again, or keep no rows. */
export function knowsBlocks(
  tables: readonly string[],
  find: (id: string) => Pick<DataSource, 'engine'> | undefined,
): boolean {
  return tables.every((id) => /MergeTree$|^Null$/.test(find(id)?.engine.name ?? ''))
}

const chain = /((?:: while pushing to view `?[vp]_[0-9a-f]{32}(?:_b\d+)?(?:_view)?`?)+)\.? \([A-Z][A-Z0-9_]*\)$/

/** A view by which an INSERT failed. */
export type FailedView =
  | { readonly node: MaterializedNode }
  /** One that brings rows to a populate that works: the table whose blocks it sees. */
  | { readonly mirror: string; readonly sourceId: string }

/**
 * The view by which an INSERT into a data source failed, as the engine's message ends: the innermost one first. What stands before may be
 * anybody's text, so it counts only as far as the views are on one way.
 */
export function failedView(message: string, dataSourceId: string, pipes: readonly Pipe[]): FailedView | undefined {
  const names = (chain.exec(message)?.[1] ?? '').match(/[vp]_[0-9a-f]{32}\w*/g) ?? []
  const nodes = materializedNodes(pipes)
  let source = dataSourceId
  let failed: MaterializedNode | undefined
  for (const name of names.toReversed()) {
    if (isMirror(name)) return { mirror: name, sourceId: source }
    const next = nodes.find(({ view }) => view.id === name && view.sourceId === source)
    if (next === undefined) break
    failed = next
    source = next.view.targetId
  }
  return failed === undefined ? undefined : { node: failed }
}

/** Of a view of which nobody keeps what it lacks. */
export const nothingKept: ViewBehind = {
  sinceMs: 0,
  isParked: false,
  place: null,
  tableBlocks: 0,
  missCount: 0,
  errorName: '',
}

/** Whether a view lacks blocks that are kept for it. */
export function isKept({ behind }: Pick<NodeView, 'behind'>): boolean {
  return behind !== undefined && behind.place !== null
}

/** What the catalog tells of a view that lacks blocks. */
export function toldOf(node: MaterializedNode, { sinceMs, isParked, place, errorName }: ViewBehind) {
  const state = place === null ? 'incomplete' : 'parked'
  return { node, sinceMs, state, isPassed: !isParked, errorName } as const
}
