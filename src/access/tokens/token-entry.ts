import type { SealedText } from '../../secrets/secret-box.types.ts'
import type { Grant, ResourceLookup } from '../grant.types.ts'
import type { KnownToken } from '../token-source.types.ts'
import { grantsOf, livingScopes } from './scope-grants.ts'
import type { StaticToken } from './token.types.ts'

export interface EntryFields {
  /** With all its scopes, those of resources that are gone among them. */
  readonly token: StaticToken
  /** Tokens are listed in the order of their numbers. */
  readonly number: number
  /** What the value is looked up by; null for a token whose value is not kept. */
  readonly digest: string | null
  readonly sealed: SealedText | null
}

/** A token as the book holds it. Nothing of it changes: what changes is put in its place. */
export class TokenEntry implements KnownToken, EntryFields {
  readonly token: StaticToken
  readonly number: number
  readonly digest: string | null
  readonly sealed: SealedText | null
  /** The token as it is told, as long as the same scopes are alive. */
  #told: StaticToken

  constructor({ token, number, digest, sealed }: EntryFields) {
    this.token = token
    this.number = number
    this.digest = digest
    this.sealed = sealed
    this.#told = token
  }

  get id(): string {
    return this.token.id
  }

  get makerId(): string {
    return this.token.id
  }

  get name(): string {
    return this.token.name
  }

  get expiresAt(): number | null {
    return this.token.expiresAt
  }

  grants(lookup: ResourceLookup): readonly Grant[] {
    return grantsOf(this.token.scopes, lookup)
  }

  take(): null {
    return null
  }

  /** Without the scopes of what does not exist any more. */
  toldAt(lookup: ResourceLookup): StaticToken {
    const scopes = livingScopes(this.token.scopes, lookup)
    // What is gone does not come back, so as many are the same.
    if (scopes.length !== this.#told.scopes.length) this.#told = { ...this.token, scopes }
    return this.#told
  }
}
