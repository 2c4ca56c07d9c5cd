// What a view gives when it reads other tables than its own: the staged ones, or parts of them.

import { ApiError, errors } from '../../shared/errors/errors.ts'
import { retargetTables } from '../../sql/retarget-tables.ts'
import { toCopyError } from '../../store/caller-errors.ts'
import { sourceText, type TableSource } from '../../store/sql/table-source.ts'
import type { Store } from '../../store/store.types.ts'
import type { GraphTable, GraphView, TableGraph } from '../../store/tables.types.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'

export interface ViewCopy {
  readonly view: GraphView
  /** The table that the view fills, or one of its definition. */
  readonly into: string
  readonly target: GraphTable
  /** What is read instead of tables. */
  readonly replacements: ReadonlyMap<string, TableSource>
}

/**
 * Inserts what the view gives now.
 *
 * @throws REPLACE_VIEW_FAILED (422), ENGINE_FAILED (500).
 */
export async function copyView(store: Pick<Store, 'copyQuery'>, graph: TableGraph, copy: ViewCopy): Promise<void> {
  const { view, into, target, replacements } = copy
  try {
    const { sql: query } = retargeted(graph, view, replacements)
    // A view fills the columns that the target has by the same names.
    const columns = view.columns.filter((column) => target.columns.includes(column))
    await store.copyQuery({ table: into, columns, query })
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

function retargeted({ tables }: TableGraph, { select }: GraphView, sources: ReadonlyMap<string, TableSource>) {
  const replacements = new Map([...sources].map(([table, source]) => [table, sourceText(source)]))
  return retargetTables(select, { database: workspaceDatabase, tables: new Set(tables.keys()), replacements })
}

function viewFailure(thrown: unknown, { name }: GraphView): unknown {
  if (thrown instanceof ApiError && thrown.code === 'SQL_INVALID') {
    return errors.REPLACE_VIEW_FAILED({ view: name, reason: thrown.message, cause: thrown })
  }
  return toCopyError(thrown, (reason) => errors.REPLACE_VIEW_FAILED({ view: name, reason, cause: thrown }))
}
