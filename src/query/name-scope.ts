// What names stand for in a query of a caller, and in a node of a pipe.
//
// The order is: common table name (the SQL room's matter), earlier node of the same pipe, pipe, data source. Nodes belong
// to their pipe, so two pipes may have nodes of one name. A caller's scope judges the names in the caller's own text; what
// a pipe reads is not judged again, but row filters hold for every read of a table, wherever it stands.

import { findResourceId } from '../catalog/resource-id.ts'
import { versionAdvice } from '../catalog/versioned-name.ts'
import { errors } from '../shared/errors/errors.ts'
import { didYouMean, nearestName } from '../shared/nearest-name.ts'
import type { NameScope, QuerySource, Source, TableSource } from '../sql/source.types.ts'
import { quarantineTable } from '../store/sql/quarantine-table.ts'
import type { ReadScope } from './read-scope.ts'
import type { FindServiceSource, ReadDataSource, ReadNode, ReadPipe, WorkspaceReader } from './workspace.types.ts'

/** Everything that the names of one query are looked up in. */
export interface Reading {
  readonly workspace: WorkspaceReader
  /** The database of the workspace's tables. */
  readonly database: string
  readonly readScope: ReadScope
  readonly findServiceSource: FindServiceSource
  /** The SQL of a node with the caller's parameters; it is asked only for nodes that are read. */
  readonly nodeText: (node: ReadNode) => string
}

/**
 * Names in a query that a caller sends.
 *
 * @param focus the pipe that `_` stands for, and whose nodes can be read by their names; null for none.
 */
export function callerScope(reading: Reading, focus: ReadPipe | null): NameScope {
  const { mayRead } = reading.readScope
  return {
    find(parts) {
      const found = findFocus(reading, focus, parts) ?? findInWorkspace(reading, parts)
      if (found === undefined) return undefined
      return mayRead(found.resourceId) ? found.source : 'denied'
    },
    advise: (parts) => nearestSource(reading, parts, focus?.nodes ?? []),
  }
}

/** Names in the node at `position` of a pipe: it reads those before it, and what the workspace has. */
export function nodeScope(reading: Reading, pipe: ReadPipe, position: number): NameScope {
  return {
    find(parts) {
      return findNode(reading, pipe, { parts, end: position }) ?? findInWorkspace(reading, parts)?.source
    },
    advise: (parts) => adviceForNode(reading, pipe, { parts, end: position }),
  }
}

/** What a name in that node stands for, with the id of the resource or the node that it is; undefined for nothing. */
export function findForNode(
  reading: Reading,
  pipe: ReadPipe,
  { parts, end }: NodeSearch,
): { readonly source: Source | 'denied'; readonly resourceId: string } | undefined {
  const node = findNode(reading, pipe, { parts, end })
  return node === undefined ? findInWorkspace(reading, parts) : { source: node, resourceId: node.id }
}

/** The node that answers for a pipe: the published one, else the last. Undefined when the pipe has none. */
export function answeringNode<Node extends ReadNode>({
  nodes,
  endpointId,
}: Pick<ReadPipe, 'endpointId'> & { readonly nodes: readonly Node[] }): Node | undefined {
  return nodes.find(({ id }) => id === endpointId) ?? nodes.at(-1)
}

interface Found {
  readonly source: Source | 'denied'
  /** The id that a caller's scope judges. */
  readonly resourceId: string
}

function findFocus(reading: Reading, focus: ReadPipe | null, parts: readonly string[]): Found | undefined {
  if (focus === null) return undefined
  if (parts.length === 1 && parts[0] === '_') return pipeFound(reading, focus)
  const source = findNode(reading, focus, { parts, end: focus.nodes.length })
  return source === undefined ? undefined : { source, resourceId: source.id }
}

interface NodeSearch {
  readonly parts: readonly string[]
  /** Nodes from this position on are not seen. */
  readonly end: number
}

function findNode(reading: Reading, pipe: ReadPipe, { parts, end }: NodeSearch): QuerySource | undefined {
  const nameOrId = parts.join('.')
  const namedId = findResourceId(nameOrId)
  if (parts.length !== 1 && namedId === undefined) return undefined
  const position = pipe.nodes.findIndex(({ name, id }, index) => index < end && (name === nameOrId || id === namedId))
  const node = pipe.nodes[position]
  return node === undefined ? undefined : nodeSource(reading, { pipe, node, name: node.name })
}

interface NodeRead {
  readonly pipe: ReadPipe
  readonly node: ReadNode
  /** As messages and dependencies name it. */
  readonly name: string
}

function nodeSource(reading: Reading, { pipe, node, name }: NodeRead): QuerySource {
  const position = pipe.nodes.indexOf(node)
  return {
    kind: 'query',
    id: node.id,
    name,
    sql: () => reading.nodeText(node),
    scope: nodeScope(reading, pipe, position),
  }
}

/** Nodes see those before them alone, so the commonest mistake is the order. */
function adviceForNode(reading: Reading, pipe: ReadPipe, { parts, end }: NodeSearch): string | undefined {
  const { mayRead } = reading.readScope
  const name = parts.join('.')
  const later = pipe.nodes.find((node, index) => index > end && node.name === name && mayRead(node.id))
  if (later !== undefined)
    return `Node '${name}' stands behind this one, and a node reads only those before it: move it up`
  if (pipe.nodes[end]?.name === name) return 'A node cannot read itself'
  return nearestSource(reading, parts, pipe.nodes.slice(0, end))
}

/** Names that the caller may read, and no others: a guess must tell nothing that a query would not. */
function nearestSource(
  { workspace, readScope: { mayRead, filterOf } }: Reading,
  parts: readonly string[],
  nodes: readonly ReadNode[],
): string | undefined {
  const seen = [...nodes, ...workspace.listPipes(), ...workspace.list()].filter(({ id }) => mayRead(id))
  const names = seen.map(({ name }) => name)
  const written = parts.join('.')
  const version = versionAdvice(written, seen)
  if (version !== undefined) return version
  // A database in front of the name, as other servers have them.
  const last = parts.at(-1) ?? ''
  if (parts.length > 1 && names.includes(last)) return `Did you mean '${last}'?`
  if (!written.endsWith(quarantineSuffix)) return didYouMean(written, names)
  const base = written.slice(0, -quarantineSuffix.length)
  if (names.includes(base)) return `'${base}' is no Data Source, and only Data Sources have a quarantine`
  const owners = workspace.list().filter(({ id }) => mayRead(id) && filterOf(id) === null)
  const owner = nearestName(
    base,
    owners.map(({ name }) => name),
  )
  return owner === undefined ? didYouMean(written, names) : `Did you mean '${owner}${quarantineSuffix}'?`
}

const serviceWorkspaces: ReadonlySet<string> = new Set(['tinybird', 'organization'])

function findInWorkspace(reading: Reading, parts: readonly string[]): Found | undefined {
  const [first = ''] = parts
  if (parts.length === 2 && serviceWorkspaces.has(first)) return serviceFound(reading, parts)
  const nameOrId = parts.join('.')
  // Ids may carry a label, `t_.label.<hex>` or `t_label.<hex>`; no other name has a dot.
  if (parts.length > 1 && findResourceId(nameOrId) === undefined) return undefined
  return findResource(reading, nameOrId) ?? findQuarantine(reading, nameOrId)
}

function serviceFound({ findServiceSource }: Reading, parts: readonly string[]): Found {
  const source = findServiceSource(parts)
  const name = parts.join('.')
  if (source === undefined) throw errors.SQL_INVALID({ reason: `There is no service Data Source '${name}' here` })
  return { source, resourceId: name }
}

function findResource(reading: Reading, nameOrId: string): Found | undefined {
  const pipe = reading.workspace.findPipe(nameOrId)
  if (pipe !== undefined) return pipeFound(reading, pipe)
  const dataSource = reading.workspace.find(nameOrId)
  if (dataSource === undefined) return undefined
  const { id, name } = dataSource
  return { source: tableSource(reading, dataSource, { table: id, name }), resourceId: id }
}

function pipeFound(reading: Reading, pipe: ReadPipe): Found {
  const node = answeringNode(pipe)
  if (node === undefined) throw errors.SQL_INVALID({ reason: `Pipe '${pipe.name}' has no nodes that could be read` })
  return { source: nodeSource(reading, { pipe, node, name: pipe.name }), resourceId: pipe.id }
}

const quarantineSuffix = '_quarantine'

function findQuarantine(reading: Reading, nameOrId: string): Found | undefined {
  if (!nameOrId.endsWith(quarantineSuffix)) return undefined
  const owner = reading.workspace.find(nameOrId.slice(0, -quarantineSuffix.length))
  if (owner === undefined) return undefined
  const resourceId = owner.id
  // A filter speaks of typed columns, and the quarantine holds what did not fit them: nothing of it can be let through.
  if (reading.readScope.filterOf(owner.id) !== null) return { source: 'denied', resourceId }
  const name = `${owner.name}${quarantineSuffix}`
  return { source: tableSource(reading, owner, { table: quarantineTable(owner.id), name }), resourceId }
}

function tableSource(
  { database, readScope }: Reading,
  { id, columns, engine }: ReadDataSource,
  place: Pick<TableSource, 'table' | 'name'>,
): TableSource {
  return {
    kind: 'table',
    database,
    ...place,
    columns: columns.map(({ name }) => name),
    typedColumns: columns,
    isJoin: engine.name === 'Join',
    isMergeTree: engine.name.endsWith('MergeTree'),
    filter: readScope.filterOf(id),
  }
}
