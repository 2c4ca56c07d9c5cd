// From scopes as they are asked for to scopes as they are kept: names become ids, and filters are tried.

import { isServiceName } from '../../catalog/service-name.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { ResourceLookup } from '../grant.types.ts'
import type { Permissions } from '../permissions.ts'
import { coversAll } from '../strength.ts'
import { grantsOf } from '../tokens/scope-grants.ts'
import { checkScopeCounts } from '../tokens/token-rules.ts'
import type { Scope, ScopeRequest, ScopeResource } from './scope.types.ts'
import { type ResourceKind, scopeTypes } from './scope-types.ts'

/** What a filter is about. */
export interface FilterTarget {
  readonly kind: ResourceKind
  readonly id: string
}

/** Tries a filter on what it is about. @throws SQL_INVALID (400) with the place of the fault. */
export type CheckFilter = (target: FilterTarget, filter: string) => Promise<void>

export interface ScopeBinderOptions {
  /** `refuse`: no scope may have a filter. */
  readonly tokenFilters: 'allow' | 'refuse'
  /** Of the filters of a token together, before they are tried. */
  readonly tokenBytesMax: number
}

export interface ScopeBinderDeps {
  readonly lookup: ResourceLookup
  readonly checkFilter: CheckFilter
}

export class ScopeBinder {
  readonly #options: ScopeBinderOptions
  readonly #deps: ScopeBinderDeps

  constructor(options: ScopeBinderOptions, deps: ScopeBinderDeps) {
    this.#options = options
    this.#deps = deps
  }

  /**
   * The scopes as they are kept.
   *
   * @param editor who asks for them: he can give nothing that he does not have, and hears of nothing that he may not see.
   * @throws SCOPE_INVALID, SCOPES_TOO_MANY, FILTERS_TOO_MANY, TOKEN_TOO_LARGE, SQL_INVALID (400), TOKEN_STRONGER (403)
   */
  async bind(requests: readonly ScopeRequest[], editor: Permissions): Promise<readonly Scope[]> {
    checkScopeCounts(requests)
    const { tokenBytesMax: bytesMax } = this.#options
    const filterBytes = requests.reduce((sum, { filter }) => sum + Buffer.byteLength(filter ?? ''), 0)
    if (filterBytes > bytesMax) throw errors.TOKEN_TOO_LARGE({ bytesMax })
    const isAdmin = requests.some(({ type }) => type === 'ADMIN')
    for (const { filter, resource } of requests) {
      if (filter === null) continue
      const scope = `${resource ?? ''}:${filter}`
      if (this.#options.tokenFilters === 'refuse') {
        throw errors.SCOPE_INVALID({ scope, reason: 'filters are switched off by the option token-filters' })
      }
      if (isAdmin)
        throw errors.SCOPE_INVALID({ scope, reason: 'beside ADMIN, which reads every row, it would not hold' })
    }
    const scopes = requests.map((request) => this.#found(request, editor))
    if (!coversAll(editor, grantsOf(scopes, this.#deps.lookup))) throw errors.TOKEN_STRONGER()
    for (const { resource, filter } of scopes) {
      if (filter !== null && resource !== null && 'id' in resource) await this.#deps.checkFilter(resource, filter)
    }
    return withoutRepeats(scopes)
  }

  #found({ type, spelling, resource, filter }: ScopeRequest, editor: Permissions): Scope {
    const { kinds, mayNameFuture } = scopeTypes[type]
    if (resource === null) {
      // Where something is called so it is `DROP:<name>`: of the two readings the one that gives less.
      const named = type === 'DROP:NAME' ? this.#find(kinds, 'NAME') : undefined
      return { type, spelling, resource: named ?? null, filter }
    }
    const found = this.#find(kinds, resource)
    if (filter !== null && isServiceName(resource)) {
      throw errors.SCOPE_INVALID({ scope: `${resource}:${filter}`, reason: 'service data sources take no filter' })
    }
    if (found !== undefined) return { type, spelling, resource: found, filter }
    if (mayNameFuture && !this.#isTaken(resource)) {
      return { type, spelling, resource: { kind: 'future', name: resource }, filter }
    }
    if (!editor.readScope.seesAll) throw errors.TOKEN_STRONGER()
    const what = kinds.map((kind) => (kind === 'datasource' ? 'Data Source' : 'Pipe')).join(' or ')
    throw errors.SCOPE_INVALID({ scope: `${spelling}:${resource}`, reason: `there is no ${what} "${resource}"` })
  }

  /** A quarantine goes with its data source, and has no scopes of its own. */
  #find(kinds: readonly ResourceKind[], resource: string): ScopeResource | undefined {
    for (const kind of kinds) {
      const { id, isQuarantine } = this.#deps.lookup.find(kind, resource)
      if (id !== undefined && !isQuarantine) return { kind, id }
    }
    return undefined
  }

  #isTaken(resource: string): boolean {
    const { lookup } = this.#deps
    return (['datasource', 'pipe'] as const).some((kind) => lookup.find(kind, resource).id !== undefined)
  }
}

function withoutRepeats(scopes: readonly Scope[]): readonly Scope[] {
  const byText = new Map(scopes.map((scope) => [JSON.stringify(scope), scope]))
  return [...byText.values()]
}
