// Expressions that become part of a table: DEFAULT, keys, TTL, indexes. The engine runs them with the rights of the service,
// at every insert and merge, for as long as the table stands; so they are read by the parser of queries and its allow list,
// and what goes on is written again out of their tokens.

import { isBareFunction } from '../functions/bare-functions.ts'
import { checkNoneBound } from '../functions/bounded-calls.ts'
import { isFunctionPlace } from '../functions/call-policy.ts'
import { checkTextArguments, takeCodecs } from '../functions/function-arguments.ts'
import { isAllowedFunction } from '../functions/function-policy.ts'
import { checkOneRow } from '../functions/row-count.ts'
import { parseExpression } from '../syntax/expression-parser.ts'
import { checkNoPartColumns } from '../syntax/internal-columns.ts'
import { parseExpressions } from '../syntax/parse-expression.ts'
import type { FunctionUse, ParsedQuery } from '../syntax/parsed-query.types.ts'
import { splice } from '../syntax/splice.ts'
import type { SqlCursor } from '../syntax/sql-cursor.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import { checkZonesAreTexts } from '../time-zones/time-zones.ts'

/**
 * - `expression`: one.
 * - `key`: one or several with commas between, each with ASC or DESC after it, all in brackets or not.
 * - `ttl`: what stands after TTL.
 * - `indexType`: what stands after TYPE, `bloom_filter(0.01)`.
 */
export type StoredKind = 'expression' | 'key' | 'ttl' | 'indexType'

const parsers: Readonly<Record<StoredKind, (cursor: SqlCursor) => void>> = {
  expression: (cursor) => void parseExpression(cursor, 'none'),
  key: parseKey,
  ttl: parseTtl,
  indexType: parseIndexType,
}

/**
 * Reads such a text.
 *
 * @param what it is, for messages: `DEFAULT`.
 * @returns the text of its tokens: no comment, single blanks, names in backticks where they were in quotes.
 * @throws SqlFault with the place.
 */
export function readStoredText(text: string, kind: StoredKind, what: string): string {
  const parsed = parseStored(text, kind, what)
  checkReads(parsed, what)
  for (const call of parsed.calls) checkCall(parsed, call, what)
  checkOneRow(parsed, what)
  checkTextArguments(parsed)
  checkZonesAreTexts(parsed, what)
  checkNoneBound(parsed, what)
  checkNoPartColumns(parsed, what)
  for (const { start } of parsed.names) {
    const { name = '', key = '' } = parsed.tokens[start] ?? {}
    if (key === '*' || key === 'COLUMNS') throw faultAt(parsed, start, `${what} cannot hold ${name}`)
  }
  if (parsed.scopes.some(({ aliases }) => aliases.size > 0)) {
    throw new SqlFault(`${what} cannot name a part of itself with AS`, { offset: 0 })
  }
  const { tokens } = parsed
  return splice({ source: text, node: null, tokens, end: tokens.length, edits: [] }).text
}

function parseStored(text: string, kind: StoredKind, what: string): ParsedQuery {
  const refusal = (cursor: SqlCursor): SqlFault => faultAt(cursor, cursor.index, `${what} cannot hold a query`)
  return parseExpressions(text, { parse: parsers[kind], refusal })
}

/** A text of a definition, once its table is known. */
export interface StoredText {
  readonly text: string
  readonly kind: StoredKind
  /** What it is, for messages. */
  readonly what: string
}

/**
 * Refuses names without brackets that are no columns where the engine calls the function of that name, and the text must not.
 *
 * @throws SqlFault with the place.
 */
export function checkBareNames({ text, kind, what }: StoredText, columns: readonly string[]): void {
  const parsed = parseStored(text, kind, what)
  const range = parsed.names.find(({ start, end }) => {
    const name = parsed.tokens[start]?.name ?? ''
    return end === start + 1 && isBareFunction(name) && !isStoredFunction(name) && !columns.includes(name)
  })
  if (range === undefined) return
  throw faultAt(parsed, range.start, `${what}: there is no column '${parsed.tokens[range.start]?.name}'`)
}

/** Whether a text that the service runs for somebody may call a function. */
export function isStoredFunction(name: string): boolean {
  return isAllowedFunction(name) && !queriesOnly.test(name.toLowerCase())
}

function faultAt({ tokens }: Pick<ParsedQuery, 'tokens'>, index: number, reason: string): SqlFault {
  return new SqlFault(reason, { offset: tokens[index]?.offset ?? 0 })
}

function checkReads(parsed: ParsedQuery, what: string): void {
  for (const { kind, start } of parsed.reads) {
    const reason = kind === 'joinGet' ? 'cannot call joinGet()' : 'takes a list of constants after IN'
    throw faultAt(parsed, start, `${what} ${reason}`)
  }
}

// Allowed in queries; here they would tell of the session of the service, or stop every insert.
const queriesOnly =
  /^(?:current_?(?:database|schemas?|user|query_?id)|database|schema|throwif|joinget(?:ornull)?|version|connection_?id)$/

function checkCall(parsed: ParsedQuery, { name, isCalled, start }: FunctionUse, what: string): void {
  if (isStoredFunction(name)) return
  if (isCalled || isFunctionPlace(parsed, start)) throw faultAt(parsed, start, `${what} cannot call ${name}()`)
}

function parseKey(cursor: SqlCursor): void {
  const isBracketed = cursor.is('(') && cursor.brackets.get(cursor.index) === cursor.tokens.length - 1
  if (isBracketed) cursor.index += 1
  while (!cursor.isAtEnd && !cursor.is(')')) {
    parseExpression(cursor, 'none')
    if (!cursor.take('ASC')) cursor.take('DESC')
    if (!cursor.take(',')) break
  }
  if (isBracketed) cursor.expect(')')
}

/** What may stand after an expression is taken in any order: the engine says what goes with what. */
function parseTtl(cursor: SqlCursor): void {
  do {
    parseExpression(cursor, 'none')
    while (parseTtlClause(cursor));
  } while (cursor.take(','))
}

function parseTtlClause(cursor: SqlCursor): boolean {
  if (cursor.take('DELETE')) return true
  if (cursor.take('WHERE') || cursor.take('SET')) {
    parseExpression(cursor, 'none')
    return true
  }
  if (cursor.is('GROUP') && cursor.is('BY', 1)) {
    cursor.index += 2
    parseExpression(cursor, 'none')
    return true
  }
  if (cursor.is('TO') && (cursor.is('DISK', 1) || cursor.is('VOLUME', 1)) && cursor.peek(2).kind === 'string') {
    cursor.index += 3
    return true
  }
  if (!cursor.is('RECOMPRESS') || !cursor.is('CODEC', 1)) return false
  cursor.index += 2
  cursor.expect('(')
  takeCodecs(cursor)
  cursor.expect(')')
  return true
}

/** `text(tokenizer = ngrams(3))`: options are expressions. */
function parseIndexType(cursor: SqlCursor): void {
  if (cursor.peek().kind !== 'word') cursor.refuse('expected the type of an index')
  cursor.index += 1
  if (!cursor.take('(')) return
  while (!cursor.is(')')) {
    parseExpression(cursor, 'none')
    if (!cursor.take(',')) break
  }
  cursor.expect(')')
}
