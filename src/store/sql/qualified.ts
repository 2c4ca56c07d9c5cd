import { quoteName } from '../../shared/text-escapes.ts'
import { workspaceDatabase } from '../workspace-database.ts'

/** A table of the workspace as statements name it. */
export function qualified(table: string): string {
  return `${quoteName(workspaceDatabase)}.${quoteName(table)}`
}
