/**
 * The mark says outside of the log's directory how far the log is written, so that what is missing of it is noticed, be it
 * all of it. It is only ever behind the truth: what it tells had been synced before it is written.
 *
 * One file of two slots, written in turn, so that a torn write leaves the other one. It is written beside the senders' way,
 * a few times a second at most, and synced with the log's opening and closing alone: a killed process leaves it whole, a
 * power cut perhaps older than it was. A start without a mark finds what the log's own files tell.
 * A slot, numbers little-endian: magic (8), count of writes (8), log id (8), released (8), settled (8), next (8), waiting rows (8),
 * CRC32 of all this (4).
 */
import { basename, dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { readFully, withFile, writeFully } from './file-access.ts'
import type { FileLayer, LogFile } from './file-layer.ts'
import { type Sequence, toSequence } from './sequence.ts'

export interface LogMark {
  readonly logId: Uint8Array
  /** Nothing below is needed, and its segments may be gone. */
  readonly released: Sequence
  /** Everything below that is events is stored, and outlives a power cut; not below `released`. */
  readonly settled: Sequence
  /** Everything below was on disk. */
  readonly next: Sequence
  /** Rows that were not stored then, at most. */
  readonly waitingRows: number
}

/** Its name in the data directory. */
export const markName = 'log-mark'
const magic = Buffer.from('MILLRMRK')
const slotBytes = 60
/** Of different sectors, so that no write touches both. */
const slotOffsets = [0, 4096] as const
/** Between two writes: what is acknowledged in it before a crash is known to the log's own files alone. */
const pauseMs = 20

interface Slot {
  readonly count: number
  readonly mark: LogMark
}

/** The newest mark that is whole; null when there is none. Changes nothing. */
export async function readMark(files: FileLayer, path: string): Promise<LogMark | null> {
  return (await readSlot(files, path))?.mark ?? null
}

async function readSlot(files: FileLayer, path: string): Promise<Slot | null> {
  if (!(await files.list(dirname(path))).includes(basename(path))) return null
  return await withFile(files, { path, mode: 'read' }, async (file) => {
    let newest: Slot | null = null
    for (const offset of slotOffsets) {
      const bytes = Buffer.alloc(slotBytes)
      const slot = (await readFully(file, bytes, offset)) === slotBytes ? decodeSlot(bytes) : null
      if (slot !== null && (newest === null || slot.count > newest.count)) newest = slot
    }
    return newest
  })
}

export function encodeSlot({ count, mark }: Slot): Buffer {
  const bytes = Buffer.alloc(slotBytes)
  bytes.set(magic)
  bytes.writeBigUInt64LE(BigInt(count), 8)
  bytes.set(mark.logId, 16)
  for (const [index, value] of [mark.released, mark.settled, mark.next, mark.waitingRows].entries()) {
    bytes.writeBigUInt64LE(BigInt(value), 24 + index * 8)
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(0, slotBytes - 4)), slotBytes - 4)
  return bytes
}

function decodeSlot(bytes: Buffer): Slot | null {
  if (!bytes.subarray(0, 8).equals(magic)) return null
  if (crc32(bytes.subarray(0, slotBytes - 4)) !== bytes.readUInt32LE(slotBytes - 4)) return null
  const number = (offset: number): number => Number(bytes.readBigUInt64LE(offset))
  const mark = {
    logId: Uint8Array.from(bytes.subarray(16, 24)),
    released: toSequence(number(24)),
    settled: toSequence(number(32)),
    next: toSequence(number(40)),
    waitingRows: number(48),
  }
  return { count: number(8), mark }
}

/** Writes the marks of an open log. A disk that refuses costs the mark alone: it is told once, and tried with the next. */
export class LogMarker {
  readonly #file: LogFile
  readonly #markOf: () => LogMark
  readonly #onError: (error: unknown) => void
  #count: number
  #hasFailed = false
  #isDue = false
  #running: Promise<void> | null = null
  #pausing: NodeJS.Timeout | undefined
  #isClosed = false

  private constructor(
    file: LogFile,
    count: number,
    { markOf, onError }: { readonly markOf: () => LogMark; readonly onError: (error: unknown) => void },
  ) {
    this.#file = file
    this.#count = count
    this.#markOf = markOf
    this.#onError = onError
  }

  /** Writes and syncs the first mark. @throws errors of the disk. */
  static async open(
    files: FileLayer,
    path: string,
    log: { readonly markOf: () => LogMark; readonly onError: (error: unknown) => void },
  ): Promise<LogMarker> {
    const known = await readSlot(files, path)
    const exists = (await files.list(dirname(path))).includes(basename(path))
    const file = await files.open(path, exists ? 'update' : 'create')
    try {
      const marker = new LogMarker(file, known?.count ?? 0, log)
      await marker.#write()
      await file.datasync()
      if (!exists) await files.syncDirectory(dirname(path))
      return marker
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Something of the mark has changed: it is written soon. */
  note(): void {
    this.#isDue = true
    if (this.#running === null && this.#pausing === undefined && !this.#isClosed) this.#running = this.#run()
  }

  /** Writes and syncs the last mark. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#pausing)
    await this.#running
    try {
      await this.#write()
      await this.#file.datasync()
    } catch (error) {
      this.#onError(error)
    } finally {
      await this.#file.close().catch(this.#onError)
    }
  }

  async #run(): Promise<void> {
    // Whoever appended hears of it first, and counts it.
    await new Promise<void>((resolve) => setImmediate(resolve))
    this.#isDue = false
    try {
      await this.#write()
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#onError(error)
      this.#hasFailed = true
    }
    this.#running = null
    if (this.#isClosed) return
    this.#pausing = setTimeout(() => {
      this.#pausing = undefined
      if (this.#isDue) this.note()
    }, pauseMs)
    this.#pausing.unref()
  }

  async #write(): Promise<void> {
    this.#count += 1
    const slot = encodeSlot({ count: this.#count, mark: this.#markOf() })
    await writeFully(this.#file, [slot], slotOffsets[this.#count % 2 === 0 ? 0 : 1])
  }
}
