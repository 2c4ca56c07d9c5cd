// The parameters of an endpoint: those of its node and of all nodes that this reads, also in other pipes, as they share
// the values of a request.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { type FixedValues, fixedForNamed, fixedForRead, nothingFixed } from '../query/fixed-parameters.ts'
import { answeringNode } from '../query/name-scope.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { TemplateParameter } from '../template/template.types.ts'
import { nodeReads } from './node-reads.ts'
import type { ReadCatalog } from './read-catalog.types.ts'

/** A node of an endpoint, with the pipe that it belongs to and what no request changes in it. */
export interface PlacedNode {
  readonly pipe: Pipe
  readonly node: PipeNode
  readonly fixed: FixedValues
}

/**
 * The nodes that an endpoint is computed of: those of its pipe in their order, then those of other pipes as they are met.
 *
 * @param readScope of whoever reads it: a node that is read with other fixed values is met once more; null fixes nothing.
 */
export function nodesOfEndpoint(
  pipe: Pipe,
  catalog: ReadCatalog,
  readScope: ReadScope | null = null,
): readonly PlacedNode[] {
  const endpoint = endpointOf(pipe)
  if (endpoint === undefined) return []
  const fixed = readScope === null ? nothingFixed : fixedForNamed(readScope, pipe.id, nothingFixed)
  return nodesBelow(pipe, [{ pipe, node: endpoint, fixed }], { catalog, readScope })
}

/** A node, and those of other pipes that it reads: what is met in its own pipe tells its parameters itself. */
export function nodeWithOtherPipes(pipe: Pipe, node: PipeNode, catalog: ReadCatalog): readonly PipeNode[] {
  const walk = { catalog, readScope: null }
  const others = nodesRead({ pipe, node, fixed: nothingFixed }, walk).filter((read) => read.pipe !== pipe)
  const below = nodesBelow(pipe, others, walk).map((placed) => placed.node)
  return [node, ...below.filter(({ id }) => id !== node.id)]
}

interface Walk {
  readonly catalog: ReadCatalog
  readonly readScope: ReadScope | null
}

function nodesBelow(pipe: Pipe, top: readonly PlacedNode[], walk: Walk): readonly PlacedNode[] {
  const keyOf = ({ node, fixed }: PlacedNode): string => `${node.id}${fixed.key}`
  const met = new Map(top.map((one) => [keyOf(one), one]))
  // A Map gives what is added while it is walked.
  for (const one of met.values()) {
    for (const read of nodesRead(one, walk)) if (!met.has(keyOf(read))) met.set(keyOf(read), read)
  }
  const own = [...met.values()].filter((one) => one.pipe === pipe)
  own.sort((one, other) => pipe.nodes.indexOf(one.node) - pipe.nodes.indexOf(other.node))
  return [...own, ...[...met.values()].filter((one) => one.pipe !== pipe)]
}

function endpointOf({ nodes, endpointId }: Pipe): PipeNode | undefined {
  return endpointId === null ? undefined : nodes.find(({ id }) => id === endpointId)
}

/** Earlier nodes of the same pipe, and those that answer for the pipes that it reads. */
function nodesRead({ pipe, node, fixed }: PlacedNode, { catalog, readScope }: Walk): readonly PlacedNode[] {
  return nodeReads(pipe, pipe.nodes.indexOf(node), catalog).flatMap(({ id }) => {
    const earlier = pipe.nodes.find((one) => one.id === id)
    if (earlier !== undefined) return [{ pipe, node: earlier, fixed }]
    const other = catalog.findPipe(id)
    const answering = other === undefined ? undefined : answeringNode(other)
    if (other === undefined || answering === undefined) return []
    const within = readScope === null ? fixed : fixedForRead(readScope, id, fixed)
    return [{ pipe: other, node: answering, fixed: within }]
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
