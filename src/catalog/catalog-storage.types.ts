/**
 * Where the catalog keeps itself: a small map of records, read once at start and changed by whole transactions.
 *
 * What the disk does not take is refused with DISK_UNAVAILABLE (503): nothing of it is kept, and later changes may pass.
 */
export interface CatalogStorage {
  /** Everything that is kept, in no order. @throws CatalogDamagedError */
  load(): StoredCatalog
  /** Makes one change as a whole or not at all; it is on disk when the promise resolves. */
  commit(change: CatalogChange): Promise<void>
  /** A setting of the service that must outlive a restart, such as the admin token. */
  readSetting(name: string): string | undefined
  /** On disk when the promise resolves. */
  writeSetting(name: string, value: string): Promise<void>
  /** Waits for what is being written; nothing may be called afterwards. */
  close(): Promise<void>
}

export interface StoredCatalog {
  /** 0 when nothing was ever committed. */
  readonly catalogVersion: number
  /** Records of data sources as they were written, by id: from disk, so not yet to be trusted. */
  readonly records: ReadonlyMap<string, unknown>
  /** The same for pipes. */
  readonly pipeRecords: ReadonlyMap<string, unknown>
}

export interface CatalogChange {
  /** The version of the whole catalog after the change. */
  readonly catalogVersion: number
  readonly writes: readonly CatalogWrite[]
}

/** One record of one map. */
export interface CatalogWrite {
  readonly kind: 'data source' | 'pipe'
  readonly id: string
  /** A plain JSON value, or null to remove the record. */
  readonly record: Readonly<Record<string, unknown>> | null
}
