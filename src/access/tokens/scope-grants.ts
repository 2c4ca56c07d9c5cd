import type { Grant, ResourceLookup } from '../grant.types.ts'
import type { Scope } from '../scopes/scope.types.ts'
import { scopeTypes } from '../scopes/scope-types.ts'

/**
 * The scopes but for those of resources that do not exist any more; the same array where all do. Those with a filter stay: they
 * keep their tokens from reading what has come in the place of the resource.
 */
export function livingScopes(scopes: readonly Scope[], lookup: ResourceLookup): readonly Scope[] {
  return scopes.every((scope) => isLiving(scope, lookup)) ? scopes : scopes.filter((scope) => isLiving(scope, lookup))
}

function isLiving({ resource, filter }: Scope, lookup: ResourceLookup): boolean {
  if (filter !== null) return true
  return resource === null || resource.kind === 'future' || lookup.kindOf(resource.id) === resource.kind
}

/** The rights that scopes give as things are now. */
export function grantsOf(scopes: readonly Scope[], lookup: ResourceLookup): readonly Grant[] {
  return livingScopes(scopes, lookup).map((scope) => {
    return { type: scope.type, resource: resourceOf(scope, lookup), filter: scope.filter, fixedParameters: null }
  })
}

function resourceOf({ type, resource }: Scope, lookup: ResourceLookup): string | null {
  if (resource === null) return null
  if (resource.kind !== 'future') return resource.id
  const [kind] = scopeTypes[type].kinds
  if (kind === undefined) return resource.name
  const { id, isQuarantine } = lookup.find(kind, resource.name)
  // The right to make a data source is none to the data source whose quarantine has the name.
  return id === undefined || isQuarantine ? resource.name : id
}
