/**
 * The token that may do everything: given by an option, or made once and kept.
 *
 * It is kept sealed in the catalog's file. A file of its own, `admin-token`, holds it for people and their shells, so that it
 * need not be printed; it is readable by its owner alone, and a token that was given is in neither. Where the key is missing
 * that it was sealed with, the file says which one it is.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Options } from './config.ts'
import { othersMask, writePrivateFile } from './directory/private-file.ts'
import type { Logger } from './observe/logger.ts'
import { sealedTextOf } from './secrets/sealed-records.ts'
import { contextOf } from './secrets/secret-box.ts'
import type { SecretBox } from './secrets/secret-box.types.ts'
import { type LoadedWrite, loadRecords } from './storage/loaded-records.ts'
import type { RecordStorage } from './storage/storage.types.ts'

export interface AdminToken {
  readonly text: string
  /** `given`: by an option. `made`: by this start. `kept`: made by an earlier one. */
  readonly origin: 'given' | 'kept' | 'made'
  /** The absolute path of the file that holds it; null when it was given, or the file could not be written. */
  readonly path: string | null
}

interface TokenDeps {
  readonly storage: RecordStorage
  readonly box: SecretBox
  readonly logger: Logger
}

const recordName = 'admin_token'
const recordFormat = 1
const context = contextOf('workspace', recordName)
/** Where earlier releases kept it in plain. */
const oldSettingName = 'admin_token'
export const adminTokenFileName = 'admin-token'

/** The token of the options, or the one that was made at the first start, in its file again if that is missing or differs. */
export async function openAdminToken(
  { adminToken, dataDir }: Pick<Options, 'adminToken' | 'dataDir'>,
  { storage, box, logger }: TokenDeps,
): Promise<AdminToken> {
  if (adminToken !== undefined) return { text: adminToken, origin: 'given', path: null }
  const path = resolve(join(dataDir, adminTokenFileName))
  const records = await loadRecords(storage, ['workspace'])
  const record = records.take('workspace').get(recordName)
  const sealed = sealedTextOf(record)
  const opened = sealed === null ? null : box.open(sealed, context)
  const kept = opened ?? (record === undefined ? null : await rescue(path, logger))
  const text = kept ?? createAdminToken()
  if (opened === null) {
    const value = { format: recordFormat, sealed: box.seal(text, context) }
    await records.write([{ kind: 'workspace', key: recordName, value }])
  }
  return { text, origin: kept === null ? 'made' : 'kept', path: await keepFile(path, text, logger) }
}

/** The setting of an earlier release as it is kept now; null for any other record. */
export function sealOldAdminToken({ kind, key, value }: LoadedWrite, box: SecretBox): LoadedWrite | null {
  if (kind !== 'settings' || key !== oldSettingName || typeof value !== 'string') return null
  return { kind: 'workspace', key: recordName, value: { format: recordFormat, sealed: box.seal(value, context) } }
}

/** The token of the file, where the kept one cannot be opened; null when it has none either. */
async function rescue(path: string, logger: Logger): Promise<string | null> {
  const found = (await readFileOfToken(path))?.trim() ?? ''
  if (tokenForm.test(found)) {
    logger.warn({ path }, 'The kept admin token cannot be read, as its key is missing: the one of the file is valid.')
    return found
  }
  logger.error(
    { path },
    'The kept admin token cannot be read, as its key is missing, nor its file: another one is made.',
  )
  return null
}

/** Clients tell a token by its three parts, the second of them JSON in base64: `p.<payload>.<secret>`. */
function createAdminToken(): string {
  const payload = Buffer.from(JSON.stringify({ u: 'admin', id: 'admin', host: 'local' })).toString('base64url')
  return `p.${payload}.${randomBytes(32).toString('base64url')}`
}

/** The path, or null when the disk refuses: the service can do without the file. */
async function keepFile(path: string, text: string, logger: Logger): Promise<string | null> {
  try {
    if (!(await isKept(path, text))) await writePrivateFile(path, `${text}\n`)
    return path
  } catch (err) {
    logger.warn({ err, path }, 'The file of the admin token could not be written; --show-token prints the token.')
    return null
  }
}

const tokenBytesMax = 1_024

const tokenForm = /^p\.[\w-]+\.[\w-]+$/

async function isKept(path: string, text: string): Promise<boolean> {
  return (await readFileOfToken(path)) === `${text}\n`
}

/** Null when it is missing, open to others, or no such file: a new one takes its place. */
async function readFileOfToken(path: string): Promise<string | null> {
  let file: FileHandle | undefined
  try {
    // A link is not followed: it may lead to where others read. Nor is there any wait for the writer of a pipe.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const status = await file.stat()
    if (!status.isFile() || (status.mode & othersMask) !== 0 || status.size > tokenBytesMax) return null
    return await file.readFile('utf8')
  } catch {
    // Whatever is wrong with it, the service can do without.
    return null
  } finally {
    await file?.close()
  }
}
