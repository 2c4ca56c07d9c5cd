// Tokens of short ClickHouse texts: column types, schemas, DEFAULT expressions, keys of engines.
//
// Invariant: where this lexer sees the end of a string, a quoted name or a comment, ClickHouse's sees it too, because
// what we check token by token is later pasted into a statement. Texts on which the two could differ are refused:
// NUL, a string glued to a word (`x'41'` knows no escapes), heredocs (`$` is no token), quotes outside ASCII.

import { TextError } from '../../shared/text-error.ts'
import { unescapeText } from '../../shared/text-escapes.ts'

export type TokenKind = 'word' | 'number' | 'string' | 'quotedName' | 'symbol' | 'end'

export interface TextToken {
  readonly kind: TokenKind
  /** As written, with its quotes. */
  readonly text: string
  /** Without quotes and escapes for `string` and `quotedName`, else the same as `text`. */
  readonly value: string
  /** Counts from 0, in UTF-16 units. */
  readonly offset: number
  readonly endOffset: number
  /** Whether a comment stands between the token before and this one. */
  readonly isAfterComment: boolean
}

const blankPattern = /[ \t\r\n\f\v]+/y
const lineComment = /--|#[ !]/y
const wordPattern = /[A-Za-z_][A-Za-z0-9_]*/y
const numberPattern = /[0-9][A-Za-z0-9_]*/y

/**
 * Splits a text into tokens; the last one has the kind `end` and stands behind the text.
 *
 * Comments (`--`, or `#` and a blank, to the end of the line, and `/* … *` + `/`) are skipped and remembered by the token behind them.
 * @throws TextError when a quote or a comment does not end.
 */
export function readTokens(text: string): readonly TextToken[] {
  const tokens: TextToken[] = []
  let offset = 0
  for (;;) {
    const start = skipBlanks(text, offset)
    const token = readToken(text, start.offset, start.isAfterComment)
    tokens.push(token)
    if (token.kind === 'end') return tokens
    offset = token.endOffset
  }
}

interface TokenStart {
  readonly offset: number
  readonly isAfterComment: boolean
}

function skipBlanks(text: string, from: number): TokenStart {
  let offset = from
  let isAfterComment = false
  for (;;) {
    const blanks = matchAt(blankPattern, text, offset)
    offset += blanks.length
    if (matchAt(lineComment, text, offset) !== '') offset = lineEnd(text, offset)
    else if (text.startsWith('/*', offset)) offset = blockCommentEnd(text, offset)
    else return { offset, isAfterComment }
    isAfterComment = true
  }
}

function lineEnd(text: string, from: number): number {
  const newline = text.indexOf('\n', from)
  return newline === -1 ? text.length : newline + 1
}

function blockCommentEnd(text: string, from: number): number {
  const end = text.indexOf('*/', from + 2)
  if (end === -1) throw new TextError({ reason: 'Comment without its end */', offset: from })
  return end + 2
}

function readToken(text: string, offset: number, isAfterComment: boolean): TextToken {
  const character = text.charAt(offset)
  if (character === '') return { kind: 'end', text: '', value: '', offset, endOffset: offset, isAfterComment }
  if (character === '\0') throw new TextError({ reason: 'NUL character', offset })
  if (character === "'" || character === '`' || character === '"') return readQuoted(text, offset, isAfterComment)
  const word = matchAt(wordPattern, text, offset)
  const number = word === '' ? matchAt(numberPattern, text, offset) : ''
  // A whole code point, so that a message never shows half a character.
  const value = word + number || String.fromCodePoint(text.codePointAt(offset) ?? 0)
  const endOffset = offset + value.length
  if (word + number !== '' && text.charAt(endOffset) === "'") {
    throw new TextError({ reason: `Text in quotes directly behind '${value}'`, offset: endOffset })
  }
  const kind = word !== '' ? 'word' : number !== '' ? 'number' : 'symbol'
  return { kind, text: value, value, offset, endOffset, isAfterComment }
}

function readQuoted(text: string, offset: number, isAfterComment: boolean): TextToken {
  const quote = text.charAt(offset)
  let end = offset + 1
  for (;;) {
    const character = text.charAt(end)
    if (character === '') throw new TextError({ reason: `Quote ${quote} without its end`, offset })
    if (character === '\0') throw new TextError({ reason: 'NUL character', offset: end })
    if (character === '\\') end += 2
    else if (character !== quote) end += 1
    else if (text.charAt(end + 1) === quote) end += 2
    else break
  }
  const endOffset = end + 1
  const value = unescapeText(text.slice(offset + 1, end), quote, offset + 1)
  const kind = quote === "'" ? 'string' : 'quotedName'
  return { kind, text: text.slice(offset, endOffset), value, offset, endOffset, isAfterComment }
}

function matchAt(pattern: RegExp, text: string, offset: number): string {
  pattern.lastIndex = offset
  return pattern.exec(text)?.[0] ?? ''
}
