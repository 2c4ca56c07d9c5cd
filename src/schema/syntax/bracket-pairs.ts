import { SqlFault } from './sql-fault.ts'
import type { Token } from './token.types.ts'

/** Nesting beyond this is refused: the engine's parser has a limit of its own, and planning is not interruptible. */
export const nestingMax = 180

/**
 * For the index of each opening bracket the index of the one that closes it.
 *
 * @throws SqlFault when brackets do not match or are nested deeper than `nestingMax`.
 */
export function pairBrackets(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const pairs = new Map<number, number>()
  const open: number[] = []
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]
    if (token?.kind !== 'symbol') continue
    const { key } = token
    if (key === '(' || key === '[') {
      open.push(index)
      if (open.length > nestingMax) throw new SqlFault('The query is nested too deeply')
    } else if (key === ')' || key === ']') {
      const opening = open.pop()
      const expected = key === ')' ? '(' : '['
      if (opening === undefined || tokens[opening]?.key !== expected) {
        throw new SqlFault(`"${key}" closes nothing`, { offset: token.offset })
      }
      pairs.set(opening, index)
    }
  }
  const unclosed = open.at(-1)
  if (unclosed !== undefined) throw new SqlFault('a bracket is not closed', { offset: tokens[unclosed]?.offset ?? 0 })
  return pairs
}
