// What a name in a query stands for, whoever asks.
//
// The order is: common table name (a matter of `sql`), earlier node of the same pipe, pipe, data source. Nodes belong to their
// pipe, so two pipes may have nodes of one name.

import { quarantineSuffix } from '../catalog/quarantine-name.ts'
import { findResourceId } from '../catalog/resource-id.ts'
import { isServiceName } from '../catalog/service-name.ts'
import type { ReadDataSource, ReadNode, ReadPipe, WorkspaceReader } from './workspace.types.ts'

/** What a name stands for, without what a caller may read of it. */
export type ResolvedName = {
  /** What a caller's scope judges: the id of the data source, also for its quarantine, of the pipe or of the node. */
  readonly id: string
  /** As messages and `dependencies` name it. */
  readonly name: string
} & (
  | { readonly kind: 'node'; readonly pipe: ReadPipe; readonly node: ReadNode }
  | { readonly kind: 'pipe'; readonly pipe: ReadPipe }
  | { readonly kind: 'data source'; readonly dataSource: ReadDataSource }
  | { readonly kind: 'quarantine'; readonly dataSource: ReadDataSource }
  | { readonly kind: 'service'; readonly parts: readonly string[] }
)

/** A name in a node. */
export interface NodeSearch {
  readonly parts: readonly string[]
  /** Nodes from this position on are not seen. */
  readonly end: number
}

/** What a name stands for in the node at `end` of the pipe; undefined for nothing. */
export function resolveForNode(
  workspace: WorkspaceReader,
  pipe: ReadPipe,
  search: NodeSearch,
): ResolvedName | undefined {
  return resolveNode(pipe, search) ?? resolveInWorkspace(workspace, search.parts)
}

/** The node of the pipe that has the name or the id. */
export function resolveNode(pipe: ReadPipe, { parts, end }: NodeSearch): ResolvedName | undefined {
  const nameOrId = parts.join('.')
  const namedId = findResourceId(nameOrId)
  if (parts.length !== 1 && namedId === undefined) return undefined
  const node = pipe.nodes.find(({ name, id }, index) => index < end && (name === nameOrId || id === namedId))
  return node === undefined ? undefined : { kind: 'node', pipe, node, id: node.id, name: node.name }
}

/** What the workspace has under the name. */
export function resolveInWorkspace(workspace: WorkspaceReader, parts: readonly string[]): ResolvedName | undefined {
  const nameOrId = parts.join('.')
  if (parts.length === 2 && isServiceName(nameOrId)) {
    return { kind: 'service', parts, id: nameOrId, name: nameOrId }
  }
  // Ids may carry a label, `t_.label.<hex>` or `t_label.<hex>`; no other name has a dot.
  if (parts.length > 1 && findResourceId(nameOrId) === undefined) return undefined
  const pipe = workspace.findPipe(nameOrId)
  if (pipe !== undefined) return resolvedPipe(pipe)
  const dataSource = workspace.find(nameOrId)
  if (dataSource !== undefined) {
    return { kind: 'data source', dataSource, id: dataSource.id, name: dataSource.name }
  }
  return resolveQuarantine(workspace, nameOrId)
}

export function resolvedPipe(pipe: ReadPipe): ResolvedName {
  return { kind: 'pipe', pipe, id: pipe.id, name: pipe.name }
}

function resolveQuarantine(workspace: WorkspaceReader, nameOrId: string): ResolvedName | undefined {
  if (!nameOrId.endsWith(quarantineSuffix)) return undefined
  const dataSource = workspace.find(nameOrId.slice(0, -quarantineSuffix.length))
  if (dataSource === undefined) return undefined
  return { kind: 'quarantine', dataSource, id: dataSource.id, name: `${dataSource.name}${quarantineSuffix}` }
}
