// What a view gives of the rows of a chunk: its own query, with those rows in the place of its source.

import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
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
