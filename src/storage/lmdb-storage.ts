/**
 * The catalog's file, an lmdb environment: a map for each kind of record, changed by whole transactions.
 *
 * 1. Transactions are made one after the other. One that the disk refuses changes nothing, and rejects with
 *    DISK_UNAVAILABLE (503); later ones pass as soon as the disk takes them.
 * 2. Room is made before a transaction, by extending the file with zeros: so a full disk refuses here, where nothing has
 *    begun, and changes that need no more room (a drop) pass on a disk that is full.
 * 3. After a failed transaction nobody knows what is on disk, and lmdb takes no more when the page that makes a commit valid
 *    was not written. So the file is opened anew, and the next transaction first puts back what the failed one may have
 *    changed. Until then, and while a transaction is under way, its records are read as they were before it.
 * 4. Each record has a checksum in a map of its own: lmdb has none.
 * 5. One process has the file open, so versions need not be on disk: 0 for what this process has not written, else the
 *    number of the transaction.
 * 6. A disposable record that is damaged counts as missing from the start on, and the first transaction removes it.
 */
import { closeSync, openSync, statSync } from 'node:fs'
import { open as openFile, rm, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { type Database, open, type RangeOptions, type RootDatabase } from 'lmdb'
import { assert } from '../shared/assert.ts'
import { type DiskReports, diskFaultOf, noDiskReports, reasonOf } from '../shared/disk-fault.ts'
import { errors } from '../shared/errors/errors.ts'
import { disposableKinds, isDisposable } from './disposable-records.ts'
import { checkLmdbFile } from './lmdb-file-check.ts'
import { RecordWatchers } from './record-watchers.ts'
import {
  type RecordKind,
  type RecordStorage,
  type RecordWrite,
  recordKinds,
  type StoredRecord,
} from './storage.types.ts'
import { StorageConflictError, StorageDamagedError, StorageLayoutError } from './storage-errors.ts'

/** Pages that a transaction may need beside those of its records: copies of the pages above them, and of the free list. */
const spareBytes = 128 * 1024
/** What a record takes beside its value: its key, that of its checksum, and the heads of both. */
const entryBytes = 200
/** The file grows by this much at a time. */
const growthBytes = 256 * 1024
const retryAfterSeconds = 2
/** How long the reason of a failed commit is waited for; lmdb tells it right behind the failure. */
const reasonWaitMs = 100

const layoutVersion = 1
const layoutKey = 'layout'

export interface LmdbStorageDeps {
  /** Is told when the disk refuses a change. */
  readonly disk?: DiskReports
  /** Is told of each damaged record that can be done without, as `<kind>/<key>`, before the storage is given. */
  readonly onDiscarded?: (place: string) => void
}

/**
 * Opens the file, and makes it when it is missing.
 *
 * @param path of the file; beside it lies its lock, `<path>-lock`.
 * @throws StorageDamagedError when the file is not as it was written; StorageLayoutError when it has a layout that this
 *   release does not know; the system's error when a file cannot be opened. Nothing is changed then.
 */
export async function openLmdbStorage(path: string, deps: LmdbStorageDeps = {}): Promise<RecordStorage> {
  checkLmdbFile(path)
  throwIfNoLockFile(`${path}-lock`)
  const storage = new LmdbStorage(path, deps.disk ?? noDiskReports)
  try {
    await storage.checkLayout()
    for (const place of storage.discardDamaged()) deps.onDiscarded?.(place)
    return storage
  } catch (error) {
    await storage.close()
    throw error
  }
}

/** Where the lock cannot be opened, as when it is a folder, lmdb ends the process (SIGSEGV). */
function throwIfNoLockFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
}

interface OpenMaps {
  readonly root: RootDatabase<unknown>
  readonly maps: Readonly<Record<RecordKind, Database<unknown>>>
  readonly checksums: Database<number>
  readonly inode: number
}

/** A record without its version, which is no part of what is on disk. */
type RecordValue = Pick<RecordWrite, 'kind' | 'key' | 'value'>

class LmdbStorage implements RecordStorage {
  readonly #path: string
  readonly #disk: DiskReports
  /** Null when the file is closed, or could not be opened again after a failure. */
  #opened: OpenMaps | null
  /** Whether the last transaction failed. */
  #hasFailed = false
  /** What the last batch was refused with; null after one that passed. */
  #refusal: unknown = null
  #hasLayout = false
  /**
   * What records were before the transaction under way and before those that failed last, by kind and key. Those that were discarded
   * were not there.
   */
  readonly #before = new Map<string, RecordValue>()
  /** Of the records that were written since the file was opened. */
  readonly #versions = new Map<string, number>()
  #version = 0
  readonly #watchers = new RecordWatchers()
  #lastWrite: Promise<unknown> = Promise.resolve()

  /** Precondition: the file was checked. */
  constructor(path: string, disk: DiskReports) {
    this.#path = path
    this.#disk = disk
    this.#opened = openMaps(path)
  }

  async checkLayout(): Promise<void> {
    const stored = await this.get('meta', layoutKey)
    const layout = stored?.value ?? layoutVersion
    if (layout !== layoutVersion) {
      throw new StorageLayoutError(
        `${this.#path} has layout ${String(layout)}, but this release knows only ${layoutVersion}`,
      )
    }
    this.#hasLayout = stored !== null
  }

  /** Takes damaged records that are disposable for missing, and gives their places. @throws StorageDamagedError */
  discardDamaged(): readonly string[] {
    const places: string[] = []
    for (const kind of disposableKinds) {
      for (const key of this.#storedKeys(kind, '')) {
        if (!isDisposable(kind, key) || this.#isWhole(kind, key)) continue
        this.#before.set(placeOf(kind, key), { kind, key, value: null })
        places.push(placeOf(kind, key))
      }
    }
    return places
  }

  async get(kind: RecordKind, key: string): Promise<StoredRecord | null> {
    const value = this.#valueOf(kind, key)
    return value === null ? null : { key, value, version: this.#versions.get(placeOf(kind, key)) ?? 0 }
  }

  async list(kind: RecordKind, prefix = ''): Promise<readonly StoredRecord[]> {
    const values = this.#storedValues(kind, prefix)
    const size = values.size
    for (const before of this.#before.values()) {
      if (before.kind !== kind || !before.key.startsWith(prefix)) continue
      if (before.value === null) values.delete(before.key)
      else values.set(before.key, before.value)
    }
    const records = Array.from(values, ([key, value]) => {
      return { key, value, version: this.#versions.get(placeOf(kind, key)) ?? 0 }
    })
    return values.size > size ? records.sort((a, b) => (a.key < b.key ? -1 : 1)) : records
  }

  watch(kind: RecordKind, tell: (changes: readonly StoredRecord[]) => void): () => void {
    return this.#watchers.add(kind, tell)
  }

  commit(writes: readonly RecordWrite[]): Promise<number> {
    const written = this.#lastWrite.then(() => this.#write(writes))
    this.#lastWrite = written.catch(() => undefined)
    return written
  }

  async close(): Promise<void> {
    await this.#lastWrite
    const old = this.#opened
    this.#opened = null
    this.#refusal = null
    await old?.root.close()
  }

  async #write(writes: readonly RecordWrite[]): Promise<number> {
    if (writes.length === 0) return this.#version
    try {
      const opened = this.#hasFailed ? await this.#openAgain() : this.#expectOpen()
      this.#checkVersions(writes)
      const all = this.#restoring(writes)
      await makeRoom(this.#path, opened, all)
      await this.#transact(opened, all)
      this.#refusal = null
    } catch (thrown) {
      this.#refusal = await this.#refusalOf(thrown)
      throw this.#refusal
    }
    return this.#noteVersions(writes)
  }

  /** @throws StorageConflictError */
  #checkVersions(writes: readonly RecordWrite[]): void {
    const places = new Set(writes.map(({ kind, key }) => placeOf(kind, key)))
    assert(places.size === writes.length, 'a batch writes a record once')
    for (const { kind, key, version } of writes) {
      assert(keyPattern.test(key), 'a key is printable ASCII')
      const place = placeOf(kind, key)
      const found = this.#valueOf(kind, key) === null ? null : (this.#versions.get(place) ?? 0)
      if (found !== version) {
        throw new StorageConflictError(`${place} has the version ${found}, and ${version} was expected`)
      }
    }
  }

  /** The writes, in front of them what failed transactions may have changed and these do not write themselves. */
  #restoring(writes: readonly RecordWrite[]): readonly RecordValue[] {
    const places = new Set(writes.map(({ kind, key }) => placeOf(kind, key)))
    const restored = [...this.#before].filter(([place]) => !places.has(place)).map(([, before]) => before)
    const layout: RecordValue = { kind: 'meta', key: layoutKey, value: layoutVersion }
    return [...restored, ...(this.#hasLayout ? [] : [layout]), ...writes]
  }

  async #transact(opened: OpenMaps, writes: readonly RecordValue[]): Promise<void> {
    for (const { kind, key } of writes) {
      const place = placeOf(kind, key)
      if (!this.#before.has(place)) this.#before.set(place, { kind, key, value: this.#valueOf(kind, key) })
    }
    try {
      await opened.root.transaction(() => {
        for (const write of writes) put(opened, write)
      })
    } catch (thrown) {
      this.#hasFailed = true
      throw thrown
    }
    this.#hasLayout = true
    this.#before.clear()
  }

  async #refusalOf(thrown: unknown): Promise<unknown> {
    const cause = await commitErrorOf(thrown)
    const reason = diskFaultOf(cause) ?? reasonOf(numberOf(cause))
    if (reason === null) return cause
    this.#disk.report(reason, cause)
    return errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds, cause })
  }

  #noteVersions(writes: readonly RecordWrite[]): number {
    this.#version += 1
    for (const { kind, key, value } of writes) {
      if (value === null) this.#versions.delete(placeOf(kind, key))
      else this.#versions.set(placeOf(kind, key), this.#version)
    }
    this.#watchers.tell(writes, this.#version)
    return this.#version
  }

  /** Null when there is no such record. @throws StorageDamagedError */
  #valueOf(kind: RecordKind, key: string): unknown {
    const before = this.#before.get(placeOf(kind, key))
    if (before !== undefined) return before.value
    const { maps, checksums } = this.#expectOpen()
    const sum = this.#readable(() => checksums.get(placeOf(kind, key)))
    const value = this.#readable(() => maps[kind].get(key)) ?? null
    checkRecord(key, value, sum)
    return value
  }

  #isWhole(kind: RecordKind, key: string): boolean {
    try {
      this.#valueOf(kind, key)
      return true
    } catch (error) {
      if (error instanceof StorageDamagedError) return false
      throw error
    }
  }

  /** The values, by key and in the order of the keys. @throws StorageDamagedError */
  #storedValues(kind: RecordKind, prefix: string): Map<string, unknown> {
    const values = new Map<string, unknown>()
    for (const key of this.#storedKeys(kind, prefix)) {
      const value = this.#valueOf(kind, key)
      if (value !== null) values.set(key, value)
    }
    return values
  }

  /** The keys on disk of records, in their order, then those of checksums whose records are missing. @throws StorageDamagedError */
  #storedKeys(kind: RecordKind, prefix: string): ReadonlySet<string> {
    const { maps, checksums } = this.#expectOpen()
    const kindLength = placeOf(kind, '').length
    const places = this.#keys(checksums, placeOf(kind, prefix))
    return new Set([...this.#keys(maps[kind], prefix), ...places.map((place) => place.slice(kindLength))])
  }

  /** Nothing is read of the values, which may be damaged. @throws StorageDamagedError */
  #keys(map: Pick<Database<unknown>, 'getKeys'>, prefix: string): readonly string[] {
    // Behind all keys that begin so, as keys are ASCII.
    const range: RangeOptions = prefix === '' ? {} : { start: prefix, end: `${prefix}\x7f` }
    const keys: readonly unknown[] = this.#readable(() => [...map.getKeys(range)])
    return keys.map((key) => {
      if (typeof key !== 'string') throw new StorageDamagedError(`a key in ${this.#path} is not as it was written`)
      return key
    })
  }

  #readable<Result>(read: () => Result): Result {
    try {
      return read()
    } catch (cause) {
      // lmdb may refuse to read behind a transaction that failed.
      if (this.#hasFailed) throw this.#refusal ?? cause
      // The file is mapped, so no disk has a word here: what cannot be read was not written so.
      throw new StorageDamagedError(`a record in ${this.#path} cannot be read`, { cause })
    }
  }

  async #openAgain(): Promise<OpenMaps> {
    await tryWriting(`${this.#path}-probe`)
    const old = this.#opened
    this.#opened = null
    await old?.root.close()
    this.#opened = openMaps(this.#path)
    this.#hasFailed = false
    return this.#opened
  }

  #expectOpen(): OpenMaps {
    if (this.#opened === null) throw this.#refusal ?? new Error('the catalog is closed')
    return this.#opened
  }
}

const keyPattern = /^[ -~]{1,300}$/

function openMaps(path: string): OpenMaps {
  // For its owner alone, as all of the data directory; lmdb would make it readable for all.
  closeSync(openSync(path, 'a', 0o600))
  const root = open<unknown>({
    path,
    noSubdir: true,
    encoding: 'json',
    // Without overlappingSync a commit is synced before its promise resolves; with it, some time after.
    overlappingSync: false,
    // With it lmdb makes promises of its own for each turn, which reject with a failed commit and which nobody holds.
    eventTurnBatching: false,
    maxDbs: 16,
  })
  const mapOf = (kind: RecordKind) => [kind, root.openDB<unknown>({ name: kind, encoding: 'json' })] as const
  const checksums = root.openDB<number>({ name: 'checksums', encoding: 'json' })
  // Of entries over all kinds, so there is one for each.
  const maps = Object.fromEntries(recordKinds.map(mapOf)) as OpenMaps['maps']
  return { root, maps, checksums, inode: statSync(path).ino }
}

/** Records of earlier releases have no checksum until they are written again. @throws StorageDamagedError */
function checkRecord(key: string, value: unknown, sum: unknown): void {
  if (sum === undefined) return
  if (value === null) throw new StorageDamagedError(`the record of ${key} is missing`)
  if (sum !== checksumOf(key, value)) throw new StorageDamagedError(`the record of ${key} is not as it was written`)
}

function put({ maps, checksums }: OpenMaps, { kind, key, value }: RecordValue): void {
  const place = placeOf(kind, key)
  if (value === null) {
    void maps[kind].remove(key)
    void checksums.remove(place)
    return
  }
  void maps[kind].put(key, value)
  void checksums.put(place, checksumOf(key, value))
}

/** Also the key of its checksum. */
function placeOf(kind: RecordKind, key: string): string {
  return `${kind}/${key}`
}

function checksumOf(key: string, value: unknown): number {
  return crc32(`${key}\n${JSON.stringify(value)}`)
}

/** @throws the system's error when the disk has no room, and Error when the file is gone. */
async function makeRoom(path: string, { root, inode }: OpenMaps, writes: readonly RecordValue[]): Promise<void> {
  const { size, ino } = await stat(path)
  if (ino !== inode)
    throw new Error(`${path} was removed or replaced while the service has it open; restart the service`)
  // lmdb leaves the type of its statistics open.
  const { lastPageNumber, pageSize } = root.getStats() as { readonly lastPageNumber: number; readonly pageSize: number }
  const pageCount = lastPageNumber + 1
  // A record and its checksum change a page each, at most all that there are; a page that is split is half empty.
  const copiedBytes = Math.min(2 * writes.length, pageCount) * pageSize
  const recordBytes = writes.reduce((sum, { value }) => sum + JSON.stringify(value).length + entryBytes, 0) * 2
  const neededBytes = pageCount * pageSize + copiedBytes + recordBytes + spareBytes
  if (size >= neededBytes) return
  const file = await openFile(path, 'a')
  try {
    await file.writeFile(Buffer.alloc(neededBytes - size + growthBytes))
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** Finds out, without lmdb, whether the disk takes anything. */
async function tryWriting(path: string): Promise<void> {
  try {
    const file = await openFile(path, 'w', 0o600)
    try {
      await file.writeFile(Buffer.alloc(spareBytes))
      await file.sync()
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}

/** lmdb tells the reason of a failed commit by a promise of its own, which has to be held in any case. */
async function commitErrorOf(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof Error) || !('commitError' in thrown) || !(thrown.commitError instanceof Promise))
    return thrown
  const told: Promise<unknown> = thrown.commitError.catch((reason: unknown) => reason)
  return (await Promise.race([told, delay(reasonWaitMs)])) ?? thrown
}

/** The system's number of an error that lmdb gives. */
function numberOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}
