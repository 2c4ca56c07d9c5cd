import { type LoadedRecords, loadRecords } from './loaded-records.ts'
import type { RecordStorage } from './storage.types.ts'

/** Texts that must outlive a restart, such as the admin token. Reads see what is on disk. */
export interface Settings {
  read(name: string): string | undefined
  /** On disk when the promise resolves. Precondition: one write of a name comes after the other. @throws DISK_UNAVAILABLE (503) */
  write(name: string, value: string): Promise<void>
}

/** @throws StorageDamagedError */
export async function openSettings(storage: RecordStorage): Promise<Settings> {
  return new LoadedSettings(await loadRecords(storage, ['settings']))
}

class LoadedSettings implements Settings {
  readonly #records: LoadedRecords
  readonly #values: Map<string, unknown>

  constructor(records: LoadedRecords) {
    this.#records = records
    this.#values = new Map(records.take('settings'))
  }

  read(name: string): string | undefined {
    // Nobody but this class writes settings, and all are texts.
    return this.#values.get(name) as string | undefined
  }

  async write(name: string, value: string): Promise<void> {
    await this.#records.write([{ kind: 'settings', key: name, value }])
    this.#values.set(name, value)
  }
}
