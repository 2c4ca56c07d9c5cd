import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { newWayBudget } from '../query/node-ways.ts'
import type { Query } from '../query/query.types.ts'
import { errors } from '../shared/errors/errors.ts'
import { giveWay } from '../shared/time-slices.ts'
import { dependenciesAfter, nodeReads } from './node-reads.ts'
import { checkFreeName } from './pipe-nodes.ts'
import type { ReadCatalog } from './read-catalog.types.ts'
import { type RenamedNode, renamedNode, withRename } from './rename-nodes.ts'

interface NodeRename {
  readonly newName: string
  /** Whether nodes whose SQL goes by the name get the new one; else they refuse the rename. */
  readonly isForced: boolean
}

interface Deps {
  readonly catalog: ReadCatalog
  readonly query: Pick<Query, 'compareNode'>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/**
 * The pipe with another name for one of its nodes, and with that name in the SQL of its nodes that read it.
 *
 * @throws NAME_INVALID (400), NODE_EXISTS, NODE_USED (409)
 */
export async function withNodeRenamed(
  pipe: Pipe,
  node: PipeNode,
  { newName, isForced }: NodeRename,
  { catalog, query, now }: Deps,
): Promise<Pipe> {
  checkFreeName(pipe, newName)
  const nodes = pipe.nodes.map((one) => (one === node ? { ...one, name: newName } : one))
  const rename = { id: node.id, oldName: node.name, newName }
  const before = { workspace: catalog, pipe }
  const after = { workspace: catalog, pipe: { ...pipe, nodes } }
  const position = pipe.nodes.indexOf(node)
  const budget = newWayBudget()
  const renamed: (RenamedNode | undefined)[] = []
  for (const index of pipe.nodes.keys()) {
    const renaming = { rename, before, after, query, isForced, budget }
    renamed.push(index <= position ? undefined : await renamedNode(index, renaming))
    await giveWay()
  }
  const isUser = (_: PipeNode, index: number): boolean => renamed[index] !== undefined && renamed[index].kind !== 'same'
  const users = pipe.nodes.filter(isUser).map(({ name }) => name)
  if (!isForced && users.length > 0) {
    const advice = 'change those first, or use force=true: the new name is put into their SQL'
    throw errors.NODE_USED({ name: node.name, users, advice })
  }
  for (const [index, one] of renamed.entries()) {
    if (one?.kind !== 'fault') continue
    const user = pipe.nodes[index]?.name ?? ''
    const advice = `its SQL cannot be changed with certainty, as it ${one.reason}. Change that node first`
    throw errors.NODE_USED({ name: node.name, users: [user], advice })
  }
  const known = nodes.map((one, index) => {
    const dependencies = dependenciesAfter(one.dependencies, nodeReads(pipe, index, catalog), rename)
    return withRename({ ...one, dependencies }, renamed[index], now())
  })
  return { ...pipe, nodes: known }
}
