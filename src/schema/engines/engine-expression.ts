// Expressions and lists of columns in the options of an engine, checked as text.

import { TextError } from '../../shared/text-error.ts'
import type { CheckedExpression } from '../expressions/checked-text.types.ts'
import { depthChange, readStored, splitAtCommas } from '../expressions/definition-expression.ts'
import type { StoredKind } from '../expressions/stored-expression.ts'
import { readTextTokens, type TextToken } from '../syntax/text-tokens.ts'

/** Words that would begin the next clause of CREATE TABLE: none of them can follow an operand inside an expression. */
const clauseWords: ReadonlySet<string> = new Set([
  'CLONE',
  'COMMENT',
  'DEFINER',
  'EMPTY',
  'ENGINE',
  'FORMAT',
  'INTO',
  'ORDER',
  'PARTITION',
  'PRIMARY',
  'SAMPLE',
  'SETTINGS',
  'SQL',
  'TTL',
  'UNIQUE',
])

/** What a text is, and how it is called in messages. */
export interface ExpressionUse {
  readonly kind: StoredKind
  /** The API name of the option. */
  readonly name: string
}

/**
 * Checks an expression, or several with commas between, and gives its text as it goes on.
 *
 * @throws TextError
 */
export function readExpression(text: string, { kind, name }: ExpressionUse): CheckedExpression {
  const tokens = tokensOf(text, name)
  let depth = 0
  for (const token of tokens) {
    depth += depthChange(token)
    if (depth !== 0 || token.kind !== 'word' || !clauseWords.has(token.text.toUpperCase())) continue
    const hint = token.text.toUpperCase() === 'SETTINGS' ? ', use engine_settings' : ''
    throw new TextError({ reason: `${name} cannot hold ${token.text.toUpperCase()}${hint}`, offset: token.offset })
  }
  // The parser of stored expressions has read it.
  return readStored({ text, tokens, offset: 0 }, kind, name) as CheckedExpression
}

/** The items of a key that are plain columns: `(a, toDate(b))` gives `['a']`. @throws TextError */
export function readKeyItems(text: string, name: string): readonly string[] {
  const items = splitAtCommas(withoutParentheses(tokensOf(text, name)))
  return items.flatMap((item) => {
    const [column, direction, ...rest] = item
    const isDirected = direction?.kind === 'word' && /^(ASC|DESC)$/i.test(direction.text) && rest.length === 0
    const isPlain = direction === undefined || isDirected
    return isPlain && (column?.kind === 'word' || column?.kind === 'quotedName') ? [column.value] : []
  })
}

/** A key as it stands in CREATE TABLE: several items need parentheses there, and callers leave them out. */
export function keyClause(text: string): string {
  return splitAtCommas(readTextTokens(text).slice(0, -1)).length > 1 ? `(${text})` : text
}

/** Reads names of columns with commas between, with or without parentheses around. @throws TextError */
export function readNames(text: string, name: string): readonly string[] {
  return splitAtCommas(withoutParentheses(tokensOf(text, name))).map(([token, ...rest]) => {
    const isName = token?.kind === 'word' || token?.kind === 'quotedName'
    if (isName && rest.length === 0) return token.value
    throw new TextError({ reason: `${name} takes names of columns, with commas between`, offset: token?.offset ?? 0 })
  })
}

function tokensOf(text: string, name: string): readonly TextToken[] {
  const tokens = readTextTokens(text)
  // A comment behind the last token would swallow what follows the expression in CREATE TABLE.
  if (tokens.at(-1)?.isAfterComment) throw new TextError({ reason: `${name} has a comment inside`, offset: 0 })
  if (tokens[0]?.isAfterComment) throw new TextError({ reason: `${name} has a comment inside`, offset: 0 })
  return tokens.slice(0, -1)
}

function withoutParentheses(tokens: readonly TextToken[]): readonly TextToken[] {
  if (tokens[0]?.text !== '(' || tokens[0].kind !== 'symbol') return tokens
  let depth = 0
  for (const [index, token] of tokens.entries()) {
    depth += depthChange(token)
    if (depth === 0) return index === tokens.length - 1 ? tokens.slice(1, -1) : tokens
  }
  return tokens
}
