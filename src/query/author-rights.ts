// What a node may read that somebody saves who may not read everything.
//
// A node that is stored runs for others, and what it reads is not judged again. So its author must be able to read all of it: in
// every branch of its template and whatever a request sends, through the earlier nodes of its pipe, and without a filter or
// a fixed value of his own token, which would not be there for others.

import { errors } from '../shared/errors/errors.ts'
import { systemTables } from '../sql/query-policy.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { NameScope } from '../sql/source.types.ts'
import { isTemplate } from '../template/compile-template.ts'
import { namedInNode } from './branch-reads.ts'
import { fixedForRead } from './fixed-parameters.ts'
import { answeringNode, nodeScope, type Reading, sourceOf } from './name-scope.ts'
import type { NamedTable } from './named-tables.ts'
import { type ResolvedName, resolveForNode } from './resolve-name.ts'
import type { ReadNode, ReadPipe } from './workspace.types.ts'

/** The names of a node as its author may read them, in the place of `nodeScope`. */
export function authorScope(reading: Reading, pipe: ReadPipe, position: number): NameScope {
  const plain = nodeScope(reading, pipe, position)
  const { readScope, workspace } = reading
  if (isUnrestricted(readScope)) return plain
  return {
    ...plain,
    isDiscreet: !readScope.seesAll,
    isForeign: false,
    find(parts) {
      const named = resolveForNode(workspace, pipe, { parts, end: position })
      if (named === undefined) return undefined
      if (named.kind === 'node') {
        const source = sourceOf(reading, named, fixedForRead)
        const scope = authorScope(reading, named.pipe, named.pipe.nodes.indexOf(named.node))
        return typeof source === 'object' && source.kind === 'query' ? { ...source, scope } : source
      }
      return mayPassOn(reading, named) ? sourceOf(reading, named, fixedForRead) : 'denied'
    },
  }
}

/**
 * Judges what the node at `position` may read when others send values.
 *
 * @throws READ_DENIED (403).
 */
export function checkBranchRights(reading: Reading, pipe: ReadPipe, position: number): void {
  const { readScope } = reading
  if (isUnrestricted(readScope)) return
  const node = pipe.nodes[position]
  if (node === undefined) return
  if (!readScope.mayUseSecrets) refuseSecrets(node)
  new BranchJudge(reading, pipe).judge(position)
}

/** Whether nothing is hidden from the author. */
export function isUnrestricted({ seesAll, isFiltered, mayUseSecrets }: ReadScope): boolean {
  return seesAll && !isFiltered && mayUseSecrets
}

/** What is read of it by others is what the author reads. */
function mayPassOn(reading: Reading, named: ResolvedName): boolean {
  const { mayRead, filterOf } = reading.readScope
  if (!mayRead(named.id)) return false
  return named.kind === 'pipe' ? !isCut(reading, named.pipe, new Set()) : filterOf(named.id) === null
}

/**
 * Whether filters or fixed values of the author's token hold for what a pipe gives him: its own, or those of what it reads in any branch, at
 * any depth. Others would have more of it by a node that reads the pipe.
 */
function isCut(reading: Reading, pipe: ReadPipe, seen: Set<ReadNode>): boolean {
  const { outputFilterOf, fixedParametersOf, isFiltered } = reading.readScope
  if (outputFilterOf(pipe.id) !== null || fixedParametersOf(pipe.id) !== null) return true
  const node = answeringNode(pipe)
  return isFiltered && node !== undefined && isNodeCut(reading, { pipe, node }, seen)
}

function isNodeCut(
  reading: Reading,
  { pipe, node }: { readonly pipe: ReadPipe; readonly node: ReadNode },
  seen: Set<ReadNode>,
): boolean {
  if (seen.has(node)) return false
  seen.add(node)
  const { tables, possible, isOpen } = namedInNode(node)
  if (isOpen && isTemplate(node.sql)) return true
  const end = pipe.nodes.indexOf(node)
  return [...tables, ...possible].some(({ name }) => {
    const named = resolveForNode(reading.workspace, pipe, { parts: name.split('.'), end })
    return named !== undefined && isReadCut(reading, named, seen)
  })
}

function isReadCut(reading: Reading, named: ResolvedName, seen: Set<ReadNode>): boolean {
  if (named.kind === 'node') return isNodeCut(reading, named, seen)
  if (named.kind === 'pipe') return isCut(reading, named.pipe, seen)
  // Whoever has a filter reads none of the service's own.
  return named.kind === 'service' || reading.readScope.filterOf(named.id) !== null
}

const secretUse = /\btb_(?:secret|var)\b(?:\s*\(\s*(['"])(\w+)\1)?/

function refuseSecrets({ sql }: ReadNode): void {
  const [, , name = 'tb_secret'] = (isTemplate(sql) ? secretUse.exec(sql) : null) ?? []
  if (isTemplate(sql) && secretUse.test(sql)) {
    throw errors.READ_DENIED({ name, hint: 'A node with a secret is saved with a token that has the scope ADMIN' })
  }
}

class BranchJudge {
  readonly #reading: Reading
  readonly #pipe: ReadPipe
  readonly #judged = new Set<number>()

  constructor(reading: Reading, pipe: ReadPipe) {
    this.#reading = reading
    this.#pipe = pipe
  }

  judge(position: number): void {
    const node = this.#pipe.nodes[position]
    // SQL that is no template reads what its check finds.
    if (node === undefined || this.#judged.has(position)) return
    this.#judged.add(position)
    const { tables, possible, isOpen } = namedInNode(node)
    const { seesAll, isFiltered } = this.#reading.readScope
    if (isTemplate(node.sql) && isOpen && !(seesAll && !isFiltered)) {
      const hint = 'A table whose name comes from a value is read with a token that may read everything'
      throw errors.READ_DENIED({ name: node.name, hint })
    }
    for (const table of tables) this.#judgeName(table, { position, isTable: table.kind !== 'in' })
    for (const table of possible) this.#judgeName(table, { position, isTable: false })
  }

  #judgeName({ name }: NamedTable, { position, isTable }: NamePlace): void {
    const { workspace, readScope } = this.#reading
    const named = resolveForNode(workspace, this.#pipe, { parts: name.split('.'), end: position })
    if (named?.kind === 'node') this.judge(this.#pipe.nodes.indexOf(named.node))
    else if (named === undefined) {
      // What is no table there may be a column, or a name that the query gives.
      const isMissing = isTable && isTemplate(this.#pipe.nodes[position]?.sql ?? '') && !systemTables.has(name)
      if (isMissing && !readScope.seesAll) throw errors.READ_DENIED({ name })
    } else if (!mayPassOn(this.#reading, named)) throw errors.READ_DENIED({ name })
  }
}

interface NamePlace {
  readonly position: number
  /** Whether the name is sure to be that of a table. */
  readonly isTable: boolean
}
