import { join, resolve } from 'node:path'
import { startRefusals } from '../../shared/errors/start-refusals.ts'

/** What of the data directory is the store's. */
export interface StoreDirectories {
  readonly root: string
  /** The engine's own. */
  readonly engine: string
  readonly config: string
  readonly parts: string
  readonly results: string
  /** Copies of the definitions of tables. */
  readonly definitions: string
}

/** @throws StartRefusal when the path has a character that the engine takes for a pattern. */
export function storeDirectories(dataDirectory: string): StoreDirectories {
  const root = resolve(dataDirectory)
  const pattern = /[*?{}]/.exec(root)?.[0]
  if (pattern !== undefined) {
    throw startRefusals.DATA_DIR_PATH_UNSUPPORTED({ path: root, character: pattern })
  }
  const inRoot = (name: string): string => join(root, name)
  return {
    root,
    engine: inRoot('clickhouse'),
    config: inRoot('engine'),
    parts: inRoot('parts'),
    results: inRoot('results'),
    definitions: inRoot('definitions'),
  }
}
