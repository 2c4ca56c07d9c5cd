import { errors } from '../shared/errors/errors.ts'
import type { Grant, ResourceLookup } from './grant.types.ts'
import type { JwtScope } from './jwt/jwt-claims.ts'
import { readJwtRequest } from './jwt/jwt-request.ts'
import type { JwtSigner } from './jwt/jwt-signer.ts'
import { isLost } from './lost-filter.ts'
import type { Permissions } from './permissions.ts'
import type { CheckFilter, ScopeBinderOptions } from './scopes/scope-binder.ts'
import type { ResourceKind } from './scopes/scope-types.ts'
import { coversAll, outlives } from './strength.ts'
import type { Tokens } from './tokens/token.types.ts'

export interface JwtIssuerDeps {
  readonly tokens: Pick<Tokens, 'signingKey'>
  readonly signer: Pick<JwtSigner, 'sign'>
  readonly lookup: ResourceLookup
  readonly checkFilter: CheckFilter
}

export interface JwtIssue {
  /** The JSON that asks for the token, as it was sent. */
  readonly documentText: string
  readonly expiresAtSeconds: number
  /** Where the JSON has no name. */
  readonly name: string | undefined
}

/** Makes JWTs for whoever may give what stands in them. */
export class JwtIssuer {
  readonly #options: ScopeBinderOptions
  readonly #deps: JwtIssuerDeps

  constructor(options: ScopeBinderOptions, deps: JwtIssuerDeps) {
    this.#options = options
    this.#deps = deps
  }

  /** @throws JWT_INVALID, NAME_MISSING, SQL_INVALID (400), TOKEN_STRONGER (403), JWT_UNAVAILABLE (409) */
  async issue({ documentText, expiresAtSeconds, name }: JwtIssue, editor: Permissions): Promise<string> {
    if (this.#deps.tokens.signingKey === null) throw errors.JWT_UNAVAILABLE()
    const body = readJwtRequest(documentText)
    if (body.kind === 'refused') throw errors.JWT_INVALID({ reason: body.reason })
    const scopes = body.scopes.map((scope) => this.#bound(scope, editor))
    const { perSecondMax } = body
    const given = body.name ?? name
    if (given === undefined) throw errors.NAME_MISSING()
    if (outlives(editor, expiresAtSeconds * 1_000)) throw errors.TOKEN_STRONGER()
    await this.#check(scopes, editor)
    const signed = this.#deps.signer.sign({ name: given, expiresAtSeconds, scopes, perSecondMax })
    if (signed.kind === 'refused') throw errors.JWT_INVALID({ reason: signed.reason })
    return signed.token
  }

  /**
   * What narrows a right by a name would be gone with the name, and other scopes of the JWT, or pipes, may lead to the same rows. Whoever does
   * not read everything could have the name given to what he may not read, so his scopes go by the id.
   */
  #bound({ resourceId: _, ...scope }: JwtScope, editor: Permissions): JwtScope {
    const { id, isQuarantine } = this.#deps.lookup.find(kindOf(scope), scope.resource)
    if (id === undefined || isQuarantine) return scope
    const isNarrowed = scope.filter !== null || scope.fixedParameters !== null
    return {
      ...scope,
      ...(editor.readsEverything ? {} : { resource: id }),
      ...(isNarrowed ? { resourceId: id } : {}),
    }
  }

  async #check(scopes: readonly JwtScope[], editor: Permissions): Promise<void> {
    const { lookup, checkFilter } = this.#deps
    const grants = jwtGrants(scopes, lookup)
    // What does not exist yet is for those who may see all that exists.
    const isAllThere = grants.length === scopes.length && !grants.some((grant) => isLost(grant, lookup))
    if (!(isAllThere || editor.readsEverything) || !coversAll(editor, grants)) throw errors.TOKEN_STRONGER()
    for (const grant of grants) {
      const { type, resource: id, filter } = grant
      if (filter === null || id === null) continue
      if (this.#options.tokenFilters === 'refuse') {
        throw errors.JWT_INVALID({ reason: 'filters are switched off by the option token-filters' })
      }
      if (!isLost(grant, lookup)) await checkFilter({ kind: type === 'PIPES:READ' ? 'pipe' : 'datasource', id }, filter)
    }
  }
}

/**
 * What the scopes of a JWT give, as names stand now: what does not exist gives nothing, and a quarantine has no scopes. A filter, or fixed
 * values, hold for what has its name, and for what they were made for as well; one of what does not exist stays, as a lost one.
 */
export function jwtGrants(scopes: readonly JwtScope[], lookup: ResourceLookup): readonly Grant[] {
  return scopes.flatMap((scope): readonly Grant[] => {
    const { type, resource, resourceId, filter, fixedParameters } = scope
    const { id, isQuarantine } = lookup.find(kindOf(scope), resource)
    const named = id === undefined || isQuarantine ? [] : [id]
    const bound = resourceId === undefined || lookup.kindOf(resourceId) !== kindOf(scope) ? [] : [resourceId]
    // What narrows what it was made for, or a name that nothing has.
    const isGone = resourceId === undefined ? filter !== null && named.length === 0 : bound.length === 0
    const lost = isGone ? [resourceId ?? resource] : []
    const ids = new Set([...named, ...bound, ...lost])
    return [...ids].map((one) => ({ type, resource: one, filter, fixedParameters }))
  })
}

function kindOf({ type }: JwtScope): ResourceKind {
  return type === 'PIPES:READ' ? 'pipe' : 'datasource'
}
