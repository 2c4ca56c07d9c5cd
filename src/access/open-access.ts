import { mebibyte } from '../shared/bytes.ts'
import { Access, type AccessDeps } from './access.ts'
import { JwtRates } from './jwt/jwt-rates.ts'
import { JwtSigner } from './jwt/jwt-signer.ts'
import { JwtVerifier } from './jwt/jwt-verifier.ts'
import { JwtIssuer } from './jwt-issuer.ts'
import { JwtSource } from './jwt-source.ts'
import { type CheckFilter, ScopeBinder, type ScopeBinderOptions } from './scopes/scope-binder.ts'
import type { Tokens } from './tokens/token.types.ts'

export interface OpenAccessOptions extends ScopeBinderOptions {
  /** Epoch milliseconds. */
  readonly now: () => number
}

export interface OpenAccessDeps {
  readonly tokens: Tokens
  readonly lookup: AccessDeps['lookup']
  readonly checkFilter: CheckFilter
}

/** What judges callers, and what makes rights. */
export interface OpenedAccess {
  readonly access: Access
  readonly scopeBinder: ScopeBinder
  readonly jwtIssuer: JwtIssuer
}

/** Verified JWTs that are kept; a weight is a character of a token, and stands for about six bytes. */
const jwtCache = { entriesMax: 20_000, weightMax: 16 * mebibyte }
/** JWTs with a limit that are used within one second. */
const jwtWindowsMax = 50_000

/** Puts the judges of static tokens and of JWTs together. */
export function openAccess(options: OpenAccessOptions, { tokens, lookup, checkFilter }: OpenAccessDeps): OpenedAccess {
  const { workspaceId } = tokens
  const verifier = new JwtVerifier({ workspaceId, now: options.now, cache: jwtCache })
  const signer = new JwtSigner({ workspaceId, now: options.now })
  const setKey = (key: string | null): void => {
    verifier.setKey(key)
    signer.setKey(key)
  }
  setKey(tokens.signingKey)
  tokens.onSigningKey(setKey)
  const rates = new JwtRates({ windowsMax: jwtWindowsMax, now: () => performance.now() })
  return {
    access: new Access({ sources: [tokens, new JwtSource(options, { verifier, rates })], lookup }),
    scopeBinder: new ScopeBinder(options, { lookup, checkFilter }),
    jwtIssuer: new JwtIssuer(options, { tokens, signer, lookup, checkFilter }),
  }
}
