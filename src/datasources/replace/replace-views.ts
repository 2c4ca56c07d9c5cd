// What a view gives when it reads other tables than its own: the staged ones, or parts of them.

import { ApiError, errors } from '../../shared/errors/errors.ts'
import { retargetTables } from '../../sql/retarget-tables.ts'
import { toCopyError } from '../../store/caller-errors.ts'
import type { GraphTable, GraphView, TableGraph } from '../../store/sql/table-graph.ts'
import type { CopyRequest, Store } from '../../store/store.types.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'

export interface ViewCopy {
  readonly view: GraphView
  /** The table that the view fills, or one of its definition. */
  readonly into: string
  readonly target: GraphTable
  /** SQL to read instead of tables. */
  readonly replacements: ReadonlyMap<string, string>
}

/**
 * Inserts what the view gives now.
 *
 * @throws REPLACE_VIEW_FAILED (422), ENGINE_FAILED (500).
 */
export async function copyView(store: Pick<Store, 'copy'>, graph: TableGraph, copy: ViewCopy): Promise<void> {
  const { view, into, target, replacements } = copy
  try {
    const { sql } = retargeted(graph, view, replacements)
    await store.copy({ table: into, ...columnsOf(view, target), select: sql })
  } catch (thrown) {
    throw viewFailure(thrown, view)
  }
}

/** How often the view reads its own source. @throws REPLACE_VIEW_FAILED (422) */
export function sourceReadCount(graph: TableGraph, view: GraphView): number {
  try {
    return retargeted(graph, view, new Map()).readCounts.get(view.source) ?? 0
  } catch (thrown) {
    throw viewFailure(thrown, view)
  }
}

function retargeted({ tables }: TableGraph, { select }: GraphView, replacements: ReadonlyMap<string, string>) {
  return retargetTables(select, { database: workspaceDatabase, tables: new Set(tables.keys()), replacements })
}

/** A view fills the columns that the target has by the same names. */
function columnsOf(view: GraphView, target: GraphTable): Pick<CopyRequest, 'columns'> {
  const columns = view.columns.filter((column) => target.columns.includes(column))
  return { columns }
}

function viewFailure(thrown: unknown, { name }: GraphView): unknown {
  if (thrown instanceof ApiError && thrown.code === 'SQL_INVALID') {
    return errors.REPLACE_VIEW_FAILED({ view: name, reason: thrown.message, cause: thrown })
  }
  return toCopyError(thrown, (reason) => errors.REPLACE_VIEW_FAILED({ view: name, reason, cause: thrown }))
}
