import { closeSync, openSync } from 'node:fs'
import { type Database, open } from 'lmdb'
import type { CatalogChange, CatalogStorage, StoredCatalog } from './catalog-storage.types.ts'
import type { VariableStorage } from './variable.types.ts'
import { openVariableStorage } from './variable-storage.ts'

const layoutVersion = 1
const layoutKey = 'layout'
const catalogVersionKey = 'catalog_version'

/** The file is of a later release, or of another program. */
export class CatalogStorageError extends Error {
  override readonly name = 'CatalogStorageError'
}

/** The catalog's file: beside the catalog itself it keeps the variables. */
export interface CatalogFile extends CatalogStorage {
  readonly variables: VariableStorage
}

/**
 * Opens the catalog's file, an lmdb environment, and makes it when it is missing.
 *
 * @param path of the file; beside it lies its lock, `<path>-lock`.
 * @throws CatalogStorageError when the file has a layout that this release does not know.
 */
export function openCatalogStorage(path: string): CatalogFile {
  // The admin token lies in the file, and lmdb would make it readable for all.
  closeSync(openSync(path, 'a', 0o600))
  // Without overlappingSync a commit is synced before its promise resolves; with it, some time after.
  const root = open<number>({ path, noSubdir: true, encoding: 'json', overlappingSync: false, maxDbs: 8 })
  const meta = root.openDB<number>({ name: 'meta', encoding: 'json' })
  const dataSources = root.openDB<unknown>({ name: 'data_sources', encoding: 'json' })
  const pipes = root.openDB<unknown>({ name: 'pipes', encoding: 'json' })
  const settings = root.openDB<string>({ name: 'settings', encoding: 'json' })
  const layout = meta.get(layoutKey) ?? layoutVersion
  if (layout !== layoutVersion) {
    throw new CatalogStorageError(`${path} has layout ${layout}, but this release knows only ${layoutVersion}`)
  }

  return {
    load(): StoredCatalog {
      const catalogVersion = meta.get(catalogVersionKey) ?? 0
      return { catalogVersion, records: recordsOf(dataSources), pipeRecords: recordsOf(pipes) }
    },
    async commit({ catalogVersion, kind, id, record }: CatalogChange): Promise<void> {
      const records = kind === 'pipe' ? pipes : dataSources
      await root.transaction(() => {
        void meta.put(layoutKey, layoutVersion)
        void meta.put(catalogVersionKey, catalogVersion)
        void (record === null ? records.remove(id) : records.put(id, record))
      })
    },
    variables: openVariableStorage(root),
    readSetting: (name) => settings.get(name),
    async writeSetting(name: string, value: string): Promise<void> {
      await settings.put(name, value)
    },
    close: () => root.close(),
  }
}

function recordsOf(database: Database<unknown>): ReadonlyMap<string, unknown> {
  const records = new Map<string, unknown>()
  for (const { key, value } of database.getRange()) records.set(String(key), value)
  return records
}
