// What a node may read in any branch of its template, by what the names in it stand for now.
//
// A table's name in a branch is a dependency that is possible, and so is any other name of something there is that stands where a
// table could: with an unsure name the guard is kept, as a drop that was refused can be forced, and one that passed cannot be undone.

import { SqlFault } from '../schema/syntax/sql-fault.ts'
import type { MadeName } from '../schema/syntax/sql-pieces.ts'
import { ApiError } from '../shared/errors/errors.ts'
import { giveWay } from '../shared/time-slices.ts'
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
  return isTemplate(node.sql) ? namedInNode(node) : noTables
}

/** The names in a node, for as long as it is kept: another SQL makes another node of it. */
export function namedInNode(node: ReadNode): NamedTables {
  const named = known.get(node) ?? namedTables(node.sql)
  known.set(node, named)
  return named
}

/** Reads the names of all nodes of pipes that are no longer known, and gives others their turn between two of them. */
export async function readNames(pipes: readonly Pick<ReadPipe, 'nodes'>[]): Promise<void> {
  for (const { nodes } of pipes) {
    for (const node of nodes) {
      if (known.has(node) || !isTemplate(node.sql)) continue
      await giveWay()
      namedInNode(node)
    }
  }
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

/** The SQL of all nodes of a pipe, and of the pipes that it reads in any branch: their parameters are its own. */
export function sqlBelow(workspace: WorkspaceReader, pipe: ReadPipe): readonly string[] {
  const met = new Map([[pipe.id, pipe]])
  // A Map gives what is added while it is walked.
  for (const one of met.values()) {
    for (const [position, node] of one.nodes.entries()) {
      const { tables, possible } = namedInNode(node)
      for (const { resourceId } of branchReads(workspace, one, position, [...tables, ...possible])) {
        const read = workspace.findPipe(resourceId)
        if (read !== undefined) met.set(read.id, read)
      }
    }
  }
  return [...met.values()].flatMap(({ nodes }) => nodes.map(({ sql }) => sql))
}

export interface NamedResource {
  readonly id: string
  readonly name: string
}

/** Names of a node that may stand for the resource, its quarantine or a version of it. */
export function namesLike({ tables, possible }: NamedTables, { id, name }: NamedResource): readonly NamedTable[] {
  const digits = id.slice('t_'.length)
  return [...tables, ...possible].filter((table) => table.name.startsWith(name) || table.name.includes(digits))
}

/** Whether a value makes a name of the resource together with what stands around it, or of pieces of it. */
export function mayBeMade({ made, pieces }: NamedTables, { id, name }: NamedResource): boolean {
  const lower = name.toLowerCase()
  return (
    made.some(
      (one) => isMadeOf(name, one) || isMadeOf(`${name}_quarantine`, one) || isVersion(name, one) || isId(id, one),
    ) ||
    pieces.some(
      (piece) => lower.includes(piece) || piece.includes(lower) || (piece.length > idMin && id.includes(piece)),
    )
  )
}

function isMadeOf(name: string, { prefix, suffix }: MadeName): boolean {
  return name.length >= prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix)
}

function isVersion(name: string, { prefix, suffix }: MadeName): boolean {
  return /__v\d+$/.test(suffix) && isMadeOf(name, { prefix, suffix: suffix.replace(/__v\d+$/, '') })
}

/** So many characters of an id are some of its digits. */
const idMin = 't_'.length + 2

function isId(id: string, made: MadeName): boolean {
  return made.prefix.length + made.suffix.length > idMin && isMadeOf(id, made)
}
