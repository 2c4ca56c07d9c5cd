// What views make of what: the edges between data sources, and the order in which rows pass them.

import type { DataSourceId } from '../catalog/data-source.types.ts'
import { materializedNodes } from '../catalog/node-views.ts'
import type { MaterializedNode, Pipe } from '../catalog/pipe.types.ts'
import type { TableGraph } from '../store/tables.types.ts'

/** A view that rows pass, and how many of them they pass before its target has them. */
export interface CascadeStep extends MaterializedNode {
  /** From 1. */
  readonly depth: number
}

/**
 * The views that the rows of a data source pass, at any depth, each behind those that fill what it sees. The depth is that of the
 * longest way.
 */
export function cascadeFrom(id: DataSourceId, pipes: readonly Pipe[]): readonly CascadeStep[] {
  const nodes = materializedNodes(pipes)
  const depths = new Map<DataSourceId, number>([[id, 0]])
  // Views make no circle, so this ends; a data source that is reached again by a longer way is walked again.
  const waiting = [id]
  for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) {
    const depth = (depths.get(place) ?? 0) + 1
    for (const { view } of nodes) {
      if (view.sourceId !== place || (depths.get(view.targetId) ?? 0) >= depth) continue
      depths.set(view.targetId, depth)
      waiting.push(view.targetId)
    }
  }
  const steps = nodes.flatMap((node) => {
    const depth = depths.get(node.view.sourceId)
    return depth === undefined ? [] : [{ ...node, depth: depth + 1 }]
  })
  return steps.sort((one, other) => one.depth - other.depth)
}

/** A data source, and all whose rows come to it through views, at any depth. */
export function sourcesBehind(id: DataSourceId, pipes: readonly Pipe[]): readonly DataSourceId[] {
  const nodes = materializedNodes(pipes)
  const found = new Set([id])
  // A set gives what is added while it is walked, each once.
  for (const place of found) for (const { view } of nodes) if (view.targetId === place) found.add(view.sourceId)
  return [...found]
}

/** The views that fill a data source. */
export function viewsInto(id: DataSourceId, pipes: readonly Pipe[]): readonly MaterializedNode[] {
  return materializedNodes(pipes).filter(({ view }) => view.targetId === id)
}

/**
 * The tables and views of the engine, with those views of the catalog that it does not have while they are parked, or has on another table
 * than their source while they catch up.
 */
export function withParked(graph: TableGraph, pipes: readonly Pipe[]): TableGraph {
  const parked = materializedNodes(pipes).filter(({ view }) => view.behind?.isParked === true)
  if (parked.length === 0) return graph
  const ids = new Set<string>(parked.map(({ view }) => view.id))
  const views = parked.map(({ view: { id, sourceId, targetId, select, columns } }) => {
    return { name: id, source: sourceId, target: targetId, select, columns: columns.map(({ name }) => name) }
  })
  return { ...graph, views: [...graph.views.filter(({ name }) => !ids.has(name)), ...views] }
}
