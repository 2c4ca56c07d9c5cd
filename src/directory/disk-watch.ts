// Whether the disk of the data directory takes anything: told by whoever it refused, and tried until it does again. And
// whether the files that are open are still those of the directory: what is written into others is lost at the next start.
//
// Each state has one line in the log when it begins and one when it ends, however many requests are refused meanwhile.

import { type FileHandle, open, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../observe/logger.ts'
import { type DiskReports, diskFaultOf, fullDiskReason, roomyBytesMin } from '../shared/disk-fault.ts'

const probeName = 'disk-probe'
const probeBytes = 256 * 1024
const probeIntervalMs = 1_000
const placesIntervalMs = 500

export class DiskWatch implements DiskReports {
  readonly #directory: string
  readonly #path: string
  readonly #logger: Logger
  /** Why the disk refuses; null while it takes what comes. */
  #reason: string | null = null
  #sinceMs = 0
  #nextProbe: NodeJS.Timeout | undefined
  #probing: Promise<void> = Promise.resolve()
  /** Files and folders that must stay in their places, open. */
  readonly #places: { readonly path: string; readonly file: FileHandle }[] = []
  /** Which of them is gone. */
  #gone: string | null = null
  #nextLook: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()
  readonly #asked: (() => boolean)[] = []
  #isClosed = false

  constructor(dataDirectory: string, logger: Logger) {
    this.#directory = dataDirectory
    this.#path = join(dataDirectory, probeName)
    this.#logger = logger
  }

  /** Why the disk refuses, as a clause; null while it takes what comes. */
  get reason(): string | null {
    return this.lostReason ?? this.#reason
  }

  /** Why nothing that is written now would be found again, as a clause; null while all is in its place. */
  get lostReason(): string | null {
    return this.#gone === null ? null : `${this.#gone} was removed, moved or replaced`
  }

  /** Watches that the directory, and these files and folders of it, stay where they are. They are there by now. */
  async watchPlaces(names: readonly string[]): Promise<void> {
    for (const name of ['', ...names]) {
      const path = join(this.#directory, name)
      this.#places.push({ path, file: await open(path, 'r') })
    }
    this.#lookLater()
  }

  report(reason: string, cause: unknown): void {
    if (this.#reason !== null || this.#isClosed) return
    this.#reason = reason
    this.#sinceMs = performance.now()
    this.#logger.error(
      { err: cause, reason },
      'The disk cannot be written: requests that need it are refused, and the service is not ready, until it can.',
    )
    this.#probeLater()
  }

  alsoAsk(isWell: () => boolean): void {
    this.#asked.push(isWell)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#nextProbe)
    clearTimeout(this.#nextLook)
    await Promise.all([this.#probing, this.#looking])
    for (const { file } of this.#places) await file.close()
  }

  #lookLater(): void {
    if (this.#isClosed) return
    this.#nextLook = setTimeout(() => {
      this.#looking = this.#look().finally(() => this.#lookLater())
    }, placesIntervalMs).unref()
  }

  async #look(): Promise<void> {
    const gone = await this.#findGone()
    if (gone !== null && this.#gone === null) {
      this.#logger.error(
        { path: gone },
        'A part of the data directory is not in its place: all requests are refused until it is again.',
      )
    } else if (gone === null && this.#gone !== null) {
      this.#logger.info({ path: this.#gone }, 'The data directory is whole again.')
    }
    this.#gone = gone
  }

  async #findGone(): Promise<string | null> {
    for (const { path, file } of this.#places) {
      try {
        const [own, found] = await Promise.all([file.stat({ bigint: true }), stat(path, { bigint: true })])
        if (own.ino !== found.ino || own.dev !== found.dev) return path
      } catch (error) {
        // A disk that does not answer is not a file that is gone.
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return path
      }
    }
    return null
  }

  #probeLater(): void {
    if (this.#isClosed) return
    this.#nextProbe = setTimeout(() => {
      this.#probing = this.#probe()
    }, probeIntervalMs).unref()
  }

  async #probe(): Promise<void> {
    try {
      await this.#write()
      const { bavail, bsize } = await statfs(this.#directory)
      if (bavail * bsize < roomyBytesMin) {
        this.#reason = fullDiskReason
        this.#probeLater()
        return
      }
      if (!this.#asked.every((isWell) => isWell())) {
        this.#probeLater()
        return
      }
      const durationMs = Math.round(performance.now() - this.#sinceMs)
      this.#reason = null
      this.#logger.info({ durationMs }, 'The disk can be written again.')
    } catch (error) {
      // The state is told already; what is new is only another reason.
      this.#reason = diskFaultOf(error) ?? this.#reason
      this.#probeLater()
    }
  }

  async #write(): Promise<void> {
    try {
      const file = await open(this.#path, 'w', 0o600)
      try {
        await file.writeFile(Buffer.alloc(probeBytes))
        await file.sync()
      } finally {
        await file.close()
      }
    } finally {
      await rm(this.#path, { force: true })
    }
  }
}
