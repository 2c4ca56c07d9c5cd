import { errors } from '../shared/errors/errors.ts'
import type { KnownToken, Refusal, TokenSource } from './access.ts'
import type { Grant, ResourceLookup } from './grant.types.ts'
import type { JwtRates } from './jwt/jwt-rates.ts'
import type { AcceptedJwt, JwtVerifier } from './jwt/jwt-verifier.ts'
import { jwtGrants } from './jwt-issuer.ts'
import type { RateRefusal } from './rate-window.ts'

export interface JwtSourceDeps {
  readonly verifier: Pick<JwtVerifier, 'verify'>
  readonly rates: Pick<JwtRates, 'take'>
}

export interface JwtSourceOptions {
  /** `refuse`: a token with a filter is not valid. */
  readonly tokenFilters: 'allow' | 'refuse'
}

/** JWTs, which have no record here: whoever holds the workspace admin token can sign them. */
export class JwtSource implements TokenSource {
  readonly #options: JwtSourceOptions
  readonly #deps: JwtSourceDeps
  /** As long as the verifier keeps a token, it is the same caller. */
  readonly #known = new WeakMap<AcceptedJwt, KnownToken>()

  constructor(options: JwtSourceOptions, deps: JwtSourceDeps) {
    this.#options = options
    this.#deps = deps
  }

  find(text: string): KnownToken | Refusal | undefined {
    // JSON of an object begins so in base64; nothing else is a JWT.
    if (!text.startsWith('ey')) return undefined
    const verdict = this.#deps.verifier.verify(text)
    switch (verdict.kind) {
      case 'accepted':
        return this.#acceptedToken(verdict)
      case 'otherWorkspace':
        return { error: errors.TOKEN_INVALID({ hint: sentence(verdict.reason) }), isOfOtherWorkspace: true }
      case 'refused':
        return { error: errors.TOKEN_INVALID(verdict.isSigned ? { hint: sentence(verdict.reason) } : {}) }
    }
  }

  #acceptedToken(jwt: AcceptedJwt): KnownToken | Refusal {
    const { scopes } = jwt.claims
    if (this.#options.tokenFilters === 'refuse' && scopes.some(({ filter }) => filter !== null)) {
      return { error: errors.TOKEN_INVALID({ hint: 'Filters are switched off by the option token-filters' }) }
    }
    const known = this.#known.get(jwt)
    if (known !== undefined) return known
    const token = new JwtToken(jwt, this.#deps.rates)
    this.#known.set(jwt, token)
    return token
  }
}

class JwtToken implements KnownToken {
  readonly id = null
  readonly #jwt: AcceptedJwt
  readonly #rates: JwtSourceDeps['rates']

  constructor(jwt: AcceptedJwt, rates: JwtSourceDeps['rates']) {
    this.#jwt = jwt
    this.#rates = rates
  }

  get name(): string {
    return this.#jwt.claims.name ?? 'jwt'
  }

  get expiresAt(): number {
    return this.#jwt.claims.expiresAtSeconds * 1_000
  }

  grants(lookup: ResourceLookup): readonly Grant[] {
    return jwtGrants(this.#jwt.claims.scopes, lookup)
  }

  take(): RateRefusal | null {
    return this.#rates.take(this.#jwt.id, this.#jwt.claims.perSecondMax)
  }
}

function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`
}
