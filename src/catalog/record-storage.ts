/**
 * The catalog's file, an lmdb environment: named maps of JSON records, changed by whole transactions.
 *
 * 1. Transactions are made one after the other. One that the disk refuses changes nothing, and rejects with
 *    DISK_UNAVAILABLE (503); later ones pass as soon as the disk takes them.
 * 2. Room is made before a transaction, by extending the file with zeros: so a full disk refuses here, where nothing has
 *    begun, and changes that need no more room (a drop) pass on a disk that is full.
 * 3. After a failed transaction nobody knows what is on disk, and lmdb takes no more when the page that makes a commit valid
 *    was not written. So the file is opened anew, and the next transaction first puts back what the failed one may have
 *    changed.
 * 4. Each record has a checksum in a map of its own: lmdb has none.
 */
import { closeSync, openSync, statSync } from 'node:fs'
import { open as openFile, rm, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { type Database, open, type RootDatabase } from 'lmdb'
import { type DiskReports, diskFaultOf, reasonOf } from '../shared/disk-fault.ts'
import { errors } from '../shared/errors/errors.ts'
import { CatalogDamagedError } from './catalog-file.ts'

const mapNames = ['meta', 'data_sources', 'pipes', 'settings', 'variables'] as const
export type MapName = (typeof mapNames)[number]

export interface RecordWrite {
  readonly map: MapName
  readonly key: string
  /** A plain JSON value; null removes the record. */
  readonly value: unknown
}

/** Pages that a transaction may need beside those of its records: copies of the pages above them, and of the free list. */
const spareBytes = 128 * 1024
/** The file grows by this much at a time. */
const growthBytes = 256 * 1024
const retryAfterSeconds = 2
/** How long the reason of a failed commit is waited for; lmdb tells it right behind the failure. */
const reasonWaitMs = 100

interface OpenMaps {
  readonly root: RootDatabase<unknown>
  readonly maps: Readonly<Record<MapName, Database<unknown>>>
  readonly checksums: Database<number>
  readonly inode: number
}

export class RecordStorage {
  readonly #path: string
  readonly #disk: DiskReports
  /** Null when the file could not be opened again after a failure. */
  #opened: OpenMaps | null
  #hasFailed = false
  /** What the records were before the transactions that failed, the newest first. */
  #undone: readonly RecordWrite[] = []
  #lastWrite: Promise<void> = Promise.resolve()

  /** Opens the file and makes it when it is missing. Precondition: it was checked. */
  constructor(path: string, disk: DiskReports) {
    this.#path = path
    this.#disk = disk
    this.#opened = openMaps(path)
  }

  /**
   * The records of a map. Precondition: nothing was written yet.
   *
   * @throws CatalogDamagedError when a record is not as it was written.
   */
  records(map: MapName): ReadonlyMap<string, unknown> {
    if (this.#opened === null) throw new Error('the catalog is not open')
    const { maps, checksums } = this.#opened
    const records = new Map<string, unknown>()
    const prefix = checksumKey(map, '')
    const sums = new Map<string, unknown>()
    for (const { key, value } of readRange(this.#path, checksums)) {
      if (key.startsWith(prefix)) sums.set(key, value)
    }
    for (const { key, value } of readRange(this.#path, maps[map])) {
      const sum = sums.get(checksumKey(map, key))
      // Records of earlier releases have none until they are written again.
      if (sum !== undefined && sum !== checksumOf(key, value)) {
        throw new CatalogDamagedError(`the record of ${key} is not as it was written`)
      }
      records.set(key, value)
    }
    const lost = [...sums.keys()].map((key) => key.slice(prefix.length)).find((key) => !records.has(key))
    if (lost !== undefined) throw new CatalogDamagedError(`the record of ${lost} is missing`)
    return records
  }

  /** Makes all of the changes or none; they are on disk when the promise resolves. @throws DISK_UNAVAILABLE (503) */
  write(writes: readonly RecordWrite[]): Promise<void> {
    const written = this.#lastWrite.then(() => this.#write(writes))
    this.#lastWrite = written.catch(() => undefined)
    return written
  }

  async close(): Promise<void> {
    await this.#lastWrite
    await this.#opened?.root.close()
    this.#opened = null
  }

  async #write(writes: readonly RecordWrite[]): Promise<void> {
    try {
      const opened = this.#hasFailed ? await this.#openAgain() : this.#expectOpen()
      await makeRoom(this.#path, opened, writes)
      await this.#commit(opened, writes)
    } catch (thrown) {
      const cause = await commitErrorOf(thrown)
      const reason = diskFaultOf(cause) ?? reasonOf(numberOf(cause))
      if (reason === null) throw cause
      this.#disk.report(reason, cause)
      throw errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds, cause })
    }
  }

  async #commit(opened: OpenMaps, writes: readonly RecordWrite[]): Promise<void> {
    const { root, maps } = opened
    const before = writes.map(({ map, key }) => ({ map, key, value: maps[map].get(key) ?? null }))
    try {
      await root.transaction(() => {
        for (const write of [...this.#undone, ...writes]) put(opened, write)
      })
      this.#undone = []
    } catch (thrown) {
      this.#hasFailed = true
      // The oldest comes last: it is what was on disk for sure.
      this.#undone = [...before, ...this.#undone]
      throw thrown
    }
  }

  async #openAgain(): Promise<OpenMaps> {
    await tryWriting(`${this.#path}-probe`)
    await this.#opened?.root.close()
    this.#opened = null
    this.#opened = openMaps(this.#path)
    this.#hasFailed = false
    return this.#opened
  }

  #expectOpen(): OpenMaps {
    if (this.#opened === null) throw new Error('the catalog is closed')
    return this.#opened
  }
}

function openMaps(path: string): OpenMaps {
  // The admin token lies in the file, and lmdb would make it readable for all.
  closeSync(openSync(path, 'a', 0o600))
  const root = open<unknown>({
    path,
    noSubdir: true,
    encoding: 'json',
    // Without overlappingSync a commit is synced before its promise resolves; with it, some time after.
    overlappingSync: false,
    // With it lmdb makes promises of its own for each turn, which reject with a failed commit and which nobody holds.
    eventTurnBatching: false,
    maxDbs: 8,
  })
  const mapOf = (name: MapName) => root.openDB<unknown>({ name, encoding: 'json' })
  const checksums = root.openDB<number>({ name: 'checksums', encoding: 'json' })
  const maps = {
    meta: mapOf('meta'),
    data_sources: mapOf('data_sources'),
    pipes: mapOf('pipes'),
    settings: mapOf('settings'),
    variables: mapOf('variables'),
  }
  return { root, maps, checksums, inode: statSync(path).ino }
}

function* readRange(
  path: string,
  map: Pick<Database<unknown>, 'getRange'>,
): Generator<{ key: string; value: unknown }> {
  try {
    for (const { key, value } of map.getRange()) yield { key: String(key), value }
  } catch (cause) {
    // The file is mapped, so no disk has a word here: what cannot be read was not written so.
    throw new CatalogDamagedError(`a record in ${path} cannot be read`, { cause })
  }
}

function put({ maps, checksums }: OpenMaps, { map, key, value }: RecordWrite): void {
  const sumKey = checksumKey(map, key)
  if (value === null) {
    void maps[map].remove(key)
    void checksums.remove(sumKey)
    return
  }
  void maps[map].put(key, value)
  void checksums.put(sumKey, checksumOf(key, value))
}

function checksumKey(map: MapName, key: string): string {
  return `${map}/${key}`
}

function checksumOf(key: string, value: unknown): number {
  return crc32(`${key}\n${JSON.stringify(value)}`)
}

/** @throws the system's error when the disk has no room, and Error when the file is gone. */
async function makeRoom(path: string, { root, inode }: OpenMaps, writes: readonly RecordWrite[]): Promise<void> {
  const { size, ino } = await stat(path)
  if (ino !== inode)
    throw new Error(`${path} was removed or replaced while the service has it open; restart the service`)
  // lmdb leaves the type of its statistics open.
  const { lastPageNumber, pageSize } = root.getStats() as { readonly lastPageNumber: number; readonly pageSize: number }
  // Undone changes are written once more, so there may be twice as many.
  const recordBytes = writes.reduce((sum, { value }) => sum + JSON.stringify(value).length + pageSize, 0) * 2
  const neededBytes = (lastPageNumber + 1) * pageSize + recordBytes + spareBytes
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
