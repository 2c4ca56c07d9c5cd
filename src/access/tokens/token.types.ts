import type { Permissions } from '../permissions.ts'
import type { Scope } from '../scopes/scope.types.ts'
import type { TokenSource } from '../token-source.types.ts'

/** What is known of a static token, but for its value. Another object whenever anything of it has changed. */
export interface StaticToken {
  readonly id: string
  readonly name: string
  /** Markdown; empty for none. */
  readonly description: string
  /** Those of resources that do not exist any more are left out. */
  readonly scopes: readonly Scope[]
  /** `default`: made with the workspace. */
  readonly origin: 'created' | 'default'
  /** Whether it is the one that signs JWTs. */
  readonly isWorkspaceAdmin: boolean
  /** Epoch milliseconds, like all times here. */
  readonly createdAt: number
  readonly updatedAt: number
  /** Null for a token that does not expire. */
  readonly expiresAt: number | null
}

export interface TokenOrder {
  readonly name: string
  readonly description: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: number | null
}

/** What is absent stays; scopes that are sent replace all. */
export interface TokenRevision {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly scopes?: readonly Scope[] | undefined
}

/** Who changes a token: it stands in the audit line, and must be no weaker than what is changed. */
export interface TokenEditor {
  /** Null for a JWT, and for the service itself. */
  readonly tokenId: string | null
  readonly tokenName: string
  readonly permissions: Permissions
}

/** A token and the value that its holder sends. It must be neither logged nor kept. */
export interface ValuedToken {
  readonly token: StaticToken
  /** Null where the key is missing that it was sealed with. */
  readonly value: string | null
}

export type TokenAction = 'created' | 'updated' | 'refreshed' | 'removed'

/** One change of a token: who, what, when, and no value. */
export interface TokenAuditLine {
  readonly at: number
  readonly action: TokenAction
  readonly tokenId: string
  /** As it was called behind the change. */
  readonly tokenName: string
  /** Null for a JWT, and for the service itself. */
  readonly editorId: string | null
  readonly editorName: string
  /** What an update changed, e.g. `name`. */
  readonly changedFields: readonly string[]
  /** Its scopes as they are behind the change, resources by their ids; of many those that reach furthest, and how many more there are. */
  readonly scopes: readonly string[]
  readonly scopeCount: number
}

/** The static tokens of the workspace. Reads are synchronous and see what is on disk. */
export interface Tokens extends TokenSource {
  /** Made once: `u` in the values of tokens, `workspace_id` in JWTs. */
  readonly workspaceId: string
  /** In order of creation. */
  list(): readonly StaticToken[]
  /** By name, by id, or by value. */
  findToken(nameIdOrValue: string): StaticToken | undefined
  /** Null for one that was not used since it was made. Kept within a minute. */
  lastUsedAt(token: StaticToken): number | null
  /** The values, in the order of the tokens, without holding the event loop. */
  valuesOf(tokens: readonly StaticToken[]): Promise<readonly (string | null)[]>
  /**
   * All of these changes also throw TOKEN_INVALID (403) when the token of the editor is gone by now, and CHANGES_TOO_MANY,
   * DISK_UNAVAILABLE (503).
   *
   * @throws NAME_INVALID, REQUEST_INVALID, SCOPE_INVALID, SCOPES_TOO_MANY, FILTERS_TOO_MANY, TOKEN_TOO_LARGE,
   *   TOKENS_TOO_MANY, TOKENS_TOO_LARGE (400), TOKEN_STRONGER (403), TOKEN_EXISTS (409)
   */
  create(order: TokenOrder, editor: TokenEditor): Promise<ValuedToken>
  /**
   * @throws NAME_INVALID, REQUEST_INVALID, SCOPE_INVALID, SCOPES_TOO_MANY (400), TOKEN_STRONGER, TOKEN_SELF (403),
   *   TOKEN_NOT_FOUND (404), TOKEN_EXISTS, LAST_ADMIN_TOKEN (409)
   */
  update(id: string, revision: TokenRevision, editor: TokenEditor): Promise<StaticToken>
  /** Another value; the old one ends at once. @throws TOKEN_STRONGER (403), TOKEN_NOT_FOUND (404), TOKEN_GIVEN (409) */
  refresh(id: string, editor: TokenEditor): Promise<ValuedToken>
  /** @throws TOKEN_STRONGER, TOKEN_SELF (403), TOKEN_NOT_FOUND (404), LAST_ADMIN_TOKEN (409) */
  remove(id: string, editor: TokenEditor): Promise<void>
  /** The changes that are remembered, oldest first. */
  auditLines(): readonly TokenAuditLine[]
  /** The value that JWTs are signed with; null where it may sign none. */
  readonly signingKey: string | null
  /** Tells each change of the signing key. */
  onSigningKey(tell: (key: string | null) => void): void
  /** Writes what is not written yet. */
  close(): Promise<void>
}
