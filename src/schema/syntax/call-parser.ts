// Calls of functions, and what can stand behind one: parameters, FILTER, OVER, the treatment of nulls.

import { nameText, type PlainName, parseExpression, parseList, readAfterIn } from './expression-parser.ts'
import { inFunctions } from './in-functions.ts'
import { notExpressionAliases } from './keywords.ts'
import type { TokenRange } from './parsed-query.types.ts'
import type { SqlCursor } from './sql-cursor.ts'
import { stringValue } from './string-value.ts'
import { parseType } from './type-parser.ts'
import { parseWindow } from './window-parser.ts'

// Functions with words between their arguments. Any of these may be named without AS.
const wordedFunctions: ReadonlySet<string> = new Set('EXTRACT TRIM LTRIM RTRIM SUBSTRING SUBSTR MID OVERLAY'.split(' '))
const trimSides: ReadonlySet<string> = new Set(['BOTH', 'LEADING', 'TRAILING'])
const separators: ReadonlySet<string> = new Set([',', 'FROM', 'FOR', 'PLACING'])

/** Takes the arguments of a call, from the bracket on; its name begins at `start`. */
export function parseCall(cursor: SqlCursor, start: number): void {
  const name = nameText(cursor, { start, end: cursor.index })
  const key = cursor.index === start + 1 ? (cursor.tokens[start]?.key ?? '') : ''
  const call = cursor.call(name, start)
  if (key === 'CAST') call.arguments = parseCast(cursor)
  else if (key === 'POSITION') call.arguments = parsePosition(cursor)
  else if (wordedFunctions.has(key)) parseWorded(cursor)
  else {
    call.arguments = parseArguments(cursor, name)
    // The first brackets of an aggregate function may hold its parameters.
    if (cursor.is('(')) {
      call.parameters = call.arguments
      call.arguments = parseArguments(cursor, '')
    }
    while (parseSuffix(cursor));
  }
}

/** `(x AS UInt8)`, `(x AS name AS UInt8)`, `(x AS name, 'UInt8')`, `(x, 'UInt8')`. */
function parseCast(cursor: SqlCursor): TokenRange[] {
  cursor.index += 1
  parseExpression(cursor, 'none')
  const found = [cursor.expression]
  takeImplicitAlias(cursor)
  if (cursor.is('AS') && (cursor.is('AS', 2) || cursor.is(',', 2))) {
    cursor.index += 1
    takeAlias(cursor)
  }
  if (cursor.take('AS')) parseType(cursor)
  else if (cursor.take(',')) found.push(...parseList(cursor, ')'))
  cursor.expect(')')
  return found
}

/** `(needle IN haystack)`, where IN reads no table, or `(haystack, needle)`; gives the haystack first. */
function parsePosition(cursor: SqlCursor): TokenRange[] {
  cursor.index += 1
  parseExpression(cursor, 'explicit', 'IN')
  const first = cursor.expression
  const isNeedleFirst = cursor.take('IN')
  if (!isNeedleFirst && !cursor.take(',')) {
    cursor.expect(')')
    return [first]
  }
  const [second, ...others] = parseList(cursor, ')')
  cursor.expect(')')
  if (second === undefined) return [first]
  return isNeedleFirst ? [second, first, ...others] : [first, second, ...others]
}

/** `(BOTH 'x' FROM y)`, `(x FROM 1 FOR 2)`, `(x PLACING y FROM 1)`, `(DAY FROM x)`, or arguments with commas. */
function parseWorded(cursor: SqlCursor): void {
  cursor.index += 1
  const afterSide = cursor.peek(1)
  if (trimSides.has(cursor.peek().key) && afterSide.key !== ',' && afterSide.key !== ')') cursor.index += 1
  while (!cursor.is(')')) {
    // `EXTRACT(DAY FROM x)` may begin with FROM when the side of a TRIM has nothing behind it.
    if (!cursor.is('FROM')) {
      parseExpression(cursor, 'explicit')
      if (!separators.has(cursor.peek().key)) takeImplicitAlias(cursor)
    }
    if (!separators.has(cursor.peek().key)) break
    cursor.index += 1
  }
  cursor.expect(')')
}

function takeImplicitAlias(cursor: SqlCursor): void {
  const { kind, key } = cursor.peek()
  if (kind === 'quotedName' || (kind === 'word' && !notExpressionAliases.has(key))) takeAlias(cursor)
}

function takeAlias(cursor: SqlCursor): void {
  const { expression } = cursor
  cursor.nameExpression(cursor.takeName('an alias'), expression, false)
}

// Their first argument may be a function, told by its name: `system.functions` says so of these.
const higherOrder =
  /^(?:map(?:partial(?:reverse)?sort|(?:reverse)?sort|all|apply|exists|filter)|array(?:(?:partial)?(?:reverse)?(?:sort|fill|split)|(?:last|first)(?:index|ornull)?|topk|bottomk|sum|fold|min|max|product|count|avg|cumsum(?:nonnegative)?|compact|all|difference|map|exists|filter))$/

/** Takes one pair of brackets with arguments of the function, or of its parameters when `name` is empty. */
function parseArguments(cursor: SqlCursor, name: string): TokenRange[] {
  cursor.expect('(')
  const found: TokenRange[] = []
  const afterModifier = cursor.peek(1).key
  const isModifier = (cursor.is('DISTINCT') || cursor.is('ALL')) && ![',', ')', '.', '('].includes(afterModifier)
  if (isModifier || (cursor.is('DISTINCT') && afterModifier === '(')) cursor.index += 1
  const lower = name.toLowerCase()
  for (let index = 0; !cursor.is(')'); index += 1) {
    const start = cursor.index
    const argument = parseExpression(cursor, 'explicit')
    found.push(cursor.expression)
    if (index === 0 && lower.startsWith('joinget')) readJoin(cursor, start, argument)
    if (argument !== null && index === 0 && higherOrder.test(lower))
      cursor.call(nameText(cursor, argument), argument.start, false)
    if (argument !== null && index === 1 && inFunctions.has(lower)) readAfterIn(cursor, argument)
    if (!cursor.take(',')) break
  }
  cursor.expect(')')
  return found
}

/** Notes the table of `joinGet`: a string, or a name. */
function readJoin(cursor: SqlCursor, start: number, argument: PlainName): void {
  const token = cursor.tokens[start]
  const isString = token?.kind === 'string' && token.text.startsWith("'") && cursor.index === start + 1
  let parts: readonly string[] | null = null
  if (isString) parts = stringValue(token).split('.')
  else if (argument !== null && argument.start === start) {
    const names = cursor.tokens.slice(argument.start, argument.end).filter(({ kind }) => kind !== 'symbol')
    parts = names.map((one) => one.name)
  }
  const end = cursor.index
  const modifiers = { start: end, end }
  cursor.reads.push({ kind: 'joinGet', start, end, parts, scope: cursor.scope, hasAlias: true, alias: null, modifiers })
}

const afterWindowName: ReadonlySet<string> = new Set(['', ',', ')', 'AS', 'FROM'])

/** A window may be called as what an alias cannot: `sum(a) OVER all FROM t`, but not `sum(a) over FROM t`. */
function isWindowName(cursor: SqlCursor, key: string): boolean {
  return !notExpressionAliases.has(key) || afterWindowName.has(cursor.peek(2).key)
}

/** FILTER, RESPECT NULLS, IGNORE NULLS or OVER; false when none of them follows. */
function parseSuffix(cursor: SqlCursor): boolean {
  if (cursor.is('FILTER') && cursor.is('(', 1)) {
    cursor.index += 2
    cursor.expect('WHERE')
    parseExpression(cursor, 'explicit')
    cursor.expect(')')
    return true
  }
  if ((cursor.is('RESPECT') || cursor.is('IGNORE')) && cursor.is('NULLS', 1)) {
    cursor.index += 2
    return true
  }
  if (!cursor.is('OVER')) return false
  const next = cursor.peek(1)
  if (next.key === '(') {
    cursor.index += 1
    parseWindow(cursor)
    return true
  }
  if (next.kind !== 'quotedName' && (next.kind !== 'word' || !isWindowName(cursor, next.key))) return false
  cursor.index += 2
  return true
}
