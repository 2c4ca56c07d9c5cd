import { type JwtScope, readClaims } from './jwt-claims.ts'
import { JwtFault } from './jwt-fault.ts'
import { gateJwt } from './jwt-gate.ts'
import { openSigningKey, type SigningKey } from './jwt-key.ts'

/** The longest that a token of the service may live: a time in milliseconds, sent by mistake, lies far beyond it. */
export const jwtLifeSecondsMax = 10 * 366 * 24 * 60 * 60

export interface JwtOrder {
  readonly name: string
  readonly expiresAtSeconds: number
  readonly scopes: readonly JwtScope[]
  /** Requests a second; null for no limit. */
  readonly perSecondMax: number | null
}

/** The token, or the reason why there is none, as a sentence without a capital and a full stop. */
export type SignedJwt =
  | { readonly kind: 'signed'; readonly token: string }
  | { readonly kind: 'refused'; readonly reason: string }

export interface JwtSignerOptions {
  readonly workspaceId: string
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Makes JWTs. Each one that it gives is accepted by a `JwtVerifier` of the same key, workspace and clock. */
export class JwtSigner {
  readonly #options: JwtSignerOptions
  #key: SigningKey | null = null

  constructor(options: JwtSignerOptions) {
    this.#options = options
  }

  /** Signs with another key from now on; with null, or with one that may not sign, it makes no token. */
  setKey(adminToken: string | null): void {
    this.#key = adminToken === null ? null : openSigningKey(adminToken)
  }

  sign(order: JwtOrder): SignedJwt {
    if (this.#key === null) return { kind: 'refused', reason: 'this workspace has no key that signs JWTs' }
    const nowSeconds = Math.floor(this.#options.now() / 1_000)
    const reason = timeFault(order.expiresAtSeconds, nowSeconds)
    if (reason !== null) return { kind: 'refused', reason }
    const token = this.#key.sign(this.#payload(order, nowSeconds))
    try {
      // The rules of tokens are in one place, which judges those that others sign as well.
      readClaims(gateJwt(token))
    } catch (cause) {
      if (cause instanceof JwtFault) return { kind: 'refused', reason: cause.message }
      throw cause
    }
    return { kind: 'signed', token }
  }

  #payload({ name, expiresAtSeconds, scopes, perSecondMax }: JwtOrder, nowSeconds: number): object {
    return {
      workspace_id: this.#options.workspaceId,
      name,
      exp: expiresAtSeconds,
      iat: nowSeconds,
      scopes: scopes.map(scopeJson),
      ...(perSecondMax === null ? {} : { limits: { rps: perSecondMax } }),
    }
  }
}

function timeFault(expiresAtSeconds: number, nowSeconds: number): string | null {
  if (!Number.isSafeInteger(expiresAtSeconds)) return 'the time of expiry is not a whole number of seconds since 1970'
  if (expiresAtSeconds <= nowSeconds) return 'the time of expiry is not in the future; it counts seconds since 1970'
  if (expiresAtSeconds > nowSeconds + jwtLifeSecondsMax) {
    return 'the time of expiry is more than 10 years ahead; it counts seconds since 1970, not milliseconds'
  }
  return null
}

function scopeJson({ type, resource, resourceId, filter, fixedParameters }: JwtScope): object {
  return {
    type,
    resource,
    // `fromEntries` makes members of all names, `__proto__` included.
    ...(fixedParameters === null ? {} : { fixed_params: Object.fromEntries(fixedParameters) }),
    ...(filter === null ? {} : { filter }),
    ...(resourceId === undefined ? {} : { resource_id: resourceId }),
  }
}
