/**
 * The static tokens of the workspace: all of them in memory for requests, and in a storage for the next start.
 *
 * 1. Readers see a change once it is on disk, together with its audit line.
 * 2. Changes are made one after the other, each judged by what the one before left: the names, the rights of the editor.
 * 3. The value of the workspace admin token is asked for first, without a digest; values of others by their digests. What a
 *    request costs does not depend on how many tokens there are.
 */
import { randomUUID } from 'node:crypto'
import type { Logger } from '../../observe/logger.ts'
import { contextOf } from '../../secrets/secret-box.ts'
import type { SealedRecord, SealedText, SecretBox } from '../../secrets/secret-box.types.ts'
import { assert } from '../../shared/assert.ts'
import { ChangeQueue } from '../../shared/change-queue.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { LoadedRecords } from '../../storage/loaded-records.ts'
import type { AccessDeps } from '../access.ts'
import { Permissions } from '../permissions.ts'
import type { Scope } from '../scopes/scope.types.ts'
import { coversAll, type ManagedToken, mayManage, outlives } from '../strength.ts'
import type { KnownToken, Refusal } from '../token-source.types.ts'
import type { StaticWarrant, Warrant } from '../warrant.types.ts'
import { grantsOf } from './scope-grants.ts'
import type {
  StaticToken,
  TokenAction,
  TokenAuditLine,
  TokenEditor,
  TokenOrder,
  TokenRevision,
  Tokens,
  ValuedToken,
} from './token.types.ts'
import { auditLineOf, type TokenAudit } from './token-audit.ts'
import { TokenEntry } from './token-entry.ts'
import type { TokenIndex } from './token-index.ts'
import { encodeToken } from './token-record.ts'
import { checkScopes, checkTokenDescription, checkTokenName, isAdmin } from './token-rules.ts'
import { bytesOfToken, givenBytesOf } from './token-size.ts'
import type { TokenUses } from './token-uses.ts'
import { createTokenValue, digestOf, mayBeTokenValue } from './token-value.ts'
import type { AdminOrigin, WorkspaceAdmin } from './workspace-admin.ts'

export interface BookOptions {
  readonly workspaceId: string
  readonly tokensMax: number
  /** Of one token, as `givenBytesOf` counts it. */
  readonly tokenBytesMax: number
  /** Of all tokens, as `bytesOfToken` counts them. */
  readonly tokensBytesMax: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

export interface BookDeps {
  readonly records: LoadedRecords
  readonly lookup: AccessDeps['lookup']
  readonly box: SecretBox
  readonly logger: Logger
  /** Told of each change, once it is on disk. */
  readonly onAudited?: (line: TokenAuditLine) => void
  /** Keeps the value of the workspace admin token for people, beside what the book keeps itself. */
  readonly keepAdminValue: (value: string) => Promise<void>
}

/** What the book is opened with. */
export interface BookState {
  readonly index: TokenIndex
  readonly audit: TokenAudit
  readonly uses: TokenUses
  readonly admin: WorkspaceAdmin
  readonly adminId: string
}

export class TokenBook implements Tokens {
  readonly workspaceId: string
  readonly #options: BookOptions
  readonly #now: () => number
  readonly #deps: BookDeps
  readonly #index: TokenIndex
  readonly #audit: TokenAudit
  readonly #uses: TokenUses
  readonly #admin: WorkspaceAdmin
  readonly #changes = new ChangeQueue()
  /** Its entry is asked for by every request with it. */
  #adminEntry: TokenEntry
  #lastNumber: number
  #version = 0

  constructor(options: BookOptions, deps: BookDeps, state: BookState) {
    const adminEntry = state.index.findById(state.adminId)
    if (adminEntry === undefined) throw new Error('the workspace has an admin token')
    const { workspaceId, now } = options
    this.workspaceId = workspaceId
    this.#options = options
    this.#now = now
    this.#deps = deps
    this.#index = state.index
    this.#audit = state.audit
    this.#uses = state.uses
    this.#admin = state.admin
    this.#adminEntry = adminEntry
    this.#lastNumber = Math.max(...Array.from(state.index.entries(), ({ number }) => number))
  }

  /** The value of the workspace admin token; it must be neither logged nor kept. Null where its key is missing. */
  get adminValue(): string | null {
    return this.#admin.value
  }

  get version(): number {
    return this.#version
  }

  get adminOrigin(): AdminOrigin {
    return this.#admin.origin
  }

  get signingKey(): string | null {
    return this.#admin.signingKey
  }

  onSigningKey(tell: (key: string | null) => void): void {
    this.#admin.onSigningKey(tell)
  }

  find(text: string): KnownToken | Refusal | undefined {
    const entry = this.#findByValue(text)
    if (entry === undefined) return undefined
    const at = this.#now()
    const { expiresAt } = entry.token
    if (expiresAt !== null && at >= expiresAt) return { error: errors.TOKEN_EXPIRED() }
    this.#uses.note(entry.id, at)
    return entry
  }

  warrantOf({ makerId }: KnownToken): StaticWarrant {
    const entry = this.#index.findById(makerId)
    assert(entry !== undefined, 'the token of a caller is known')
    const stamp = this.#deps.box.seal(this.#digestOf(entry), contextOf('jobs', entry.id))
    return { kind: 'static', tokenId: entry.id, stamp }
  }

  findWarranted(warrant: Warrant): KnownToken | Refusal | undefined {
    if (warrant.kind !== 'static') return undefined
    const entry = this.#index.findById(warrant.tokenId)
    const digest = this.#deps.box.open(warrant.stamp, contextOf('jobs', warrant.tokenId))
    // Its holder has another value by now, or the key is gone that it was sealed with.
    if (entry === undefined || digest === null || this.#digestOf(entry) !== digest) return undefined
    const { expiresAt } = entry.token
    return expiresAt !== null && this.#now() >= expiresAt ? { error: errors.TOKEN_EXPIRED() } : entry
  }

  list(): readonly StaticToken[] {
    return Array.from(this.#index.entries(), (entry) => entry.toldAt(this.#deps.lookup))
  }

  findToken(nameIdOrValue: string): StaticToken | undefined {
    const entry =
      this.#index.findById(nameIdOrValue) ?? this.#findByValue(nameIdOrValue) ?? this.#index.findByName(nameIdOrValue)
    return entry?.toldAt(this.#deps.lookup)
  }

  lastUsedAt({ id }: StaticToken): number | null {
    return this.#uses.lastUsedAt(id)
  }

  async valuesOf(tokens: readonly StaticToken[]): Promise<readonly (string | null)[]> {
    const values = await this.#deps.box.openMany(this.#sealedRecordsOf(tokens))
    const adminAt = tokens.findIndex(({ id }) => id === this.#adminEntry.id)
    // A kept one does not count as long as another is given.
    return adminAt === -1 ? values : values.with(adminAt, this.#admin.value)
  }

  *#sealedRecordsOf(tokens: readonly StaticToken[]): Generator<SealedRecord | null> {
    for (const { id } of tokens) {
      const sealed = this.#index.findById(id)?.sealed ?? null
      yield sealed === null ? null : { sealed, context: contextOf('tokens', id) }
    }
  }

  auditLines(): readonly TokenAuditLine[] {
    return this.#audit.lines()
  }

  create(order: TokenOrder, editor: TokenEditor): Promise<ValuedToken> {
    return this.#change(editor, async (permissions) => {
      const { name, description, scopes, expiresAt } = order
      checkTokenName(name)
      checkTokenDescription(description)
      checkScopes(scopes)
      this.#checkStrength(permissions, { scopes, expiresAt })
      // An ADMIN too, though it may read the values of others: it says itself that it is for a while.
      if (outlives(permissions, expiresAt)) throw errors.TOKEN_STRONGER()
      this.#checkNameIsFree(name)
      const { tokensMax } = this.#options
      if (this.#index.size >= tokensMax) throw errors.TOKENS_TOO_MANY({ tokensMax })
      this.#checkSize({ name, description, scopes }, 0)
      const at = this.#now()
      const fields = { name, description, scopes, origin: 'created', isWorkspaceAdmin: false, expiresAt } as const
      const token: StaticToken = { id: randomUUID(), ...fields, createdAt: at, updatedAt: at }
      const { value, digest, sealed } = this.#createValue(token.id)
      const entry = new TokenEntry({ token, number: this.#lastNumber + 1, digest, sealed })
      await this.#write(entry, { editor, action: 'created' })
      this.#lastNumber = entry.number
      return { token: entry.toldAt(this.#deps.lookup), value }
    })
  }

  update(id: string, revision: TokenRevision, editor: TokenEditor): Promise<StaticToken> {
    return this.#change(editor, async (permissions) => {
      const { entry, token } = this.#expect(id, permissions)
      const { name = token.name, description = token.description, scopes = token.scopes } = revision
      const changedFields = changedFieldsOf(token, { name, description, scopes })
      if (changedFields.length === 0) return token
      if (name !== token.name) {
        checkTokenName(name)
        this.#checkNameIsFree(name)
      }
      checkTokenDescription(description)
      this.#checkSize({ name, description, scopes }, bytesOfToken(entry.token))
      if (changedFields.includes('scopes')) this.#checkNewScopes(token, scopes, { editor, permissions })
      const revised = new TokenEntry({
        ...fieldsOf(entry),
        token: { ...token, name, description, scopes, updatedAt: this.#now() },
      })
      await this.#write(revised, { editor, action: 'updated', changedFields })
      return revised.toldAt(this.#deps.lookup)
    })
  }

  refresh(id: string, editor: TokenEditor): Promise<ValuedToken> {
    return this.#change(editor, async (permissions) => {
      const { entry, token } = this.#expect(id, permissions)
      if (token.isWorkspaceAdmin && this.#admin.origin === 'given') throw errors.TOKEN_GIVEN()
      const { value, digest, sealed } = this.#createValue(id)
      const refreshed = new TokenEntry({
        ...fieldsOf(entry),
        token: { ...token, updatedAt: this.#now() },
        digest,
        sealed,
      })
      await this.#write(refreshed, { editor, action: 'refreshed' })
      if (token.isWorkspaceAdmin) {
        this.#admin.replace(value)
        this.#version += 1
        await this.#deps.keepAdminValue(value)
      }
      return { token: refreshed.toldAt(this.#deps.lookup), value }
    })
  }

  remove(id: string, editor: TokenEditor): Promise<void> {
    return this.#change(editor, async (permissions) => {
      const { entry, token } = this.#expect(id, permissions)
      if (editor.tokenId === id) throw errors.TOKEN_SELF()
      this.#checkIsNotLastAdmin(token)
      const line = auditLineOf({ at: this.#now(), editor, action: 'removed', token, changedFields: [] })
      await this.#deps.records.write([{ kind: 'tokens', key: id, value: null }, ...this.#audit.writesOf(line)])
      this.#audit.add(line)
      this.#deps.onAudited?.(line)
      this.#index.delete(entry)
      this.#version += 1
      this.#uses.forget(id)
    })
  }

  async close(): Promise<void> {
    await this.#changes.close()
    await this.#uses.close()
  }

  #findByValue(text: string): TokenEntry | undefined {
    if (this.#admin.is(text)) return this.#adminEntry
    if (!mayBeTokenValue(text)) return undefined
    const entry = this.#index.findByDigest(digestOf(text))
    // A value of it that was kept is none as long as another one is given.
    return entry === this.#adminEntry && this.#admin.value !== null ? undefined : entry
  }

  /** Another one for another value. */
  #digestOf(entry: TokenEntry): string {
    const { value } = this.#admin
    return entry === this.#adminEntry && value !== null ? digestOf(value) : (entry.digest ?? '')
  }

  #createValue(id: string): { readonly value: string; readonly digest: string; readonly sealed: SealedText } {
    const value = createTokenValue({ workspaceId: this.workspaceId, id })
    return { value, digest: digestOf(value), sealed: this.#deps.box.seal(value, contextOf('tokens', id)) }
  }

  /** Makes one change after all that were asked for before it, judged by what its editor may do by then. */
  #change<Result>(editor: TokenEditor, make: (permissions: Permissions) => Promise<Result>): Promise<Result> {
    return this.#changes.run('tokens', () => make(this.#permissionsOf(editor)))
  }

  #permissionsOf({ tokenId, permissions }: TokenEditor): Permissions {
    if (tokenId === null) return permissions
    const entry = this.#index.findById(tokenId)
    if (entry === undefined) throw errors.TOKEN_INVALID()
    return new Permissions(entry.grants(this.#deps.lookup), this.#deps.lookup, entry.expiresAt)
  }

  /** @throws TOKEN_NOT_FOUND (404), TOKEN_STRONGER (403) */
  #expect(id: string, permissions: Permissions): { readonly entry: TokenEntry; readonly token: StaticToken } {
    const entry = this.#index.findById(id)
    if (entry === undefined) throw errors.TOKEN_NOT_FOUND()
    const token = entry.toldAt(this.#deps.lookup)
    this.#checkStrength(permissions, token)
    return { entry, token }
  }

  #checkStrength(permissions: Permissions, token: ManagedToken): void {
    if (!mayManage(permissions, token, this.#deps.lookup)) throw errors.TOKEN_STRONGER()
  }

  /** What is there already may stay as it is, or become smaller. @throws TOKEN_TOO_LARGE, TOKENS_TOO_LARGE (400) */
  #checkSize(next: Parameters<typeof bytesOfToken>[0], bytesNow: number): void {
    const { tokenBytesMax, tokensBytesMax } = this.#options
    const bytes = bytesOfToken(next)
    if (bytes <= bytesNow) return
    if (givenBytesOf(next) > tokenBytesMax) throw errors.TOKEN_TOO_LARGE({ bytesMax: tokenBytesMax })
    const all = this.#index.bytes - bytesNow + bytes
    if (all > tokensBytesMax) throw errors.TOKENS_TOO_LARGE({ bytesMax: tokensBytesMax })
  }

  #checkNameIsFree(name: string): void {
    if (this.#index.findByName(name) !== undefined) throw errors.TOKEN_EXISTS({ name })
  }

  #checkNewScopes(
    token: StaticToken,
    scopes: readonly Scope[],
    { editor, permissions }: { readonly editor: TokenEditor; readonly permissions: Permissions },
  ): void {
    const { lookup } = this.#deps
    checkScopes(scopes)
    this.#checkStrength(permissions, { scopes, expiresAt: token.expiresAt })
    if (editor.tokenId === token.id) {
      const after = new Permissions(grantsOf(scopes, lookup), lookup)
      if (!coversAll(after, grantsOf(token.scopes, lookup))) throw errors.TOKEN_SELF()
    }
    if (!isAdmin(scopes)) this.#checkIsNotLastAdmin(token)
  }

  /** @throws LAST_ADMIN_TOKEN (409) when nobody could manage the workspace without it. */
  #checkIsNotLastAdmin(token: StaticToken): void {
    if (!isAdmin(token.scopes)) return
    const isAnother = (other: TokenEntry) =>
      other.id !== token.id && isAdmin(other.token.scopes) && other.token.expiresAt === null
    if (token.isWorkspaceAdmin || ![...this.#index.entries()].some(isAnother)) {
      throw errors.LAST_ADMIN_TOKEN()
    }
  }

  async #write(entry: TokenEntry, change: WrittenChange): Promise<void> {
    const { editor, action, changedFields = [] } = change
    const { token } = entry
    const line = auditLineOf({ at: token.updatedAt, editor, action, token, changedFields })
    await this.#deps.records.write([
      { kind: 'tokens', key: entry.id, value: encodeToken(entry) },
      ...this.#audit.writesOf(line),
    ])
    this.#audit.add(line)
    this.#deps.onAudited?.(line)
    this.#index.set(entry)
    this.#version += 1
    if (token.isWorkspaceAdmin) this.#adminEntry = entry
  }
}

interface WrittenChange {
  readonly editor: TokenEditor
  readonly action: TokenAction
  readonly changedFields?: readonly string[]
}

function fieldsOf({ token, number, digest, sealed }: TokenEntry) {
  return { token, number, digest, sealed }
}

function changedFieldsOf(
  token: StaticToken,
  { name, description, scopes }: Pick<StaticToken, 'name' | 'description' | 'scopes'>,
): readonly string[] {
  return [
    ...(name === token.name ? [] : ['name']),
    ...(description === token.description ? [] : ['description']),
    ...(JSON.stringify(scopes) === JSON.stringify(token.scopes) ? [] : ['scopes']),
  ]
}
