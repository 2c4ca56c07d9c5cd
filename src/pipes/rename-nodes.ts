// What becomes of the nodes that read something which gets another name.

import type { DataSource } from '../catalog/data-source.types.ts'
import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { withoutQuarantine } from '../catalog/quarantine-name.ts'
import { findResourceId } from '../catalog/resource-id.ts'
import { hasVersion, splitVersion } from '../catalog/versioned-name.ts'
import { branchReads, mayBeMade, namedInNode } from '../query/branch-reads.ts'
import type { NamedTable, NamedTables } from '../query/named-tables.ts'
import type { NodeChange, WayBudget } from '../query/node-ways.ts'
import type { Query } from '../query/query.types.ts'
import { type RenamedText, renamedTexts } from '../query/renamed-text.ts'
import { isTemplate } from '../template/compile-template.ts'
import type { ReadCatalog } from './read-catalog.types.ts'

/** Another name for a data source, a pipe or a node. */
export interface Rename {
  /** Of the data source, the pipe or the node. */
  readonly id: string
  readonly oldName: string
  readonly newName: string
}

/** The catalog and a pipe in it, as they are and as they are to be; the pipe's nodes stand at the same places. */
export interface Renaming {
  readonly rename: Rename
  readonly before: { readonly workspace: ReadCatalog; readonly pipe: Pipe }
  readonly after: { readonly workspace: ReadCatalog; readonly pipe: Pipe }
  readonly query: Pick<Query, 'compareNode'>
  /** Whether SQL that goes by the name is to be changed; else it is only told. */
  readonly isForced: boolean
  readonly budget: WayBudget
}

/**
 * - `same`: it does not go by the name.
 * - `changed`: it does, and this is its SQL with the new one.
 * - `named`: it does, and is not to be changed.
 * - `fault`: it does, and its SQL cannot be changed with certainty, for this reason.
 */
export type RenamedNode =
  | { readonly kind: 'same' }
  | { readonly kind: 'changed'; readonly sql: string }
  | { readonly kind: 'named' }
  | { readonly kind: 'fault'; readonly reason: string }

/** Judges one node, and finds its new SQL. */
export async function renamedNode(position: number, renaming: Renaming): Promise<RenamedNode> {
  const { rename, before, after, query, isForced, budget } = renaming
  const node = before.pipe.nodes[position]
  if (node === undefined) return { kind: 'same' }
  const named = namedInNode(node)
  const tables = renamedIn(named.tables, position, renaming)
  const possible = isTemplate(node.sql) ? renamedIn(named.possible, position, renaming) : []
  if (mayBeMade(named, { id: rename.id, name: rename.oldName })) return fault('makes the name when it runs')
  if (tables.length + possible.length > 0 && !isForced) return { kind: 'named' }
  if (possible.some(({ span }) => span === null)) return fault(named.isCut ? tooLong : takenFromValue)
  const verdictOf = (sql: string, alias: NodeChange['alias']) =>
    query.compareNode({
      before: { workspace: before.workspace, pipe: before.pipe, position },
      after: { workspace: after.workspace, pipe: withSql(after.pipe, position, sql), position },
      alias,
      budget,
    })
  // What stands where a table may stand is one, or it is none: the texts of both are judged.
  const ways = possible.length > 0 ? [[...tables, ...possible], tables] : [tables]
  for (const one of ways) {
    for (const text of textsWith(one, { sql: node.sql, named, rename })) {
      const alias = text.isCalledNew ? { from: rename.oldName, to: rename.newName } : null
      const verdict = await verdictOf(text.sql, alias)
      if (verdict === 'same') return text.sql === node.sql ? { kind: 'same' } : { kind: 'changed', sql: text.sql }
      if (verdict === 'too long') return fault(tooLong)
      // A node that is no query now may be one again, and then read what it was seen to read.
      const isNamed = [rename.oldName, rename.newName].some((name) => node.dependencies.includes(name))
      if (verdict === 'unknown' && (one.length > 0 || isNamed)) return fault('is no query that can be read now')
      if (verdict === 'unknown') return { kind: 'same' }
    }
  }
  if (tables.length + possible.length === 0) return fault('would read something else')
  if (tables.some(({ span }) => span === null)) return fault(takenFromValue)
  return fault('would read something else, or have columns of another name, with the new name in its SQL')
}

/** Those of the names that stand for what is renamed, and are no ids. */
function renamedIn(
  tables: readonly NamedTable[],
  position: number,
  { rename, before }: Pick<Renaming, 'rename' | 'before'>,
): readonly NamedTable[] {
  return branchReads(before.workspace, before.pipe, position, tables).flatMap(({ table, resourceId }) => {
    const isId = findResourceId(withoutQuarantine(table.name)) !== undefined
    return resourceId === rename.id && !isId ? [table] : []
  })
}

interface RenamedSql {
  readonly sql: string
  readonly named: NamedTables
  readonly rename: Rename
}

/** The texts with the new name in the place of these; where there are none, the text as it is. */
function textsWith(tables: readonly NamedTable[], { sql, named, rename }: RenamedSql): readonly RenamedText[] {
  return tables.length === 0 ? [{ sql, isCalledNew: false }] : renamedTexts(sql, { tables, named, name: rename })
}

const takenFromValue = 'takes the name from a value when it runs'
const tooLong = 'has too many branches, with too much SQL in them, to be looked at one by one'

function fault(reason: string): RenamedNode {
  return { kind: 'fault', reason }
}

function withSql(pipe: Pipe, position: number, sql: string): Pipe {
  return { ...pipe, nodes: pipe.nodes.map((node, index) => (index === position ? { ...node, sql } : node)) }
}

/** The node with its new SQL. */
export function withRename(node: PipeNode, renamed: RenamedNode | undefined, nowMs: number): PipeNode {
  if (renamed?.kind !== 'changed') return node
  return { ...node, sql: renamed.sql, updatedAt: nowMs, version: node.version + 1 }
}

/** The catalog with another name for a data source or a pipe. */
export function workspaceAfter(workspace: ReadCatalog, { id, newName }: Rename): ReadCatalog {
  const dataSource = workspace.find(id)
  const pipe = workspace.findPipe(id)
  const renamedSource: DataSource | undefined = dataSource && { ...dataSource, name: newName }
  const renamedPipe: Pipe | undefined = pipe && { ...pipe, name: newName }
  const lookUp = <Found extends { readonly id: string }>(
    nameOrId: string,
    renamed: Found | undefined,
    find: (nameOrId: string) => Found | undefined,
  ): Found | undefined => {
    if (nameOrId === newName) return renamed
    const found = find(nameOrId)
    if (found !== undefined && found.id !== id) return found
    if (findResourceId(nameOrId) !== undefined) return found && renamed
    const parts = splitVersion(nameOrId)
    if (parts?.base !== newName || found !== undefined || renamed === undefined) return undefined
    return hasVersion(renamedSource ?? {}, parts.version) ? renamed : undefined
  }
  return {
    catalogVersion: workspace.catalogVersion,
    find: (nameOrId) => lookUp(nameOrId, renamedSource, (one) => workspace.find(one)),
    findPipe: (nameOrId) => lookUp(nameOrId, renamedPipe, (one) => workspace.findPipe(one)),
    list: () => workspace.list().map((one) => (one.id === id && renamedSource !== undefined ? renamedSource : one)),
    listPipes: () =>
      workspace.listPipes().map((one) => (one.id === id && renamedPipe !== undefined ? renamedPipe : one)),
  }
}
