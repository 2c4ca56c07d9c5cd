// Whether a pipe would read itself. Each node is checked when it is saved, but against the pipes of then: a pipe that reads
// another one can be made to be read by it later, by new SQL, by another published node, or by a name.

import type { Pipe, PipeNode, PipeReader } from '../catalog/pipe.types.ts'
import { errors } from '../shared/errors.ts'

/**
 * Refuses a pipe that would read itself, through whichever other pipes.
 *
 * @param pipe as it is to be; `catalog` has it as it was, or not at all.
 * @throws SQL_INVALID (400) that names the path.
 */
export function checkAcyclic(pipe: Pipe, catalog: Pick<PipeReader, 'findPipe'>): void {
  const search: Search = {
    findPipe: (name) => (name === pipe.name ? pipe : otherThan(pipe, catalog.findPipe(name))),
    done: new Set(),
    path: [],
  }
  for (const node of pipe.nodes) visit({ pipe, node, name: node.name }, search)
}

/** What the catalog has of the pipe itself, perhaps under its old name, is no more. */
function otherThan({ id }: Pipe, found: Pipe | undefined): Pipe | undefined {
  return found?.id === id ? undefined : found
}

interface Search {
  readonly findPipe: (name: string) => Pipe | undefined
  /** Ids of nodes from which no cycle can be reached. */
  readonly done: Set<string>
  readonly path: NodeRead[]
}

interface NodeRead {
  readonly pipe: Pipe
  readonly node: PipeNode
  /** As the one who reads it names it. */
  readonly name: string
}

function visit(read: NodeRead, search: Search): void {
  const { id } = read.node
  if (search.done.has(id)) return
  const start = search.path.findIndex(({ node }) => node.id === id)
  if (start !== -1) {
    const path = [...search.path.slice(start), read].map(({ name }) => name).join(' → ')
    throw errors.SQL_INVALID({ reason: `Circular dependency on '${read.name}': ${path}` })
  }
  search.path.push(read)
  for (const name of read.node.dependencies) {
    const next = nodeBehind(name, read, search)
    if (next !== undefined) visit(next, search)
  }
  search.path.pop()
  search.done.add(id)
}

/** The node that a name in another one stands for: an earlier node of the same pipe, else the one that answers for a pipe. */
function nodeBehind(name: string, { pipe, node }: NodeRead, { findPipe }: Search): NodeRead | undefined {
  const earlier = pipe.nodes.slice(0, pipe.nodes.indexOf(node)).find((one) => one.name === name)
  if (earlier !== undefined) return { pipe, node: earlier, name }
  const other = findPipe(name)
  const answering = other?.nodes.find(({ id }) => id === other.endpointId) ?? other?.nodes.at(-1)
  return other === undefined || answering === undefined ? undefined : { pipe: other, node: answering, name }
}
