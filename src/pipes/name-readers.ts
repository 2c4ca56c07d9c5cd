// Pipes that name something, whether or not it is there: whoever gives a name gives them his rows.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { mayBeMade, namedInNode } from '../query/branch-reads.ts'
import type { NamedTables } from '../query/named-tables.ts'
import { giveWay } from '../shared/time-slices.ts'
import { isTemplate } from '../template/compile-template.ts'
import { mayReadVersion } from './version-reads.ts'

/** Whether a pipe names in any branch what has this name, its quarantine or a version of it. Gives others their turn between two nodes. */
export async function isNamedByPipes(name: string, pipes: readonly Pipe[]): Promise<boolean> {
  for (const { nodes } of pipes) {
    for (const position of nodes.keys()) {
      await giveWay()
      if (isNamedIn({ nodes, position }, name, (one) => baseOf(one) === baseOf(name))) return true
    }
  }
  return false
}

/** The same of one version of what has this name. */
export function isVersionNamed(name: string, version: number, pipes: readonly Pipe[]): boolean {
  const versioned = `${name}__v${version}`
  const isIt = (one: string): boolean => one.replace(/_quarantine$/, '') === versioned
  return pipes.some(({ nodes }) =>
    nodes.some((node, position) => mayReadVersion(node) && isNamedIn({ nodes, position }, name, isIt)),
  )
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

/** Also a version of it, whose number is a value, and the quarantine of one: `'events__v' + String(n)`. */
function mayMake(named: NamedTables, name: string): boolean {
  if (mayBeMade(named, { id: '', name })) return true
  return named.made.some(({ prefix, suffix }) => {
    const end = baseOf(suffix)
    const isAround = name.length >= prefix.length + end.length && name.startsWith(prefix) && name.endsWith(end)
    return isAround || prefix.startsWith(baseOf(name))
  })
}

function baseOf(name: string): string {
  return name.replace(/_quarantine$/, '').replace(/__v\d+$/, '')
}
