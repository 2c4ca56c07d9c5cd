// Who asks, and what they may do: the one question in front of every route of the API.

import { assert } from '../shared/assert.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { NamedResource, ResourceLookup } from './grant.types.ts'
import { type JobOperation, type JudgedJob, mayDoToJob } from './job-rights.ts'
import { type Operation, ruleOf } from './operations.ts'
import { Permissions } from './permissions.ts'
import type { Scope } from './scopes/scope.types.ts'
import type { ResourceKind } from './scopes/scope-types.ts'
import { type ManagedToken, mayManage } from './strength.ts'
import type { KnownToken, Refusal, TokenSource } from './token-source.types.ts'
import { grantsOf } from './tokens/scope-grants.ts'
import type { Warrant } from './warrant.types.ts'

/** Who asks, as long as the request lasts. */
export interface Caller {
  /** Null for a JWT, which has no record. */
  readonly tokenId: string | null
  /** The same for all requests with the token, and no secret. */
  readonly makerId: string
  /** For logs: never the token itself. */
  readonly tokenName: string
  readonly permissions: Permissions
}

/** The answer to "who are you": the caller, or the error to be answered. */
export type Verdict =
  | { readonly isAllowed: true; readonly caller: Caller }
  | { readonly isAllowed: false; readonly refusal: Refusal }

export interface AccessDeps {
  /** Asked in this order. */
  readonly sources: readonly TokenSource[]
  readonly lookup: ResourceLookup & {
    /** Another number whenever a name may stand for something else. */
    readonly version: number
  }
}

const knowing: Readonly<Record<ResourceKind, readonly Operation[]>> = {
  datasource: ['datasource:describe', 'datasource:append', 'datasource:drop'],
  pipe: ['pipe:describe', 'pipe:drop'],
}

/** What a token lets its holder do, and how often. */
export class Access {
  readonly #sources: readonly TokenSource[]
  readonly #lookup: AccessDeps['lookup']
  /** What knows the token of a caller. */
  readonly #origins = new WeakMap<Caller, { readonly source: TokenSource; readonly token: KnownToken }>()
  /** What was made out of tokens, as long as names stand for what they stood for then. */
  readonly #callers = new WeakMap<KnownToken, { readonly version: number; readonly caller: Caller }>()

  constructor({ sources, lookup }: AccessDeps) {
    this.#sources = sources
    this.#lookup = lookup
  }

  /**
   * Judges the token of a request; undefined when it carries none.
   *
   * @returns errors TOKEN_MISSING, TOKEN_INVALID (403), RATE_EXCEEDED (429).
   */
  verify(tokenText: string | undefined): Verdict {
    return this.#judge(tokenText, (token) => token.take())
  }

  /** The same for a request that was counted before: who its caller is by now. @returns errors TOKEN_INVALID, TOKEN_EXPIRED (403) */
  verifyAgain(tokenText: string): Verdict {
    return this.#judge(tokenText, () => null)
  }

  #judge(tokenText: string | undefined, take: (token: KnownToken) => Refusal | null): Verdict {
    if (tokenText === undefined || tokenText === '') return refused(errors.TOKEN_MISSING())
    for (const source of this.#sources) {
      const found = source.find(tokenText)
      if (found === undefined) continue
      if ('error' in found) return { isAllowed: false, refusal: found }
      const refusal = take(found)
      if (refusal !== null) return { isAllowed: false, refusal }
      return { isAllowed: true, caller: this.#callerOf(found, source) }
    }
    return refused(errors.TOKEN_INVALID())
  }

  /** A greater number whenever a name may stand for something else, or a token be another one. */
  get version(): number {
    let version = this.#lookup.version
    for (const source of this.#sources) version += source.version
    return version
  }

  /** Whether a caller may know that there is something of this name: who may send rows or drop it names it himself. */
  knowsOf({ permissions }: Caller, kind: ResourceKind, nameOrId: string): boolean {
    const named = this.#lookup.find(kind, nameOrId)
    return knowing[kind].some((operation) => permissions.allows(operation, named))
  }

  /**
   * The error (403) for a caller who may not do this; null where he may. It is the same whether the resource exists or not.
   *
   * @param resource name or id; null for what is about no single one, and where the request names none: only who may do it to
   *   all of that kind may do it then.
   */
  refusalOf({ permissions }: Caller, operation: Operation, resource: string | null): ApiError | null {
    if (permissions.isAdmin) return null
    const { of: kind, scopes } = ruleOf(operation)
    const named = kind === null || resource === null ? null : this.#lookup.find(kind, resource)
    if (permissions.allows(operation, named)) return null
    if (permissions.isTakenByFilter(operation, named)) return errors.FILTER_FORBIDS({ resource })
    if (permissions.isClosed(operation)) return errors.FILTER_LOST()
    return errors.SCOPE_MISSING({ scopes: neededScopes(scopes, resource), resource })
  }

  /**
   * The error (403) for a caller who may not do this to a job; null where he may. It is the same whether there is such a job
   * or not.
   */
  jobRefusalOf(caller: Caller, operation: JobOperation, job: JudgedJob | undefined): ApiError | null {
    const { isAdmin } = caller.permissions
    const isAllowed = job === undefined ? isAdmin : mayDoToJob(caller, operation, job)
    return isAllowed ? null : errors.JOB_HIDDEN()
  }

  /** What the queries of a caller may read. */
  readScopeOf({ permissions }: Caller): ReadScope {
    return permissions.readScope
  }

  /** What work is later done with in the name of a caller. */
  warrantOf(caller: Caller): Warrant {
    const origin = this.#origins.get(caller)
    assert(origin !== undefined, 'a caller has a token')
    return origin.source.warrantOf(origin.token)
  }

  /**
   * What a warrant lets its work read, as things are now.
   *
   * @throws WARRANT_ENDED, TOKEN_EXPIRED, TOKEN_INVALID, SCOPE_MISSING (403).
   */
  readScopeFor(warrant: Warrant, operation: Operation): ReadScope {
    for (const source of this.#sources) {
      const found = source.findWarranted(warrant)
      if (found === undefined) continue
      if ('error' in found) throw found.error
      const caller = this.#callerOf(found, source)
      const refusal = this.refusalOf(caller, operation, null)
      if (refusal !== null) throw refusal
      return caller.permissions.readScope
    }
    throw errors.WARRANT_ENDED()
  }

  /** What a name stands for now. */
  find(kind: ResourceKind, nameOrId: string): NamedResource {
    return this.#lookup.find(kind, nameOrId)
  }

  /** What a token with these scopes may do, as things are now. */
  permissionsOf(scopes: readonly Scope[]): Permissions {
    return new Permissions(grantsOf(scopes, this.#lookup), this.#lookup)
  }

  /** Whether a caller may be told of a token: with the value of a stronger one he would be stronger than he is. */
  mayManage(permissions: Permissions, token: ManagedToken): boolean {
    return mayManage(permissions, token, this.#lookup)
  }

  #callerOf(token: KnownToken, source: TokenSource): Caller {
    const { version } = this.#lookup
    const kept = this.#callers.get(token)
    if (kept?.version === version) return kept.caller
    const permissions = new Permissions(token.grants(this.#lookup), this.#lookup, token.expiresAt)
    const caller = { tokenId: token.id, makerId: token.makerId, tokenName: token.name, permissions }
    this.#callers.set(token, { version, caller })
    this.#origins.set(caller, { source, token })
    return caller
  }
}

function refused(error: ApiError): Verdict {
  return { isAllowed: false, refusal: { error } }
}

/** What would give the right, as scopes are written. */
function neededScopes(scopes: readonly string[], resource: string | null): readonly string[] {
  const suffix = resource === null ? '' : `:${resource}`
  return [...scopes.map((type) => (type === 'WORKSPACE:READ_ALL' ? type : `${type}${suffix}`)), 'ADMIN']
}
