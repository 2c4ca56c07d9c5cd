import { assert } from '../shared/assert.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'
import { appendRowsMax, appendSettings, settingsText } from './statement-settings.ts'
import type { AppendRequest } from './store.types.ts'
import { workspaceDatabase } from './workspace-database.ts'

/**
 * The one INSERT of an append, reading all parts that `path` names as one block.
 *
 * @param path absolute path of the part's file, or a pattern `…-{0,1,2}.arrow` over the files of several parts.
 */
export function appendStatement({ table, layout, rowCount, blockId }: AppendRequest, path: string): string {
  assert(layout.targets.length > 0, 'a layout fills at least one column')
  assert(rowCount < appendRowsMax, 'an append has fewer rows than the engine would cut a block at')
  const columns = layout.targets.map(({ column }) => quoteName(column)).join(', ')
  const expressions = layout.targets.map(({ expression }) => expression).join(', ')
  const structure = layout.fields.map(({ name, engineType }) => `${quoteName(name)} ${engineType}`).join(', ')
  return [
    `INSERT INTO ${quoteName(workspaceDatabase)}.${quoteName(table)} (${columns})`,
    `SELECT ${expressions}`,
    `FROM file(${quoteString(path)}, 'ArrowStream', ${quoteString(structure)})`,
    `SETTINGS ${settingsText({ ...appendSettings, insert_deduplication_token: blockId })}`,
  ].join('\n')
}
