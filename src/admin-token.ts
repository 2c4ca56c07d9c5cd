/**
 * The token that may do everything: given by an option, or made once and kept.
 *
 * It is kept in the catalog's file. A file of its own, `admin-token`, holds it for people and their shells, so that it need
 * not be printed; it is readable by its owner alone, and a token that was given is in neither.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Options } from './config.ts'
import type { Logger } from './observe/logger.ts'
import type { Settings } from './storage/settings.ts'

export interface AdminToken {
  readonly text: string
  /** `given`: by an option. `made`: by this start. `kept`: made by an earlier one. */
  readonly origin: 'given' | 'kept' | 'made'
  /** The absolute path of the file that holds it; null when it was given, or the file could not be written. */
  readonly path: string | null
}

interface TokenDeps {
  readonly settings: Settings
  readonly logger: Logger
}

const settingName = 'admin_token'
export const adminTokenFileName = 'admin-token'

/** The token of the options, or the one that was made at the first start, in its file again if that is missing or differs. */
export async function openAdminToken(
  { adminToken, dataDir }: Pick<Options, 'adminToken' | 'dataDir'>,
  { settings, logger }: TokenDeps,
): Promise<AdminToken> {
  if (adminToken !== undefined) return { text: adminToken, origin: 'given', path: null }
  const kept = settings.read(settingName)
  const text = kept ?? createAdminToken()
  if (kept === undefined) await settings.write(settingName, text)
  const path = resolve(join(dataDir, adminTokenFileName))
  return { text, origin: kept === undefined ? 'made' : 'kept', path: await keepFile(path, text, logger) }
}

/** Clients tell a token by its three parts, the second of them JSON in base64: `p.<payload>.<secret>`. */
function createAdminToken(): string {
  const payload = Buffer.from(JSON.stringify({ u: 'admin', id: 'admin', host: 'local' })).toString('base64url')
  return `p.${payload}.${randomBytes(32).toString('base64url')}`
}

/** The path, or null when the disk refuses: the service can do without the file. */
async function keepFile(path: string, text: string, logger: Logger): Promise<string | null> {
  try {
    if (!(await isKept(path, text))) await writeWhole(path, `${text}\n`)
    return path
  } catch (err) {
    logger.warn({ err, path }, 'The file of the admin token could not be written; --show-token prints the token.')
    return null
  }
}

const othersMask = 0o077
const fileMode = 0o600
const tokenBytesMax = 1_024

async function isKept(path: string, text: string): Promise<boolean> {
  let file: FileHandle | undefined
  try {
    // A link is not followed: it may lead to where others read. Nor is there any wait for the writer of a pipe.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const status = await file.stat()
    if (!status.isFile() || (status.mode & othersMask) !== 0 || status.size > tokenBytesMax) return false
    return (await file.readFile('utf8')) === `${text}\n`
  } catch {
    // Whatever is wrong with it, a new one takes its place.
    return false
  } finally {
    await file?.close()
  }
}

/** Readers see the old file or the new one, and after a crash there is one of them. */
async function writeWhole(path: string, text: string): Promise<void> {
  const newPath = `${path}.new`
  await rm(newPath, { force: true })
  const file = await open(newPath, 'wx', fileMode)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(newPath, path)
}
