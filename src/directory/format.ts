/**
 * The format number of the data directory: one number for everything in it, in the file `format`.
 *
 * It is read before anything in the directory is opened, and refused when it is newer than this version knows. It is raised
 * when a change makes a directory that an older version would misread, at most once a release: add a line to the list below,
 * raise `currentFormat`, and add a step to `service.ts` if files must change before anything of the new format is written.
 * Every older format stays readable.
 *
 * - 1: versions without the file; they know a newer directory only by the version of the log's checkpoint.
 * - 2: the file itself; the checkpoint has version 2; in the log, the note that a block is stored tells its last entry.
 * - 3: in the log, each body tells by which rules its values are read, and so does the note of a replay; the time of a
 *   quarantine may be called `c__insertion_date`.
 * - 4: in the catalog, the values of variables and the admin token are sealed by a key that has a file of its own; tokens are
 *   looked up by a digest that signs nothing; nodes of pipes may have
 *   views, which an older version would leave standing, and blocks of imports are kept for these.
 */
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { startRefusals } from '../shared/errors/start-refusals.ts'
import { syncDirectory } from './sync-directory.ts'

/** What this version writes. */
export const currentFormat = 4
export const formatName = 'format'

const firstFormat = 1
const newFormatName = 'format.new'
const shownCharactersMax = 60

/** Brings files of an older format to `to`. It may be cut off by a crash at any point, and is run again then. */
export interface FormatStep {
  readonly to: number
  readonly run: () => Promise<void>
}

/**
 * The format of a data directory: 1 when it has no such file, or is missing. Changes nothing, so no lock is needed.
 *
 * @throws StartRefusal FORMAT_NEWER, or FORMAT_UNREADABLE when the file holds no number.
 */
export async function readFormat(dataDirectory: string): Promise<number> {
  const path = join(dataDirectory, formatName)
  const text = await readText(path)
  if (text === null) return firstFormat
  const format = Number(/^millrace data directory, format ([1-9]\d{0,8})\s*$/.exec(text)?.[1])
  if (Number.isNaN(format)) {
    const expected = lineOf(currentFormat).trim()
    const reason = `it holds ${JSON.stringify(text.slice(0, shownCharactersMax))}, where "${expected}" stands in a directory of this release`
    throw startRefusals.FORMAT_UNREADABLE({ path, reason })
  }
  if (format > currentFormat) {
    throw startRefusals.FORMAT_NEWER({ path: dataDirectory, format, formatMax: currentFormat })
  }
  return format
}

/**
 * Runs the steps from `found` to the current format, then writes the number. Nothing is written for a directory that has the
 * current format. Precondition: nobody else has the directory open, and nothing in it was changed yet.
 *
 * @throws Error when the disk refuses; the directory is then still of its old format, and opens in old versions.
 */
export async function raiseFormat(dataDirectory: string, found: number, steps: readonly FormatStep[]): Promise<void> {
  if (found === currentFormat) return
  for (const { to, run } of steps) if (to > found) await run()
  await writeFormat(dataDirectory)
}

async function writeFormat(dataDirectory: string): Promise<void> {
  const draft = join(dataDirectory, newFormatName)
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(lineOf(currentFormat))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, join(dataDirectory, formatName))
  await syncDirectory(dataDirectory)
}

function lineOf(format: number): string {
  return `millrace data directory, format ${format}\n`
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause
    if ('code' in cause && cause.code === 'ENOENT') return null
    throw startRefusals.FORMAT_UNREADABLE({ path, reason: cause.message, cause })
  }
}
