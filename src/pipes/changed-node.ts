import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { assert } from '../shared/assert.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { findNode } from './pipe-nodes.ts'
import type { ChangedNode, NodeReport } from './pipes.types.ts'

/** The node that is to be published. @throws NODE_UNKNOWN (400) */
export function expectNode(pipe: Pipe, nameOrId: string): PipeNode {
  const node = findNode(pipe, nameOrId)
  if (node === undefined) throw errors.NODE_UNKNOWN({ pipe: pipe.name, node: nameOrId })
  return node
}

/** What is wrong with one of several nodes, under its name. */
export function ofNode(node: string, thrown: unknown): unknown {
  if (!(thrown instanceof ApiError) || thrown.status !== 400) return thrown
  return errors.NODE_INVALID({ node, reason: thrown.message, hint: thrown.hint, cause: thrown })
}

/** What a change of one node is answered with. */
export function changed(pipe: Pipe, position: number, report?: NodeReport): ChangedNode {
  const node = pipe.nodes[position]
  assert(node !== undefined, 'a node that was changed is there')
  return { pipe, node, ...(report === undefined ? {} : { report }) }
}
