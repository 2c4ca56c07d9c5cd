// Pipes that name something, whether or not it is there: whoever gives a name gives them his rows.

import type { Pipe } from '../catalog/pipe.types.ts'
import { mayBeMade, namedInNode } from '../query/branch-reads.ts'
import { giveWay } from '../shared/time-slices.ts'
import { isTemplate } from '../template/compile-template.ts'

/** Whether a pipe names in any branch what has this name, its quarantine or a version of it. Gives others their turn between two nodes. */
export async function isNamedByPipes(name: string, pipes: readonly Pipe[]): Promise<boolean> {
  for (const { nodes } of pipes) {
    for (const [position, node] of nodes.entries()) {
      await giveWay()
      // The very name of an earlier node stands for that.
      const own = new Set(nodes.slice(0, position).map((earlier) => earlier.name))
      const named = namedInNode(node)
      const tables = [...named.tables, ...named.possible].filter((table) => !own.has(table.name))
      const isNamed = tables.some((table) => baseOf(table.name) === baseOf(name))
      if (isNamed || (isTemplate(node.sql) && mayBeMade(named, { id: '', name }))) return true
    }
  }
  return false
}

function baseOf(name: string): string {
  return name.replace(/_quarantine$/, '').replace(/__v\d+$/, '')
}
