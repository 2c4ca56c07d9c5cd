// What a node may read in any branch of its template, by what the names in it stand for now.
//
// A table's name in a branch is a dependency that is possible, and so is any other name of something there is that stands where a
// table could: with an unsure name the guard is kept, as a drop that was refused can be forced, and one that passed cannot be undone.

import type { MadeName } from '../schema/syntax/sql-pieces.ts'
import { giveWay } from '../shared/time-slices.ts'
import { isTemplate } from '../template/compile-template.ts'
import { answeringNode } from './name-scope.ts'
import { type NamedTable, type NamedTables, namedTables, noTables } from './named-tables.ts'
import { resolveForNode } from './resolve-name.ts'
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
  return tables.flatMap((table) => {
    const named = resolveForNode(workspace, pipe, { parts: table.name.split('.'), end: position })
    if (named === undefined || named.kind === 'service') return []
    // It reads nothing that could go.
    if (named.kind === 'pipe' && answeringNode(named.pipe) === undefined) return []
    return [{ table, name: named.name, resourceId: named.id }]
  })
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
