import { rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Part } from '../../codec/arrow/part.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { assert } from '../../shared/assert.ts'
import { makeAgain } from './make-again.ts'

/** The parts of one append as files, from writing to removal. */
export interface WrittenParts {
  /** One path, or a pattern of the engine over all of them. */
  readonly path: string
  /** Of each part, in order. */
  readonly paths: readonly string[]
  remove(): Promise<void>
}

/**
 * Parts as files of a directory, from which the engine reads them: inline, a binary part would end at its first NUL.
 * Nothing is synced, because a part can be made again until its rows are acknowledged.
 */
export class PartFiles {
  readonly #directory: string
  readonly #logger: Logger
  #fileCount = 0

  constructor(directory: string, logger: Logger) {
    this.#directory = directory
    this.#logger = logger
  }

  /** A path in the directory that nobody has had before. The directory is made again when somebody removed it. */
  newPath(): string {
    makeAgain(this.#directory)
    // Counted, not named after a block: one that is appended again, while its first try still runs, has files of its own.
    this.#fileCount += 1
    return join(this.#directory, `${this.#fileCount}.arrow`)
  }

  /** Writes the parts that are not in files yet. Precondition: those that are have a `newPath`. */
  async write(parts: readonly Part[]): Promise<WrittenParts> {
    assert(parts.length > 0, 'an append has a part')
    const files = parts.map((part) => (part instanceof Uint8Array ? { path: this.newPath(), bytes: part } : part))
    const paths = files.map(({ path }) => path)
    const outcomes = await Promise.allSettled(
      files.map((file) => ('bytes' in file ? writeFile(file.path, file.bytes) : undefined)),
    )
    const failure = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failure === undefined) return { path: this.#patternOf(paths), paths, remove: () => this.remove(paths) }
    await this.remove(paths)
    throw new Error('A part could not be written', { cause: failure.reason })
  }

  async remove(paths: readonly string[]): Promise<void> {
    await Promise.all(paths.map((path) => this.#removeFile(path)))
  }

  #patternOf(paths: readonly string[]): string {
    const names = paths.map((path) => basename(path, '.arrow'))
    return join(this.#directory, `${names.length === 1 ? names.join('') : `{${names.join(',')}}`}.arrow`)
  }

  async #removeFile(path: string): Promise<void> {
    try {
      await rm(path, { force: true })
    } catch (err) {
      // The rows are stored; a file too many is removed when the store opens next.
      this.#logger.warn({ err, file: basename(path) }, 'The file of a stored part could not be removed.')
    }
  }
}
