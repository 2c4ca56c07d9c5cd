import { isWordOf } from './policy.ts'
import type { Token } from './token.types.ts'

/** A name that a WITH clause gives to a subquery, and where that subquery stands. */
export interface CommonTable {
  readonly name: string
  /** Indexes of the brackets around its body: inside them the name means something else, unless it is recursive. */
  readonly bodyStart: number
  readonly bodyEnd: number
  readonly isRecursive: boolean
}

interface TokenTree {
  readonly tokens: readonly Token[]
  readonly brackets: ReadonlyMap<number, number>
}

/**
 * The common table names of the WITH clause whose keyword stands at `withIndex`.
 *
 * Only `name AS (SELECT …)` makes one; `expression AS name` names a value.
 */
export function readCommonTables({ tokens, brackets }: TokenTree, withIndex: number): readonly CommonTable[] {
  const found: CommonTable[] = []
  const isRecursive = isWordOf(tokens[withIndex + 1], 'RECURSIVE')
  let index = withIndex + (isRecursive ? 2 : 1)
  let isItemStart = true
  while (index < tokens.length) {
    const token = tokens[index]
    if (token === undefined || token.text === ')' || isWordOf(token, 'SELECT', 'FROM')) break
    const bodyStart = isItemStart ? bodyOfItem({ tokens, brackets }, index) : undefined
    const bodyEnd = bodyStart === undefined ? undefined : brackets.get(bodyStart)
    if (bodyStart !== undefined && bodyEnd !== undefined) {
      found.push({ name: token.name, bodyStart, bodyEnd, isRecursive })
      index = bodyEnd
    } else {
      index = brackets.get(index) ?? index
    }
    index += 1
    isItemStart = token.text === ','
  }
  return found
}

/** The index of the bracket that opens the subquery of `name [(columns)] AS [[NOT] MATERIALIZED] (`, if it is one. */
function bodyOfItem({ tokens, brackets }: TokenTree, start: number): number | undefined {
  const first = tokens[start]
  if (first?.kind !== 'word' && first?.kind !== 'quotedName') return undefined
  let index = start + 1
  if (tokens[index]?.text === '(') index = (brackets.get(index) ?? index) + 1
  if (!isWordOf(tokens[index], 'AS')) return undefined
  index += 1
  if (isWordOf(tokens[index], 'NOT')) index += 1
  if (isWordOf(tokens[index], 'MATERIALIZED')) index += 1
  return tokens[index]?.text === '(' ? index : undefined
}
