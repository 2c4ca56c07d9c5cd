// Expressions of ClickHouse SQL. Operators are not ordered by precedence: for the names in an expression it does not
// matter which of them binds first.

import { symbolOperators } from './keyword-names.ts'
import { intervalUnits, notExpressionAliases } from './keywords.ts'
import type { StarUse, TokenRange } from './parsed-query.types.ts'
import type { SqlCursor } from './sql-cursor.ts'
import { SqlFault } from './sql-fault.ts'
import { parseType } from './type-parser.ts'

/** Whether an expression may be given a name: not at all, by AS, or by a name that simply follows. */
export type AliasRule = 'none' | 'explicit' | 'implicit'

/** A name alone, in brackets or not; null for everything else. */
export type PlainName = TokenRange | null

/**
 * Takes one expression; tells whether it is nothing but a name.
 *
 * @param separator an operator that ends it, where the engine takes that for something else.
 */
export function parseExpression(cursor: SqlCursor, aliasRule: AliasRule, separator = ''): PlainName {
  cursor.descend()
  const start = cursor.index
  const lambdaCount = cursor.lambdas.length
  let name = parseOperand(cursor)
  if (cursor.is('->')) {
    readParameters(cursor, start)
    parseOperand(cursor)
    name = null
  }
  while ((separator === '' || !cursor.is(separator)) && parseOperator(cursor)) name = null
  const isLambda = cursor.lambdas.length > lambdaCount
  cursor.lambdas.length = lambdaCount
  cursor.expression = { start, end: cursor.index }
  cursor.alias = aliasRule === 'none' ? null : parseAlias(cursor, aliasRule, isLambda)
  cursor.ascend()
  return name
}

/**
 * Takes expressions with commas between them, up to `closing`, which stays; one after the last is allowed.
 *
 * @returns where they stand, without their aliases.
 */
export function parseList(cursor: SqlCursor, closing: string, aliasRule: AliasRule = 'explicit'): TokenRange[] {
  const expressions: TokenRange[] = []
  while (!cursor.is(closing)) {
    parseExpression(cursor, aliasRule)
    expressions.push(cursor.expression)
    if (!cursor.take(',')) break
  }
  return expressions
}

function parseAlias(cursor: SqlCursor, aliasRule: AliasRule, isLambda: boolean): string | null {
  const { kind, key } = cursor.peek()
  const isImplicit =
    aliasRule === 'implicit' && (kind === 'quotedName' || (kind === 'word' && !notExpressionAliases.has(key)))
  // `SELECT FROM t` forgets the columns; it does not call a column of that name t.
  if (isImplicit && cursor.is('FROM', -1) && !cursor.is('.', -2)) cursor.refuse('expected an expression before FROM')
  if (!isImplicit && !cursor.take('AS')) return null
  const name = cursor.takeName('an alias')
  cursor.nameExpression(name, cursor.expression, isLambda)
  return name
}

const parametersMax = 64

/** Takes the arrow of a lambda, whose parameters are what was taken since `start`. */
function readParameters(cursor: SqlCursor, start: number): void {
  const names = cursor.tokens.slice(start, cursor.index).flatMap(({ kind, name }) => (kind === 'symbol' ? [] : [name]))
  if (names.length > parametersMax) throw new SqlFault('A lambda has too many parameters')
  // They are no names of anything else.
  while ((cursor.names.at(-1)?.start ?? -1) >= start) cursor.names.pop()
  cursor.lambdas.push(names)
  cursor.index += 1
}

const arithmetic: ReadonlySet<string> = new Set('+ - * / % || DIV MOD'.split(' '))

/** Takes an operator with its right side; false when none stands here. */
function parseOperator(cursor: SqlCursor): boolean {
  const token = cursor.peek()
  if (token.kind === 'symbol') return parseSymbolOperator(cursor, token.key)
  return token.kind === 'word' && parseWordOperator(cursor, token.key)
}

function parseSymbolOperator(cursor: SqlCursor, key: string): boolean {
  if (symbolOperators.has(key)) {
    cursor.index += 1
    // `= ANY (SELECT …)`, and `* ` of `SELECT a * FROM` is no operator but cannot be anything else either.
    parseOperand(cursor)
    return true
  }
  if (key !== '?') return false
  cursor.index += 1
  parseExpression(cursor, 'none')
  cursor.expect(':')
  parseExpression(cursor, 'none')
  return true
}

const afterIs: ReadonlySet<string> = new Set(['NULL', 'TRUE', 'FALSE', 'UNKNOWN'])

function parseWordOperator(cursor: SqlCursor, key: string): boolean {
  switch (key) {
    case 'AND':
    case 'OR':
    case 'DIV':
    case 'MOD':
    case 'BETWEEN':
      cursor.index += 1
      parseOperand(cursor)
      return true
    case 'LIKE':
    case 'ILIKE':
    case 'REGEXP':
      cursor.index += 1
      parsePattern(cursor)
      return true
    case 'ESCAPE':
      if (cursor.peek(1).kind !== 'string') return false
      cursor.index += 2
      return true
    case 'IS':
      return parseIs(cursor)
    case 'AT':
      if (!cursor.is('TIME', 1) || !cursor.is('ZONE', 2)) return false
      cursor.index += 3
      parseOperand(cursor)
      return true
    default:
      return parseMembership(cursor)
  }
}

function parseIs(cursor: SqlCursor): boolean {
  const afterNot = cursor.is('NOT', 1) ? 2 : 1
  if (afterIs.has(cursor.peek(afterNot).key)) {
    cursor.index += afterNot + 1
    return true
  }
  if (!cursor.is('DISTINCT', afterNot) || !cursor.is('FROM', afterNot + 1)) return false
  cursor.index += afterNot + 2
  parseOperand(cursor)
  return true
}

/** `[GLOBAL] [NOT] IN`, and the other operators that NOT can stand before. */
function parseMembership(cursor: SqlCursor): boolean {
  const afterGlobal = cursor.is('GLOBAL') ? 1 : 0
  const afterNot = cursor.is('NOT', afterGlobal) ? afterGlobal + 1 : afterGlobal
  if (cursor.is('IN', afterNot)) {
    cursor.index += afterNot + 1
    const name = parseOperand(cursor)
    // `x IN a + 1` is over a sum.
    if (name !== null && !arithmetic.has(cursor.peek().key)) readAfterIn(cursor, name)
    return true
  }
  if (afterNot !== 1 || afterGlobal !== 0) return false
  if (!cursor.is('LIKE', 1) && !cursor.is('ILIKE', 1) && !cursor.is('BETWEEN', 1)) return false
  const isPattern = !cursor.is('BETWEEN', 1)
  cursor.index += 2
  if (isPattern) parsePattern(cursor)
  else parseOperand(cursor)
  return true
}

function parsePattern(cursor: SqlCursor): void {
  const start = cursor.index
  parseOperand(cursor)
  cursor.patterns.push({ start, end: cursor.index })
}

const values: ReadonlySet<string> = new Set(['NULL', 'TRUE', 'FALSE', 'INF', 'NAN'])

/** Notes a name behind IN, unless it is the parameter of a lambda or a value. */
export function readAfterIn(cursor: SqlCursor, { start, end }: TokenRange): void {
  const tokens = cursor.tokens.slice(start, end).filter(({ kind }) => kind !== 'symbol')
  const [first] = tokens
  if (first === undefined || (tokens.length === 1 && values.has(first.key))) return
  // `x.y` of a parameter x could be a table of a database x too; the resolver refuses it.
  if (tokens.length === 1 && cursor.lambdas.some((names) => names.includes(first.name))) return
  const parts = tokens.map(({ name }) => name)
  const modifiers = { start: end, end }
  cursor.reads.push({ kind: 'in', start, end, parts, scope: cursor.scope, hasAlias: true, alias: null, modifiers })
}

/** Takes one operand with the signs before it and the accesses behind it. */
function parseOperand(cursor: SqlCursor): PlainName {
  cursor.descend()
  let isSigned = false
  while (cursor.is('-') || cursor.is('+') || isNegation(cursor)) {
    cursor.index += 1
    isSigned = true
  }
  let name = parsePrimary(cursor)
  for (;;) {
    if (cursor.is('[')) {
      cursor.index += 1
      parseList(cursor, ']', 'none')
      cursor.expect(']')
    } else if (cursor.is('::')) {
      cursor.index += 1
      parseType(cursor)
    } else if (!cursor.is('.') || !parseAccess(cursor)) break
    name = null
  }
  cursor.ascend()
  return isSigned ? null : name
}

const notOperands: ReadonlySet<string> = new Set(['', ',', ')', ']', '.', '=', 'AS', 'FROM'])

/** `NOT` before an operand; alone it is a name. */
function isNegation(cursor: SqlCursor): boolean {
  if (!cursor.is('NOT')) return false
  const next = cursor.peek(1)
  const isColumn = next.key === 'FROM' && cursor.is('FROM', 2)
  return (
    isColumn ||
    next.kind === 'string' ||
    next.kind === 'number' ||
    next.kind === 'quotedName' ||
    !notOperands.has(next.key)
  )
}

/** `.name`, `.1`, `.:Type` and `.^name` behind an operand that is no name. */
function parseAccess(cursor: SqlCursor): boolean {
  const { kind, key } = cursor.peek(1)
  if (key === '^') cursor.index += 1
  if (key === ':') {
    cursor.index += 2
    parseType(cursor)
    return true
  }
  if (key !== '^' && kind !== 'word' && kind !== 'quotedName' && kind !== 'number') return false
  cursor.index += 2
  return true
}

function parsePrimary(cursor: SqlCursor): PlainName {
  const token = cursor.peek()
  switch (token.kind) {
    case 'string':
    case 'number':
      cursor.index += 1
      return null
    case 'quotedName':
      return parseName(cursor)
    case 'word':
      return parseKeyword(cursor, token.key) ? null : parseName(cursor)
    case 'symbol':
      return parseSymbol(cursor, token.key)
  }
}

function parseSymbol(cursor: SqlCursor, key: string): PlainName {
  if (key === '(') return parseBracket(cursor)
  if (key === '[') {
    cursor.index += 1
    parseList(cursor, ']')
    cursor.expect(']')
    return null
  }
  if (key === '*') {
    const start = cursor.index
    cursor.names.push({ start, end: start + 1 })
    cursor.index += 1
    parseTransformers(cursor, { start, isQualified: false })
    return null
  }
  // A fraction without its zero, behind a keyword: the lexer cannot tell it from the element of a tuple.
  if (key !== '.' || cursor.peek(1).kind !== 'number') cursor.refuse('expected an expression')
  cursor.index += 2
  return null
}

/** A subquery, a tuple, or an expression in brackets; null but for a name alone. */
function parseBracket(cursor: SqlCursor): PlainName {
  cursor.index += 1
  if (startsQuery(cursor)) {
    cursor.parseQuery(cursor, null)
    cursor.expect(')')
    return null
  }
  let name: PlainName = null
  let count = 0
  while (!cursor.is(')')) {
    name = parseExpression(cursor, 'explicit')
    count += 1
    if (!cursor.take(',')) break
    count += 1
  }
  cursor.expect(')')
  return count === 1 ? name : null
}

const afterColumnName: ReadonlySet<string> = new Set(
  'AS FROM AND OR IN NOT IS LIKE ILIKE BETWEEN DIV MOD THEN ELSE END ASC DESC'.split(' '),
)

const startsColumn: ReadonlySet<string> = new Set(['(', '[', '*', '-', '+'])

/** True where a query stands behind a bracket: columns can be called `from` and `with`. */
export function startsQuery(cursor: SqlCursor, ahead = 0): boolean {
  const { key } = cursor.peek(ahead)
  const next = cursor.peek(ahead + 1)
  if (key === 'SELECT') return next.kind !== 'symbol' || startsColumn.has(next.key)
  if (key === 'WITH') {
    const isSigned = next.key === '-' || next.key === '+'
    return next.kind !== 'symbol' || next.key === '(' || next.key === '[' || (isSigned && leadsToSelect(cursor, ahead))
  }
  if (key === 'FROM')
    return (next.kind === 'word' && !afterColumnName.has(next.key)) || next.kind === 'quotedName' || next.key === '('
  return false
}

/** Whether a SELECT follows within the same brackets: `with - 1` has none, `WITH -1 AS x SELECT x` does. */
function leadsToSelect(cursor: SqlCursor, ahead: number): boolean {
  for (let at = cursor.index + ahead; at < cursor.tokens.length; at += 1) {
    const key = cursor.tokens[at]?.key
    if (key === ')') return false
    if (key === 'SELECT') return true
    if (key === '(') at = cursor.brackets.get(at) ?? cursor.tokens.length
  }
  return false
}

/** Takes what begins with a keyword; false when the word is a name here. */
function parseKeyword(cursor: SqlCursor, key: string): boolean {
  const next = cursor.peek(1)
  switch (key) {
    case 'CASE':
      return parseCase(cursor)
    case 'INTERVAL':
      return parseInterval(cursor)
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIME':
      if (next.kind !== 'string') return false
      cursor.index += 2
      return true
    case 'ANY':
    case 'ALL':
    case 'SOME':
    case 'EXISTS':
      cursor.index += 2
      if (next.key === '(' && startsQuery(cursor)) {
        cursor.parseQuery(cursor, null)
        cursor.expect(')')
        return true
      }
      cursor.index -= 2
      return false
    default:
      return false
  }
}

function parseCase(cursor: SqlCursor): boolean {
  if (!cursor.isCase) return false
  cursor.index += 1
  cursor.descend()
  if (!cursor.is('WHEN')) parseExpression(cursor, 'explicit')
  while (cursor.take('WHEN')) {
    parseExpression(cursor, 'explicit')
    cursor.expect('THEN')
    parseExpression(cursor, 'explicit')
  }
  if (cursor.take('ELSE')) parseExpression(cursor, 'explicit')
  cursor.expect('END')
  cursor.ascend()
  return true
}

/** `INTERVAL '1 day'` and `INTERVAL expression DAY`; a column may have that name. */
function parseInterval(cursor: SqlCursor): boolean {
  if (!cursor.isInterval) return false
  const next = cursor.peek(1)
  cursor.index += 1
  parseExpression(cursor, 'none')
  if (intervalUnits.has(cursor.peek().key)) cursor.index += 1
  else if (next.kind !== 'string') cursor.refuse('expected the unit of an interval')
  return true
}

/** Takes a name with its dots, and the call, the columns or the types that may stand behind it. */
function parseName(cursor: SqlCursor): PlainName {
  const start = cursor.index
  cursor.index += 1
  while (cursor.is('.')) {
    const { kind, key } = cursor.peek(1)
    if (key === '*' || (key === 'COLUMNS' && cursor.is('(', 2))) {
      cursor.index += 1
      return parseColumns(cursor, true)
    }
    if (kind !== 'word' && kind !== 'quotedName') break
    cursor.index += 2
  }
  const end = cursor.index
  if (!cursor.is('(')) return noteName(cursor, { start, end })
  if (end === start + 1 && cursor.tokens[start]?.key === 'COLUMNS') {
    cursor.index = start
    return parseColumns(cursor, false)
  }
  cursor.parseCall(cursor, start)
  return null
}

function noteName(cursor: SqlCursor, name: TokenRange): PlainName {
  const first = cursor.tokens[name.start]?.name ?? ''
  if (!cursor.lambdas.some((names) => names.includes(first))) cursor.names.push(name)
  return name
}

function parseColumns(cursor: SqlCursor, isQualified: boolean): null {
  const start = cursor.index
  cursor.names.push({ start, end: start + 1 })
  cursor.index += 1
  if (cursor.take('(')) {
    parseList(cursor, ')')
    cursor.expect(')')
  }
  parseTransformers(cursor, { start, isQualified })
  return null
}

/** `EXCEPT`, `REPLACE` and `APPLY` behind an asterisk. */
function parseTransformers(cursor: SqlCursor, star: Pick<StarUse, 'start' | 'isQualified'>): void {
  const applied: TokenRange[] = []
  while (parseTransformer(cursor, applied));
  cursor.stars.push({ ...star, end: cursor.index, applied })
}

/** Takes one of them; false when none stands here. */
function parseTransformer(cursor: SqlCursor, applied: TokenRange[]): boolean {
  if (cursor.is('EXCEPT') && isColumnExcept(cursor)) {
    cursor.index += cursor.is('STRICT', 1) ? 2 : 1
  } else if (cursor.is('REPLACE')) {
    cursor.index += cursor.is('STRICT', 1) ? 2 : 1
  } else if (cursor.is('APPLY')) {
    cursor.index += 1
    const start = cursor.index
    parseApply(cursor)
    applied.push({ start, end: cursor.index })
    return true
  } else return false
  if (cursor.take('(')) {
    parseList(cursor, ')')
    cursor.expect(')')
  } else parseExpression(cursor, 'explicit')
  return true
}

/** False for the EXCEPT between two queries. */
function isColumnExcept(cursor: SqlCursor): boolean {
  const next = cursor.peek(1)
  if (next.key === '(') return !startsQuery(cursor, 2) && !cursor.is('(', 2)
  if (next.key === 'WITH') return !leadsToSelect(cursor, 1)
  if (next.key === 'ALL' || next.key === 'DISTINCT') {
    return cursor.is('FROM', 2) || (!startsQuery(cursor, 2) && !cursor.is('(', 2))
  }
  return (next.key === 'SELECT' && cursor.is('FROM', 2)) || !startsQuery(cursor, 1)
}

/** `APPLY(f)`, `APPLY f`, `APPLY(f(0.5))` and `APPLY(x -> …)`, all of which call a function. */
function parseApply(cursor: SqlCursor): void {
  const scopeCount = cursor.scopes.length
  const isBracket = cursor.take('(')
  const name = parseExpression(cursor, 'none')
  if (name !== null) cursor.call(nameText(cursor, name), name.start, false)
  if (isBracket) {
    cursor.take(',')
    cursor.expect(')')
  }
  // The engine's own description of a query does not show what is in there.
  if (cursor.scopes.length > scopeCount) throw new SqlFault('Subqueries are not allowed in APPLY')
}

/** The parts of a name with dots between them. */
export function nameText(cursor: SqlCursor, { start, end }: TokenRange): string {
  let text = ''
  for (let index = start; index < end; index += 1) text += cursor.tokens[index]?.name ?? ''
  return text
}
