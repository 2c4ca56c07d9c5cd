// What a replace of one table brings with it: the tables behind its views, and those whose rows come to any of them.

import { assert } from '../../shared/assert.ts'
import type { GraphTable, GraphView, TableGraph } from '../../store/tables.types.ts'

export interface Cascade {
  readonly landing: GraphTable
  /** The tables that views fill out of the landing table, at any depth, each behind those that it is made of. */
  readonly targets: readonly CascadeTarget[]
  /** All of these, and every table out of which a row may come to one of them. */
  readonly related: ReadonlySet<string>
}

export interface CascadeTarget {
  readonly table: GraphTable
  /** Every view that fills the table, also out of tables that stay as they are. */
  readonly views: readonly GraphView[]
}

export function cascadeOf(graph: TableGraph, landingName: string): Cascade {
  const landing = graph.tables.get(landingName)
  assert(landing !== undefined, 'a data source has its table')
  const names = reachable([landingName], (name) =>
    graph.views.filter(({ source }) => source === name).map(({ target }) => target),
  )
  names.delete(landingName)
  const targets = inOrder(graph, names)
  const related = reachable([landingName, ...names], (name) =>
    graph.views.filter(({ target }) => target === name).map(({ source }) => source),
  )
  return { landing, targets, related }
}

function reachable(starts: readonly string[], next: (name: string) => readonly string[]): Set<string> {
  const found = new Set(starts)
  // A Set gives what is added while it is walked.
  for (const name of found) for (const other of next(name)) found.add(other)
  return found
}

function inOrder(graph: TableGraph, names: ReadonlySet<string>): readonly CascadeTarget[] {
  const ordered: CascadeTarget[] = []
  const waiting = new Set(names)
  while (waiting.size > 0) {
    const ready = [...waiting].find((name) => viewsInto(graph, name).every(({ source }) => !waiting.has(source)))
    assert(ready !== undefined, 'the engine makes no views in a circle')
    const table = graph.tables.get(ready)
    // A view whose target is gone fails every insert, and cannot be computed.
    if (table !== undefined) ordered.push({ table, views: viewsInto(graph, ready) })
    waiting.delete(ready)
  }
  return ordered
}

function viewsInto(graph: TableGraph, table: string): readonly GraphView[] {
  return graph.views.filter(({ target }) => target === table)
}
