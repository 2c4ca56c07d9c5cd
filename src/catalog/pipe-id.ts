import { createResourceHex } from '../shared/ids.ts'
import type { NodeId, PipeId, ViewId } from './pipe.types.ts'
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

/** A new name for a view in the engine. */
export function createViewId(): ViewId {
  return parseViewId(`v_${createResourceHex()}`)
}

/** @throws Error when the text is no id: for ids of our own, which are always right. */
export function parseViewId(text: string): ViewId {
  if (!isViewId(text)) throw new Error(`'${text}' is not the id of a view`)
  return text
}

/** Whether a name in the engine is that of a view of a node. */
export function isViewId(name: string): name is ViewId {
  return /^v_[0-9a-f]{32}$/.test(name)
}

function checkedId(text: string, kind: 'node' | 'pipe'): string {
  if (findResourceId(text) !== text) throw new Error(`'${text}' is not the id of a ${kind}`)
  return text
}
