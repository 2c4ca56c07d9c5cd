import { errors } from '../shared/errors.ts'
import { syntaxError } from './lexer.ts'
import type { Token } from './token.types.ts'

/** Nesting beyond this is refused: the engine's parser has a limit of its own, and planning is not interruptible. */
export const nestingMax = 180

/**
 * For the index of each opening bracket the index of the one that closes it.
 *
 * @throws SQL_INVALID (400) when brackets do not match or are nested deeper than `nestingMax`.
 */
export function pairBrackets(sql: string, tokens: readonly Token[]): ReadonlyMap<number, number> {
  const pairs = new Map<number, number>()
  const open: number[] = []
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'symbol') continue
    if (token.text === '(' || token.text === '[') {
      open.push(index)
      if (open.length > nestingMax) throw errors.SQL_INVALID({ reason: 'The query is nested too deeply' })
    }
    if (token.text !== ')' && token.text !== ']') continue
    const opening = open.pop()
    const expected = token.text === ')' ? '(' : '['
    if (opening === undefined || tokens[opening]?.text !== expected) {
      throw syntaxError(sql, token.offset, `"${token.text}" closes nothing`)
    }
    pairs.set(opening, index)
  }
  const unclosed = open.at(-1)
  if (unclosed !== undefined) throw syntaxError(sql, tokens[unclosed]?.offset ?? 0, 'a bracket is not closed')
  return pairs
}
