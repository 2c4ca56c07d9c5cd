/**
 * INSERTs that are kept as files, because some view behind their data source does not take them: those of imports, as events are in the log.
 *
 * 1. Each has a number, in the order in which they came. Who keeps some of a data source (a *keeper*: a view that is behind) has a place
 *    among the numbers, and needs all from there on.
 * 2. It is noted before its INSERT begins, and once more when its rows are stored. So behind a kill it is known which may be stored or
 *    not; those are inserted again, under their tokens.
 * 3. What no keeper needs goes, its note first, as soon as its INSERT has ended.
 */

import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../observe/logger.ts'
import { ChangeQueue } from '../../shared/change-queue.ts'
import { type LoadedRecords, loadRecords } from '../../storage/loaded-records.ts'
import type { RecordStorage } from '../../storage/storage.types.ts'
import type { LocalFiles, WrittenAppend } from '../../store/store.types.ts'
import { BacklogFiles, type KeptFile, type OpenedRequest, textOfRequest } from './backlog-files.ts'

/** One INSERT that is kept. */
export interface KeptImport extends KeptNote {
  readonly number: number
}

/** What is noted of one. */
interface KeptNote {
  readonly dataSourceId: string
  readonly blockId: string
  /** Where the log of events was when it came: what is stored of the data source lies before. */
  readonly place: number
  readonly files: readonly KeptFile[]
  readonly isStored: boolean
}

interface AddedImport {
  /** See `KeptNote`. */
  readonly place: number
  /** What it takes; see `KeptImports.bytesOf`. */
  readonly byteCount: number
}

/** What is kept, and how much may be. */
export interface BacklogSize {
  readonly bytes: number
  readonly bytesMax: number
}

export interface KeptImportsOptions {
  readonly directory: string
  /** Of the files, as they lie on disk. */
  readonly bytesMax: number
}

interface KeptImportsDeps {
  readonly storage: RecordStorage
  readonly store: Pick<LocalFiles, 'newPartPath'>
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

const kind = 'kept_imports'
const directoryName = 'views-backlog'
/** A file takes whole ones on disk. */
const diskBlockBytes = 4096
const keyLength = 15

/** Opens what earlier processes have kept. @throws StorageDamagedError, what the disk refuses with. */
export async function openKeptImports(
  { dataDir, viewsBacklogImportBytesMax }: { readonly dataDir: string; readonly viewsBacklogImportBytesMax: number },
  deps: KeptImportsDeps,
): Promise<KeptImports> {
  const directory = join(dataDir, directoryName)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const records = await loadRecords(deps.storage, [kind])
  return new KeptImports({ directory, bytesMax: viewsBacklogImportBytesMax }, { ...deps, records })
}

export class KeptImports {
  readonly #options: KeptImportsOptions
  readonly #records: LoadedRecords
  readonly #files: BacklogFiles
  readonly #logger: KeptImportsDeps['logger']
  /** Writes of the notes, one after the other. */
  readonly #writes = new ChangeQueue()
  readonly #places = new Map<string, { readonly dataSourceId: string; readonly from: number }>()
  /** By number, in order. */
  readonly #imports = new Map<number, KeptImport>()
  /** By number, what they take on disk. */
  readonly #bytes = new Map<number, number>()
  /** Those whose INSERT is under way. */
  readonly #underWay = new Set<number>()
  #next = 0
  #byteCount = 0

  constructor(
    options: KeptImportsOptions,
    { records, store, logger }: Pick<KeptImportsDeps, 'logger' | 'store'> & { readonly records: LoadedRecords },
  ) {
    this.#options = options
    this.#records = records
    this.#logger = logger
    this.#files = new BacklogFiles(options.directory, { newPartPath: () => store.newPartPath() })
    for (const [key, value] of [...records.take(kind)].toSorted()) {
      // Nobody but this class writes them, and the storage knows damage.
      this.#hold({ ...(value as KeptNote), number: Number(key) })
    }
  }

  /** For whom some are kept, or may come to be. */
  get keepers(): readonly string[] {
    return [...this.#places.keys()]
  }

  /** The number of the next one. */
  get next(): number {
    return this.#next
  }

  /** Of all files. */
  get size(): BacklogSize {
    return { bytes: this.#byteCount, bytesMax: this.#options.bytesMax }
  }

  get isEmpty(): boolean {
    return this.#imports.size === 0
  }

  /** Keeps all of a data source from a number on. */
  keep(keeper: string, dataSourceId: string, from: number): void {
    this.#places.set(keeper, { dataSourceId, from })
    // Numbers are never given twice, also where all files of earlier ones are gone.
    this.#next = Math.max(this.#next, from)
  }

  /** The keeper has all before the number. */
  async moveTo(keeper: string, from: number): Promise<void> {
    const known = this.#places.get(keeper)
    if (known === undefined) return
    this.#places.set(keeper, { ...known, from })
    await this.#dropUnneeded()
  }

  async letGo(keeper: string): Promise<void> {
    if (this.#places.delete(keeper)) await this.#dropUnneeded()
  }

  /** The first one that is kept for a keeper from a number on. */
  firstOf(keeper: string, from: number): KeptImport | undefined {
    const place = this.#places.get(keeper)
    if (place === undefined) return undefined
    const first = Math.max(from, place.from)
    for (const one of this.#imports.values()) {
      if (one.number >= first && one.dataSourceId === place.dataSourceId) return one
    }
    return undefined
  }

  countsOf(keeper: string): { readonly blockCount: number; readonly byteCount: number } {
    const place = this.#places.get(keeper)
    let [blockCount, byteCount] = [0, 0]
    for (const { number, dataSourceId, files } of place === undefined ? [] : this.#imports.values()) {
      if (number < (place?.from ?? 0) || dataSourceId !== place?.dataSourceId) continue
      blockCount += 1
      byteCount += diskBytesOf(files)
    }
    return { blockCount, byteCount }
  }

  /** Bytes that an INSERT would take on disk. */
  async bytesOf({ request, paths }: WrittenAppend): Promise<number> {
    const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size))
    return diskBytesOf([Buffer.byteLength(textOfRequest(request)), ...sizes].map((byteCount) => ({ byteCount })))
  }

  /** Whether so much may be kept at all. */
  mayHold(byteCount: number): boolean {
    return byteCount <= this.#options.bytesMax
  }

  /** Whether so much may be kept beside what is kept. */
  hasRoomFor(byteCount: number): boolean {
    return this.#byteCount + byteCount <= this.#options.bytesMax
  }

  find(dataSourceId: string, blockId: string): KeptImport | undefined {
    return [...this.#imports.values()].find((one) => one.dataSourceId === dataSourceId && one.blockId === blockId)
  }

  /** Those of which nobody knows whether their rows are stored: an earlier process was ended in the middle of them. */
  get doubtful(): readonly KeptImport[] {
    return [...this.#imports.values()].filter(({ number, isStored }) => !isStored && !this.#underWay.has(number))
  }

  /** The number of the first one of a data source whose rows are not known to be stored; undefined when there is none. */
  firstUnstored(dataSourceId: string): number | undefined {
    return [...this.#imports.values()].find((one) => one.dataSourceId === dataSourceId && !one.isStored)?.number
  }

  get all(): readonly KeptImport[] {
    return [...this.#imports.values()]
  }

  isNeededBy({ number, dataSourceId }: KeptImport, keeper: string): boolean {
    const place = this.#places.get(keeper)
    return place?.dataSourceId === dataSourceId && place.from <= number
  }

  isNeeded({ number, dataSourceId }: KeptImport): boolean {
    return [...this.#places.values()].some((place) => place.dataSourceId === dataSourceId && place.from <= number)
  }

  /**
   * Keeps an INSERT that is about to run, on disk when it resolves; one that is kept already, if it is the same one. It stays until
   * `noteStored` or `drop`. @throws what the disk refuses with.
   */
  async add({ request, paths }: WrittenAppend, { place, byteCount }: AddedImport): Promise<KeptImport> {
    const { table: dataSourceId, blockId } = request
    const known = this.find(dataSourceId, blockId)
    if (known?.isStored === true) return known
    const text = textOfRequest(request)
    const number = this.#next
    // At once, as what comes behind it must not be taken for the first one.
    const begun: KeptImport = { number, dataSourceId, blockId, place, files: [], isStored: false }
    this.#hold(begun, byteCount)
    this.#underWay.add(number)
    try {
      const files = await this.#files.write(number, text, paths)
      if (known !== undefined && String(known.files.map(checksumOf)) === String(files.map(checksumOf))) {
        this.#underWay.add(known.number)
        await this.#forget(number, files.length)
        return known
      }
      const kept = { ...begun, files }
      await this.#write(kept)
      this.#hold(kept)
      // Of the same rows in another way, such as without those that are set aside.
      if (known !== undefined) await this.drop(known)
      return kept
    } catch (thrown) {
      await this.#forget(number, paths.length + 1)
      throw thrown
    }
  }

  /** One that is not noted. */
  async #forget(number: number, fileCount: number): Promise<void> {
    this.#letGoOf(number)
    await this.#files.remove(number, fileCount)
  }

  /** It is begun again, as it was left. */
  begin({ number }: KeptImport): void {
    this.#underWay.add(number)
  }

  /** Its rows are stored. What fails here is told: it is inserted again at the next start then, under its token. */
  async noteStored({ number }: KeptImport): Promise<void> {
    this.#underWay.delete(number)
    const kept = this.#imports.get(number)
    if (kept === undefined) return
    const stored = { ...kept, isStored: true }
    this.#imports.set(number, stored)
    if (!this.isNeeded(stored)) return await this.drop(stored)
    try {
      await this.#write(stored)
    } catch (err) {
      this.#logger.warn({ err, block: kept.blockId }, 'A block that is stored and kept for a view could not be noted.')
    }
  }

  /** Its INSERT is cut off, and left to the next start. */
  leave({ number }: KeptImport): void {
    this.#underWay.delete(number)
  }

  /** Nobody needs it any more. What fails here is told, and done by the next start. */
  drop(kept: KeptImport): Promise<void> {
    return this.#dropAll([kept])
  }

  /** Its INSERT, with parts that the store removes; null where some of it is lost. */
  open({ number, files }: KeptImport): Promise<OpenedRequest | null> {
    return this.#files.read(number, files)
  }

  areFilesThere({ number, files }: KeptImport): Promise<boolean> {
    return this.#files.areThere(number, files)
  }

  /** Removes what nobody needs, and files that are of nothing noted. Precondition: no INSERT is under way. */
  async tidy(): Promise<void> {
    await this.#dropUnneeded()
    const fileCount = await this.#files.removeOthers(new Set(this.#imports.keys()))
    if (fileCount > 0)
      this.#logger.info({ fileCount }, 'Files that were kept for views and are of nothing are removed.')
  }

  #dropUnneeded(): Promise<void> {
    return this.#dropAll(
      this.all.filter((one) => one.isStored && !this.#underWay.has(one.number) && !this.isNeeded(one)),
    )
  }

  async #dropAll(all: readonly KeptImport[]): Promise<void> {
    const dropped = all.filter(({ number }) => this.#letGoOf(number))
    if (dropped.length === 0) return
    try {
      const writes = dropped.map(({ number }) => ({ kind, key: keyOf(number), value: null }) as const)
      await this.#writes.run(kind, () => this.#records.write(writes))
      for (const { number, files } of dropped) await this.#files.remove(number, files.length)
    } catch (err) {
      this.#logger.warn({ err }, 'Files of blocks that no view needs any more could not be removed.')
    }
  }

  #hold(kept: KeptImport, byteCount: number = diskBytesOf(kept.files)): void {
    this.#imports.set(kept.number, kept)
    this.#next = Math.max(this.#next, kept.number + 1)
    this.#byteCount += byteCount - (this.#bytes.get(kept.number) ?? 0)
    this.#bytes.set(kept.number, byteCount)
  }

  /** False where it is not held. */
  #letGoOf(number: number): boolean {
    this.#underWay.delete(number)
    this.#byteCount -= this.#bytes.get(number) ?? 0
    this.#bytes.delete(number)
    return this.#imports.delete(number)
  }

  #write({ number, ...note }: KeptImport): Promise<void> {
    return this.#writes.run(kind, () => this.#records.write([{ kind, key: keyOf(number), value: note }]))
  }
}

/** In the order of the numbers. */
function keyOf(number: number): string {
  return String(number).padStart(keyLength, '0')
}

function checksumOf({ checksum }: KeptFile): number {
  return checksum
}

function diskBytesOf(files: readonly Pick<KeptFile, 'byteCount'>[]): number {
  return files.reduce((total, { byteCount }) => total + Math.ceil(byteCount / diskBlockBytes) * diskBlockBytes, 0)
}
