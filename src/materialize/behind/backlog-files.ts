/**
 * INSERTs as files: the statement without its table, and its parts. They are synced before the INSERT begins, and checked before they are
 * used.
 */

import { copyFile, link, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { syncDirectory } from '../../directory/sync-directory.ts'
import { mebibyte } from '../../shared/bytes.ts'
import type { AppendRequest, PartitionBound } from '../../store/store.types.ts'

/** What makes an INSERT the same one when it runs again, beside its parts. */
export type KeptRequest = Pick<
  AppendRequest,
  | 'blockId'
  | 'insertPartitionsMax'
  | 'isNative'
  | 'isPlain'
  | 'layout'
  | 'mayBeCutAnew'
  | 'parquet'
  | 'partition'
  | 'rowCount'
>

export interface KeptFile {
  readonly byteCount: number
  readonly checksum: number
}

export interface OpenedRequest extends KeptRequest {
  /** The store's from now on. */
  readonly parts: readonly PartPath[]
}

interface PartPath {
  readonly path: string
  readonly byteCount: number
}

const readBytes = mebibyte

export class BacklogFiles {
  readonly #directory: string
  readonly #newPartPath: () => string

  /** @param deps.newPartPath see `LocalFiles`. Precondition: the directory is there, on the same file system. */
  constructor(directory: string, { newPartPath }: { readonly newPartPath: () => string }) {
    this.#directory = directory
    this.#newPartPath = newPartPath
  }

  /** On disk when it resolves: the text of the request first, then the parts. @throws what the disk refuses with. */
  async write(index: number, text: string, paths: readonly string[]): Promise<readonly KeptFile[]> {
    const own = this.#path(index, 0)
    await writeFile(own, text)
    const files = [await syncedFile(own)]
    for (const [number, path] of paths.entries()) {
      const target = this.#path(index, number + 1)
      // What stands there was never noted.
      await rm(target, { force: true })
      await linkOrCopy(path, target)
      files.push(await syncedFile(target))
    }
    await syncDirectory(this.#directory)
    return files
  }

  /** Whether all files are there, by their sizes. */
  async areThere(index: number, files: readonly KeptFile[]): Promise<boolean> {
    for (const [number, { byteCount }] of files.entries()) {
      if ((await sizeOf(this.#path(index, number))) !== byteCount) return false
    }
    return true
  }

  /** Null where some file is not as it was written. */
  async read(index: number, files: readonly KeptFile[]): Promise<OpenedRequest | null> {
    if (!(await this.areThere(index, files))) return null
    for (const [number, { checksum }] of files.entries()) {
      if ((await checksumOf(this.#path(index, number))) !== checksum) return null
    }
    const request = parseRequest(await readFile(this.#path(index, 0), 'utf8'))
    const parts: PartPath[] = []
    for (const [number, { byteCount }] of files.entries()) {
      if (number === 0) continue
      const path = this.#newPartPath()
      await rm(path, { force: true })
      await linkOrCopy(this.#path(index, number), path)
      parts.push({ path, byteCount })
    }
    return { ...request, parts }
  }

  async remove(index: number, fileCount: number): Promise<void> {
    for (let number = 0; number < fileCount; number += 1) await rm(this.#path(index, number), { force: true })
  }

  /** Removes what is of none of these; gives how many files that were. */
  async removeOthers(indexes: ReadonlySet<number>): Promise<number> {
    let count = 0
    for (const name of await readdir(this.#directory)) {
      if (indexes.has(Number(/^(\d+)\.\d+$/.exec(name)?.[1] ?? Number.NaN))) continue
      await rm(join(this.#directory, name), { recursive: true, force: true })
      count += 1
    }
    return count
  }

  #path(index: number, number: number): string {
    return join(this.#directory, `${index}.${number}`)
  }
}

/** The same text for the same INSERT. */
export function textOfRequest(request: AppendRequest): string {
  const { blockId, insertPartitionsMax, isNative, isPlain, layout, mayBeCutAnew, parquet, partition, rowCount } =
    request
  const kept = { blockId, insertPartitionsMax, isNative, isPlain, layout, mayBeCutAnew, parquet, rowCount }
  return JSON.stringify({ ...kept, ...(partition === undefined ? {} : { partition: plainBound(partition) }) })
}

function plainBound({ judge: _, leftOut, ...bound }: PartitionBound): object {
  return { ...bound, ...(leftOut === undefined ? {} : { leftOut: [...leftOut] }) }
}

/** Of such a text. @throws SyntaxError when it was cut off. */
export function parseRequest(text: string): KeptRequest {
  // Written by `textOfRequest`.
  const request = JSON.parse(text) as KeptRequest & { readonly partition?: { readonly leftOut?: readonly string[] } }
  const { partition } = request
  if (partition?.leftOut === undefined) return request
  return { ...request, partition: { ...partition, leftOut: new Set(partition.leftOut) } }
}

async function syncedFile(path: string): Promise<KeptFile> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  return { byteCount: await sizeOf(path), checksum: await checksumOf(path) }
}

async function checksumOf(path: string): Promise<number> {
  const file = await open(path, 'r')
  const buffer = Buffer.allocUnsafe(readBytes)
  let checksum = 0
  try {
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, readBytes, null)
      if (bytesRead === 0) return checksum
      checksum = crc32(buffer.subarray(0, bytesRead), checksum)
    }
  } finally {
    await file.close()
  }
}

/** -1 where there is none. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return -1
    throw error
  }
}

/** What file systems without links answer. */
const linklessCodes: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'])

/** Precondition: nothing is there. */
export async function linkOrCopy(from: string, path: string): Promise<void> {
  try {
    await link(from, path)
  } catch (error) {
    if (!linklessCodes.has(codeOf(error))) throw error
    await copyFile(from, path)
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
