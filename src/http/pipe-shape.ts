// A pipe as clients read it. Some of them break on a key of a list's item that they have not asked for.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { formatPipe } from '../catalog/pipe-text.ts'
import type { Pipes } from '../pipes/pipes.types.ts'
import { timeText } from './time-text.ts'

type Shape = Readonly<Record<string, unknown>>

export interface ShapeContext {
  readonly pipes: Pick<Pipes, 'parametersOf'>
  /** The address that the client reaches the service under, without a path. */
  readonly baseUrl: string
}

/** Which fields a client asks for; an empty list asks for all of them. */
export interface ShapeChoice {
  readonly attributes: readonly string[]
  readonly nodeAttributes: readonly string[]
  /** Whether nodes tell what they read. */
  readonly hasDependencies: boolean
}

/** The shape of one pipe, and of the answer to every change of it. */
export function pipeShape(pipe: Pipe, context: ShapeContext): Shape {
  const { name, nodes } = pipe
  return {
    ...baseShape(pipe, context),
    content: formatPipe(pipe),
    edited_by: null,
    last_commit: { content_sha: '', path: '', status: 'ok' },
    nodes: nodes.map((node) => nodeShape(pipe, node, context)),
    path: `pipes/${name}.pipe`,
    pipeline: { name, nodes: nodes.map((node) => ({ name: node.name, sql: node.sql, materialized: null })) },
    workspace_id: workspaceId,
  }
}

/** An item of a list of pipes, with what was asked for alone. Clients read the address whether or not they ask for it. */
export function pipeItem(pipe: Pipe, choice: ShapeChoice, context: ShapeContext): Shape {
  const { attributes, nodeAttributes } = choice
  const wanted = new Set([...attributes, 'url', ...(nodeAttributes.length > 0 ? ['nodes'] : [])])
  const hasAll = attributes.length === 0
  const fields = hasAll ? baseShape(pipe, context) : chosen(pipeShape(pipe, context), wanted)
  if (!hasAll && !wanted.has('nodes')) return fields
  return { ...fields, nodes: pipe.nodes.map((node) => nodeItem(pipe, node, { choice, context })) }
}

/** A node with everything that is known of it. */
export function nodeShape(pipe: Pipe, node: PipeNode, { pipes }: ShapeContext): Shape {
  return {
    id: node.id,
    name: node.name,
    sql: node.sql,
    description: textOrNull(node.description),
    dependencies: node.dependencies,
    materialized: null,
    cluster: null,
    tags: {},
    created_at: timeText(node.createdAt),
    updated_at: timeText(node.updatedAt),
    version: node.version,
    project: null,
    result: null,
    ignore_sql_errors: false,
    node_type: node.id === pipe.endpointId ? 'endpoint' : 'default',
    deployment_suffix: '',
    params: pipes.parametersOf(node),
  }
}

/** The one workspace that there is. */
const workspaceId = 'ws_0001'

interface ItemContext {
  readonly choice: ShapeChoice
  readonly context: ShapeContext
}

function nodeItem(pipe: Pipe, node: PipeNode, { choice, context }: ItemContext): Shape {
  const { nodeAttributes, hasDependencies } = choice
  const { dependencies, ...rest } = nodeShape(pipe, node, context)
  if (nodeAttributes.length === 0) return hasDependencies ? { ...rest, dependencies } : rest
  const wanted = new Set([...nodeAttributes, ...(hasDependencies ? ['dependencies'] : [])])
  return chosen({ ...rest, dependencies }, wanted)
}

function baseShape({ id, name, description, endpointId, parentId, createdAt, updatedAt }: Pipe, context: ShapeContext) {
  return {
    id,
    name,
    description: textOrNull(description),
    endpoint: endpointId,
    created_at: timeText(createdAt),
    updated_at: timeText(updatedAt),
    parent: parentId,
    type: endpointId === null ? 'default' : 'endpoint',
    url: `${context.baseUrl}/v0/pipes/${name}.json`,
  }
}

function chosen(shape: Shape, wanted: ReadonlySet<string>): Shape {
  return Object.fromEntries(Object.entries(shape).filter(([name]) => wanted.has(name)))
}

function textOrNull(text: string): string | null {
  return text === '' ? null : text
}
