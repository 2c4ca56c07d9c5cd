// A catalog that is gone, where other files show that it was there: without it a start would begin an empty workspace, and
// forget the events in the log, which belong to data sources that nobody knows any more.

import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startRefusals } from '../../shared/errors/start-refusals.ts'
import type { Store } from '../../store/store.types.ts'
import { listTables, ownerOf } from '../tables.ts'

interface LostCatalogDeps {
  readonly store: Pick<Store, 'tables'>
  /** What the first start makes beside the catalog, and after it. */
  readonly laterNames: readonly string[]
}

/**
 * Precondition: the catalog is not open yet.
 *
 * @throws StartRefusal CATALOG_MISSING, or CATALOG_DAMAGED when the file is there and empty. A first start passes, also one
 *   after a crash in the middle of the first.
 */
export async function refuseLostCatalog(path: string, { store, laterNames }: LostCatalogDeps): Promise<void> {
  const file = statSync(path, { throwIfNoEntry: false })
  if (file !== undefined && file.size > 0) return
  const tables = await listTables(store.tables)
  const owners = new Set([...tables.keys()].map(ownerOf))
  const rowCount = [...tables.values()].reduce((sum, table) => sum + table.rowCount, 0)
  const found = `the tables of ${owners.size} data sources are there, with ${rowCount} rows`
  const later = laterNames.map((name) => join(dirname(path), name)).find(isInUse)
  if (file !== undefined) {
    if (owners.size > 0) throw startRefusals.CATALOG_DAMAGED({ path, reason: `it is empty, and ${found}` })
    if (later !== undefined) throw startRefusals.CATALOG_DAMAGED({ path, reason: 'it is empty' })
    return
  }
  if (owners.size > 0) throw startRefusals.CATALOG_MISSING({ path, reason: found })
  if (existsSync(`${path}-lock`)) throw startRefusals.CATALOG_MISSING({ path, reason: 'the lock beside it is there' })
  if (later !== undefined)
    throw startRefusals.CATALOG_MISSING({ path, reason: `${later} is there, which comes after it` })
}

/** An empty folder says nothing: it may be a place that another disk was mounted at. */
function isInUse(path: string): boolean {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  return isFolder ? readdirSync(path).some((name) => name !== 'lost+found') : existsSync(path)
}
