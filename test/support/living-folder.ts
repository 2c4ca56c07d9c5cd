import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Everything below a folder in which others work meanwhile, as the engine does in its own: merges and drops take parts away
 * at any moment, and what goes while it is looked at is left out.
 */
export function entriesBelow(path: string): readonly Dirent[] {
  return entriesOf(path).flatMap((entry) => (entry.isDirectory() ? [entry, ...entriesBelow(pathOf(entry))] : [entry]))
}

export function pathOf(entry: Dirent): string {
  return join(entry.parentPath, entry.name)
}

function entriesOf(path: string): readonly Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
