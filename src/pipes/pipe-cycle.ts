// Whether a pipe would read itself. Each node is checked when it is saved, but against the pipes of then: a pipe that reads
// another one can be made to be read by it later, by new SQL, by another published node, or by a name.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { findResourceId } from '../catalog/resource-id.ts'
import { splitVersion } from '../catalog/versioned-name.ts'
import { answeringNode } from '../query/name-scope.ts'
import { errors } from '../shared/errors/errors.ts'
import { nodeReads } from './node-reads.ts'
import type { ReadCatalog } from './read-catalog.types.ts'

/**
 * Refuses a pipe that would read itself, through whichever other pipes.
 *
 * @param pipe as it is to be; `catalog` has it as it was, or not at all.
 * @throws SQL_INVALID (400) that names the path.
 */
export function checkAcyclic(pipe: Pipe, catalog: ReadCatalog): void {
  const search: Search = { catalog: catalogWith(pipe, catalog), done: new Set(), path: [] }
  for (const node of pipe.nodes) visit({ pipe, node, name: node.name }, search)
}

/** The catalog with the pipe as it is to be; what the catalog has of it itself, perhaps under its old name, is no more. */
function catalogWith(pipe: Pipe, catalog: ReadCatalog): ReadCatalog {
  return {
    catalogVersion: catalog.catalogVersion,
    find: (nameOrId) => catalog.find(nameOrId),
    findPipe: (nameOrId) => {
      if (nameOrId === pipe.name || findResourceId(nameOrId) === pipe.id) return pipe
      const found = catalog.findPipe(nameOrId)
      if (found !== undefined && found.id !== pipe.id) return found
      const isVersion = splitVersion(nameOrId)?.base === pipe.name && catalog.find(nameOrId) === undefined
      return isVersion ? pipe : undefined
    },
    list: () => catalog.list(),
    listPipes: () => catalog.listPipes(),
  }
}

interface Search {
  readonly catalog: ReadCatalog
  /** Ids of nodes from which no cycle can be reached. */
  readonly done: Set<string>
  readonly path: PlacedNode[]
}

interface PlacedNode {
  readonly pipe: Pipe
  readonly node: PipeNode
  /** As the one who reads it names it. */
  readonly name: string
}

function visit(read: PlacedNode, search: Search): void {
  const { id } = read.node
  if (search.done.has(id)) return
  const start = search.path.findIndex(({ node }) => node.id === id)
  if (start !== -1) {
    const path = [...search.path.slice(start), read].map(({ name }) => name).join(' → ')
    throw errors.SQL_INVALID({ reason: `Circular dependency on '${read.name}': ${path}` })
  }
  search.path.push(read)
  for (const next of nodesBehind(read, search)) visit(next, search)
  search.path.pop()
  search.done.add(id)
}

/** The nodes that one reads: earlier ones of the same pipe, and those that answer for pipes. */
function nodesBehind({ pipe, node }: PlacedNode, { catalog }: Search): readonly PlacedNode[] {
  return nodeReads(pipe, pipe.nodes.indexOf(node), catalog).flatMap(({ name, id }) => {
    const earlier = pipe.nodes.find((one) => one.id === id)
    if (earlier !== undefined) return [{ pipe, node: earlier, name }]
    const other = catalog.findPipe(id)
    const answering = other === undefined ? undefined : answeringNode(other)
    return other === undefined || answering === undefined ? [] : [{ pipe: other, node: answering, name }]
  })
}
