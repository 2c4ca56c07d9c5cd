// What the scopes of one token let it do. Whatever no scope gives is refused.

import { isServiceName } from '../catalog/service-name.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { adminScope } from './admin-scope.ts'
import type { Grant, NamedResource, ResourceLookup } from './grant.types.ts'
import { isLost } from './lost-filter.ts'
import { type Operation, type OperationRule, ruleOf } from './operations.ts'
import { createReadScope } from './read-scope.ts'
import { joinFilters } from './row-filters.ts'
import { pipeReadTypes, type ResourceKind, type ScopeType } from './scopes/scope-types.ts'

const readTypes: ReadonlySet<ScopeType> = new Set(['DATASOURCES:READ', 'PIPES:READ'])
/** Those that say what a query may read. */
const scopeTypes: ReadonlySet<ScopeType> = new Set([...readTypes, 'WORKSPACE:READ_ALL', 'ORG_DATASOURCES:READ'])

export class Permissions {
  /** Without those that a lost filter closes. */
  readonly grants: readonly Grant[]
  /** Filters of what is not there any more. */
  readonly lost: readonly Grant[]
  readonly #closed: readonly Grant[]
  readonly isAdmin: boolean
  /** What its queries may read. */
  readonly readScope: ReadScope
  /** When they end, in epoch milliseconds; null for never. */
  readonly expiresAt: number | null
  readonly lookup: ResourceLookup
  /** Types of the scopes that are not restricted to a resource. */
  readonly #unrestricted: ReadonlySet<ScopeType>
  /** Also where what was filtered is gone. */
  readonly #isFiltered: boolean
  /** By the id of what exists, and by the name of what does not yet. */
  readonly #byResource: ReadonlyMap<string, readonly Grant[]>

  constructor(grants: readonly Grant[], lookup: ResourceLookup, expiresAt: number | null = null) {
    this.lost = grants.filter((grant) => isLost(grant, lookup))
    const living = this.lost.length === 0 ? grants : grants.filter((grant) => !isLost(grant, lookup))
    this.#closed = this.lost.length === 0 ? [] : living.filter(mayReadAnything)
    this.grants = this.#closed.length === 0 ? living : living.filter((grant) => !mayReadAnything(grant))
    this.lookup = lookup
    this.expiresAt = expiresAt
    this.#unrestricted = new Set(this.grants.flatMap(({ type, resource }) => (resource === null ? [type] : [])))
    this.#byResource = groupedByResource(this.grants)
    this.#isFiltered = grants.some(({ filter }) => filter !== null)
    this.isAdmin = this.#unrestricted.has('ADMIN')
    this.readScope = this.isAdmin ? adminScope : this.#makeReadScope()
  }

  /** Whether it may do this to what is named; null is no single resource. */
  allows(operation: Operation, resource: NamedResource | null): boolean {
    if (this.isAdmin) return true
    const rule = ruleOf(operation)
    const isGiven = rule.reach === 'some' ? this.#givesSome(rule) : this.#gives(rule, resource)
    return isGiven && !this.#hidesRows(rule, resource)
  }

  /** Whether it might do this, if no filter hid rows from it. */
  isTakenByFilter(operation: Operation, resource: NamedResource | null): boolean {
    const rule = ruleOf(operation)
    return rule.reach === 'each' && this.#gives(rule, resource) && this.#hidesRows(rule, resource)
  }

  /** Whether it might do this to something, if no filter were lost. */
  isClosed(operation: Operation): boolean {
    return this.#closed.some(({ type }) => ruleOf(operation).scopes.includes(type))
  }

  /** Whether lists show it: whoever may not describe it is not told that it exists. */
  sees(kind: ResourceKind, id: string): boolean {
    const operation = kind === 'datasource' ? 'datasource:describe' : 'pipe:describe'
    return this.allows(operation, { name: id, id, isQuarantine: false })
  }

  /** The conditions on the rows of a data source or of a pipe's output: every one of them holds. */
  filtersOf(id: string): readonly string[] {
    const filters = (this.#byResource.get(id) ?? []).flatMap(({ filter }) => filter ?? [])
    return [...new Set(filters)]
  }

  /** Whether its rows are all seen: what is counted of others would tell of them. */
  seesAllRowsOf(id: string): boolean {
    return this.isAdmin || this.filtersOf(id).length === 0
  }

  /** Whether no row of the workspace is kept from it: what Materialized Views say may be of any of them. */
  get readsEverything(): boolean {
    return this.readScope.seesAll && !this.readScope.isFiltered
  }

  #givesSome({ scopes }: OperationRule): boolean {
    return this.grants.some(({ type }) => scopes.includes(type))
  }

  #gives({ scopes }: OperationRule, resource: NamedResource | null): boolean {
    if (scopes.some((type) => this.#unrestricted.has(type))) return true
    if (resource === null) return false
    const named = [resource.name, ...(resource.id === undefined ? [] : [resource.id])]
    return named.some((key) => this.#byResource.get(key)?.some(({ type }) => scopes.includes(type)) === true)
  }

  /** Whether rows are kept from the token where the operation shows all of them. A quarantine cannot be filtered. */
  #hidesRows({ mayBeFiltered }: OperationRule, resource: NamedResource | null): boolean {
    if (resource?.id === undefined || (mayBeFiltered && !resource.isQuarantine)) return false
    return this.filtersOf(resource.id).length > 0
  }

  #makeReadScope(): ReadScope {
    const readsAll = this.#unrestricted.has('WORKSPACE:READ_ALL')
    const readsOrganization = this.#unrestricted.has('ORG_DATASOURCES:READ')
    const mayReadKind = {
      datasource: this.#unrestricted.has('DATASOURCES:READ'),
      pipe: this.#unrestricted.has('PIPES:READ'),
    }
    const filterOf = (id: string) => joinFilters(this.filtersOf(id))
    return createReadScope({
      signature: signatureOf(this.grants, this.#isFiltered),
      mayRead: (id) => {
        if (readsAll || this.#byResource.get(id)?.some(({ type }) => readTypes.has(type)) === true) return true
        // They tell of everything in the workspace: the right to all data sources is none to them.
        if (isServiceName(id)) return readsOrganization && id.startsWith('organization.')
        const kind = this.lookup.kindOf(id)
        return kind !== undefined && mayReadKind[kind]
      },
      filterOf,
      outputFilterOf: filterOf,
      fixedParametersOf: (id) => this.#fixedParametersOf(id),
      seesAll: readsAll,
      isFiltered: this.#isFiltered,
      mayUseSecrets: false,
    })
  }

  #fixedParametersOf(id: string): ReturnType<ReadScope['fixedParametersOf']> {
    const fixed = (this.#byResource.get(id) ?? []).flatMap(({ fixedParameters }) => fixedParameters ?? [])
    return fixed.length === 0 ? null : new Map(fixed.flatMap((one) => [...one]))
  }
}

/** What may lead to what has come in the place of something that is gone, whose filter would not hold for it. */
function mayReadAnything({ type, resource }: Grant): boolean {
  return type !== 'PIPES:CREATE' && (pipeReadTypes.has(type) || (type === 'DATASOURCES:READ' && resource === null))
}

/** The same for tokens that may read the same: plans and answers are kept by it. All that a read scope is made of is in it. */
function signatureOf(grants: readonly Grant[], isFiltered: boolean): string {
  const readable = grants.filter(({ type }) => scopeTypes.has(type))
  const told = readable.map(({ type, resource, filter, fixedParameters }) => {
    return [type, resource, filter, fixedParameters === null ? null : [...fixedParameters]]
  })
  return JSON.stringify([isFiltered, ...told])
}

function groupedByResource(grants: readonly Grant[]): ReadonlyMap<string, readonly Grant[]> {
  const groups = new Map<string, Grant[]>()
  for (const grant of grants) {
    if (grant.resource === null) continue
    const others = groups.get(grant.resource)
    if (others === undefined) groups.set(grant.resource, [grant])
    else others.push(grant)
  }
  return groups
}
