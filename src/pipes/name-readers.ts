// Pipes that name something, whether or not it is there: whoever gives a name gives them his rows.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { withoutQuarantine } from '../catalog/quarantine-name.ts'
import { splitVersion } from '../catalog/versioned-name.ts'
import { branchReads, mayBeMade, namedInNode } from '../query/branch-reads.ts'
import type { NamedTables } from '../query/named-tables.ts'
import { giveWay } from '../shared/time-slices.ts'
import { isTemplate } from '../template/compile-template.ts'
import type { ReadCatalog } from './read-catalog.types.ts'
import { mayReadVersion } from './version-reads.ts'

/** Whether a pipe names in any branch what has this name, its quarantine or a version of it. Gives others their turn between two nodes. */
export async function isNamedByPipes(name: string, pipes: readonly Pipe[]): Promise<boolean> {
  for (const { nodes } of pipes) {
    for (const position of nodes.keys()) {
      await giveWay()
      if (isNamedIn({ nodes, position }, name, (one) => namesMeant(one).includes(name))) return true
    }
  }
  return false
}

/** The same of one version of what has this name. */
export function isVersionNamed(name: string, version: number, pipes: readonly Pipe[]): boolean {
  const isIt = (one: string): boolean => {
    const parts = splitVersion(withoutQuarantine(one))
    return parts?.base === name && parts.version === version
  }
  return pipes.some(({ nodes }) =>
    nodes.some((node, position) => mayReadVersion(node) && isNamedIn({ nodes, position }, name, isIt)),
  )
}

/** The places of nodes that read something else once the node of this name, which is gone, does not hide it from them. */
export function uncoveredNodes(pipe: Pipe, name: string, catalog: ReadCatalog): readonly number[] {
  return [...pipe.nodes.entries()].flatMap(([position, node]) => {
    const { tables, possible } = namedInNode(node)
    const hidden = [...tables, ...possible].filter((table) => table.name === name)
    return branchReads(catalog, pipe, position, hidden).length > 0 ? [position] : []
  })
}

/** Whether a later node may make the name of this one when it runs, of values that its caller sends. */
export function isMadeBehind({ nodes }: Pipe, position: number): boolean {
  const name = nodes[position]?.name ?? ''
  return nodes.slice(position + 1).some((node) => isTemplate(node.sql) && mayMake(namedInNode(node), name))
}

interface NodePlace {
  readonly nodes: readonly PipeNode[]
  readonly position: number
}

function isNamedIn({ nodes, position }: NodePlace, name: string, isIt: (name: string) => boolean): boolean {
  const node = nodes[position]
  if (node === undefined) return false
  // The very name of an earlier node stands for that.
  const own = new Set(nodes.slice(0, position).map((earlier) => earlier.name))
  const named = namedInNode(node)
  const tables = [...named.tables, ...named.possible].filter((table) => !own.has(table.name))
  return tables.some((table) => isIt(table.name)) || (isTemplate(node.sql) && mayMake(named, name))
}

/** Also a version of it, and the quarantine of one, any part of which is a value: `'events__v' + String(n)`, `String(a) + '3_quarantine'`. */
function mayMake(named: NamedTables, name: string): boolean {
  // A condition around a whole name may let through what nothing has yet.
  if (named.isWhole || mayBeMade(named, { id: '', name })) return true
  return named.made.some(({ prefix, suffix }) => {
    const begins = name.startsWith(prefix) || prefix.startsWith(name)
    return begins && (endOfVersion.test(suffix) || name.endsWith(suffix.replace(wholeEnd, '')))
  })
}

const endOfVersion = /^_{0,2}v?\d*(?:_?quarantine)?$/
const wholeEnd = /(?:__v\d+)?(?:_quarantine)?$/

/** A name, and what it may stand for: that whose quarantine or version it is. */
function namesMeant(name: string): readonly string[] {
  const source = withoutQuarantine(name)
  return [name, source, splitVersion(name)?.base ?? name, splitVersion(source)?.base ?? source]
}
