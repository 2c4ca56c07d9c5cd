/**
 * The files in which the engine keeps the definitions of its tables: one that is empty or cut would keep all of them from
 * being opened.
 *
 * 1. On a full disk the engine passes over what it could not write: a table is there then, and its file is empty. So the
 *    files are looked at after each change of a definition, and one that is not whole undoes the change.
 * 2. Each has a copy in a folder of ours, from before the change. It has the table's identity (UUID), by which the engine finds
 *    the rows, and which nothing else tells.
 * 3. Before each start of the engine, what is not whole is put back from its copy, or set aside: the other tables open then.
 */
import { mkdir, open, readdir, readFile, readlink, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Logger } from '../../observe/logger.ts'
import { diskFaultOf, fullDiskReason, roomyBytesMin } from '../../shared/disk-fault.ts'
import { isPinName } from '../pin-names.ts'
import { StoreError } from '../store-error.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { isWholeDefinition, tablesNamedIn, uuidIn } from './definition-text.ts'
import type { StoreDirectories } from './store-directories.ts'

/** Statements that write a definition, and so need room. */
const writingStatement = /^\s*(?:CREATE|ALTER)\b/i
/** Files that are read at once. */
const filesAtOnce = 32
const extension = '.sql'

type Places = Pick<StoreDirectories, 'engine' | 'definitions'>

export class DefinitionFiles {
  readonly #engine: string
  readonly #copies: string
  readonly #logger: Logger
  readonly #works = new Set<Promise<unknown>>()

  constructor({ engine, definitions }: Places, logger: Logger) {
    this.#engine = engine
    this.#copies = definitions
    this.#logger = logger
  }

  /**
   * Puts back or sets aside what is not whole. Precondition: no engine runs.
   *
   * @throws Error of the system when the disk refuses.
   */
  mend(): Promise<void> {
    return this.#counted(this.#mend())
  }

  async #mend(): Promise<void> {
    await mkdir(this.#copies, { recursive: true, mode: 0o700 })
    await this.#mendDatabases()
    const folder = await this.#folder()
    if (folder === null) return
    const names = await namesIn(folder)
    const uuids = new Set<string>()
    const broken: string[] = []
    await inSlices(names, async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      if (!isWholeDefinition(text)) {
        broken.push(name)
        return
      }
      const uuid = uuidIn(text)
      if (uuid !== null) uuids.add(uuid)
      await this.#keepCopy(name, text)
      await this.#mendVersion(uuid)
    })
    for (const name of broken) await this.#mendTable(folder, { name, uuids })
    await this.#mendOthers(folder, { names: new Set(names), uuids })
  }

  /** Runs a change of definitions. Raises `StoreError`, with the disk's reason when a file is not whole behind it. */
  async during(sql: string, { run, ...change }: DefinitionChange): Promise<void> {
    const isWriting = writingStatement.test(sql)
    if (isWriting) await this.#throwIfFull()
    try {
      await run()
    } catch (thrown) {
      await this.#countedLook(sql, { isWriting, ...change })
      throw thrown
    }
    const reason = await this.#countedLook(sql, { isWriting, ...change })
    if (reason !== null) throw refusedError(reason)
  }

  /** Resolves when nothing writes any more. Precondition: the engine has ended, and with it all statements. */
  async close(): Promise<void> {
    while (this.#works.size > 0) await Promise.allSettled(this.#works)
  }

  #countedLook(sql: string, change: ChangeToLookAt): Promise<string | null> {
    return this.#counted(this.#look(sql, change))
  }

  /** What `close` waits for: files are written until it ends. */
  async #counted<Result>(work: Promise<Result>): Promise<Result> {
    this.#works.add(work)
    try {
      return await work
    } finally {
      this.#works.delete(work)
    }
  }

  async #throwIfFull(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#engine)
    if (bavail * bsize < roomyBytesMin) throw refusedError(fullDiskReason)
  }

  /** Gives why the disk refused, when it did. */
  async #look(sql: string, change: ChangeToLookAt): Promise<string | null> {
    const folder = await this.#folder()
    if (folder === null) return null
    let reason: string | null = null
    for (const table of tablesNamedIn(sql, workspaceDatabase)) {
      const name = `${table}${extension}`
      const path = join(folder, name)
      const isSynced = change.isWriting && change.isPassing !== true
      const text = await (isSynced ? synced(path) : textOf(path)).catch((error: unknown) => diskFaultOf(error) ?? '')
      if (text === null) await rm(join(this.#copies, name), { force: true })
      else if (isWholeDefinition(text) && !(await this.#lacksVersion(uuidIn(text)))) {
        if (change.isPassing !== true) await this.#keepCopy(name, text)
      } else {
        // What of a definition is there tells no reason; an error of the system does.
        reason ??= text.startsWith('the ') ? text : fullDiskReason
        await this.#undo(table, { path, drop: change.drop })
      }
    }
    return reason
  }

  async #undo(table: string, { path, drop }: { readonly path: string } & Pick<DefinitionChange, 'drop'>) {
    if (await this.#putBack(path)) {
      this.#logger.error({ table }, 'The disk refused the definition of a table; the one before was put back.')
      return
    }
    this.#logger.error({ table }, 'The disk refused the definition of a new table; the table is dropped.')
    await drop(table)
    // Where the engine itself has refused the table, it leaves the file.
    await rm(path, { force: true })
  }

  /** Without its file the engine would make a database anew, empty, and none of its tables would be found again. */
  async #mendDatabases(): Promise<void> {
    const folder = join(this.#engine, 'metadata')
    for (const database of await databasesIn(folder)) {
      const name = `${database}${extension}`
      const path = join(folder, name)
      const text = await textOf(path)
      const linked = await uuidOfLink(join(folder, database))
      if (text !== null && isWholeDefinition(text) && !(await this.#isOfAnother(text, linked))) continue
      if (linked !== null) {
        await writeSynced(path, `ATTACH DATABASE _ UUID '${linked}'\nENGINE = Atomic\n`)
        this.#logger.error(
          { file: name },
          'The file of a database of the engine was damaged or gone; it is made again.',
        )
      } else if (text !== null) await this.#setAside(path)
    }
  }

  /** Whether a file names a folder that is not there, while the link of its database leads to one that is. */
  async #isOfAnother(text: string, linked: string | null): Promise<boolean> {
    const named = uuidIn(text)
    if (linked === null || named === linked || !(await exists(this.#placeOf(linked)))) return false
    return named === null || !(await exists(this.#placeOf(named)))
  }

  /** Where the definitions of the tables lie; null before there is any. */
  async #folder(): Promise<string | null> {
    const text = await textOf(join(this.#engine, 'metadata', `${workspaceDatabase}${extension}`))
    const uuid = text === null ? null : uuidIn(text)
    if (uuid === null) return null
    const folder = this.#placeOf(uuid)
    return (await exists(folder)) ? folder : null
  }

  #placeOf(uuid: string): string {
    return join(this.#engine, 'store', uuid.slice(0, 3), uuid)
  }

  async #mendTable(folder: string, { name, uuids }: { readonly name: string; readonly uuids: ReadonlySet<string> }) {
    const path = join(folder, name)
    const fields = { table: basename(name, extension) }
    const uuid = uuidIn((await textOf(join(this.#copies, name))) ?? '')
    // A copy from before an exchange would give two tables the same rows.
    if (uuid !== null && !uuids.has(uuid) && (await this.#putBack(path))) {
      await this.#mendVersion(uuid)
      this.#logger.error(fields, 'The definition of a table was empty or cut; it is put back from its copy.')
      return
    }
    if (isPinName(fields.table)) {
      await this.#removePin(path, uuids)
      this.#logger.warn(fields, 'The definition of a pin was empty or cut; the pin is removed.')
      return
    }
    await this.#setAside(path)
    this.#logger.error(
      { ...fields, file: join(this.#copies, `${name}.damaged`) },
      'The definition of a table is empty or cut, and has no copy; it is set aside (docs/recovery.md#lost-definitions).',
    )
  }

  /** By a rename, which a full disk takes. False when there is no whole copy. */
  async #putBack(path: string): Promise<boolean> {
    const copy = join(this.#copies, basename(path))
    if (!isWholeDefinition((await textOf(copy)) ?? '')) return false
    await rename(copy, path)
    return true
  }

  /** With its parts, which are those of another table: nobody else would ever remove them. */
  async #removePin(path: string, uuids: ReadonlySet<string>): Promise<void> {
    const link = join(this.#engine, 'data', workspaceDatabase, basename(path, extension))
    const uuid = await uuidOfLink(link)
    await rm(path, { force: true })
    if (uuid === null || uuids.has(uuid)) return
    await rm(this.#placeOf(uuid), { recursive: true, force: true })
    await rm(link, { force: true })
  }

  async #setAside(path: string): Promise<void> {
    await rename(path, join(this.#copies, `${basename(path)}.damaged`))
  }

  /** The number that each table with parts has in a file; an empty one would stop the engine too. */
  async #mendVersion(uuid: string | null): Promise<void> {
    if (uuid !== null && (await this.#lacksVersion(uuid))) await writeSynced(this.#versionPath(uuid), '1')
  }

  async #lacksVersion(uuid: string | null): Promise<boolean> {
    const found = uuid === null ? null : await stat(this.#versionPath(uuid)).catch(() => null)
    return found?.size === 0
  }

  #versionPath(uuid: string): string {
    return join(this.#placeOf(uuid), 'format_version.txt')
  }

  /** A copy that cannot be kept goes, rather than to speak of another table later. */
  async #keepCopy(name: string, text: string): Promise<void> {
    const path = join(this.#copies, name)
    try {
      if ((await textOf(path)) === text) return
      await writeFile(`${path}.new`, text, { mode: 0o600 })
      await rename(`${path}.new`, path)
    } catch (err) {
      this.#logger.debug({ err, file: name }, 'No copy of the definition of a table could be kept.')
      for (const gone of [path, `${path}.new`]) await rm(gone, { force: true })
    }
  }

  /** A table that was not dropped, and whose file is gone, has it again from its copy. Other copies are forgotten. */
  async #mendOthers(folder: string, { names, uuids }: FoundTables): Promise<void> {
    const others = (await namesIn(this.#copies)).filter((name) => !names.has(name))
    if (others.length === 0) return
    const dropped = (await namesIn(join(this.#engine, 'metadata_dropped'))).join('\n')
    for (const name of others) {
      const uuid = uuidIn((await textOf(join(this.#copies, name))) ?? '')
      // A drop notes the table among the dropped ones first, then removes its rows, and then the note.
      const isLost = uuid !== null && !uuids.has(uuid) && !dropped.includes(uuid) && (await exists(this.#placeOf(uuid)))
      if (isLost && (await this.#putBack(join(folder, name)))) {
        this.#logger.error(
          { table: basename(name, extension) },
          'The definition of a table was gone; it is put back from its copy.',
        )
      } else await rm(join(this.#copies, name), { force: true })
    }
  }
}

interface FoundTables {
  /** Of the files that are there. */
  readonly names: ReadonlySet<string>
  /** Of the tables whose file is whole. */
  readonly uuids: ReadonlySet<string>
}

type ChangeToLookAt = Omit<DefinitionChange, 'run'> & { readonly isWriting: boolean }

export interface DefinitionChange {
  /** Runs the statement. */
  readonly run: () => Promise<unknown>
  /** Drops a table whose definition the disk has refused. */
  readonly drop: (table: string) => Promise<void>
  /** Whether nobody needs the tables behind a power cut before the next sync of all: they get no copy. Absent is false. */
  readonly isPassing?: boolean
}

function refusedError(diskFault: string): StoreError {
  const message = `The definition of a table could not be written: ${diskFault}`
  return new StoreError({ kind: 'engine', message, diskFault })
}

/** What is in the file, and on the disk; null when there is none. Opened once: another statement may drop the table meanwhile. */
async function synced(path: string): Promise<string | null> {
  const file = await open(path, 'r').catch(nullIfMissing)
  if (file === null) return null
  try {
    const text = await file.readFile('utf8')
    await file.sync()
    return text
  } finally {
    await file.close()
  }
}

async function textOf(path: string): Promise<string | null> {
  return await readFile(path, 'utf8').catch(nullIfMissing)
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(extension))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Those that have a file, or a link to their folder. */
async function databasesIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    const found = entries.filter((entry) => entry.isSymbolicLink() || entry.name.endsWith(extension))
    return [...new Set(found.map(({ name }) => basename(name, extension)))]
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null
}

/** The folder of a database, or of a table, has a link by its name; null when there is none. */
async function uuidOfLink(path: string): Promise<string | null> {
  const target = await readlink(path).catch(() => '')
  return /([0-9a-f]{8}-[0-9a-f-]{27})\/?$/.exec(target)?.[1] ?? null
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function inSlices<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += filesAtOnce) {
    await Promise.all(items.slice(start, start + filesAtOnce).map(work))
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
