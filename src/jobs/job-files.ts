/**
 * Files that jobs leave for whoever made them, such as the result of a query: for their owner alone, and for some hours.
 *
 * - A file has its name when all of it is on disk; what a kill leaves half written goes at the next start.
 * - All of them together have so many bytes at most: a job whose file would be beyond that ends in error. Nothing that somebody
 *   may still read goes before its time.
 * - A full disk ends the job, and readiness follows it.
 */
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { syncDirectory } from '../directory/sync-directory.ts'
import type { Logger } from '../observe/logger.ts'
import { assert } from '../shared/assert.ts'
import { type DiskReports, diskFaultOf } from '../shared/disk-fault.ts'
import { errors } from '../shared/errors/errors.ts'

export interface JobFilesOptions {
  readonly directory: string
  /** Bytes of all files together. */
  readonly bytesMax: number
  /** How long each is kept. */
  readonly keptMs: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

export interface JobFilesDeps {
  readonly disk: DiskReports
  readonly logger: Logger
  /** Whether there is a job of this id. */
  readonly isKnown: (id: string) => boolean
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
   * @throws JOB_FILES_FULL, DISK_UNAVAILABLE (503), and what `chunks` throws.
   */
  write(id: string, chunks: AsyncIterable<Uint8Array>): Promise<WrittenFile>
  /** Null when there is none any more. */
  open(id: string): Promise<OpenedFile | null>
  /** Removes the file of a job, if there is one. */
  remove(id: string): Promise<void>
  close(): void
}

const fileMode = 0o600
const partSuffix = '.part'
const lookIntervalMs = 60_000
const diskRetrySeconds = 2

/** Opens the folder; half-written, old and unknown files are removed. @throws what the system does. */
export async function openJobFiles(options: JobFilesOptions, deps: JobFilesDeps): Promise<JobFiles> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 })
  const files = new OpenJobFiles(options, deps)
  await files.load()
  return files
}

interface KeptFile {
  readonly byteCount: number
  readonly writtenAtMs: number
}

class OpenJobFiles implements JobFiles {
  readonly #options: JobFilesOptions
  readonly #deps: JobFilesDeps
  readonly #kept = new Map<string, KeptFile>()
  /** Bytes of all, those that are being written among them. */
  #byteCount = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: JobFilesOptions, deps: JobFilesDeps) {
    this.#options = options
    this.#deps = deps
  }

  async load(): Promise<void> {
    const { directory } = this.#options
    for (const name of await readdir(directory)) {
      if (!isId(name)) {
        await rm(join(directory, name), { force: true })
        continue
      }
      const { size, mtimeMs } = await stat(join(directory, name))
      this.#kept.set(name, { byteCount: size, writtenAtMs: mtimeMs })
      this.#byteCount += size
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
    let byteCount = 0
    try {
      byteCount = await this.#writePart(partPath, chunks)
      await rename(partPath, path)
      await syncDirectory(directory)
    } catch (thrown) {
      this.#byteCount -= byteCount
      await rm(partPath, { force: true })
      throw this.#toldOf(thrown)
    }
    const writtenAtMs = now()
    this.#kept.set(id, { byteCount, writtenAtMs })
    return { byteCount, keptUntilMs: writtenAtMs + keptMs }
  }

  async open(id: string): Promise<OpenedFile | null> {
    const kept = this.#kept.get(id)
    if (kept === undefined || this.#isOld(kept)) return null
    try {
      const file = await open(join(this.#options.directory, id), 'r')
      return { byteCount: kept.byteCount, bytes: file.createReadStream() }
    } catch (thrown) {
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return null
      throw thrown
    }
  }

  async remove(id: string): Promise<void> {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    await rm(join(this.#options.directory, id), { force: true })
    // Another remove may have come between.
    if (this.#kept.delete(id)) this.#byteCount -= kept.byteCount
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Gives its size; what it fails with counts for nothing any more. */
  async #writePart(path: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
    const { bytesMax } = this.#options
    let byteCount = 0
    const file = await open(path, 'w', fileMode)
    try {
      for await (const chunk of chunks) {
        if (this.#byteCount + chunk.byteLength > bytesMax) throw errors.JOB_FILES_FULL({ bytesMax })
        this.#byteCount += chunk.byteLength
        byteCount += chunk.byteLength
        await file.writeFile(chunk)
      }
      await file.sync()
      return byteCount
    } catch (thrown) {
      this.#byteCount -= byteCount
      throw thrown
    } finally {
      await file.close()
    }
  }

  #toldOf(thrown: unknown): unknown {
    const reason = diskFaultOf(thrown)
    if (reason === null) return thrown
    this.#deps.disk.report(reason, thrown)
    return errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds: diskRetrySeconds, cause: thrown })
  }

  async #removeOld(): Promise<void> {
    for (const [id, kept] of this.#kept) {
      if (this.#isOld(kept) || !this.#deps.isKnown(id)) await this.remove(id)
    }
  }

  #isOld({ writtenAtMs }: KeptFile): boolean {
    return this.#options.now() >= writtenAtMs + this.#options.keptMs
  }
}

function isId(name: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)
}
