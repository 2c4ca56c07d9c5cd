// Types, wherever the engine takes one: behind `::` and AS, in a structure text, in a text that is the argument of a function.
//
// The engine evaluates what stands in the brackets of some of them (parameters of aggregate functions, for one), so nothing
// can stand there but what the grammar of that type has: types, names, literals and the functions of the allow list.

import { beginningOf } from '../../shared/beginning-of.ts'
import { isAllowedAggregate } from '../functions/function-policy.ts'
import { checkZoneName } from '../time-zones/time-zone-names.ts'
import type { SqlCursor } from './sql-cursor.ts'
import { SqlFault } from './sql-fault.ts'
import { stringValue } from './string-value.ts'
import { textCursor } from './text-cursor.ts'
import { beginsTypeName, isTypeName } from './type-names.ts'

/**
 * Takes the name of a type with its arguments, `Array(Nullable(DateTime64(3, 'UTC')))`.
 *
 * @throws SqlFault when the engine has no such type, or its arguments are none of a type.
 */
export function parseType(cursor: SqlCursor): void {
  parseTypeIn(cursor, false)
}

// Their values tell their types in binary, of which nothing here would see the time zones and aggregate functions.
const tellingTypes: ReadonlySet<string> = new Set(['dynamic', 'json'])

/** @param isInState whether it is part of an AggregateFunction, whose values a text can tell in binary. */
function parseTypeIn(cursor: SqlCursor, isInState: boolean): void {
  cursor.descend()
  const name = takeTypeName(cursor, isInState)
  if (isInState && tellingTypes.has(name.toLowerCase())) {
    throw new SqlFault(`The type ${name} cannot stand in an AggregateFunction: write the type of its values`)
  }
  if (cursor.take('(')) {
    argumentsOf(name)(cursor, isInState)
    cursor.expect(')')
  }
  cursor.ascend()
}

/**
 * Reads the text of one type.
 *
 * @throws SqlFault.
 */
export function checkTypeText(text: string): void {
  checkTypeTextIn(text, false)
}

function checkTypeTextIn(text: string, isInState: boolean): void {
  const cursor = textCursor(text)
  parseTypeIn(cursor, isInState)
  if (!cursor.isAtEnd) cursor.refuse('expected the end of the type')
}

function takeTypeName(cursor: SqlCursor, isInState: boolean): string {
  const token = cursor.peek()
  // ``json.a.:`Array(JSON)` `` holds its type in quotes.
  if (token.kind === 'quotedName' && !isTypeName(token.name)) {
    checkTypeTextIn(token.name, isInState)
    cursor.index += 1
    return ''
  }
  let name = cursor.takeName('a type')
  for (;;) {
    const next = cursor.peek()
    const longer = `${name} ${next.name}`
    const isLonger = next.kind === 'word' && beginsTypeName(name) && (isTypeName(longer) || beginsTypeName(longer))
    if (!isLonger) break
    name = longer
    cursor.index += 1
  }
  if (isTypeName(name)) return name
  cursor.index -= 1
  throw new SqlFault(`Unknown type '${beginningOf(name, 60)}'`, { offset: cursor.peek().offset })
}

type ArgumentsParser = (cursor: SqlCursor, isInState: boolean) => void

/** By the name of the type in lower case, what takes its arguments up to the bracket; literals for all others. */
const argumentParsers: ReadonlyMap<string, ArgumentsParser> = new Map([
  ['array', takeTypes],
  ['nullable', takeTypes],
  ['lowcardinality', takeTypes],
  ['map', takeTypes],
  ['variant', takeTypes],
  ['tuple', takeFields],
  ['nested', takeFields],
  ['qbit', takeVector],
  ['json', takeJson],
  ['dynamic', takeOptions],
  ['aggregatefunction', (cursor) => takeAggregate(cursor, true)],
  ['simpleaggregatefunction', takeAggregate],
  ['datetime', takeZoned],
  ['datetime32', takeZoned],
  ['datetime64', takeZoned],
  ['timestamp', takeZoned],
])

function argumentsOf(name: string): ArgumentsParser {
  return argumentParsers.get(name.toLowerCase()) ?? takeLiterals
}

function takeTypes(cursor: SqlCursor, isInState: boolean): void {
  if (cursor.is(')')) return
  do parseTypeIn(cursor, isInState)
  while (cursor.take(','))
}

/** `a String, b UInt8` or `String, UInt8`. */
function takeFields(cursor: SqlCursor, isInState: boolean): void {
  if (cursor.is(')')) return
  do {
    if (isFieldName(cursor)) cursor.index += 1
    parseTypeIn(cursor, isInState)
  } while (cursor.take(','))
}

/** Two words side by side are a name and its type, also where they could be one type: so the engine takes them. */
function isFieldName(cursor: SqlCursor): boolean {
  return [cursor.peek(), cursor.peek(1)].every(({ kind }) => kind === 'word' || kind === 'quotedName')
}

/** `QBit(Float32, 16)`. */
function takeVector(cursor: SqlCursor, isInState: boolean): void {
  parseTypeIn(cursor, isInState)
  while (cursor.take(',')) takeLiteral(cursor)
}

/** `max_types = 8`. */
function takeOptions(cursor: SqlCursor): void {
  if (cursor.is(')')) return
  do takeOption(cursor)
  while (cursor.take(','))
}

function takeOption(cursor: SqlCursor): void {
  cursor.takeName('an option of the type')
  cursor.expect('=')
  takeLiteral(cursor)
}

/** `max_dynamic_paths = 16`, `SKIP a.b`, `SKIP REGEXP 'x'`, or a path with its type, `a.b UInt32`. */
function takeJson(cursor: SqlCursor, isInState: boolean): void {
  if (cursor.is(')')) return
  do {
    if (cursor.is('=', 1)) takeOption(cursor)
    else if (cursor.is('SKIP') && cursor.is('REGEXP', 1) && cursor.peek(2).kind === 'string') cursor.index += 3
    else if (cursor.is('SKIP') && (cursor.peek(1).kind === 'word' || cursor.peek(1).kind === 'quotedName')) {
      cursor.index += 1
      takePath(cursor)
      // A path of that name, with its type.
      if (!cursor.is(',') && !cursor.is(')')) parseTypeIn(cursor, isInState)
    } else {
      takePath(cursor)
      parseTypeIn(cursor, isInState)
    }
  } while (cursor.take(','))
}

function takePath(cursor: SqlCursor): void {
  do cursor.takeName('a path')
  while (cursor.take('.'))
}

/** `AggregateFunction(1, quantiles(0.5, 0.9), Float64)`: perhaps a version, a function, its parameters, types. */
function takeAggregate(cursor: SqlCursor, isInState: boolean): void {
  if (cursor.peek().kind === 'number') {
    cursor.index += 1
    cursor.expect(',')
  }
  const name = cursor.takeName('an aggregate function')
  if (!isAllowedAggregate(name)) throw new SqlFault(`'${beginningOf(name, 60)}' is not a known aggregate function`)
  if (cursor.take('(')) {
    takeLiterals(cursor)
    cursor.expect(')')
  }
  while (cursor.take(',')) parseTypeIn(cursor, isInState)
}

/** `3`, `'UTC'`, `'a' = 1, 'b' = -2`, `[1, 2]`; nothing at all too. */
export function takeLiterals(cursor: SqlCursor): void {
  if (cursor.is(')')) return
  do {
    takeLiteral(cursor)
    if (cursor.take('=')) takeLiteral(cursor)
  } while (cursor.take(','))
}

/** `3, 'Europe/Berlin'`. */
function takeZoned(cursor: SqlCursor): void {
  const start = cursor.index
  takeLiterals(cursor)
  for (const token of cursor.tokens.slice(start, cursor.index)) {
    if (token.kind === 'string') checkZoneName(stringValue(token))
  }
}

const namedLiterals: ReadonlySet<string> = new Set(['NULL', 'TRUE', 'FALSE'])

function takeLiteral(cursor: SqlCursor): void {
  if (cursor.is('[') || cursor.is('(')) {
    const closing = cursor.is('[') ? ']' : ')'
    cursor.index += 1
    cursor.descend()
    while (!cursor.is(closing)) {
      takeLiteral(cursor)
      if (!cursor.take(',')) break
    }
    cursor.expect(closing)
    cursor.ascend()
    return
  }
  if (cursor.is('-') || cursor.is('+')) cursor.index += 1
  const { kind, key } = cursor.peek()
  if (kind !== 'string' && kind !== 'number' && !namedLiterals.has(key)) cursor.refuse('expected a literal in a type')
  cursor.index += 1
}
