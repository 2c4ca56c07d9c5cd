// A condition of a caller that becomes part of a statement of ours, such as `replace_condition`.
//
// It can be nothing but one expression over the columns: no query, no table, no function that reads anything, no end of the
// brackets it is put into. What it means, and whether its names are columns, is judged by the engine, as a reader, over a
// subquery that shows these columns and no others.

import { readExpression } from '../catalog/engine-expression.ts'
import { errors } from '../shared/errors.ts'
import { TextError } from '../shared/text-error.ts'
import { pairBrackets } from './bracket-pairs.ts'
import { syntaxError, tokenize } from './lexer.ts'
import { checkParts, isNamePart, isWordOf } from './policy.ts'
import type { Token } from './token.types.ts'

export interface Condition {
  /** The expression in brackets, of canonical tokens: no comment, nothing that was not understood. */
  readonly sql: string
  /** Every word and quoted name in it: columns, functions and keywords. */
  readonly names: ReadonlySet<string>
}

const conditionBytesMax = 8 * 1024

/**
 * Reads one condition.
 *
 * @param name of the parameter, for messages.
 * @throws SQL_INVALID (400) with the reason.
 */
export function readCondition(text: string, name: string): Condition {
  if (Buffer.byteLength(text) > conditionBytesMax) {
    throw errors.SQL_INVALID({ reason: `${name} is longer than ${conditionBytesMax} bytes` })
  }
  const tokens = tokenize(text)
  const brackets = pairBrackets(text, tokens)
  checkParts(tokens)
  checkAliases(text, tokens, brackets)
  const sql = tokens
    .map((token) => `${token.isSpaced ? ' ' : ''}${token.text}`)
    .join('')
    .trim()
  try {
    readExpression(sql, name)
  } catch (thrown) {
    if (!(thrown instanceof TextError)) throw thrown
    throw errors.SQL_INVALID({ reason: thrown.reason, cause: thrown })
  }
  const names = tokens.flatMap((token) => (token.kind === 'word' || token.kind === 'quotedName' ? [token.name] : []))
  return { sql: `(${sql})`, names: new Set(names) }
}

/** An alias would be taken for a column by what stands around the condition; the AS of a CAST makes none. */
function checkAliases(sql: string, tokens: readonly Token[], brackets: ReadonlyMap<number, number>): void {
  for (const [index, token] of tokens.entries()) {
    if (!isWordOf(token, 'AS') || isNamePart(tokens, index)) continue
    const openings = [...brackets].filter(([opening, closing]) => opening < index && index < closing)
    const innermost = Math.max(-1, ...openings.map(([opening]) => opening))
    if (!isWordOf(tokens[innermost - 1], 'CAST')) {
      throw syntaxError(sql, token.offset, 'a condition cannot name a part of itself with AS')
    }
  }
}
