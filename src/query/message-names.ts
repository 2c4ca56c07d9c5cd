// What the engine says of a query, told in the words of the one who wrote it: names instead of ids, and nothing of the text
// that the service made out of theirs.

import type { ReadScope } from '../sql/read-scope.types.ts'
import { isOwnText, withoutInternals } from '../store/engine-message.ts'
import type { WorkspaceReader } from './workspace.types.ts'

const id = /`?\bt_[0-9a-f]{32}(_quarantine)?\b`?/g

/** The engine's message with the names of data sources for the ids of their tables. */
export function inUsersWords(message: string, workspace: Pick<WorkspaceReader, 'find'>): string {
  return isOwnText(message) ? message : withNames(withoutInternals(message), workspace)
}

/** A text of the engine, such as a plan, with the names of data sources for the ids of their tables. */
export function withNames(text: string, workspace: Pick<WorkspaceReader, 'find'>): string {
  return text.replaceAll(/(?:`ws_\d+`|\bws_\d+)\./g, '').replaceAll(id, (found, suffix: string | undefined) => {
    const bare = found.replaceAll('`', '')
    const dataSource = workspace.find(bare.slice(0, idLength))
    return dataSource === undefined ? found : found.replace(bare, `${dataSource.name}${suffix ?? ''}`)
  })
}

/** The data sources that a query reads: what stands behind another id that its text has is told to nobody. */
export function readOf(
  { tableNames }: { readonly tableNames: ReadonlyMap<string, string> },
  workspace: Pick<WorkspaceReader, 'find'>,
): Pick<WorkspaceReader, 'find'> {
  const read = new Set(Array.from(tableNames.keys(), (table) => table.slice(table.indexOf('.') + 1).slice(0, idLength)))
  return { find: (nameOrId) => (read.has(nameOrId) ? workspace.find(nameOrId) : undefined) }
}

/** Whoever may not see all is told no names but those of what may be read. */
export function nameable(
  workspace: Pick<WorkspaceReader, 'find'>,
  { seesAll, mayRead }: ReadScope,
): Pick<WorkspaceReader, 'find'> {
  if (seesAll) return workspace
  return {
    find: (nameOrId) => {
      const found = workspace.find(nameOrId)
      return found === undefined || mayRead(found.id) ? found : { ...found, name: '…' }
    },
  }
}

const idLength = 't_'.length + 32
