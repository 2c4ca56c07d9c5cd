// What the names in a query stand for inside of it: common tables and aliases, by the engine's rules.

import type { CommonTable, QueryScope } from '../schema/syntax/parsed-query.types.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'

/**
 * The common table that a name stands for in a scope. It is seen before it is defined, and not in its own body unless that
 * is recursive.
 */
export function findCommonTable(scopes: readonly QueryScope[], from: number, name: string): CommonTable | undefined {
  const around: CommonTable[] = []
  for (let scope = scopes[from]; scope !== undefined; scope = scopes[scope.parent]) {
    const found = scope.commonTables.find(
      (table) => table.name === name && (table.isRecursive || !around.includes(table)),
    )
    if (found !== undefined) return found
    if (scope.definition !== null) around.push(scope.definition)
  }
  return undefined
}

/** A read of a table, of a common table, or of all that stands in the place of a name. */
export interface WeighedRead {
  readonly scope: number
  /** The tables that are read by it, or the common table. */
  readonly weight: number | CommonTable
}

/**
 * How many tables the engine reads, common tables as often as they are read: a few of those that read each other twice
 * keep its planner busy for ever.
 *
 * @throws SqlFault when common tables read each other in a circle.
 */
export function countReads(scopes: readonly QueryScope[], reads: readonly WeighedRead[]): number {
  const byBody = new Map<CommonTable | null, WeighedRead[]>()
  for (const read of reads) {
    const body = bodyAround(scopes, read.scope)
    const others = byBody.get(body)
    if (others === undefined) byBody.set(body, [read])
    else others.push(read)
  }
  const counts = new Map<CommonTable, number>()
  const open = new Set<CommonTable>()
  const countOf = (table: CommonTable): number => {
    const known = counts.get(table)
    if (known !== undefined) return known
    if (open.has(table)) {
      if (table.isRecursive) return 1
      throw new SqlFault(`Circular dependency on '${table.name}'`)
    }
    open.add(table)
    const count = Math.max(1, sum(byBody.get(table) ?? []))
    open.delete(table)
    counts.set(table, count)
    return count
  }
  const sum = (inBody: readonly WeighedRead[]): number =>
    inBody.reduce((total, { weight }) => total + (typeof weight === 'number' ? weight : countOf(weight)), 0)
  return sum(byBody.get(null) ?? [])
}

function bodyAround(scopes: readonly QueryScope[], from: number): CommonTable | null {
  for (let scope = scopes[from]; scope !== undefined; scope = scopes[scope.parent]) {
    if (scope.definition !== null) return scope.definition
  }
  return null
}
