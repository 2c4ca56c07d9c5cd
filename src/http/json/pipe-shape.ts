// A pipe as clients read it. Some of them break on a key of a list's item that they have not asked for.

import { branchesOf } from '../../catalog/node-views.ts'
import type { Pipe, PipeNode } from '../../catalog/pipe.types.ts'
import { formatPipe } from '../../catalog/pipe-text.ts'
import type { ChangedNode, Pipes } from '../../pipes/pipes.types.ts'
import { timeText } from './time-text.ts'

type Shape = Readonly<Record<string, unknown>>

export interface ShapeContext {
  readonly pipes: Pick<Pipes, 'parametersWithPipes' | 'possibleDependencies'>
  /** The name of a data source that a node fills; undefined where the client may not know of it. */
  readonly targetName: (id: string) => string | undefined
  /** Those of the names that a node reads that the client may know of. */
  readonly seenReads: (pipe: Pipe, names: readonly string[]) => readonly string[]
  readonly workspaceId: string
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
    content: formatPipe(pipe, context.targetName),
    edited_by: null,
    last_commit: { content_sha: '', path: '', status: 'ok' },
    nodes: nodes.map((node) => nodeShape(pipe, node, context)),
    path: `pipes/${name}.pipe`,
    published_date: pipe.endpointId === null ? null : timeText(pipe.publishedAt ?? pipe.updatedAt),
    published_version: pipe.endpointId,
    pipeline: { name, nodes: nodes.map(({ name, sql, view }) => ({ name, sql, materialized: isFilling(view) })) },
    workspace_id: context.workspaceId,
  }
}

/** An item of a list of pipes, with what was asked for alone. Clients read the address whether or not they ask for it. */
export function pipeItem(pipe: Pipe, choice: ShapeChoice, context: ShapeContext): Shape {
  const { attributes, nodeAttributes } = choice
  const hasNodes = attributes.length === 0 || attributes.includes('nodes') || nodeAttributes.length > 0
  const fields = attributes.length === 0 ? baseShape(pipe, context) : chosenFields(pipe, attributes, context)
  return hasNodes ? { ...fields, nodes: pipe.nodes.map((node) => nodeItem(pipe, node, { choice, context })) } : fields
}

/** A node that was changed, with what was made for it. */
export function changedShape({ pipe, node, report }: ChangedNode, context: ShapeContext): Shape {
  const shape = nodeShape(pipe, node, context)
  if (report === undefined) return shape
  return { ...shape, created_datasource: report.isCreated, warnings: report.warnings.map(warningShape) }
}

/** A clause as the sentence that clients show. */
/** The official client sorts them by their weight, and shows the rest. */
export function warningShape(text: string, index: number): object {
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  return { code: 'WARNING', weight: index + 1, text: sentence, documentation: 'docs/materialized-views.md' }
}

/** A node with everything that is known of it. */
export function nodeShape(pipe: Pipe, node: PipeNode, context: ShapeContext): Shape {
  const { pipes, seenReads } = context
  return {
    ...nodeFields(pipe, node),
    ...viewFields(node, context),
    ...(node.unlinked === undefined ? {} : { unlinked_at: timeText(node.unlinked.unlinkedAt) }),
    dependencies: seenReads(pipe, node.dependencies),
    possible_dependencies: seenReads(pipe, pipes.possibleDependencies(pipe, node)),
    params: pipes.parametersWithPipes(pipe, node),
  }
}

/** What a node fills, and whose rows it does it out of, as far as the client may know of them. */
function viewFields({ view }: PipeNode, { targetName }: ShapeContext): Shape {
  if (view === undefined) return {}
  const datasource = targetName(view.targetId)
  const sourceIds = branchesOf(view).map(({ sourceId }) => sourceId)
  return { ...(datasource === undefined ? {} : { datasource }), ...triggerFields(sourceIds, targetName) }
}

/** The data source whose rows a node sees; all of them where its SELECTs see those of several. */
export function triggerFields(sourceIds: readonly string[], targetName: ShapeContext['targetName']): Shape {
  const [first = ''] = sourceIds
  const trigger = targetName(first)
  const names = [...new Set(sourceIds)].flatMap((id) => targetName(id) ?? [])
  return {
    ...(trigger === undefined ? {} : { trigger_datasource: trigger }),
    ...(new Set(sourceIds).size === 1 ? {} : { trigger_datasources: names }),
  }
}

/** Lists are long, and most clients ask for little: the rest is not even made. */
function chosenFields(pipe: Pipe, attributes: readonly string[], context: ShapeContext): Shape {
  const wanted = new Set([...attributes.filter((name) => name !== 'nodes'), 'url'])
  const base = baseShape(pipe, context)
  const isBase = [...wanted].every((name) => Object.hasOwn(base, name))
  return chosen(isBase ? base : pipeShape(pipe, context), wanted)
}

interface ItemContext {
  readonly choice: ShapeChoice
  readonly context: ShapeContext
}

function nodeItem(pipe: Pipe, node: PipeNode, { choice, context }: ItemContext): Shape {
  const { nodeAttributes, hasDependencies } = choice
  const fields = nodeFields(pipe, node)
  const reads = (): readonly string[] => context.seenReads(pipe, node.dependencies)
  const more = hasDependencies ? { dependencies: reads(), ...viewFields(node, context) } : {}
  if (nodeAttributes.length === 0) return { ...fields, params: context.pipes.parametersWithPipes(pipe, node), ...more }
  const isField = nodeAttributes.every((name) => Object.hasOwn(fields, name))
  return { ...chosen(isField ? fields : nodeShape(pipe, node, context), new Set(nodeAttributes)), ...more }
}

function nodeFields(pipe: Pipe, { id, name, sql, description, createdAt, updatedAt, version, view }: PipeNode) {
  return {
    id,
    name,
    sql,
    description: textOrNull(description),
    materialized: isFilling(view),
    cluster: null,
    tags: {},
    created_at: timeText(createdAt),
    updated_at: timeText(updatedAt),
    version,
    project: null,
    result: null,
    ignore_sql_errors: false,
    node_type: id === pipe.endpointId ? 'endpoint' : view === undefined ? 'default' : 'materialized',
    deployment_suffix: '',
  }
}

/** Clients know true and null. */
function isFilling(view: PipeNode['view']): true | null {
  return view === undefined ? null : true
}

/** What a pipe is for, by what its nodes are. */
export function pipeType({ endpointId, nodes }: Pipe): string {
  if (endpointId !== null) return 'endpoint'
  return nodes.some(({ view }) => view !== undefined) ? 'materialized' : 'default'
}

function baseShape(pipe: Pipe, context: ShapeContext) {
  const { id, name, description, endpointId, parentId, createdAt, updatedAt } = pipe
  return {
    id,
    name,
    description: textOrNull(description),
    endpoint: endpointId,
    created_at: timeText(createdAt),
    updated_at: timeText(updatedAt),
    parent: parentId,
    type: pipeType(pipe),
    url: `${context.baseUrl}/v0/pipes/${name}.json`,
  }
}

/** What `attrs` of a list may ask for. */
export const pipeFields: readonly string[] = [
  ...['id', 'name', 'description', 'endpoint', 'created_at', 'updated_at', 'parent', 'type', 'url', 'nodes', 'content'],
  ...['edited_by', 'last_commit', 'path', 'published_date', 'published_version', 'pipeline', 'workspace_id'],
]

/** What `node_attrs` may ask for. */
export const nodeFieldNames: readonly string[] = [
  ...['id', 'name', 'sql', 'description', 'materialized', 'cluster', 'tags', 'created_at', 'updated_at', 'version'],
  ...[
    'project',
    'result',
    'ignore_sql_errors',
    'node_type',
    'deployment_suffix',
    'dependencies',
    'params',
    'datasource',
    'trigger_datasource',
  ],
]

function chosen(shape: Shape, wanted: ReadonlySet<string>): Shape {
  return Object.fromEntries(Object.entries(shape).filter(([name]) => wanted.has(name)))
}

function textOrNull(text: string): string | null {
  return text === '' ? null : text
}
