// The parameters of an endpoint: those of its node and of all nodes that this reads, also in other pipes, as they share
// the values of a request.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { answeringNode } from '../query/name-scope.ts'
import type { TemplateParameter } from '../template/template.types.ts'
import { nodeReads } from './node-reads.ts'
import type { ReadCatalog } from './read-catalog.types.ts'

/** The nodes that an endpoint is computed of: those of its pipe in their order, then those of other pipes as they are met. */
export function nodesOfEndpoint(pipe: Pipe, catalog: ReadCatalog): readonly PipeNode[] {
  const endpoint = endpointOf(pipe)
  return endpoint === undefined ? [] : nodesBelow(pipe, [{ pipe, node: endpoint }], catalog)
}

/** A node, and those of other pipes that it reads: what is met in its own pipe tells its parameters itself. */
export function nodeWithOtherPipes(pipe: Pipe, node: PipeNode, catalog: ReadCatalog): readonly PipeNode[] {
  const others = nodesRead({ pipe, node }, catalog).filter((read) => read.pipe !== pipe)
  return [node, ...nodesBelow(pipe, others, catalog).filter(({ id }) => id !== node.id)]
}

interface PlacedNode {
  readonly pipe: Pipe
  readonly node: PipeNode
}

function nodesBelow(pipe: Pipe, top: readonly PlacedNode[], catalog: ReadCatalog): readonly PipeNode[] {
  const met = new Map(top.map((one) => [one.node.id, one]))
  // A Map gives what is added while it is walked.
  for (const one of met.values()) {
    for (const read of nodesRead(one, catalog)) if (!met.has(read.node.id)) met.set(read.node.id, read)
  }
  const ownNodes = pipe.nodes.filter(({ id }) => met.has(id))
  return [...ownNodes, ...[...met.values()].flatMap((one) => (one.pipe === pipe ? [] : [one.node]))]
}

function endpointOf({ nodes, endpointId }: Pipe): PipeNode | undefined {
  return endpointId === null ? undefined : nodes.find(({ id }) => id === endpointId)
}

/** Earlier nodes of the same pipe, and those that answer for the pipes that it reads. */
function nodesRead({ pipe, node }: PlacedNode, catalog: ReadCatalog): readonly PlacedNode[] {
  return nodeReads(pipe, pipe.nodes.indexOf(node), catalog).flatMap(({ id }) => {
    const earlier = pipe.nodes.find((one) => one.id === id)
    if (earlier !== undefined) return [{ pipe, node: earlier }]
    const other = catalog.findPipe(id)
    const answering = other === undefined ? undefined : answeringNode(other)
    return other === undefined || answering === undefined ? [] : [{ pipe: other, node: answering }]
  })
}

/**
 * Each name once, in the order of first use.
 *
 * A typed use wins over an untyped one, and the first over those after it; what it does not say is taken from those.
 */
export function mergeParameters(parameters: readonly TemplateParameter[]): readonly TemplateParameter[] {
  const merged = new Map<string, TemplateParameter>()
  for (const parameter of parameters) {
    const known = merged.get(parameter.name)
    if (known === undefined) merged.set(parameter.name, parameter)
    else if (isUntyped(known) && !isUntyped(parameter)) merged.set(parameter.name, filled(parameter, known))
    else merged.set(parameter.name, filled(known, parameter))
  }
  return [...merged.values()]
}

/** As untyped uses are told. `String(x)` is told so too, and says no more than they do. */
function isUntyped({ type, default: fallback, description }: TemplateParameter): boolean {
  return type === 'String' && fallback === null && description === undefined
}

function filled(winner: TemplateParameter, other: TemplateParameter): TemplateParameter {
  const { used_in: usedIn, ...rest } = { ...other, ...winner }
  const hasSameType = winner.type === other.type
  const fallback = winner.default === null && hasSameType ? other.default : winner.default
  // It is only ever an argument when all of its uses are.
  const isArgument = winner.used_in !== undefined && other.used_in !== undefined
  return { ...rest, default: fallback, ...(isArgument && usedIn !== undefined ? { used_in: usedIn } : {}) }
}
