import type { ParsedQuery, TokenRange } from './parsed-query.types.ts'
import { loneString } from './sql-cursor.ts'
import { stringValue } from './string-value.ts'
import type { Token } from './token.types.ts'

export interface ConstantText {
  readonly value: string
  /** Whether a name stands there, and not the string itself. */
  readonly isNamed: boolean
}

type NamedTexts = Pick<ParsedQuery, 'tokens' | 'constants'>

/**
 * The string that stands in a range, or that a name there stands for; null for anything else.
 *
 * The engine may see another meaning of a name than the one in this text: whoever takes the value writes it there.
 *
 * @throws SqlFault for a string that is no plain text.
 */
export function constantText({ tokens, constants }: NamedTexts, range: TokenRange): ConstantText | null {
  const own = loneString(tokens, range)
  const named = own === null ? namedString(tokens, constants, range) : null
  const token = tokens[own ?? named ?? -1]
  return token === undefined ? null : { value: stringValue(token), isNamed: own === null }
}

function namedString(
  tokens: readonly Token[],
  constants: ParsedQuery['constants'],
  { start, end }: TokenRange,
): number | null {
  const middle = (start + end - 1) / 2
  const token = tokens[middle]
  if (token === undefined || (token.kind !== 'word' && token.kind !== 'quotedName')) return null
  for (let index = start; index < middle; index += 1) if (tokens[index]?.key !== '(') return null
  return constants.get(token.name) ?? null
}
