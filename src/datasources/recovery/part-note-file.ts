/**
 * The file of the data directory that has the noted parts: one line of JSON with all tables, and behind it a line for each
 * change that removed rows on purpose since, with the tables that count as not noted. So a change costs a line, not a file.
 */
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { LostPart, NotedTables } from './part-losses.ts'

const noteName = 'table-parts'
const version = 2
/** The one before has no losses, and no contents of parts. */
const readableVersions: readonly number[] = [1, version]

export type LostParts = Readonly<Record<string, readonly LostPart[]>>

export interface Note {
  readonly notedAt: string
  readonly tables: NotedTables
  /** By table; told at each start. */
  readonly lost: LostParts
}

export interface NoteReading {
  readonly note: Note | null
  /** Whether there is a file that cannot be read: then nothing is compared. */
  readonly isDamaged: boolean
}

export class PartNoteFile {
  readonly #path: string

  constructor(dataDirectory: string) {
    this.#path = join(dataDirectory, noteName)
  }

  async read(): Promise<NoteReading> {
    let text: string
    try {
      text = await readFile(this.#path, 'utf8')
    } catch {
      return { note: null, isDamaged: false }
    }
    const [first = '', ...changes] = text.split('\n')
    // Nobody but this class writes the file.
    const written = parseLine(first) as (Partial<Note> & { readonly version: number }) | null
    if (written?.tables === undefined || written.notedAt === undefined) return { note: null, isDamaged: true }
    if (!readableVersions.includes(written.version)) return { note: null, isDamaged: false }
    const { notedAt, tables, lost = {} } = written
    // A line that was cut off is of a change that was not made.
    const removed = changes.flatMap((line) => (parseLine(line) as { readonly removed: string[] } | null)?.removed ?? [])
    return { note: withoutTables({ notedAt, tables, lost }, removed), isDamaged: false }
  }

  async write(note: Note): Promise<void> {
    const draft = `${this.#path}.new`
    const file = await open(draft, 'w', 0o600)
    try {
      await file.writeFile(`${JSON.stringify({ version, ...note })}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, this.#path)
  }

  /** Takes tables out. Where the disk has no room for that, the whole note goes. Throws the system's error when it cannot. */
  async remove(tables: readonly string[]): Promise<void> {
    try {
      const file = await open(this.#path, 'r+')
      try {
        const { size } = await file.stat()
        await file.write(`${JSON.stringify({ removed: tables })}\n`, size)
        await file.datasync()
      } finally {
        await file.close()
      }
    } catch {
      await rm(this.#path, { force: true })
    }
  }
}

/** The note as if these tables had not been noted. */
export function withoutTables({ notedAt, tables, lost }: Note, names: readonly string[]): Note {
  const isKept = ([name]: readonly [string, unknown]): boolean => !names.includes(name)
  return {
    notedAt,
    tables: Object.fromEntries(Object.entries(tables).filter(isKept)),
    lost: Object.fromEntries(Object.entries(lost).filter(isKept)),
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}
