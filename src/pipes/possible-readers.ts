// Who may read a resource, though its check did not: by a branch of a template that other values take.
//
// Nothing of it is stored. It is found in the SQL when somebody asks, so that pipes of earlier releases have it too.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { branchReads, mayBeMade, type NamedResource, namedInBranches, namesLike } from '../query/branch-reads.ts'
import { readsOfPipe } from './node-reads.ts'
import type { ReadCatalog } from './read-catalog.types.ts'

/** What a node reads in some branch, and was not seen to read when it was checked; by the names of now. */
export function possibleDependencies(pipe: Pipe, node: PipeNode, catalog: ReadCatalog): readonly string[] {
  const { tables, possible } = namedInBranches(node)
  const reads = branchReads(catalog, pipe, pipe.nodes.indexOf(node), [...tables, ...possible])
  const certain = new Set(node.dependencies)
  return [...new Set(reads.map(({ name }) => name))].filter((name) => !certain.has(name))
}

/** In order of their creation: the pipes that read a resource in some branch, and do not read it for certain. */
export function possibleReaders(resource: NamedResource, catalog: ReadCatalog): readonly Pipe[] {
  return catalog.listPipes().filter((pipe) => {
    if (pipe.id === resource.id) return false
    const isFound = pipe.nodes.some((node, position) => mayRead(pipe, position, { node, resource, catalog }))
    return isFound && !readsOfPipe(pipe, catalog).has(resource.id)
  })
}

interface Search {
  readonly node: PipeNode
  readonly resource: NamedResource
  readonly catalog: ReadCatalog
}

function mayRead(pipe: Pipe, position: number, { node, resource, catalog }: Search): boolean {
  const named = namedInBranches(node)
  const reads = branchReads(catalog, pipe, position, namesLike(named, resource))
  return reads.some(({ resourceId }) => resourceId === resource.id) || mayBeMade(named, resource)
}
