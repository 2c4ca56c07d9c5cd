import type { NodeId, PipeId } from './pipe.types.ts'
import { createResourceId, findResourceId } from './resource-id.ts'

/** A new id. */
export function createPipeId(): PipeId {
  return parsePipeId(createResourceId())
}

/** A new id. */
export function createNodeId(): NodeId {
  return parseNodeId(createResourceId())
}

/** @throws Error when the text is no id: for ids of our own, which are always right. */
export function parsePipeId(text: string): PipeId {
  // Just checked.
  return checkedId(text, 'pipe') as PipeId
}

/** @throws Error when the text is no id: for ids of our own, which are always right. */
export function parseNodeId(text: string): NodeId {
  // Just checked.
  return checkedId(text, 'node') as NodeId
}

function checkedId(text: string, kind: 'node' | 'pipe'): string {
  if (findResourceId(text) !== text) throw new Error(`'${text}' is not the id of a ${kind}`)
  return text
}
