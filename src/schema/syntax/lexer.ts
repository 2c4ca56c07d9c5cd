// Cuts ClickHouse SQL into tokens, by the rules of the engine's own lexer where it accepts a text, and with a refusal
// where the engine is more generous than is safe: Unicode quotes, query parameters, global variables, NUL.
//
// A heredoc, `$tag$…$tag$`, leaves this file as a string in quotes.
//
// What leaves this file is emitted again token by token, so the engine never sees a comment (chDB acts on some of them),
// nor any character outside of strings and quoted names that this file has not understood.

import { beginningOf } from '../../shared/beginning-of.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { characterClass, classOf, endOfQuoted, endOfWord, type ScanRules, skipBlanks } from './scanner.ts'
import { SqlFault, toSqlError } from './sql-fault.ts'
import type { Token } from './token.types.ts'

/**
 * The tokens of `sql`, in order.
 *
 * @throws SQL_INVALID (400) with line and column of the first text that is no token or is not allowed.
 */
export function tokenize(sql: string): readonly Token[] {
  try {
    return readTokens(sql)
  } catch (thrown) {
    throw toSqlError(thrown, sql)
  }
}

/**
 * The same as `tokenize`, for those who know whose text it is.
 *
 * @throws SqlFault.
 */
export function readTokens(sql: string): readonly Token[] {
  const nulOffset = sql.indexOf('\0')
  if (nulOffset >= 0) refuseNul(nulOffset)
  const tokens: Token[] = []
  let offset = 0
  let previous: Token | undefined
  while (offset < sql.length) {
    const start = skipBlanks(sql, offset, rules)
    if (start >= sql.length) break
    const end = endOfToken(sql, start, previous)
    previous = makeToken(sql, { start, end, isSpaced: start > offset })
    tokens.push(previous)
    offset = end
  }
  return tokens
}

const { letter, digit, quote } = characterClass

const rules: ScanRules = {
  lineComment: /--|\/\/|# |#!/y,
  hasNestedComments: true,
  hasUnusualBlanks: true,
  hasDollarWords: true,
  refuseUnclosed(sql, offset) {
    const reason =
      sql.charAt(offset) === '/' ? 'the comment is not closed' : `the quote ${sql.charAt(offset)} is not closed`
    throw new SqlFault(reason, { offset })
  },
  refuseNul,
}

function refuseNul(offset: number): never {
  throw new SqlFault('a NUL character is not allowed', { offset })
}

function endOfToken(sql: string, start: number, previous: Token | undefined): number {
  const kind = classOf(sql, start)
  if (kind === quote) return endOfQuoted(sql, start, rules)
  if (kind === letter) {
    const isPrefixed = sql.charAt(start + 1) === "'" && 'xXbB'.includes(sql.charAt(start))
    return isPrefixed ? endOfQuoted(sql, start + 1, rules) : endOfWord(sql, start, rules)
  }
  if (kind === digit || startsWithFraction(sql, start, previous)) return endOfNumber(sql, start, previous)
  return sql.charAt(start) === '$' ? endOfHeredoc(sql, start) : endOfSymbol(sql, start)
}

interface TokenSpan {
  readonly start: number
  readonly end: number
  readonly isSpaced: boolean
}

function makeToken(sql: string, { start, end, isSpaced }: TokenSpan): Token {
  const text = sql.slice(start, end)
  const place = { offset: start, isSpaced }
  const tag = heredocTag(text)
  if (tag !== null) {
    const string = quoteString(text.slice(tag.length, -tag.length))
    return { kind: 'string', text: string, name: string, key: '', ...place }
  }
  const last = text.charAt(text.length - 1)
  if (last === "'") return { kind: 'string', text, name: text, key: '', ...place }
  const first = classOf(sql, start)
  if (first === quote) return quotedName(sql, text, place)
  if (first === letter) return { kind: 'word', text, name: text, key: text.toUpperCase(), ...place }
  if (first === digit || (text.length > 1 && text.startsWith('.'))) {
    const isWord = endsLikeWord(text)
    return { kind: isWord ? 'word' : 'number', text, name: text, key: isWord ? text.toUpperCase() : '', ...place }
  }
  return { kind: 'symbol', text, name: text, key: text, ...place }
}

/** The offset behind the second tag; what is between them is taken as it stands. */
function endOfHeredoc(sql: string, start: number): number {
  const tag = heredocTag(sql, start)
  if (tag === null) throw new SqlFault(refusalOf(sql, start), { offset: start })
  const end = sql.indexOf(tag, start + tag.length)
  if (end < 0) throw new SqlFault(`the heredoc ${beginningOf(tag, 20)} is not closed`, { offset: start })
  return end + tag.length
}

/** `$tag$`, or null where no heredoc begins. */
function heredocTag(sql: string, start = 0): string | null {
  heredocStart.lastIndex = start
  return heredocStart.exec(sql)?.[0] ?? null
}

const heredocStart = /\$\w*\$/y

const escapes: Readonly<Record<string, string>> = { '\\': '\\', '`': '`', '"': '"', "'": "'" }

function quotedName(sql: string, text: string, place: Pick<Token, 'offset' | 'isSpaced'>): Token {
  const mark = sql.charAt(place.offset)
  const inner = text.slice(1, -1)
  const name = inner.replaceAll(/\\(.)|``|""/gsu, (pair: string, escaped: string | undefined) => {
    if (escaped === undefined) return pair.charAt(0) === mark ? mark : pair
    const character = escapes[escaped]
    if (character === undefined)
      throw new SqlFault(`the escape ${pair} is not allowed in a name`, { offset: place.offset })
    return character
  })
  if (name === '') throw new SqlFault('a name is empty', { offset: place.offset })
  // Control characters in names confuse logs and the engine's own messages; no real name has one.
  if (/\p{Cc}/u.test(name)) throw new SqlFault('a name has a control character', { offset: place.offset })
  return { kind: 'quotedName', text: quoteName(name), name, key: '', ...place }
}

function startsWithFraction(sql: string, start: number, previous: Token | undefined): boolean {
  if (sql.charAt(start) !== '.' || classOf(sql, start + 1) !== digit) return false
  // After an operand a dot is the access to a tuple's element, `t.1`.
  const isAfterOperand =
    previous !== undefined && (previous.kind !== 'symbol' || previous.text === ')' || previous.text === ']')
  return !isAfterOperand
}

const tupleIndex = /[0-9_]+/y
const numberText =
  /0[xX][0-9A-Fa-f][0-9A-Fa-f_]*(?:\.[0-9A-Fa-f_]*)?(?:[pP][+-]?[0-9]+)?|0[bB][01][01_]*|[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?/y

function endOfNumber(sql: string, start: number, previous: Token | undefined): number {
  const pattern = previous?.key === '.' ? tupleIndex : numberText
  pattern.lastIndex = start
  const end = pattern.test(sql) ? pattern.lastIndex : start + 1
  if (classOf(sql, end) !== letter && sql.charAt(end) !== '$') return end
  // `1st` is a name for the engine, `1.5st` is an error.
  const wordEnd = endOfWord(sql, start, rules)
  if (wordEnd <= end) throw new SqlFault('a number ends in letters', { offset: start })
  return wordEnd
}

const wholeNumber = new RegExp(`^(?:${numberText.source})$`)

function endsLikeWord(text: string): boolean {
  return !wholeNumber.test(text) && !/^[0-9_]+$/.test(text)
}

const symbolText = /<=>|->|::|\|\||==|!=|<>|<=|>=|[()[\],;.+\-*/%=<>?:^]/y

function endOfSymbol(sql: string, start: number): number {
  symbolText.lastIndex = start
  if (!symbolText.test(sql)) throw new SqlFault(refusalOf(sql, start), { offset: start })
  return symbolText.lastIndex
}

function refusalOfBraces(around: string): string {
  if (!/\{[{%#]|[}%#]\}/.test(around)) return 'query parameters are not supported'
  return 'this is template syntax, and only a query that begins with % is a template'
}

function refusalOf(sql: string, offset: number): string {
  const character = String.fromCodePoint(sql.codePointAt(offset) ?? 0)
  if (/[{}]/.test(character)) return refusalOfBraces(sql.slice(Math.max(offset - 1, 0), offset + 2))
  if (character === '@') return 'global variables are not supported'
  if (character === '$') return 'a heredoc begins with $tag$, and a name with a letter'
  return `unexpected character ${JSON.stringify(character)}`
}
