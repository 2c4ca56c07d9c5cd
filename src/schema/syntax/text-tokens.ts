// Tokens of short ClickHouse texts: column types, schemas, DEFAULT expressions, keys of engines.
//
// Invariant: where this reader sees the end of a string, a quoted name or a comment, ClickHouse's sees it too, because
// what we check token by token is later pasted into a statement. Texts on which the two could differ are refused:
// NUL, a string glued to a word (`x'41'` knows no escapes), heredocs (`$` is no token), quotes outside ASCII.

import { TextError } from '../../shared/text-error.ts'
import { unescapeText } from '../../shared/text-escapes.ts'
import { characterClass, classOf, endOfQuoted, endOfWord, type ScanRules, skipBlanks } from './scanner.ts'

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

const rules: ScanRules = {
  lineComment: /--|#[ !]/y,
  hasNestedComments: false,
  hasUnusualBlanks: false,
  hasDollarWords: false,
  refuseUnclosed(text, offset) {
    const mark = text.charAt(offset)
    throw new TextError({
      reason: mark === '/' ? 'Comment without its end */' : `Quote ${mark} without its end`,
      offset,
    })
  },
  refuseNul,
}

function refuseNul(offset: number): never {
  throw new TextError({ reason: 'NUL character', offset })
}

/**
 * Splits a text into tokens; the last one has the kind `end` and stands after the text.
 *
 * Comments (`--`, or `#` and a blank, to the end of the line, and `/* … *` + `/`) are skipped and remembered by the token after them.
 * @throws TextError when a quote or a comment does not end.
 */
export function readTextTokens(text: string): readonly TextToken[] {
  const tokens: TextToken[] = []
  let offset = 0
  for (;;) {
    const start = skipBlanks(text, offset, rules)
    // What was skipped is blanks and comments.
    const isAfterComment = /\S/.test(text.slice(offset, start))
    const token = readToken(text, start, isAfterComment)
    tokens.push(token)
    if (token.kind === 'end') return tokens
    offset = token.endOffset
  }
}

function readToken(text: string, offset: number, isAfterComment: boolean): TextToken {
  if (offset >= text.length) return { kind: 'end', text: '', value: '', offset, endOffset: offset, isAfterComment }
  const first = classOf(text, offset)
  if (first === characterClass.quote) return readQuoted(text, offset, isAfterComment)
  const isWord = first === characterClass.letter
  if (!isWord && first !== characterClass.digit) return readSymbol(text, offset, isAfterComment)
  const endOffset = endOfWord(text, offset, rules)
  const value = text.slice(offset, endOffset)
  if (text.charAt(endOffset) === "'") {
    throw new TextError({ reason: `Text in quotes directly after '${value}'`, offset: endOffset })
  }
  return { kind: isWord ? 'word' : 'number', text: value, value, offset, endOffset, isAfterComment }
}

function readSymbol(text: string, offset: number, isAfterComment: boolean): TextToken {
  const code = text.codePointAt(offset) ?? 0
  if (code === 0) refuseNul(offset)
  // A whole code point, so that a message never shows half a character.
  const value = String.fromCodePoint(code)
  return { kind: 'symbol', text: value, value, offset, endOffset: offset + value.length, isAfterComment }
}

function readQuoted(text: string, offset: number, isAfterComment: boolean): TextToken {
  const quote = text.charAt(offset)
  const endOffset = endOfQuoted(text, offset, rules)
  const value = unescapeText(text.slice(offset + 1, endOffset - 1), quote, offset + 1)
  const kind = quote === "'" ? 'string' : 'quotedName'
  return { kind, text: text.slice(offset, endOffset), value, offset, endOffset, isAfterComment }
}
