import { assert } from '../shared/assert.ts'
import { errors } from '../shared/errors/errors.ts'
import type { Grant, ResourceLookup } from './grant.types.ts'
import type { JwtScope } from './jwt/jwt-claims.ts'
import type { JwtRates } from './jwt/jwt-rates.ts'
import type { AcceptedJwt, JwtVerifier } from './jwt/jwt-verifier.ts'
import { jwtGrants } from './jwt-issuer.ts'
import type { KnownToken, Refusal, TokenSource } from './token-source.types.ts'
import type { JwtWarrant, JwtWarrantScope, Warrant } from './warrant.types.ts'

export interface JwtSourceDeps {
  readonly verifier: Pick<JwtVerifier, 'isExpired' | 'keyStamp' | 'verify'>
  readonly rates: Pick<JwtRates, 'take'>
}

export interface JwtSourceOptions {
  /** `refuse`: a token with a filter is not valid. */
  readonly tokenFilters: 'allow' | 'refuse'
}

/** JWTs, which have no record here: whoever holds the workspace admin token can sign them. */
export class JwtSource implements TokenSource {
  /** They go by the value of the workspace admin token, whose changes the source of static tokens counts. */
  readonly version = 0
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

  warrantOf(token: KnownToken): JwtWarrant {
    assert(token instanceof JwtToken, 'a token is asked of its own source')
    const { id, claims } = token.jwt
    const { name, expiresAtSeconds } = claims
    const { keyStamp: stamp } = this.#deps.verifier
    assert(stamp !== null, 'a token that is accepted was signed by a key')
    return { kind: 'jwt', id, name, stamp, expiresAtSeconds, scopes: claims.scopes.map(toWarrantScope) }
  }

  findWarranted(warrant: Warrant): KnownToken | Refusal | undefined {
    if (warrant.kind !== 'jwt') return undefined
    const { id, name, stamp, expiresAtSeconds } = warrant
    const { verifier } = this.#deps
    // With another key, the token is not valid any more.
    if (stamp !== verifier.keyStamp) return undefined
    if (verifier.isExpired(expiresAtSeconds)) return { error: errors.TOKEN_EXPIRED() }
    const scopes = warrant.scopes.map(ofWarrantScope)
    return this.#unfiltered(scopes) ?? new WarrantedJwt({ id, name, expiresAtSeconds, scopes })
  }

  #unfiltered(scopes: readonly JwtScope[]): Refusal | null {
    if (this.#options.tokenFilters === 'allow' || scopes.every(({ filter }) => filter === null)) return null
    return { error: errors.TOKEN_INVALID({ hint: 'Filters are switched off by the option token-filters' }) }
  }

  #acceptedToken(jwt: AcceptedJwt): KnownToken | Refusal {
    const refusal = this.#unfiltered(jwt.claims.scopes)
    if (refusal !== null) return refusal
    const known = this.#known.get(jwt)
    if (known !== undefined) return known
    const token = new JwtToken(jwt, this.#deps.rates)
    this.#known.set(jwt, token)
    return token
  }
}

class JwtToken implements KnownToken {
  readonly id = null
  readonly jwt: AcceptedJwt
  readonly #rates: JwtSourceDeps['rates']

  constructor(jwt: AcceptedJwt, rates: JwtSourceDeps['rates']) {
    this.jwt = jwt
    this.#rates = rates
  }

  get makerId(): string {
    return makerIdOf(this.jwt.id)
  }

  get name(): string {
    return this.jwt.claims.name ?? 'jwt'
  }

  get expiresAt(): number {
    return this.jwt.claims.expiresAtSeconds * 1_000
  }

  grants(lookup: ResourceLookup): readonly Grant[] {
    return jwtGrants(this.jwt.claims.scopes, lookup)
  }

  take(): Refusal | null {
    return this.#rates.take(this.jwt.id, this.jwt.claims.perSecondMax)
  }
}

interface WarrantedClaims extends Pick<JwtWarrant, 'expiresAtSeconds' | 'id' | 'name'> {
  readonly scopes: readonly JwtScope[]
}

/** What a JWT gave when work was asked for with it. */
class WarrantedJwt implements KnownToken {
  readonly id = null
  readonly makerId: string
  readonly name: string
  readonly expiresAt: number
  readonly #scopes: readonly JwtScope[]

  constructor({ id, name, expiresAtSeconds, scopes }: WarrantedClaims) {
    this.makerId = makerIdOf(id)
    this.name = name ?? 'jwt'
    this.expiresAt = expiresAtSeconds * 1_000
    this.#scopes = scopes
  }

  grants(lookup: ResourceLookup): readonly Grant[] {
    return jwtGrants(this.#scopes, lookup)
  }

  /** The request was counted that asked for the work. */
  take(): null {
    return null
  }
}

function makerIdOf(id: string): string {
  return `jwt ${id}`
}

function toWarrantScope({ fixedParameters, ...scope }: JwtScope): JwtWarrantScope {
  return { ...scope, fixedParameters: fixedParameters === null ? null : [...fixedParameters] }
}

function ofWarrantScope({ fixedParameters, ...scope }: JwtWarrantScope): JwtScope {
  // They were JSON when they came.
  const fixed = fixedParameters === null ? null : (new Map(fixedParameters) as JwtScope['fixedParameters'])
  return { ...scope, fixedParameters: fixed }
}

function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`
}
