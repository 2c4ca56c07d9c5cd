// What a token may do with one resource, and why: the answer to "why does this token not get in".

import type { Grant, NamedResource } from './grant.types.ts'
import { type Operation, operations, ruleOf } from './operations.ts'
import type { Permissions } from './permissions.ts'
import type { ResourceKind } from './scopes/scope-types.ts'

export interface OperationProof {
  readonly operation: Operation
  readonly isAllowed: boolean
  /** The rights that give it; where it is not allowed, those that would if no rows were hidden. */
  readonly grants: readonly Grant[]
  /** The types of scopes of which one is missing; empty where none is. */
  readonly missing: readonly string[]
  /** Whether a filter is what stands against it. */
  readonly isFiltered: boolean
  /** Whether the filter of what is not there any more stands against it. */
  readonly isClosed: boolean
}

/** Every operation on resources of this kind. */
export function proofsOf(
  permissions: Permissions,
  kind: ResourceKind,
  resource: NamedResource,
): readonly OperationProof[] {
  // Object.keys gives plain strings; the table has these keys and no others.
  const ofKind = (Object.keys(operations) as Operation[]).filter((operation) => ruleOf(operation).of === kind)
  return ofKind.map((operation) => proofOf(permissions, operation, resource))
}

function proofOf(permissions: Permissions, operation: Operation, resource: NamedResource): OperationProof {
  const { scopes, reach } = ruleOf(operation)
  const isAllowed = permissions.allows(operation, resource)
  const grants = permissions.grants.filter(({ type, resource: key }) => {
    if (type === 'ADMIN') return true
    const isReached = reach === 'some' || key === null || key === resource.id || key === resource.name
    return scopes.includes(type) && isReached
  })
  const isFiltered = !isAllowed && grants.length > 0
  const isClosed = !isAllowed && !isFiltered && permissions.isClosed(operation)
  return {
    operation,
    isAllowed,
    grants,
    missing: isAllowed || isFiltered || isClosed ? [] : [...scopes, 'ADMIN'],
    isFiltered,
    isClosed,
  }
}
