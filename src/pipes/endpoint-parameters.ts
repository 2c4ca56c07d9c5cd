// The parameters of an endpoint: those of its node and of all nodes that this reads, also in other pipes, as they share
// the values of a request.

import type { Pipe, PipeNode, PipeReader } from '../catalog/pipe.types.ts'
import { answeringNode } from '../query/name-scope.ts'
import type { TemplateParameter } from '../template/template.types.ts'

type FindPipe = PipeReader['findPipe']

/** The nodes that an endpoint is computed of: those of its pipe in their order, then those of other pipes as they are met. */
export function nodesOfEndpoint(pipe: Pipe, findPipe: FindPipe): readonly PipeNode[] {
  const endpoint = endpointOf(pipe)
  return endpoint === undefined ? [] : nodesBelow(pipe, endpoint, findPipe)
}

/** A node, and those of other pipes that it reads: what is met in its own pipe tells its parameters itself. */
export function nodeWithOtherPipes(pipe: Pipe, node: PipeNode, findPipe: FindPipe): readonly PipeNode[] {
  const earlier = pipe.nodes.slice(0, pipe.nodes.indexOf(node))
  const dependencies = node.dependencies.filter((read) => !earlier.some(({ name }) => name === read))
  const alone = { ...node, dependencies }
  const [, ...others] = nodesBelow({ ...pipe, nodes: [alone] }, alone, findPipe)
  return [node, ...others]
}

function nodesBelow(pipe: Pipe, top: PipeNode, findPipe: FindPipe): readonly PipeNode[] {
  const met = new Map<string, PipeNode>([[top.id, top]])
  // A Map gives what is added while it is walked.
  const pipesOfNodes = new Map<string, Pipe>([[top.id, pipe]])
  for (const node of met.values()) {
    const own = pipesOfNodes.get(node.id)
    if (own === undefined) continue
    for (const name of node.dependencies) {
      const read = readNode(own, node, { name, findPipe })
      if (read === undefined || met.has(read.node.id)) continue
      met.set(read.node.id, read.node)
      pipesOfNodes.set(read.node.id, read.pipe)
    }
  }
  const ownNodes = pipe.nodes.filter(({ id }) => met.has(id))
  return [...ownNodes, ...[...met.values()].filter(({ id }) => pipesOfNodes.get(id) !== pipe)]
}

function endpointOf({ nodes, endpointId }: Pipe): PipeNode | undefined {
  return endpointId === null ? undefined : nodes.find(({ id }) => id === endpointId)
}

interface Dependency {
  readonly name: string
  readonly findPipe: FindPipe
}

/** An earlier node of the same pipe wins over a pipe of its name, as in queries. */
function readNode(
  pipe: Pipe,
  reader: PipeNode,
  { name, findPipe }: Dependency,
): { readonly pipe: Pipe; readonly node: PipeNode } | undefined {
  const earlier = pipe.nodes.slice(0, pipe.nodes.indexOf(reader)).find((node) => node.name === name || node.id === name)
  if (earlier !== undefined) return { pipe, node: earlier }
  const other = findPipe(name)
  const node = other === undefined ? undefined : answeringNode(other)
  return other === undefined || node === undefined ? undefined : { pipe: other, node }
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
