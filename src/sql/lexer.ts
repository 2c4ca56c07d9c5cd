// Cuts ClickHouse SQL into tokens, by the rules of the engine's own lexer where it accepts a text, and with a refusal
// where the engine is more generous than is safe: Unicode quotes, heredocs, query parameters, global variables, NUL.
//
// What leaves this file is emitted again token by token, so the engine never sees a comment (chDB acts on some of them),
// nor any character outside of strings and quoted names that this file has not understood.

import { errors } from '../shared/errors.ts'
import { quoteName } from '../shared/text-escapes.ts'
import type { Token } from './token.types.ts'

/**
 * The tokens of `sql`, in order.
 *
 * @throws SQL_INVALID (400) with line and column of the first text that is no token or is not allowed.
 */
export function tokenize(sql: string): readonly Token[] {
  const nulOffset = sql.indexOf('\0')
  if (nulOffset >= 0) throw syntaxError(sql, nulOffset, 'a NUL character is not allowed')
  const tokens: Token[] = []
  let offset = 0
  while (offset < sql.length) {
    const start = skipBlanks(sql, offset)
    if (start >= sql.length) break
    const token = readToken(sql, start, tokens.at(-1), start > offset)
    tokens.push(token.token)
    offset = token.end
  }
  return tokens
}

/** SQL_INVALID (400) that names the place, counted from 1. `offset` is in UTF-16 units. */
export function syntaxError(sql: string, offset: number, reason: string): Error {
  const before = sql.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - before.lastIndexOf('\n')
  return errors.SQL_INVALID({ reason: `Syntax error at line ${line}, column ${column}: ${reason}` })
}

interface ReadToken {
  readonly token: Token
  readonly end: number
}

// A no-break space and a byte order mark come with pasted text; the engine takes them as blanks too.
const blank = /[\s\u00a0\ufeff]+/y

function skipBlanks(sql: string, start: number): number {
  let offset = start
  for (;;) {
    blank.lastIndex = offset
    if (blank.test(sql)) offset = blank.lastIndex
    const afterComment = skipComment(sql, offset)
    if (afterComment === offset) return offset
    offset = afterComment
  }
}

function skipComment(sql: string, offset: number): number {
  const two = sql.slice(offset, offset + 2)
  if (two === '/*') return skipBlockComment(sql, offset)
  const isLineComment = two === '--' || two === '//' || two === '# ' || two === '#!'
  if (!isLineComment) return offset
  const end = sql.indexOf('\n', offset)
  return end < 0 ? sql.length : end + 1
}

function skipBlockComment(sql: string, start: number): number {
  const edge = /\/\*|\*\//g
  edge.lastIndex = start
  let depth = 0
  for (let match = edge.exec(sql); match !== null; match = edge.exec(sql)) {
    depth += match[0] === '/*' ? 1 : -1
    if (depth === 0) return edge.lastIndex
  }
  throw syntaxError(sql, start, 'the comment is not closed')
}

function readToken(sql: string, start: number, previous: Token | undefined, isSpaced: boolean): ReadToken {
  const character = sql.charAt(start)
  const fields = { offset: start, isSpaced }
  if (character === "'" || /^[xXbB]'/.test(sql.slice(start, start + 2))) {
    const end = endOfQuoted(sql, sql.indexOf("'", start))
    return { token: plainToken('string', sql.slice(start, end), fields), end }
  }
  if (character === '`' || character === '"') return readQuotedName(sql, fields)
  if (/[0-9]/.test(character) || startsWithFraction(sql, start, previous)) return readNumber(sql, fields, previous)
  if (/[A-Za-z_]/.test(character)) return readMatching(wordText, 'word', sql, fields)
  return readSymbol(sql, fields)
}

interface TokenPlace {
  readonly offset: number
  readonly isSpaced: boolean
}

function plainToken(kind: Token['kind'], text: string, place: TokenPlace): Token {
  return { kind, text, name: text, ...place }
}

const wordText = /[A-Za-z0-9_$]+/y

function readMatching(pattern: RegExp, kind: Token['kind'], sql: string, place: TokenPlace): ReadToken {
  pattern.lastIndex = place.offset
  const text = pattern.exec(sql)?.[0] ?? sql.charAt(place.offset)
  return { token: plainToken(kind, text, place), end: place.offset + text.length }
}

/** The offset after the closing quote; a quote is kept by doubling it or by a backslash. */
function endOfQuoted(sql: string, start: number): number {
  const quote = sql.charAt(start)
  let offset = start + 1
  while (offset < sql.length) {
    const character = sql.charAt(offset)
    if (character === '\\') offset += 2
    else if (character !== quote) offset += 1
    else if (sql.charAt(offset + 1) === quote) offset += 2
    else return offset + 1
  }
  throw syntaxError(sql, start, `the quote ${quote} is not closed`)
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\', '`': '`', '"': '"', "'": "'" }

function readQuotedName(sql: string, place: TokenPlace): ReadToken {
  const end = endOfQuoted(sql, place.offset)
  const quote = sql.charAt(place.offset)
  const inner = sql.slice(place.offset + 1, end - 1)
  const name = inner.replaceAll(/\\(.)|``|""/gsu, (pair: string, escaped: string | undefined) => {
    if (escaped === undefined) return pair.charAt(0) === quote ? quote : pair
    const character = escapes[escaped]
    if (character === undefined) throw syntaxError(sql, place.offset, `the escape ${pair} is not allowed in a name`)
    return character
  })
  if (name === '') throw syntaxError(sql, place.offset, 'a name is empty')
  // Control characters in names confuse logs and the engine's own messages; no real name has one.
  if (/\p{Cc}/u.test(name)) throw syntaxError(sql, place.offset, 'a name has a control character')
  return { token: { kind: 'quotedName', text: quoteName(name), name, ...place }, end }
}

function startsWithFraction(sql: string, start: number, previous: Token | undefined): boolean {
  if (!/^\.[0-9]/.test(sql.slice(start, start + 2))) return false
  // After an operand a dot is the access to a tuple's element, `t.1`.
  const isAfterOperand =
    previous !== undefined && (previous.kind !== 'symbol' || previous.text === ')' || previous.text === ']')
  return !isAfterOperand
}

const tupleIndex = /[0-9_]+/y
const numberText =
  /0[xX][0-9A-Fa-f][0-9A-Fa-f_]*(?:\.[0-9A-Fa-f_]*)?(?:[pP][+-]?[0-9]+)?|0[bB][01][01_]*|[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?/y

function readNumber(sql: string, place: TokenPlace, previous: Token | undefined): ReadToken {
  const isTupleIndex = previous?.text === '.' && previous.kind === 'symbol'
  const read = readMatching(isTupleIndex ? tupleIndex : numberText, 'number', sql, place)
  if (!/[A-Za-z0-9_$]/.test(sql.charAt(read.end))) return read
  // `1st` is a name for the engine, `1.5st` is an error.
  const word = readMatching(wordText, 'word', sql, place)
  if (word.end <= read.end) throw syntaxError(sql, place.offset, 'a number ends in letters')
  return word
}

const symbolText = /<=>|->|::|\|\||==|!=|<>|<=|>=|[()[\],;.+\-*/%=<>?:^]/y

function readSymbol(sql: string, place: TokenPlace): ReadToken {
  symbolText.lastIndex = place.offset
  if (!symbolText.test(sql)) throw syntaxError(sql, place.offset, refusalOf(sql, place.offset))
  return readMatching(symbolText, 'symbol', sql, place)
}

function refusalOf(sql: string, offset: number): string {
  const character = String.fromCodePoint(sql.codePointAt(offset) ?? 0)
  if (character === '{' || character === '}') return 'query parameters are not supported'
  if (character === '@') return 'global variables are not supported'
  if (character === '$') return 'heredocs are not supported'
  return `unexpected character ${JSON.stringify(character)}`
}
