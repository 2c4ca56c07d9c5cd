// Whether the disk of the data directory takes anything: told by whoever it refused, and tried until it does again.
//
// The state has one line in the log when it begins and one when it ends, however many requests are refused meanwhile.

import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../observe/logger.ts'
import { type DiskReports, diskFaultOf } from '../shared/disk-fault.ts'

const probeName = 'disk-probe'
const probeBytes = 256 * 1024
const probeIntervalMs = 1_000

export class DiskWatch implements DiskReports {
  readonly #path: string
  readonly #logger: Logger
  /** Why the disk refuses; null while it takes what comes. */
  #reason: string | null = null
  #sinceMs = 0
  #nextProbe: NodeJS.Timeout | undefined
  #probing: Promise<void> = Promise.resolve()
  readonly #asked: (() => boolean)[] = []
  #isClosed = false

  constructor(dataDirectory: string, logger: Logger) {
    this.#path = join(dataDirectory, probeName)
    this.#logger = logger
  }

  /** Why the disk refuses, as a clause; null while it takes what comes. */
  get reason(): string | null {
    return this.#reason
  }

  report(reason: string, cause: unknown): void {
    if (this.#reason !== null || this.#isClosed) return
    this.#reason = reason
    this.#sinceMs = performance.now()
    this.#logger.error(
      { err: cause, reason },
      'The disk takes nothing: what needs it is refused, and the service is not ready, until it takes something again.',
    )
    this.#probeLater()
  }

  alsoAsk(isWell: () => boolean): void {
    this.#asked.push(isWell)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#nextProbe)
    await this.#probing
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
      if (!this.#asked.every((isWell) => isWell())) {
        this.#probeLater()
        return
      }
      const durationMs = Math.round(performance.now() - this.#sinceMs)
      this.#reason = null
      this.#logger.info({ durationMs }, 'The disk takes something again.')
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
