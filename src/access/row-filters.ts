import { readRowExpression } from '../schema/expressions/row-expression.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'

/**
 * One condition out of all that must hold; null for none. Each stays an expression of its own, whatever it says: one that is
 * none is given back alone, so that reading with it fails.
 */
export function joinFilters(filters: readonly string[]): string | null {
  const [first, ...others] = filters
  if (first === undefined) return null
  if (others.length === 0) return first
  const parts: string[] = []
  for (const filter of filters) {
    const sql = canonicalFilter(filter)
    if (sql === null) return filter
    parts.push(`(${sql})`)
  }
  return parts.join(' AND ')
}

/** Canonical tokens, without comments; null for what is not one expression. */
function canonicalFilter(text: string): string | null {
  try {
    return readRowExpression(text, 'A row filter').sql
  } catch (thrown) {
    if (thrown instanceof SqlFault) return null
    throw thrown
  }
}
