import type { CatalogChange, CatalogStorage, StoredCatalog } from '../../src/catalog/catalog-storage.types.ts'

/** A storage that forgets everything with the test, and fails when it is told to. */
export class MemoryStorage implements CatalogStorage {
  /** What every commit fails with; null lets them pass. */
  failure: Error | null = null
  readonly #records = { 'data source': new Map<string, unknown>(), pipe: new Map<string, unknown>() }
  readonly #settings = new Map<string, string>()
  #catalogVersion = 0

  load(): StoredCatalog {
    const { pipe, 'data source': dataSource } = this.#records
    return { catalogVersion: this.#catalogVersion, records: new Map(dataSource), pipeRecords: new Map(pipe) }
  }

  async commit({ catalogVersion, writes }: CatalogChange): Promise<void> {
    if (this.failure !== null) throw this.failure
    this.#catalogVersion = catalogVersion
    for (const { kind, id, record } of writes) {
      if (record === null) this.#records[kind].delete(id)
      else this.#records[kind].set(id, record)
    }
  }

  readSetting(name: string): string | undefined {
    return this.#settings.get(name)
  }

  async writeSetting(name: string, value: string): Promise<void> {
    this.#settings.set(name, value)
  }

  async close(): Promise<void> {}
}
