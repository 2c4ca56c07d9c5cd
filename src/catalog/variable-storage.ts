import type { RootDatabase } from 'lmdb'
import type { VariableStorage } from './variable.types.ts'

/** The variables in the catalog's file, which its owner alone can read; in a database of their own. */
export function openVariableStorage(root: RootDatabase<number>): VariableStorage {
  const records = root.openDB<unknown>({ name: 'variables', encoding: 'json' })
  return {
    load() {
      const stored = new Map<string, unknown>()
      for (const { key, value } of records.getRange()) stored.set(String(key), value)
      return stored
    },
    async write(name, record) {
      await (record === null ? records.remove(name) : records.put(name, record))
    },
  }
}
