import { unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../observe/logger.ts'
import { assert } from '../shared/assert.ts'

/** The parts of one append as files, from writing to removal. */
export interface WrittenParts {
  /** One path, or a pattern of the engine over all of them. */
  readonly path: string
  remove(): Promise<void>
}

/**
 * Writes parts into files of a directory, from which the engine reads them: inline, a binary part would end at its first
 * NUL. Nothing is synced, because a part can be made again until its rows are acknowledged.
 */
export class PartFiles {
  readonly #directory: string
  readonly #logger: Logger
  // A block that is appended again, while its first try still runs, must not share that one's files.
  #appendCount = 0

  constructor(directory: string, logger: Logger) {
    this.#directory = directory
    this.#logger = logger
  }

  async write(blockId: string, parts: readonly Uint8Array[]): Promise<WrittenParts> {
    assert(parts.length > 0, 'an append has a part')
    assert(/^[\w-]{1,128}$/.test(blockId), 'a block id is a plain word, as it names files')
    this.#appendCount += 1
    const stem = `${blockId}-${this.#appendCount}`
    const names = parts.map((_, index) => `${stem}-${index}.arrow`)
    const pattern = names.length === 1 ? names.join('') : `${stem}-{${names.map((_, index) => index).join(',')}}.arrow`
    const written = { path: join(this.#directory, pattern), remove: () => this.#remove(names) }
    const writes = parts.map((part, index) => writeFile(join(this.#directory, `${stem}-${index}.arrow`), part))
    const outcomes = await Promise.allSettled(writes)
    const failure = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failure === undefined) return written
    await written.remove()
    throw new Error('A part could not be written', { cause: failure.reason })
  }

  async #remove(names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#removeFile(name)))
  }

  async #removeFile(name: string): Promise<void> {
    try {
      await unlink(join(this.#directory, name))
    } catch (err) {
      // The rows are stored; a file too many is removed when the store opens next.
      this.#logger.warn({ err, file: name }, 'The file of a stored part could not be removed.')
    }
  }
}
