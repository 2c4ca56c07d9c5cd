import type { Grant, ResourceLookup } from './grant.types.ts'

/**
 * Whether a right is a filter, or has fixed values, of what is not there any more, or not there yet. It gives nothing; but what it was to
 * hide may be there under another id or name, and pipes may read that.
 */
export function isLost({ type, resource, filter, fixedParameters }: Grant, lookup: ResourceLookup): boolean {
  if ((filter === null && fixedParameters === null) || resource === null) return false
  return lookup.kindOf(resource) !== (type === 'PIPES:READ' ? 'pipe' : 'datasource')
}
