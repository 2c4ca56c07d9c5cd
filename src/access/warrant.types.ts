import type { SealedText } from '../secrets/secret-box.types.ts'
import type { JwtScopeType } from './jwt/jwt-claims.ts'

/**
 * In whose name work is done later than it was asked for: a plain JSON value without a secret. Its rights are looked up when the work
 * begins; a token that is gone, refreshed or expired by then gives none.
 */
export type Warrant = StaticWarrant | JwtWarrant

export interface StaticWarrant {
  readonly kind: 'static'
  readonly tokenId: string
  /** The digest of the token's value. The one that an operator gives may be so short that it could be guessed by its digest. */
  readonly stamp: SealedText
}

/** A JWT has no record, so what it gives is kept. */
export interface JwtWarrant {
  readonly kind: 'jwt'
  /** Of the token's text; no secret. */
  readonly id: string
  readonly name: string | null
  /** Another one for another key. */
  readonly stamp: string
  readonly expiresAtSeconds: number
  readonly scopes: readonly JwtWarrantScope[]
}

export interface JwtWarrantScope {
  readonly type: JwtScopeType
  readonly resource: string
  readonly resourceId?: string
  readonly filter: string | null
  /** Names and values as JSON has them; null for none. */
  readonly fixedParameters: readonly (readonly [name: string, value: unknown])[] | null
}
