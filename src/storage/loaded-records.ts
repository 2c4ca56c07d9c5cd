import type { RecordKind, RecordStorage } from './storage.types.ts'

/** A write of a module that holds all records of the kind. */
export interface LoadedWrite {
  readonly kind: RecordKind
  readonly key: string
  /** A plain JSON value; null removes the record, if there is one. */
  readonly value: unknown
}

/** Reads all records of some kinds, for a module that keeps them in memory. @throws StorageDamagedError */
export async function loadRecords(storage: RecordStorage, kinds: readonly RecordKind[]): Promise<LoadedRecords> {
  const records = new LoadedRecords(storage)
  for (const kind of kinds) await records.load(kind)
  return records
}

/**
 * The versions of records whose values a module keeps in memory, in a form of its own. Its writes say what they were made
 * from, so another writer of the same records is noticed.
 */
export class LoadedRecords {
  readonly #storage: RecordStorage
  readonly #versionsByKind = new Map<RecordKind, Map<string, number>>()
  /** Until they are taken. */
  readonly #values = new Map<RecordKind, ReadonlyMap<string, unknown>>()

  constructor(storage: RecordStorage) {
    this.#storage = storage
  }

  async load(kind: RecordKind): Promise<void> {
    const records = await this.#storage.list(kind)
    this.#versionsByKind.set(kind, new Map(records.map(({ key, version }) => [key, version])))
    this.#values.set(kind, new Map(records.map(({ key, value }) => [key, value])))
  }

  /** What was read of a kind, by key: from disk, so not yet to be trusted. It is given once. */
  take(kind: RecordKind): ReadonlyMap<string, unknown> {
    const values = this.#values.get(kind) ?? new Map<string, unknown>()
    this.#values.delete(kind)
    return values
  }

  /**
   * Writes all or nothing; on disk when the promise resolves. Precondition: one write comes after the other.
   *
   * @throws StorageConflictError when somebody else wrote one of them; DISK_UNAVAILABLE (503).
   */
  async write(writes: readonly LoadedWrite[]): Promise<void> {
    const versions = writes.map(({ kind, key }) => this.#versionsOf(kind).get(key) ?? null)
    const version = await this.#storage.commit(
      writes.map((write, index) => ({ ...write, version: versions[index] ?? null })),
    )
    for (const { kind, key, value } of writes) {
      if (value === null) this.#versionsOf(kind).delete(key)
      else this.#versionsOf(kind).set(key, version)
    }
  }

  #versionsOf(kind: RecordKind): Map<string, number> {
    const versions = this.#versionsByKind.get(kind) ?? new Map<string, number>()
    this.#versionsByKind.set(kind, versions)
    return versions
  }
}
