// The nodes of a pipe: names, places, and what is copied.

import { withoutViews } from '../catalog/node-views.ts'
import type { NodeView, Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { createNodeId, createPipeId } from '../catalog/pipe-id.ts'
import { checkNodeName } from '../catalog/pipe-name.ts'
import { findResourceId } from '../catalog/resource-id.ts'
import { errors } from '../shared/errors/errors.ts'
import type { NodeEdit, NodeRequest } from './pipes.types.ts'

/** A pipe that has no nodes yet. */
export function newPipe(name: string, description: string, nowMs: number): Pipe {
  return {
    id: createPipeId(),
    name,
    description,
    nodes: [],
    endpointId: null,
    parentId: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  }
}

interface EndpointRule {
  /** Whether a pipe's first node is published unless another one is. */
  readonly publishFirstNode: boolean
  readonly now: () => number
}

/** The pipe with the node published that is to be, and since when. */
export function withEndpoint(pipe: Pipe, before: Pipe | undefined, { publishFirstNode, now }: EndpointRule): Pipe {
  const isFirst = publishFirstNode && pipe.endpointId === null && (before?.nodes.length ?? 0) === 0
  const endpointId = isFirst ? (pipe.nodes[0]?.id ?? null) : pipe.endpointId
  if (endpointId === (before?.endpointId ?? null)) return pipe
  return { ...pipe, endpointId, publishedAt: endpointId === null ? null : now() }
}

/** By name or id; an id may carry a label. */
export function findNode({ nodes }: Pipe, nameOrId: string): PipeNode | undefined {
  const id = findResourceId(nameOrId)
  return nodes.find((node) => node.name === nameOrId || node.id === id)
}

/**
 * A node that is about to stand behind the others; what it reads is not known yet.
 *
 * @throws NAME_INVALID (400), NODE_EXISTS (409)
 */
export function newNode(pipe: Pipe, { name, description, sql }: NodeRequest, nowMs: number): PipeNode {
  if (name !== undefined) checkFreeName(pipe, name)
  return {
    id: createNodeId(),
    name: name ?? freeName(pipe),
    description,
    sql,
    dependencies: [],
    createdAt: nowMs,
    updatedAt: nowMs,
    version: 0,
  }
}

/** A node that stays the one that it was, as it is to be; `view` is what it goes on to fill a data source by. */
export function replacedNode(known: PipeNode, node: PipeNode, view: NodeView | undefined): PipeNode {
  const { id, createdAt } = known
  const version = known.version + Number(known.sql !== node.sql)
  return { ...node, id, createdAt, version, ...(view === undefined ? {} : { view }) }
}

/** The node as it is to be; what it reads is not known yet. @throws SQL_EMPTY (400) when nothing is to change. */
export function editedNode(node: PipeNode, { name, description, sql, position }: NodeEdit, nowMs: number): PipeNode {
  if ([name, description, sql, position].every((value) => value === undefined)) throw errors.SQL_EMPTY()
  return {
    ...node,
    name: name ?? node.name,
    description: description ?? node.description,
    sql: sql ?? node.sql,
    updatedAt: nowMs,
    version: node.version + Number(sql !== undefined && sql !== node.sql),
  }
}

/** @throws NAME_INVALID (400), NODE_EXISTS (409) */
export function checkFreeName(pipe: Pipe, name: string): void {
  checkNodeName(name)
  if (pipe.nodes.some((node) => node.name === name)) throw errors.NODE_EXISTS({ pipe: pipe.name, node: name })
}

/** `<pipe>_<index>`, or the next one that no node has. */
function freeName({ name, nodes }: Pipe): string {
  const taken = new Set(nodes.map((node) => node.name))
  for (let index = nodes.length; ; index += 1) if (!taken.has(`${name}_${index}`)) return `${name}_${index}`
}

/** The nodes with one of them at another place; a place behind the last one is the last one. */
export function movedTo(nodes: readonly PipeNode[], node: PipeNode, position: number): readonly PipeNode[] {
  return nodes.filter(({ id }) => id !== node.id).toSpliced(position, 0, node)
}

/**
 * The nodes of a pipe as those of another one. A node that has the name of one that was there takes its place, with its id;
 * where nodes read each other by id, they go on to do so.
 */
export function copiedNodes(from: Pipe, into: Pipe | undefined, nowMs: number): readonly PipeNode[] {
  const ids = new Map(from.nodes.map(({ id, name }) => [id, into?.nodes.find((node) => node.name === name)?.id]))
  const newIds = new Map([...ids].map(([id, known]) => [id, known ?? createNodeId()]))
  // What fills a data source is the other node: a copy is one more query of the same text.
  return withoutViews(from, () => true).nodes.map((node) => {
    const before = into?.nodes.find(({ name }) => name === node.name)
    const sql = withIds(node.sql, newIds)
    return {
      ...node,
      id: newIds.get(node.id) ?? createNodeId(),
      sql,
      createdAt: before?.createdAt ?? nowMs,
      updatedAt: nowMs,
      version: before === undefined ? 0 : before.version + Number(before.sql !== sql),
    }
  })
}

/** An id is 128 random bits: wherever its digits stand, the node is meant. */
function withIds(sql: string, newIds: ReadonlyMap<string, string>): string {
  let text = sql
  for (const [id, newId] of newIds) text = text.replaceAll(id.slice('t_'.length), newId.slice('t_'.length))
  return text
}
