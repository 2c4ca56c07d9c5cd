/**
 * Files that jobs leave for whoever made them, such as the result of a query: for their owner alone, and for some hours.
 *
 * - A file has its name when all of it is on disk; what a kill leaves half written goes at the next start.
 * - All of them together have so many bytes at most, and those of one owner a share of that: a job whose file would be beyond ends
 *   in error. Nothing that somebody may still read goes before its time, unless its owner removes it.
 * - A full disk ends the job, and readiness follows it.
 */
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { syncDirectory } from '../directory/sync-directory.ts'
import type { Logger } from '../observe/logger.ts'
import { assert } from '../shared/assert.ts'
import { type DiskReports, diskFaultOf } from '../shared/disk-fault.ts'
import { errors } from '../shared/errors/errors.ts'
import { type FileCharge, FileSpace, type FileSpaceOptions } from './file-space.ts'

export interface JobFilesOptions extends FileSpaceOptions {
  readonly directory: string
  /** How long each is kept. */
  readonly keptMs: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

export interface JobFilesDeps {
  readonly disk: DiskReports
  readonly logger: Logger
  /** Who has made a job; undefined where there is none of this id. */
  readonly ownerOf: (id: string) => string | null | undefined
}

export interface WrittenFile {
  readonly byteCount: number
  /** From when on it may be gone; epoch milliseconds. */
  readonly keptUntilMs: number
}

export interface OpenedFile {
  readonly byteCount: number
  /** All of it, once; it closes the file. */
  readonly bytes: Readable
}

export interface JobFiles {
  /**
   * Writes the file of a job; on disk when this resolves, and without a trace when it rejects.
   *
   * @throws JOB_FILES_FULL, JOB_FILES_OF_TOKEN_FULL, DISK_UNAVAILABLE (503), and what `chunks` throws.
   */
  write(id: string, chunks: AsyncIterable<Uint8Array>): Promise<WrittenFile>
  /** Null when there is none any more. */
  open(id: string): Promise<OpenedFile | null>
  /** Whether a job has a file that may still be asked for. */
  has(id: string): boolean
  /** Removes the file of a job, if there is one. */
  remove(id: string): Promise<void>
  close(): void
}

const fileMode = 0o600
const folderMode = 0o700
const partSuffix = '.part'
const lookIntervalMs = 60_000
const diskRetrySeconds = 2

/** Opens the folder; half-written, old and unknown files are removed. @throws what the system does. */
export async function openJobFiles(options: JobFilesOptions, deps: JobFilesDeps): Promise<JobFiles> {
  await mkdir(options.directory, { recursive: true, mode: folderMode })
  const files = new OpenJobFiles(options, deps)
  await files.load()
  return files
}

interface KeptFile {
  readonly charge: FileCharge
  readonly writtenAtMs: number
}

class OpenJobFiles implements JobFiles {
  readonly #options: JobFilesOptions
  readonly #deps: JobFilesDeps
  readonly #kept = new Map<string, KeptFile>()
  readonly #space: FileSpace
  #timer: NodeJS.Timeout | undefined

  constructor(options: JobFilesOptions, deps: JobFilesDeps) {
    this.#options = options
    this.#deps = deps
    this.#space = new FileSpace(options)
  }

  async load(): Promise<void> {
    const { directory } = this.#options
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      const { name } = entry
      // A folder is none of ours: volumes have `lost+found`.
      if (!entry.isFile()) continue
      if (!isId(name)) {
        await rm(join(directory, name), { force: true })
        continue
      }
      const { size, mtimeMs } = await stat(join(directory, name))
      const charge = this.#space.open(this.#deps.ownerOf(name) ?? null)
      charge.note(size)
      this.#kept.set(name, { charge, writtenAtMs: mtimeMs })
    }
    await this.#removeOld()
    this.#timer = setInterval(() => {
      this.#removeOld().catch((err: unknown) => {
        this.#deps.logger.warn({ err }, 'Files of jobs could not be removed yet; it is tried again.')
      })
    }, lookIntervalMs).unref()
  }

  async write(id: string, chunks: AsyncIterable<Uint8Array>): Promise<WrittenFile> {
    assert(isId(id), 'a file is called by the id of its job')
    const { directory, now, keptMs } = this.#options
    const path = join(directory, id)
    const partPath = `${path}${partSuffix}`
    const charge = this.#space.open(this.#deps.ownerOf(id) ?? null)
    try {
      // Somebody may have taken the folder away.
      await mkdir(directory, { recursive: true, mode: folderMode })
      await writePart(partPath, chunks, charge)
      await rename(partPath, path)
      await syncDirectory(directory)
    } catch (thrown) {
      charge.giveBack()
      await rm(partPath, { force: true })
      throw this.#toldOf(thrown)
    }
    const writtenAtMs = now()
    this.#kept.set(id, { charge, writtenAtMs })
    return { byteCount: charge.byteCount, keptUntilMs: writtenAtMs + keptMs }
  }

  async open(id: string): Promise<OpenedFile | null> {
    const kept = this.#kept.get(id)
    if (kept === undefined || this.#isOld(kept)) return null
    const file = await openOrNull(join(this.#options.directory, id))
    if (file === null) return null
    const { byteCount } = kept.charge
    const { size } = await file.stat()
    if (size === byteCount) return { byteCount, bytes: file.createReadStream() }
    await file.close()
    this.#deps.logger.warn({ jobId: id, size, byteCount }, 'A file of a job has another size than it was written with.')
    return null
  }

  has(id: string): boolean {
    const kept = this.#kept.get(id)
    return kept !== undefined && !this.#isOld(kept)
  }

  async remove(id: string): Promise<void> {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    await rm(join(this.#options.directory, id), { force: true })
    // Another remove may have come between.
    if (this.#kept.delete(id)) kept.charge.giveBack()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #toldOf(thrown: unknown): unknown {
    const reason = diskFaultOf(thrown)
    if (reason === null) return thrown
    this.#deps.disk.report(reason, thrown)
    return errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds: diskRetrySeconds, cause: thrown })
  }

  async #removeOld(): Promise<void> {
    for (const [id, kept] of this.#kept) {
      if (this.#isOld(kept) || this.#deps.ownerOf(id) === undefined) await this.remove(id)
    }
  }

  #isOld({ writtenAtMs }: KeptFile): boolean {
    return this.#options.now() >= writtenAtMs + this.#options.keptMs
  }
}

async function writePart(path: string, chunks: AsyncIterable<Uint8Array>, charge: FileCharge): Promise<void> {
  const file = await open(path, 'w', fileMode)
  try {
    charge.grow(0)
    for await (const chunk of chunks) {
      charge.grow(chunk.byteLength)
      await file.writeFile(chunk)
    }
    await file.sync()
  } finally {
    await file.close()
  }
}

async function openOrNull(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return null
    throw thrown
  }
}

function isId(name: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)
}
