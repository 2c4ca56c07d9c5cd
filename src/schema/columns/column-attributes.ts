// What may stand after the type of a column, in any order: its JSONPath, DEFAULT and CODEC.

import { TextError } from '../../shared/text-error.ts'
import type { CheckedExpression } from '../expressions/checked-text.types.ts'
import { depthChange, endsOperand, readStored, splitAtCommas } from '../expressions/definition-expression.ts'
import type { TextToken } from '../syntax/text-tokens.ts'
import { compactText, type TokenCursor } from '../syntax/token-cursor.ts'

/** What a JSONPath in backticks begins with. */
export const pathPrefix = 'json:'

const refusedClauses: ReadonlySet<string> = new Set([
  'ALIAS',
  'COLLATE',
  'COMMENT',
  'EPHEMERAL',
  'MATERIALIZED',
  'PRIMARY',
  'SETTINGS',
  'STATISTICS',
  'TTL',
])

/** Whether the token is a JSONPath: `` `json:$.a` ``. */
export function isPathToken(token: TextToken): boolean {
  return token.kind === 'quotedName' && token.value.startsWith(pathPrefix)
}

/** Takes DEFAULT and its expression and gives the expression, with single blanks. @throws TextError */
export function takeDefaultExpression(cursor: TokenCursor): CheckedExpression {
  cursor.take()
  const { offset } = cursor.peek()
  const tokens: TextToken[] = []
  let depth = 0
  while (!cursor.isAtEnd() && !(depth === 0 && endsDefault(cursor, tokens.at(-1)))) {
    const token = cursor.take()
    tokens.push(token)
    depth += depthChange(token)
  }
  // It is parsed, and its calls are allowed.
  return readStored({ text: cursor.textFrom(offset), tokens, offset }, 'expression', 'DEFAULT') as CheckedExpression
}

/** Takes CODEC(…) and gives what stands between the parentheses. @throws TextError */
export function takeCodec(cursor: TokenCursor): string {
  const { offset } = cursor.take()
  const tokens = cursor.takeUntilClosed(cursor.take())
  for (const [name, opener, ...parameters] of splitAtCommas(tokens)) {
    const closer = parameters.pop()
    const isPlain = opener === undefined || (opener.text === '(' && closer?.text === ')' && areParameters(parameters))
    if (name?.kind === 'word' && isPlain) continue
    const hint = 'it looks like CODEC(Delta, ZSTD(1))'
    throw new TextError({ reason: 'Wrong CODEC', offset: name?.offset ?? offset, hint })
  }
  return compactText(tokens)
}

function areParameters(tokens: readonly TextToken[]): boolean {
  return tokens.every(({ kind, text }) => kind === 'number' || kind === 'word' || kind === 'string' || text === ',')
}

/** What to say of a token that begins neither a JSONPath nor DEFAULT nor CODEC. */
export function unexpectedAttribute(cursor: TokenCursor, typeText: string): TextError {
  const { kind, text, offset } = cursor.peek()
  if (cursor.isAtKeyword('NULL')) return nullSuffix(offset, `use Nullable(${typeText})`)
  if (cursor.isAtKeyword('NOT') && cursor.isAtKeyword('NULL', 1)) {
    return nullSuffix(offset, 'leave it out, only Nullable(…) takes NULL')
  }
  if (kind === 'word' && refusedClauses.has(text.toUpperCase())) return refusedClause(text, offset)
  if (kind === 'word' && text.toLowerCase() === 'json') {
    return new TextError({ reason: 'JSONPath without backticks', offset, hint: 'write `json:$.key`' })
  }
  if (kind === 'quotedName') {
    return new TextError({ reason: `Unexpected ${text}`, offset, hint: 'a JSONPath looks like `json:$.key`' })
  }
  const hint = 'columns look like name Type `json:$.key` DEFAULT expression CODEC(codec), with commas between'
  return new TextError({ reason: `Unexpected ${cursor.describe()} after type ${typeText}`, offset, hint })
}

/** Behind an operand stands what goes on with it, or the next attribute; the latter ends the expression. */
function endsDefault(cursor: TokenCursor, before: TextToken | undefined): boolean {
  const token = cursor.peek()
  if (cursor.isAtSymbol(',')) return true
  if (!endsOperand(before)) return false
  if (isPathToken(token) || (cursor.isAtKeyword('CODEC') && cursor.isAtSymbol('(', 1))) return true
  if (cursor.isAtKeyword('DEFAULT')) return true
  const isNotNull = cursor.isAtKeyword('NOT') && cursor.isAtKeyword('NULL', 1)
  if (cursor.isAtKeyword('NULL') || isNotNull) throw nullSuffix(token.offset, 'write Nullable(…) as the type')
  if (token.kind === 'word' && refusedClauses.has(token.text.toUpperCase()))
    throw refusedClause(token.text, token.offset)
  return false
}

function nullSuffix(offset: number, hint: string): TextError {
  return new TextError({ reason: 'NULL column syntax not supported', offset, hint })
}

function refusedClause(text: string, offset: number): TextError {
  return new TextError({ reason: `${text.toUpperCase()} is not supported in a schema`, offset })
}
