/**
 * INSERTs of imports whose rows views see, as files from before they begin until they have ended. One that the process is ended in the middle
 * of may be in its table and not in all that views fill of it: the next start runs it again under its token, and what has its rows knows it.
 *
 * Nothing is synced: the directory is of one boot of the machine, as what was written survives the process. A power cut may take rows that
 * nobody was told of from any of the tables.
 */

import { mkdir, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readBootId } from '../../directory/boot-id.ts'
import type { LocalFiles, WrittenAppend } from '../../store/store.types.ts'
import { type KeptRequest, linkOrCopy, type OpenedRequest, parseRequest, textOfRequest } from './backlog-files.ts'

/** One of them. */
export interface InsertUnderWay {
  readonly number: number
  readonly partCount: number
}

/** One that an earlier process was ended in the middle of. */
export interface LeftInsert extends InsertUnderWay {
  readonly table: string
  readonly request: KeptRequest
}

interface InsertsUnderWayDeps {
  readonly store: Pick<LocalFiles, 'newPartPath'>
}

const directoryName = 'inserts-under-way'

/** Opens what earlier processes have left since the machine was booted. */
export async function openInsertsUnderWay(
  { dataDir }: { readonly dataDir: string },
  deps: InsertsUnderWayDeps,
): Promise<InsertsUnderWay> {
  const directory = join(dataDir, directoryName)
  const bootId = await readBootId()
  await mkdir(directory, { recursive: true, mode: 0o700 })
  for (const name of await readdir(directory)) {
    if (name !== bootId) await rm(join(directory, name), { recursive: true, force: true })
  }
  if (bootId === null) return new InsertsUnderWay(null, [], deps)
  const own = join(directory, bootId)
  await mkdir(own, { recursive: true, mode: 0o700 })
  return new InsertsUnderWay(own, await readdir(own), deps)
}

export class InsertsUnderWay {
  /** Those of an earlier process, in the order in which they came. */
  readonly left: readonly number[]
  /** Null where the system does not tell its boots apart: nothing is kept then. */
  readonly #directory: string | null
  readonly #deps: InsertsUnderWayDeps
  #next: number

  constructor(directory: string | null, names: readonly string[], deps: InsertsUnderWayDeps) {
    this.#directory = directory
    this.#deps = deps
    const numbers = new Set(names.flatMap((name) => Number(/^(\d+)\.\d+$/.exec(name)?.[1] ?? [])))
    this.left = [...numbers].sort((one, other) => one - other)
    this.#next = (this.left.at(-1) ?? -1) + 1
  }

  /** To be called before it begins; null where nothing is kept. @throws what the disk refuses with. */
  async add({ request, paths }: WrittenAppend): Promise<InsertUnderWay | null> {
    if (this.#directory === null) return null
    const insert = { number: this.#next, partCount: paths.length }
    this.#next += 1
    const text = [request.table, paths.length, textOfRequest(request)].join('\n')
    try {
      await Promise.all([
        writeFile(this.#path(insert, 0), text),
        ...paths.map((path, index) => linkOrCopy(path, this.#path(insert, index + 1))),
      ])
    } catch (thrown) {
      await this.end(insert)
      throw thrown
    }
    return insert
  }

  /** It has ended, whatever became of it. Nobody may change its table in another way before this resolves. */
  async end({ number, partCount }: InsertUnderWay): Promise<void> {
    const indexes = Array.from({ length: partCount + 1 }, (_, index) => index)
    await Promise.all(indexes.map((index) => removeFile(this.#path({ number }, index))))
  }

  /** One of `left`; null where it had not begun, or had ended: some of it is not there. Its files are removed then. */
  async read(number: number): Promise<LeftInsert | null> {
    const left = await this.#read(number)
    if (left !== null) return left
    for (const name of this.#directory === null ? [] : await readdir(this.#directory)) {
      if (name.startsWith(`${number}.`)) await removeFile(join(this.#directory ?? '', name))
    }
    return null
  }

  /** With parts that are the store's from then on. */
  async open(left: LeftInsert): Promise<OpenedRequest> {
    const parts: { path: string; byteCount: number }[] = []
    for (let index = 1; index <= left.partCount; index += 1) {
      const path = this.#deps.store.newPartPath()
      await linkOrCopy(this.#path(left, index), path)
      parts.push({ path, byteCount: (await stat(path)).size })
    }
    return { ...left.request, parts }
  }

  async #read(number: number): Promise<LeftInsert | null> {
    try {
      const [table = '', count = '', text = ''] = (await readFile(this.#path({ number }, 0), 'utf8')).split('\n')
      const partCount = Number(count)
      // A kill may have cut off the text: its number counts when what stands behind it is whole.
      const request = parseRequest(text)
      for (let index = 1; index <= partCount; index += 1) await stat(this.#path({ number }, index))
      return { number, partCount, table, request }
    } catch (error) {
      if (isMissing(error) || error instanceof SyntaxError) return null
      throw error
    }
  }

  #path({ number }: Pick<InsertUnderWay, 'number'>, index: number): string {
    return join(this.#directory ?? '', `${number}.${index}`)
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
