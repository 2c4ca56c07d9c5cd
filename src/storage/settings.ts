import { ChangeQueue } from '../shared/change-queue.ts'
import { type LoadedRecords, loadRecords } from './loaded-records.ts'
import type { RecordStorage } from './storage.types.ts'

/** Texts that must outlive a restart, such as the admin token. Reads see what is on disk. */
export interface Settings {
  read(name: string): string | undefined
  /**
   * On disk when the promise resolves; behind what was asked for before of the same name.
   *
   * @throws CHANGES_TOO_MANY, DISK_UNAVAILABLE (503)
   */
  write(name: string, value: string): Promise<void>
  /** As `write`, of what the write before it has left: `valueAfter` is given that when its turn has come. */
  change(name: string, valueAfter: (before: string | undefined) => string): Promise<void>
}

/** @throws StorageDamagedError */
export async function openSettings(storage: RecordStorage): Promise<Settings> {
  return new LoadedSettings(await loadRecords(storage, ['settings']))
}

class LoadedSettings implements Settings {
  readonly #records: LoadedRecords
  readonly #values: Map<string, unknown>
  /** By name: two writes of one record beside each other would expect the same version of it, and the second one would fail. */
  readonly #writes = new ChangeQueue()

  constructor(records: LoadedRecords) {
    this.#records = records
    this.#values = new Map(records.take('settings'))
  }

  read(name: string): string | undefined {
    // Nobody but this class writes settings, and all are texts.
    return this.#values.get(name) as string | undefined
  }

  async write(name: string, value: string): Promise<void> {
    await this.change(name, () => value)
  }

  async change(name: string, valueAfter: (before: string | undefined) => string): Promise<void> {
    await this.#writes.run(name, async () => {
      const value = valueAfter(this.read(name))
      await this.#records.write([{ kind: 'settings', key: name, value }])
      this.#values.set(name, value)
    })
  }
}
