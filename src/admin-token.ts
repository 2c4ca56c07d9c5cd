/**
 * The tokens, and the file `admin-token`: the value of the workspace admin token for people and their shells, so that it need not be printed.
 *
 * What counts is in the catalog's file, sealed; this one is made anew when it is missing or differs. It is readable by its owner
 * alone, and does not have a token that was given.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AccessDeps } from './access/access.ts'
import { oldAdminWrite, openTokens, tokenKinds } from './access/tokens/open-tokens.ts'
import type { BookDeps, TokenBook } from './access/tokens/token-book.ts'
import type { AdminOrigin } from './access/tokens/workspace-admin.ts'
import type { Options } from './config.ts'
import { othersMask, writePrivateFile } from './directory/private-file.ts'
import type { Logger } from './observe/logger.ts'
import type { SecretBox } from './secrets/secret-box.types.ts'
import { type LoadedWrite, loadRecords } from './storage/loaded-records.ts'
import type { RecordStorage } from './storage/storage.types.ts'

/** The workspace admin token, as a start tells of it. */
export interface AdminToken {
  /** Null where the key is missing that it was sealed with. */
  readonly text: string | null
  readonly origin: AdminOrigin
  /** The absolute path of the file that holds it; null when it was given, or the file could not be written. */
  readonly path: string | null
  /** Whether JWTs can be signed with it. */
  readonly isSigning: boolean
}

export const adminTokenFileName = 'admin-token'
/** The setting in which earlier releases kept the value in plain. */
const oldSettingName = 'admin_token'

interface TokenDeps {
  readonly storage: RecordStorage
  readonly box: SecretBox
  readonly lookup: AccessDeps['lookup']
  readonly logger: Logger
  readonly onAudited: NonNullable<BookDeps['onAudited']>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Opens the tokens, and puts the value of the workspace admin token where people look for it, unless it was given. */
export async function openTokensWithFile(
  options: Pick<Options, 'adminToken' | 'dataDir' | 'tokensMax' | 'tokenBytesMax' | 'tokensBytesMax'>,
  { storage, box, lookup, logger, onAudited, now }: TokenDeps,
): Promise<{ readonly tokens: TokenBook; readonly adminToken: AdminToken }> {
  const file = new AdminTokenFile(options.dataDir, logger)
  const tokens = await openTokens(
    { ...options, now },
    {
      records: await loadRecords(storage, tokenKinds),
      lookup,
      box,
      logger,
      onAudited,
      readAdminValue: () => file.read(),
      keepAdminValue: async (value) => {
        await file.keep(value)
      },
    },
  )
  const { adminValue: text, adminOrigin: origin, signingKey } = tokens
  const path = origin === 'given' || text === null ? null : await file.keep(text)
  return { tokens, adminToken: { text, origin, path, isSigning: signingKey !== null } }
}

/** The setting of an earlier release, sealed, until the token takes it over; null for any other record. */
export function sealOldAdminToken({ kind, key, value }: LoadedWrite, box: SecretBox): LoadedWrite | null {
  if (kind !== 'settings' || key !== oldSettingName || typeof value !== 'string') return null
  return oldAdminWrite(value, box)
}

class AdminTokenFile {
  readonly #path: string
  readonly #logger: Logger

  constructor(dataDir: string, logger: Logger) {
    this.#path = resolve(join(dataDir, adminTokenFileName))
    this.#logger = logger
  }

  /** The text in the file; null when there is none that only its owner may read. */
  async read(): Promise<string | null> {
    const text = await readPrivate(this.#path)
    return text === null ? null : text.trimEnd()
  }

  /** The path; null when the disk refuses: the service can do without the file. */
  async keep(text: string): Promise<string | null> {
    try {
      const line = `${text}\n`
      if ((await readPrivate(this.#path)) !== line) await writePrivateFile(this.#path, line)
      return this.#path
    } catch (err) {
      this.#logger.warn(
        { err, path: this.#path },
        'The file of the admin token could not be written; --show-token prints the token.',
      )
      return null
    }
  }
}

const tokenBytesMax = 1_024

/** Null for a file that is missing, or of another kind, or open to others: a new one takes its place. */
async function readPrivate(path: string): Promise<string | null> {
  let file: FileHandle | undefined
  try {
    // A link is not followed: it may lead to where others read. Nor is there any wait for the writer of a pipe.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const status = await file.stat()
    if (!status.isFile() || (status.mode & othersMask) !== 0 || status.size > tokenBytesMax) return null
    return await file.readFile('utf8')
  } catch {
    return null
  } finally {
    await file?.close()
  }
}
