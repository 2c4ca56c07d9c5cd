// Whether partition keys of a cascade are compatible, by the definitions alone: before a byte of the body is read.
//
// A table behind a view can be replaced in part when each partition of the source comes to one of its own. So its key can
// depend on nothing but what the source's key depends on. What the text of a view does not show is found out when the rows
// are there (`replace-partitions.ts`).

import { tokenize } from '../../schema/syntax/lexer.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { columnSources } from '../../sql/column-sources.ts'
import type { GraphTable, GraphView, TableGraph } from '../../store/tables.types.ts'
import type { Cascade } from './replace-cascade.ts'

/**
 * Refuses a cascade that no condition can go through.
 *
 * @param nameOf what people call a table.
 * @throws REPLACE_PARTITIONS_DIFFER (400).
 */
export function checkKeys(graph: TableGraph, { landing, targets }: Cascade, nameOf: (table: string) => string): void {
  const affected = new Set([landing.name, ...targets.map(({ table }) => table.name)])
  for (const { table, views } of targets) {
    for (const view of views) {
      const source = graph.tables.get(view.source)
      // The rows of a Null table are made anew as a whole, and so is what is behind it.
      if (source === undefined || source.engine === 'Null' || !affected.has(source.name)) continue
      const reason = fault({ source, target: table, view })
      if (reason === null) continue
      throw errors.REPLACE_PARTITIONS_DIFFER({ source: nameOf(source.name), target: nameOf(table.name), reason })
    }
  }
}

/** The columns that the partition key of the table speaks of. */
export function partitionColumns({ partitionKey, columns }: GraphTable): readonly string[] {
  const names = new Set(tokenize(partitionKey).map(({ name }) => name))
  return columns.filter((column) => names.has(column))
}

interface Pair {
  readonly source: GraphTable
  readonly target: GraphTable
  readonly view: GraphView
}

function fault({ source, target, view }: Pair): string | null {
  const keyColumns = partitionColumns(target)
  if (keyColumns.length === 0) return null
  const allowed = partitionColumns(source)
  if (allowed.length === 0) return `the second is by ${target.partitionKey}, and the first has none`
  for (const column of keyColumns) {
    const others = [...(sources(view, column, source) ?? [])].filter((name) => !allowed.includes(name))
    if (others.length === 0) continue
    return `the second is by ${target.partitionKey}, which depends on ${others.join(', ')}, and the first by ${source.partitionKey}`
  }
  return null
}

/** Null when the text of the view does not show it, or cannot be read: whoever computes the view says so. */
function sources({ select }: GraphView, column: string, { columns }: GraphTable): ReadonlySet<string> | null {
  try {
    return columnSources(select, column, columns)
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === 'SQL_INVALID') return null
    throw thrown
  }
}
