// What a view gives of the rows of a chunk: its own query, with those rows in the place of its source.

import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import { tokenize } from '../../schema/syntax/lexer.ts'
import { retargetTables } from '../../sql/retarget-tables.ts'
import { type ChunkRows, chunkRowsText } from '../../store/sql/chunk-rows.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'
import type { PopulatedView } from './populate.types.ts'

/**
 * @param tables all that the query may read.
 * @throws SQL_INVALID (400) when the query cannot be read.
 */
export function chunkQuery(
  { select, sourceId }: Pick<PopulatedView, 'select' | 'sourceId'>,
  tables: ReadonlySet<string>,
  { pin, ...rows }: ChunkRows & { readonly pin: string },
): CheckedQuery {
  const replacements = new Map([[sourceId, chunkRowsText(pin, rows)]])
  const options = { database: workspaceDatabase, tables, replacements, leavesModifiers: true }
  return retargetTables(select, options).sql
}

/** Whether a query groups rows, at any depth: then what it holds of a chunk are groups, and not the rows. */
export function groupsRows(select: CheckedQuery): boolean {
  const words = tokenize(select).map(({ text }) => text.toUpperCase())
  return words.some((word, index) => word === 'GROUP' && words[index + 1] === 'BY')
}
