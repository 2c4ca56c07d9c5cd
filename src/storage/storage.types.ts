/**
 * Where what exists is kept: records of a few kinds, each found by its key, changed by whole batches.
 *
 * 1. A batch is written as a whole or not at all. It is refused when one of its records has another version than the writer
 *    read, so that nobody overwrites what he has not seen.
 * 2. Reads and watchers see a batch once it is on disk. What the disk does not take was never there: it is refused with
 *    DISK_UNAVAILABLE (503), and later batches may pass.
 * 3. Versions are compared, nothing else: they grow with each batch, and hold as long as the storage is open.
 */
export interface RecordStorage {
  /** Null when there is no such record. @throws StorageDamagedError when it is not as it was written. */
  get(kind: RecordKind, key: string): Promise<StoredRecord | null>
  /** The records whose keys begin with `prefix`, in the order of their keys. @throws StorageDamagedError */
  list(kind: RecordKind, prefix?: string): Promise<readonly StoredRecord[]>
  /**
   * Tells a kind's changes from now on, in the order of the batches, a batch by one call; a batch is told before its writer
   * hears of it. Who watches first and lists then misses nothing, and knows by the versions what it has twice.
   *
   * @returns what ends the watch.
   */
  watch(kind: RecordKind, tell: (changes: readonly RecordChange[]) => void): () => void
  /**
   * Writes all or nothing; on disk when the promise resolves. Batches are written in the order in which they came.
   *
   * @returns the version that all its records have from now on.
   * @throws StorageConflictError when a record has another version by now; DISK_UNAVAILABLE (503).
   */
  commit(writes: readonly RecordWrite[]): Promise<number>
  /** Waits for the batches under way; nothing may be called afterwards. */
  close(): Promise<void>
}

/** Each is a map of the file: a name that was given stays. */
export const recordKinds = [
  ...(['meta', 'data_sources', 'pipes', 'settings', 'variables'] as const),
  ...(['workspace', 'tokens', 'token_audit', 'token_uses', 'jobs', 'kept_imports'] as const),
] as const
export type RecordKind = (typeof recordKinds)[number]

export interface StoredRecord {
  readonly key: string
  /** A plain JSON value: from disk, so not yet to be trusted. */
  readonly value: unknown
  readonly version: number
}

/** A record as it is from now on; the value of one that was removed is null. */
export type RecordChange = StoredRecord

export interface RecordWrite {
  readonly kind: RecordKind
  /** 1 to 300 printable characters of ASCII, and in a batch once. */
  readonly key: string
  /** A plain JSON value; null removes the record. */
  readonly value: unknown
  /** The version that was read; null when there was no record. */
  readonly version: number | null
}
