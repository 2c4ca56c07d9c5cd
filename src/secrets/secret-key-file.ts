/**
 * The file of the secret key: `secret-key` in the data directory, or where the operator keeps it.
 *
 * It is for its owner alone. Our own is made so again when it is open to others; of a file that the operator keeps the start
 * is refused, as it may have been read already, and its mode may be what others count on.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { othersMask, writePrivateFile } from '../directory/private-file.ts'
import type { Logger } from '../observe/logger.ts'
import { startRefusals } from '../shared/errors/start-refusals.ts'
import type { SecretKey } from './secret-box.types.ts'
import { parseKeys, printKeys, secretKeysMax } from './secret-key.ts'

/** The keys of a file, the one that seals first. */
export type SecretKeys = readonly [SecretKey, ...SecretKey[]]

export interface KeyPlace {
  readonly path: string
  /** Whether the operator keeps it; else it is ours, in the data directory. */
  readonly isGiven: boolean
}

/** What was found there. */
export interface KeyFile {
  readonly place: KeyPlace
  /** Null when ours is missing. */
  readonly keys: SecretKeys | null
}

const secretKeyName = 'secret-key'

const modeMask = 0o777
const fileBytesMax = 4_096

/** Where the key is, by the options. */
export function keyPlaceOf(options: { readonly dataDir: string; readonly secretKeyFile: string }): KeyPlace {
  const { dataDir, secretKeyFile } = options
  return secretKeyFile === ''
    ? { path: resolve(dataDir, secretKeyName), isGiven: false }
    : { path: resolve(secretKeyFile), isGiven: true }
}

/**
 * Reads the keys of the file.
 *
 * @throws StartRefusal SECRET_KEY_MISSING when the operator's is missing; SECRET_KEY_UNUSABLE when others may read it, or
 *   when it holds no keys.
 */
export async function readKeyFile(place: KeyPlace, logger: Logger): Promise<KeyFile> {
  const { path, isGiven } = place
  const file = await openExisting(path)
  if (file === null) {
    if (isGiven) throw startRefusals.SECRET_KEY_MISSING({ path })
    return { place, keys: null }
  }
  try {
    await checkMode(file, place, logger)
    const keys = parseKeys(await readStart(file))
    if (keys !== null) return { place, keys }
    const reason = `it must have 1 to ${secretKeysMax} lines of 44 characters, each 32 bytes in base64; put back the file that stood there`
    throw startRefusals.SECRET_KEY_UNUSABLE({ path, reason })
  } finally {
    await file.close()
  }
}

/** Puts these keys in the place of those that the file has, and is done when they are on disk. */
export async function writeKeyFile({ path }: KeyPlace, keys: SecretKeys): Promise<void> {
  await writePrivateFile(await targetOf(path), printKeys(keys))
}

/** Where a link leads to, so that the file is replaced and not the link. */
async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (isMissing(error)) return path
    throw error
  }
}

async function openExisting(path: string): Promise<FileHandle | null> {
  try {
    // Nor is there any wait for the writer of a pipe.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (cause) {
    if (isMissing(cause)) return null
    throw startRefusals.SECRET_KEY_UNUSABLE({ path, reason: reasonOf(cause), cause })
  }
}

async function checkMode(file: FileHandle, { path, isGiven }: KeyPlace, logger: Logger): Promise<void> {
  const status = await file.stat()
  if (!status.isFile()) throw startRefusals.SECRET_KEY_UNUSABLE({ path, reason: 'it is not a file' })
  if ((status.mode & othersMask) === 0) return
  const mode = (status.mode & modeMask).toString(8)
  const reason = `other users of the machine may read it (mode ${mode}); run chmod 600 on it`
  if (isGiven) throw startRefusals.SECRET_KEY_UNUSABLE({ path, reason })
  try {
    await file.chmod(status.mode & ~othersMask & modeMask)
  } catch (cause) {
    throw startRefusals.SECRET_KEY_UNUSABLE({ path, reason, cause })
  }
  logger.warn(
    { path, mode },
    'The secret key was open to other users of the machine and is closed to them; rotate it if one of them may have read it.',
  )
}

async function readStart(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(fileBytesMax + 1), 0, fileBytesMax + 1, 0)
  // What is longer is read as far as it shows that it is no file of keys.
  return buffer.subarray(0, bytesRead).toString('latin1')
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
