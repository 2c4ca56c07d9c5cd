// What a caller reads under a name, in a query that it sends and in a node of a pipe.
//
// What names stand for is told by `resolve-name.ts`. A caller's scope judges the names in the caller's own text; what a pipe
// reads is not judged again, but row filters hold for every read of a table, wherever it stands.

import { quarantineSuffix } from '../catalog/quarantine-name.ts'
import { versionAdvice } from '../catalog/versioned-name.ts'
import { errors } from '../shared/errors/errors.ts'
import { didYouMean, nearestName } from '../shared/nearest-name.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { NameScope, QuerySource, Source, TableSource } from '../sql/source.types.ts'
import { quarantineTable } from '../store/sql/quarantine-table.ts'
import { type FixedValues, fixedForNamed, fixedForRead, nothingFixed, outputConditionOf } from './fixed-parameters.ts'
import {
  type NodeSearch,
  type ResolvedName,
  resolvedPipe,
  resolveForNode,
  resolveInWorkspace,
  resolveNode,
} from './resolve-name.ts'
import type { FindServiceSource, ReadDataSource, ReadNode, ReadPipe, WorkspaceReader } from './workspace.types.ts'

/** Everything that the names of one query are looked up in. */
export interface Reading {
  readonly workspace: WorkspaceReader
  /** The database of the workspace's tables. */
  readonly database: string
  readonly readScope: ReadScope
  readonly findServiceSource: FindServiceSource
  /** The SQL of a node with the caller's parameters; it is asked only for nodes that are read. */
  readonly nodeText: (node: ReadNode, fixed: FixedValues) => string
  /** What is fixed for the text that is read; absent is nothing. */
  readonly fixed?: FixedValues
  /** The pipe whose author reads: its nodes are no secret, whatever else may be read; absent is none. */
  readonly ownPipeId?: string
}

/**
 * Names in a query that a caller sends.
 *
 * @param focus the pipe that `_` stands for, and whose nodes can be read by their names; null for none.
 */
export function callerScope(reading: Reading, focus: ReadPipe | null): NameScope {
  const { readScope } = reading
  const { mayRead, seesAll } = readScope
  return {
    isDiscreet: !seesAll,
    find(parts) {
      const named = resolveInFocus(focus, parts) ?? resolveInWorkspace(reading.workspace, parts)
      if (named === undefined) return undefined
      if (!mayRead(named.id)) return 'denied'
      // Behind the filter of what a pipe gives stand its nodes, which are not filtered.
      if (named.kind === 'node' && outputConditionOf(readScope, named.pipe.id) !== null) return 'denied'
      return sourceOf(reading, named)
    },
    advise: (parts) => nearestSource(reading, parts, focus?.nodes ?? []),
  }
}

/** Names in the node at `position` of a pipe: it reads those before it, and what the workspace has. */
export function nodeScope(reading: Reading, pipe: ReadPipe, position: number): NameScope {
  return {
    isForeign: !reading.readScope.seesAll,
    find(parts) {
      const named = resolveForNode(reading.workspace, pipe, { parts, end: position })
      return named === undefined ? undefined : sourceOf(reading, named, fixedForRead)
    },
    advise: (parts) => adviceForNode(reading, pipe, { parts, end: position }),
  }
}

/** The node that answers for a pipe: the published one, else the last. Undefined when the pipe has none. */
export function answeringNode<Node extends ReadNode>({
  nodes,
  endpointId,
}: Pick<ReadPipe, 'endpointId'> & { readonly nodes: readonly Node[] }): Node | undefined {
  return nodes.find(({ id }) => id === endpointId) ?? nodes.at(-1)
}

function resolveInFocus(focus: ReadPipe | null, parts: readonly string[]): ResolvedName | undefined {
  if (focus === null) return undefined
  if (parts.length === 1 && parts[0] === '_') return resolvedPipe(focus)
  return resolveNode(focus, { parts, end: focus.nodes.length })
}

/** What is read under a name, with the filter of the scope. @throws SQL_INVALID (400) for what cannot be read by anybody. */
export function sourceOf(reading: Reading, named: ResolvedName, fixedFor = fixedForNamed): Source | 'denied' {
  const source = plainSource(reading, named, fixedFor)
  if (source === 'denied' || !isHiddenFrom(reading, named)) return source
  return { ...source, isHidden: true }
}

/** A node is known to whoever may read its pipe. */
function isHiddenFrom({ readScope, ownPipeId }: Reading, named: ResolvedName): boolean {
  if (readScope.seesAll) return false
  const id = named.kind === 'node' ? named.pipe.id : named.id
  return id !== ownPipeId && !readScope.mayRead(id)
}

function plainSource(reading: Reading, named: ResolvedName, fixedFor: typeof fixedForNamed): Source | 'denied' {
  const { name } = named
  switch (named.kind) {
    case 'node':
      return nodeSource(reading, { pipe: named.pipe, node: named.node, name })
    case 'pipe': {
      const { readScope, fixed = nothingFixed } = reading
      const { id } = named.pipe
      const within = { ...reading, fixed: fixedFor(readScope, id, fixed) }
      return { ...pipeSource(within, named.pipe), filter: outputConditionOf(readScope, id) }
    }
    case 'data source':
      return tableSource(reading, named.dataSource, { table: named.dataSource.id, name })
    case 'quarantine': {
      const { id } = named.dataSource
      // A filter speaks of typed columns, and the quarantine holds what did not fit them: nothing of it can be let through.
      if (reading.readScope.filterOf(id) !== null) return 'denied'
      return tableSource(reading, named.dataSource, { table: quarantineTable(id), name })
    }
    case 'service': {
      // It tells of all requests and all rows, those that a filter hides among them.
      if (reading.readScope.isFiltered) return 'denied'
      const source = reading.findServiceSource(named.parts)
      if (source === undefined) throw errors.SQL_INVALID({ reason: `There is no service Data Source '${name}' here` })
      return source
    }
  }
}

interface NodeRead {
  readonly pipe: ReadPipe
  readonly node: ReadNode
  /** As messages and dependencies name it. */
  readonly name: string
}

function nodeSource(reading: Reading, { pipe, node, name }: NodeRead): QuerySource {
  const position = pipe.nodes.indexOf(node)
  const { fixed = nothingFixed } = reading
  return {
    kind: 'query',
    id: node.id,
    variant: fixed.key,
    name,
    sql: () => reading.nodeText(node, fixed),
    scope: nodeScope(reading, pipe, position),
  }
}

function pipeSource(reading: Reading, pipe: ReadPipe): QuerySource {
  const node = answeringNode(pipe)
  if (node === undefined) throw errors.SQL_INVALID({ reason: `Pipe '${pipe.name}' has no nodes that could be read` })
  return nodeSource(reading, { pipe, node, name: pipe.name })
}

/** Nodes see those before them alone, so the commonest mistake is the order. */
function adviceForNode(reading: Reading, pipe: ReadPipe, { parts, end }: NodeSearch): string | undefined {
  const { mayRead } = reading.readScope
  const name = parts.join('.')
  const later = pipe.nodes.find((node, index) => index > end && node.name === name && mayRead(node.id))
  if (later !== undefined)
    return `Node '${name}' comes after this one, and a node reads only those before it: move it up`
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
  if (workspace.list().some(({ id, name }) => name === base && mayRead(id))) {
    return 'The token filters rows, and a quarantine cannot be filtered'
  }
  if (names.includes(base)) return `'${base}' is not a Data Source, and only Data Sources have a quarantine`
  const owners = workspace.list().filter(({ id }) => mayRead(id) && filterOf(id) === null)
  const owner = nearestName(
    base,
    owners.map(({ name }) => name),
  )
  return owner === undefined ? didYouMean(written, names) : `Did you mean '${owner}${quarantineSuffix}'?`
}

const literal = /^(?:'(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?|NULL|true|false)$/i

function isComputed(defaultExpression: string | null): boolean {
  return defaultExpression !== null && !literal.test(defaultExpression)
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
    computedColumns: columns.flatMap(({ name, defaultExpression }) => (isComputed(defaultExpression) ? [name] : [])),
    isJoin: engine.name === 'Join',
    isMergeTree: engine.name.endsWith('MergeTree'),
    filter: readScope.filterOf(id),
  }
}
