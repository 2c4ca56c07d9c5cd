/**
 * Parts of blocks whose INSERT is under way, and marks of those that are stored, where they outlive the process.
 *
 * Nothing of it is synced: the directory is of one boot of the machine, as what was written survives the process and not a power
 * cut. Behind a kill a block that is in doubt is inserted again of its parts, under its name; one with a mark needs not even that.
 */

import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Part, PartFile } from '../../codec/arrow/part.types.ts'
import { readBootId } from '../../directory/boot-id.ts'
import type { Logger } from '../../observe/logger.ts'
import type { NamedPlaces, PartKeeper, PlaceCounts } from './import-ledger.types.ts'

export interface KeptPartsDeps {
  /** See `LocalFiles.newPartPath`. */
  readonly newPartPath: () => string
  readonly logger: Logger
}

export class KeptParts implements PartKeeper {
  readonly #directory: string
  readonly #deps: KeptPartsDeps
  /** What is being written or removed, by block. */
  readonly #underWay = new Map<string, Promise<void>>()

  /** Precondition: the directory is there. */
  constructor(directory: string, deps: KeptPartsDeps) {
    this.#directory = directory
    this.#deps = deps
  }

  /** Keeps the parts of a block that is about to be inserted. @throws what the disk refuses with. */
  async keep(blockId: string, parts: readonly Part[]): Promise<void> {
    await Promise.all(parts.map((part, index) => keepAt(this.#partPath(blockId, index), part)))
  }

  /** Notes that the engine has a block, and lets go of its parts. What fails here is told: the block is inserted again then. */
  markStored({ blockId, parts = [] }: NamedPlaces, counts: PlaceCounts): void {
    const marking = this.#mark(blockId, counts)
      .then(() => this.#removeParts(blockId, parts.length))
      .catch((err: unknown) => this.#deps.logger.warn({ err, block: blockId }, 'A stored block could not be marked.'))
    this.#underWay.set(blockId, marking)
  }

  giveUp({ blockId, parts = [] }: NamedPlaces): void {
    const removing = this.#removeParts(blockId, parts.length).catch((err: unknown) => {
      this.#deps.logger.warn({ err, block: blockId }, 'Parts of a block that was not inserted could not be removed.')
    })
    this.#underWay.set(blockId, removing)
  }

  /** Of a block with a mark; null for one without. */
  async storedCounts(blockId: string): Promise<PlaceCounts | null> {
    try {
      // Written by `#mark`.
      return JSON.parse(await readFile(this.#markPath(blockId), 'utf8')) as PlaceCounts
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  /** The parts of a block, each as a file that the store removes; null where not all of them are as they were. */
  async partsOf({ blockId, parts = [] }: NamedPlaces): Promise<readonly PartFile[] | null> {
    if (parts.length === 0) return null
    const files: PartFile[] = []
    for (const [index, { byteCount }] of parts.entries()) {
      const from = this.#partPath(blockId, index)
      if ((await sizeOf(from)) !== byteCount) {
        for (const { path } of files) await rm(path, { force: true })
        return null
      }
      const path = this.#deps.newPartPath()
      await link(from, path)
      files.push({ path, byteCount })
    }
    return files
  }

  /** Lets go of blocks that are noted as stored, on disk. */
  async forget(blockIds: readonly string[]): Promise<void> {
    for (const blockId of blockIds) {
      await this.#underWay.get(blockId)
      this.#underWay.delete(blockId)
      await rm(this.#markPath(blockId), { force: true })
    }
  }

  /** Lets go of all blocks whose names begin so. */
  async forgetAll(prefix: string): Promise<void> {
    await Promise.all(this.#underWay.values())
    await removeWhere(this.#directory, (name) => name.startsWith(prefix))
  }

  async #mark(blockId: string, counts: PlaceCounts): Promise<void> {
    const draft = join(this.#directory, `${blockId}.draft`)
    await writeFile(draft, JSON.stringify(counts))
    await rename(draft, this.#markPath(blockId))
  }

  async #removeParts(blockId: string, count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, index) => rm(this.#partPath(blockId, index), { force: true })))
  }

  #partPath(blockId: string, index: number): string {
    return join(this.#directory, `${blockId}.${index}`)
  }

  #markPath(blockId: string): string {
    return join(this.#directory, `${blockId}.stored`)
  }
}

/**
 * Opens what earlier processes have kept since the machine was booted, of blocks whose names begin with one of these; all else is
 * removed. Null where the system does not tell its boots apart: nothing is kept then.
 */
export async function openKeptParts(
  directory: string,
  prefixes: ReadonlySet<string>,
  deps: KeptPartsDeps,
): Promise<KeptParts | null> {
  const bootId = await readBootId()
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await removeWhere(directory, (name) => name !== bootId)
  if (bootId === null) return null
  const own = join(directory, bootId)
  await mkdir(own, { recursive: true, mode: 0o700 })
  const all = [...prefixes]
  await removeWhere(own, (name) => !all.some((prefix) => name.startsWith(prefix)))
  return new KeptParts(own, deps)
}

async function removeWhere(directory: string, isOutdated: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(directory)) {
    if (isOutdated(name)) await rm(join(directory, name), { recursive: true, force: true })
  }
}

/** What stands there is of a block that never got its name on the disk, and was never inserted. */
async function keepAt(path: string, part: Part): Promise<void> {
  if (part instanceof Uint8Array) {
    await writeFile(path, part)
    return
  }
  try {
    await link(part.path, path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // Nothing is kept then: the block is made anew of the file, as behind a power cut.
    if (linklessCodes.has(code)) return
    if (code !== 'EEXIST') throw error
    await rm(path, { force: true })
    await link(part.path, path)
  }
}

/** What file systems without links answer. */
const linklessCodes: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
