// The nodes of a pipe: names, places, and what is copied.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { createNodeId } from '../catalog/pipe-id.ts'
import { checkNodeName } from '../catalog/pipe-name.ts'
import { findResourceId } from '../catalog/resource-id.ts'
import { errors } from '../shared/errors/errors.ts'
import type { NodeRequest } from './pipes.types.ts'

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
  return from.nodes.map((node) => {
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
