// Which of two tokens is the stronger one: a token that changes others must not give what it does not have.

import type { Grant, ResourceLookup } from './grant.types.ts'
import { isLost } from './lost-filter.ts'
import { type Operation, operations, ruleOf } from './operations.ts'
import type { Permissions } from './permissions.ts'
import type { Scope } from './scopes/scope.types.ts'
import { pipeReadTypes, type ResourceKind, type ScopeType } from './scopes/scope-types.ts'
import { grantsOf } from './tokens/scope-grants.ts'

/** What is judged of a token. */
export interface ManagedToken {
  readonly scopes: readonly Scope[]
  /** Epoch milliseconds; null for never. */
  readonly expiresAt: number | null
}

/**
 * Whether a caller may be told of a token, and may change it: it is no stronger than his own. For lists: whatever is hidden from
 * him must not be told to exist.
 */
export function mayManage(
  permissions: Permissions,
  { scopes, expiresAt }: ManagedToken,
  lookup: ResourceLookup,
): boolean {
  if (permissions.isAdmin) return true
  return !outlives(permissions, expiresAt) && coversAll(permissions, grantsOf(scopes, lookup))
}

/** Whether `own` may do everything that these grants let a token do, and sees every row that they show. */
export function coversAll(own: Permissions, grants: readonly Grant[]): boolean {
  if (own.isAdmin) return true
  return grants.every((grant) => isLost(grant, own.lookup) || coversRight(own, grant)) && keepsFilters(own, grants)
}

/** Whether a token that ends then (epoch milliseconds; null for never) would be there when `own` is not any more. */
export function outlives({ expiresAt: ownEnd }: Permissions, expiresAt: number | null): boolean {
  return ownEnd !== null && (expiresAt === null || expiresAt > ownEnd)
}

/** Without a look at filters. */
function coversRight({ grants }: Permissions, { type, resource }: Grant): boolean {
  if (type === 'ADMIN') return false
  const reaches = (own: Grant): boolean => own.resource === null || own.resource === resource
  const needed = operationsOf(type)
  if (needed.length === 0) return grants.some((own) => own.type === type && reaches(own))
  return needed.every((operation) => grants.some((own) => ruleOf(operation).scopes.includes(own.type) && reaches(own)))
}

/**
 * Every filter of `own` must stand in what it gives away, unless that reaches nothing of what the filter hides or takes away. So
 * what is left of a right behind the filters is the same for both.
 */
function keepsFilters(own: Permissions, grants: readonly Grant[]): boolean {
  const filtered = [...own.grants.filter(({ filter }) => filter !== null), ...own.lost]
  return filtered.every((kept) => {
    const isReached = grants.some((grant) => reaches(grant, kept, own))
    return !isReached || grants.some(({ resource, filter }) => resource === kept.resource && filter === kept.filter)
  })
}

/**
 * Whether a grant may lead to what a filter is about. Pipes lead to everything: what they read is their authors' matter, and is
 * another thing tomorrow.
 */
function reaches(grant: Grant, { type: filteredType, resource: filtered }: Grant, { lookup }: Permissions): boolean {
  if (pipeReadTypes.has(grant.type)) return true
  if (grant.resource !== null && grant.resource !== filtered) return false
  if (grant.type === 'DATASOURCES:READ') return true
  const kind = (filtered === null ? undefined : lookup.kindOf(filtered)) ?? kindOfReading(filteredType)
  return operationsOf(grant.type).some((operation) => {
    const rule = ruleOf(operation)
    return rule.of === kind && !rule.mayBeFiltered
  })
}

function kindOfReading(type: ScopeType): ResourceKind {
  return type === 'PIPES:READ' ? 'pipe' : 'datasource'
}

function operationsOf(type: ScopeType): readonly Operation[] {
  // Object.keys gives plain strings; the table has these keys and no others.
  return (Object.keys(operations) as Operation[]).filter((operation) => ruleOf(operation).scopes.includes(type))
}
