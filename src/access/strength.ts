// Which of two tokens is the stronger one: a token that changes others must not give what it does not have.

import type { Grant } from './grant.types.ts'
import { type Operation, operations, ruleOf } from './operations.ts'
import type { Permissions } from './permissions.ts'
import type { ScopeType } from './scopes/scope-types.ts'

/** Whether `own` may do everything that these grants let a token do, and sees every row that they show. */
export function coversAll(own: Permissions, grants: readonly Grant[]): boolean {
  if (own.isAdmin) return true
  return grants.every((grant) => coversRight(own, grant)) && keepsFilters(own, grants)
}

/** Without a look at filters. */
function coversRight({ grants }: Permissions, { type, resource }: Grant): boolean {
  if (type === 'ADMIN') return false
  const reaches = (own: Grant): boolean => own.resource === null || own.resource === resource
  const needed = operationsOf(type)
  if (needed.length === 0) return grants.some((own) => own.type === type && reaches(own))
  return needed.every((operation) => grants.some((own) => ruleOf(operation).scopes.includes(own.type) && reaches(own)))
}

/** Every filter of `own` must stand in what it gives away. */
function keepsFilters(own: Permissions, grants: readonly Grant[]): boolean {
  const filtered = own.grants.filter(({ filter }) => filter !== null)
  return filtered.every(({ resource, filter }) => {
    const isReached = grants.some((grant) => readingTypes.has(grant.type) && (grant.resource ?? resource) === resource)
    return !isReached || grants.some((grant) => grant.resource === resource && grant.filter === filter)
  })
}

/** Whoever writes a pipe reads through it. */
const readingTypes: ReadonlySet<ScopeType> = new Set(['DATASOURCES:READ', 'PIPES:READ', 'WORKSPACE:READ_ALL'])

function operationsOf(type: ScopeType): readonly Operation[] {
  // Object.keys gives plain strings; the table has these keys and no others.
  return (Object.keys(operations) as Operation[]).filter((operation) => ruleOf(operation).scopes.includes(type))
}
