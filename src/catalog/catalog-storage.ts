import { type DiskReports, noDiskReports } from '../shared/disk-fault.ts'
import { checkCatalogFile } from './catalog-file.ts'
import type { CatalogChange, CatalogStorage, StoredCatalog } from './catalog-storage.types.ts'
import { RecordStorage } from './record-storage.ts'
import type { VariableStorage } from './variable.types.ts'

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
 * @param disk is told when the disk refuses a change.
 * @throws CatalogDamagedError when the file is not as it was written; CatalogStorageError when it has a layout that this
 *   release does not know. Nothing is changed then.
 */
export function openCatalogStorage(path: string, disk: DiskReports = noDiskReports): CatalogFile {
  checkCatalogFile(path)
  const storage = new RecordStorage(path, disk)
  try {
    return fileOver(storage, path)
  } catch (error) {
    void storage.close()
    throw error
  }
}

function fileOver(storage: RecordStorage, path: string): CatalogFile {
  const meta = storage.records('meta')
  const layout = meta.get(layoutKey) ?? layoutVersion
  if (layout !== layoutVersion) {
    throw new CatalogStorageError(`${path} has layout ${String(layout)}, but this release knows only ${layoutVersion}`)
  }
  // They are read while the service runs, so they do not depend on a file that may have to be opened again.
  const settings = new Map(storage.records('settings'))

  return {
    load(): StoredCatalog {
      const catalogVersion = Number(meta.get(catalogVersionKey) ?? 0)
      return { catalogVersion, records: storage.records('data_sources'), pipeRecords: storage.records('pipes') }
    },
    async commit({ catalogVersion, writes }: CatalogChange): Promise<void> {
      await storage.write([
        { map: 'meta', key: layoutKey, value: layoutVersion },
        { map: 'meta', key: catalogVersionKey, value: catalogVersion },
        ...writes.map(({ kind, id, record }) => {
          return { map: kind === 'pipe' ? 'pipes' : 'data_sources', key: id, value: record } as const
        }),
      ])
    },
    variables: {
      load: () => storage.records('variables'),
      write: (name, record) => storage.write([{ map: 'variables', key: name, value: record }]),
    },
    // Nobody but this file writes settings, and all are texts.
    readSetting: (name) => settings.get(name) as string | undefined,
    async writeSetting(name: string, value: string): Promise<void> {
      await storage.write([{ map: 'settings', key: name, value }])
      settings.set(name, value)
    },
    close: () => storage.close(),
  }
}
