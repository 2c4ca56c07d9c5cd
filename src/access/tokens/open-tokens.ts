import { randomUUID } from 'node:crypto'
import { checkFormat, readRecord, readString } from '../../catalog/record-fields.ts'
import { sealedTextOf } from '../../secrets/sealed-records.ts'
import { contextOf } from '../../secrets/secret-box.ts'
import type { SecretBox } from '../../secrets/secret-box.types.ts'
import type { LoadedWrite } from '../../storage/loaded-records.ts'
import type { RecordKind } from '../../storage/storage.types.ts'
import { type DefaultToken, otherDefaultTokens, workspaceAdminToken } from './default-tokens.ts'
import { TokenAudit } from './token-audit.ts'
import { type BookDeps, type BookOptions, TokenBook } from './token-book.ts'
import { TokenEntry } from './token-entry.ts'
import { TokenIndex } from './token-index.ts'
import { decodeToken, encodeToken } from './token-record.ts'
import { TokenUses } from './token-uses.ts'
import { createTokenValue, digestOf } from './token-value.ts'
import { signingKeyBytesMin, WorkspaceAdmin } from './workspace-admin.ts'

export interface TokensOptions extends Omit<BookOptions, 'workspaceId'> {
  /** The value of the workspace admin token, if it is given. */
  readonly adminToken?: string | undefined
  /** Changes that are remembered. */
  readonly auditLinesMax?: number
  /** How long the last use of a token may be known in memory alone. */
  readonly usesIntervalMs?: number
}

export interface TokensDeps extends BookDeps {
  /** The value of the workspace admin token that is kept for people; asked for where the key is missing. */
  readonly readAdminValue: () => Promise<string | null>
}

/** What tokens are kept in. */
export const tokenKinds: readonly RecordKind[] = ['workspace', 'tokens', 'token_audit', 'token_uses']

const auditLinesMaxDefault = 10_000
const usesIntervalMsDefault = 60_000

/**
 * Opens the tokens over what was loaded of `tokenKinds`. The first start makes the workspace and the tokens that it begins with.
 *
 * @throws CatalogRecordError when a record cannot be read; DISK_UNAVAILABLE (503).
 */
export async function openTokens(options: TokensOptions, deps: TokensDeps): Promise<TokenBook> {
  const { records, logger } = deps
  const { auditLinesMax = auditLinesMaxDefault, usesIntervalMs = usesIntervalMsDefault } = options
  const index = new TokenIndex()
  for (const entry of loadedEntries(deps)) index.set(entry)
  const audit = new TokenAudit(records.take('token_audit'), auditLinesMax)
  const isKnown = (id: string) => index.findById(id) !== undefined
  const uses = new TokenUses({ intervalMs: usesIntervalMs, isKnown }, { records, logger })
  const workspaceRecords = records.take('workspace')
  const workspace = readWorkspace(workspaceRecords)
  const opening: Opening = { options, deps, workspaceId: workspace ?? randomUUID(), workspaceRecords }
  const made = workspace === undefined ? newEntries(opening) : []
  for (const entry of made) index.set(entry)
  const found = [...index.entries()].find(({ token }) => token.isWorkspaceAdmin)
  if (found === undefined) throw new Error('the record of the workspace admin token is missing')
  const { admin, entry } = await openAdmin(found, opening)
  index.set(entry)
  const changed = new Map([...made, ...(entry === found ? [] : [entry])].map((one) => [one.id, one]))
  await records.write([
    ...(workspace === undefined ? [workspaceWrite(opening)] : []),
    ...Array.from(changed.values(), tokenWrite),
    ...(entry.sealed !== null && workspaceRecords.has(oldAdminKey) ? [oldAdminRemoval] : []),
  ])
  warnOfAdmin(admin, deps)
  const state = { index, audit, uses, admin, adminId: entry.id }
  return new TokenBook({ ...options, workspaceId: opening.workspaceId }, deps, state)
}

interface Opening {
  readonly options: TokensOptions
  readonly deps: TokensDeps
  readonly workspaceId: string
  readonly workspaceRecords: ReadonlyMap<string, unknown>
}

const workspaceKey = 'workspace'
const workspaceFormat = 1
/** The value of the workspace admin token as earlier releases kept it: sealed, in no token's record. */
const oldAdminKey = 'admin_token'
const oldAdminFormat = 1

/** The record by which a value that an earlier release kept in plain comes to its token. */
export function oldAdminWrite(value: string, box: SecretBox): LoadedWrite {
  const sealed = box.seal(value, contextOf('workspace', oldAdminKey))
  return { kind: 'workspace', key: oldAdminKey, value: { format: oldAdminFormat, sealed } }
}

function readWorkspace(records: ReadonlyMap<string, unknown>): string | undefined {
  const record = records.get(workspaceKey)
  if (record === undefined) return undefined
  return readRecord('the workspace', record, (fields) => {
    checkFormat(fields, workspaceFormat)
    return readString(fields, 'id')
  })
}

function workspaceWrite({ workspaceId, options }: Opening): LoadedWrite {
  return {
    kind: 'workspace',
    key: workspaceKey,
    value: { format: workspaceFormat, id: workspaceId, createdAt: options.now() },
  }
}

/** In the order of their numbers: the storage has them in the order of their ids. */
function loadedEntries({ records }: TokensDeps): readonly TokenEntry[] {
  const entries = Array.from(records.take('tokens'), ([id, record]) => decodeToken(id, record))
  return entries.sort((a, b) => a.number - b.number)
}

/** The tokens that a workspace begins with; that of the start has its value from elsewhere. */
function newEntries(opening: Opening): readonly TokenEntry[] {
  const admin = newEntry({ ...workspaceAdminToken, number: 1, isWorkspaceAdmin: true }, opening)
  const others = otherDefaultTokens.map((token, at) =>
    withValue(newEntry({ ...token, number: at + 2, isWorkspaceAdmin: false }, opening), opening),
  )
  return [admin, ...others]
}

interface NewToken extends DefaultToken {
  readonly number: number
  readonly isWorkspaceAdmin: boolean
}

function newEntry({ number, ...fields }: NewToken, { options }: Opening): TokenEntry {
  const at = options.now()
  return new TokenEntry({
    token: { id: randomUUID(), ...fields, origin: 'default', createdAt: at, updatedAt: at, expiresAt: null },
    number,
    digest: null,
    sealed: null,
  })
}

/** The same token with a value, a new one if none is told. */
function withValue(
  { token, number }: TokenEntry,
  { deps, workspaceId }: Opening,
  value = createTokenValue({ workspaceId, id: token.id }),
): TokenEntry {
  const sealed = deps.box.seal(value, contextOf('tokens', token.id))
  return new TokenEntry({ token, number, digest: digestOf(value), sealed })
}

interface OpenedAdmin {
  readonly admin: WorkspaceAdmin
  readonly entry: TokenEntry
}

/** The value of the token of the start: the one that is given, or else the one that was made once. */
async function openAdmin(entry: TokenEntry, opening: Opening): Promise<OpenedAdmin> {
  const { options, deps, workspaceId } = opening
  if (options.adminToken !== undefined) return { admin: new WorkspaceAdmin(options.adminToken, 'given'), entry }
  const old = opening.workspaceRecords.get(oldAdminKey)
  const isNew = entry.sealed === null && old === undefined
  const opened = openedValue(entry, old, deps)
  if (opened !== null && entry.sealed !== null) return { admin: new WorkspaceAdmin(opened, 'kept'), entry }
  const found = opened ?? (isNew ? null : await rescuedValue(entry, deps))
  // It is still known where it is sent.
  if (found === null && entry.digest !== null) return { admin: new WorkspaceAdmin(null, 'kept'), entry }
  const value = found ?? createTokenValue({ workspaceId, id: entry.id })
  const admin = new WorkspaceAdmin(value, found === null ? 'made' : 'kept')
  return { admin, entry: withValue(entry, opening, value) }
}

/** Null where the key is missing. */
function openedValue({ id, sealed }: TokenEntry, old: unknown, { box }: TokensDeps): string | null {
  if (sealed !== null) return box.open(sealed, contextOf('tokens', id))
  const oldSealed = sealedTextOf(old)
  return oldSealed === null ? null : box.open(oldSealed, contextOf('workspace', oldAdminKey))
}

const valueForm = /^p\.[\w-]+\.[\w-]+$/

/** The value that people have in their file, where the key is missing and the token does not have another one. */
async function rescuedValue({ digest }: TokenEntry, { readAdminValue }: TokensDeps): Promise<string | null> {
  const value = await readAdminValue()
  if (value === null) return null
  return (digest === null ? valueForm.test(value) : digestOf(value) === digest) ? value : null
}

/** What an earlier release kept is in the token's record now. */
const oldAdminRemoval: LoadedWrite = { kind: 'workspace', key: oldAdminKey, value: null }

function tokenWrite(entry: TokenEntry): LoadedWrite {
  return { kind: 'tokens', key: entry.id, value: encodeToken(entry) }
}

function warnOfAdmin({ value, signingKey }: WorkspaceAdmin, { logger }: TokensDeps): void {
  if (value === null) {
    logger.warn(
      {},
      'The key is missing that the workspace admin token was sealed with: it is known where it is sent, but not shown, and JWTs that it has signed are refused. Refresh it, or bring the key back.',
    )
    return
  }
  if (signingKey !== null) return
  logger.warn(
    { bytesMin: signingKeyBytesMin },
    'The admin token that was given is too short to sign JWTs, because it could be guessed: give a longer one.',
  )
}
