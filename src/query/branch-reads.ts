// What a node may read in any branch of its template, by what the names in it stand for now.

import { SqlFault } from '../schema/sql-fault.ts'
import { ApiError } from '../shared/errors.ts'
import { isTemplate } from '../template/compile-template.ts'
import { findForNode, type Reading } from './name-scope.ts'
import { type NamedTable, type NamedTables, namedTables, noTables } from './named-tables.ts'
import { adminScope } from './read-scope.ts'
import type { ReadNode, ReadPipe, WorkspaceReader } from './workspace.types.ts'

/** A name that stands for something. */
export interface BranchRead {
  readonly table: NamedTable
  /** As `dependencies` name it. */
  readonly name: string
  /** The id of the data source, the pipe or the node of the same pipe. */
  readonly resourceId: string
}

const known = new WeakMap<ReadNode, NamedTables>()

/** The names in the template of a node; none for SQL that is no template, which a check reads as a whole. */
export function namedInBranches(node: ReadNode): NamedTables {
  if (!isTemplate(node.sql)) return noTables
  const kept = known.get(node)
  if (kept !== undefined) return kept
  const named = namedTables(node.sql)
  known.set(node, named)
  return named
}

/** What the names in a node stand for; those that stand for nothing are left out. */
export function branchReads(
  workspace: WorkspaceReader,
  pipe: ReadPipe,
  position: number,
  tables: readonly NamedTable[],
): readonly BranchRead[] {
  const reading: Reading = {
    workspace,
    database: '',
    readScope: adminScope,
    findServiceSource: () => undefined,
    nodeText: ({ sql }) => sql,
  }
  return tables.flatMap((table) => {
    const found = find(reading, pipe, { parts: table.name.split('.'), end: position })
    return found === undefined || found.source === 'denied'
      ? []
      : [{ table, name: found.source.name, resourceId: found.resourceId }]
  })
}

function find(reading: Reading, pipe: ReadPipe, search: { readonly parts: readonly string[]; readonly end: number }) {
  try {
    return findForNode(reading, pipe, search)
  } catch (thrown) {
    // A pipe without nodes, or a table of the service: it reads nothing that could go.
    if (thrown instanceof ApiError || thrown instanceof SqlFault) return undefined
    throw thrown
  }
}

export interface NamedResource {
  readonly id: string
  readonly name: string
}

/** Whether the text of a node may name a resource at all; most do not, and need no closer look. */
export function mayName({ sql }: ReadNode, { id, name }: NamedResource): boolean {
  return sql.includes(name) || sql.includes(id.slice('t_'.length)) || joinsPieces.test(sql)
}

/** Where a tag stands in the middle of a word. */
const joinsPieces = /\w\{[{%#]|[}%#]\}\w|\{\{[^}]*\+/

/** Whether a value makes the name of the resource together with what stands around it. */
export function mayBeMade({ made }: NamedTables, { name }: NamedResource): boolean {
  return made.some(
    ({ prefix, suffix }) =>
      name.length > prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix),
  )
}
