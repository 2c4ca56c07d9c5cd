/**
 * The only way from the log to the disk: what it needs of a file system, and nothing more.
 *
 * The log is handed a layer, so that tests can record each operation, cut the record at any point and let any of them
 * fail. Errors are those of Node (`code: 'ENOSPC'`, `'EIO'`, …). A promise that resolved says what POSIX says of the call:
 * only `datasync`, `syncDirectory` and the writes of a file that was opened to `append` make anything survive a power cut.
 */
import { constants, write, writev } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { assert } from '../shared/assert.ts'

/**
 * `create` makes or empties, `update` wants an existing file to change, `read` an existing one to read. `append` makes or
 * empties too, and each write is on the disk when it resolves: one way to the disk instead of two.
 */
export type OpenMode = 'append' | 'create' | 'read' | 'update'

export interface LogFile {
  /** Fills `target` from `position`; gives the bytes read, fewer at the end of the file, and perhaps elsewhere. */
  read(target: Uint8Array, position: number): Promise<number>
  /** Writes the chunks behind one another; gives the bytes written, which may be fewer than there are. */
  write(chunks: readonly Uint8Array[], position: number): Promise<number>
  /** Content and size are on the disk when it resolves. After an error the descriptor must not be synced again. */
  datasync(): Promise<void>
  truncate(byteCount: number): Promise<void>
  /** Bytes. */
  size(): Promise<number>
  close(): Promise<void>
}

export interface FileLayer {
  /** Makes a directory and those above it; an existing one is fine. Its name is on the disk when it resolves. */
  createDirectory(path: string): Promise<void>
  /** The names in a directory, in any order. */
  list(path: string): Promise<readonly string[]>
  open(path: string, mode: OpenMode): Promise<LogFile>
  /** Replaces `to`, all at once. */
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Names that were created, renamed and unlinked in the directory are on the disk when it resolves. */
  syncDirectory(path: string): Promise<void>
}

const openFlags = {
  append: constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_DSYNC,
  create: 'w+',
  update: 'r+',
  read: 'r',
} as const

/** Elsewhere the flag says less than a sync does, where it is known at all. */
const hasSyncedWrites = process.platform === 'linux'

/** The disk. */
export const diskFileLayer: FileLayer = {
  async createDirectory(path) {
    const absolute = resolve(path)
    const firstMade = await mkdir(absolute, { recursive: true })
    // The name of each directory that was made is in the one above it. An existing one may be young, too.
    const top = firstMade === undefined ? dirname(absolute) : dirname(firstMade)
    for (let parent = dirname(absolute); ; parent = dirname(parent)) {
      await syncDirectory(parent)
      if (parent === top || parent === dirname(parent)) break
    }
  },
  list: (path) => readdir(path),
  async open(path, mode) {
    const isSynced = mode === 'append' && !hasSyncedWrites
    return new DiskFile(await open(path, openFlags[isSynced ? 'create' : mode]), isSynced)
  },
  rename,
  unlink,
  syncDirectory,
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

class DiskFile implements LogFile {
  readonly #handle: FileHandle
  /** Whether each write is followed by a sync. */
  readonly #isSynced: boolean

  constructor(handle: FileHandle, isSynced: boolean) {
    this.#handle = handle
    this.#isSynced = isSynced
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    const { bytesRead } = await this.#handle.read(target, 0, target.length, position)
    return bytesRead
  }

  async write(chunks: readonly Uint8Array[], position: number): Promise<number> {
    const { fd } = this.#handle
    const [first] = chunks
    assert(first !== undefined, 'a write has bytes')
    // By callback: the methods of the handle take twice the time of the event loop, and each group of events is a write.
    const written = await new Promise<number>((resolve, reject) => {
      const settle = (error: Error | null, count: number): void => (error === null ? resolve(count) : reject(error))
      if (chunks.length === 1) write(fd, first, 0, first.length, position, settle)
      else writev(fd, chunks, position, settle)
    })
    if (this.#isSynced) await this.#handle.datasync()
    return written
  }

  datasync(): Promise<void> {
    return this.#handle.datasync()
  }

  truncate(byteCount: number): Promise<void> {
    return this.#handle.truncate(byteCount)
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}
