// Column types as text: reading what callers write, and writing what ClickHouse writes.
//
// Whatever is accepted here, the engine accepts as a column of a table; `test/schema/types/column-type.test.ts` asks it.

import { TextError } from '../../shared/text-error.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { compactText, TokenCursor } from '../syntax/token-cursor.ts'
import type { ColumnType, TupleField } from './column-type.types.ts'
import { fieldNameFault, lowCardinalityFault, mapKeyFault, nestedFault, nullableFault } from './column-type-rules.ts'
import { readScalarType } from './column-type-scalars.ts'
import { simpleAggregateFault } from './simple-aggregate.ts'

// Deeper than any real schema, and shallow enough for every recursion over a type.
const typeDepthMax = 32

/**
 * Reads a ClickHouse column type; capitals matter, as they do to ClickHouse.
 *
 * @throws TextError with the offset of what is wrong.
 */
export function parseColumnType(text: string): ColumnType {
  const cursor = new TokenCursor(text)
  const type = readColumnType(cursor)
  cursor.expectEnd('after the type')
  return type
}

/** Reads the type that begins at the cursor and leaves the cursor after it. @throws TextError */
export function readColumnType(cursor: TokenCursor): ColumnType {
  return readTypeAt(cursor, 0)
}

/** What a value of the column is: the type under Nullable, LowCardinality and SimpleAggregateFunction. */
export function valueTypeOf(type: ColumnType): ColumnType {
  let inner = type
  while (inner.kind === 'nullable' || inner.kind === 'lowCardinality' || inner.kind === 'simpleAggregateFunction') {
    inner = inner.inner
  }
  return inner
}

/** Whether the column can hold NULL: `Nullable(T)`, also under LowCardinality and SimpleAggregateFunction. */
export function isNullable(type: ColumnType): boolean {
  if (type.kind === 'lowCardinality' || type.kind === 'simpleAggregateFunction') return isNullable(type.inner)
  return type.kind === 'nullable'
}

/** The canonical ClickHouse text of a type, as `system.columns` shows it: `Array(Tuple(a String, b UInt8))`. */
export function formatColumnType(type: ColumnType): string {
  switch (type.kind) {
    case 'integer':
      return type.name
    case 'float':
      return `Float${type.bits}`
    case 'decimal':
      return `Decimal(${type.precision}, ${type.scale})`
    case 'bool':
      return 'Bool'
    case 'string':
      return 'String'
    case 'fixedString':
      return `FixedString(${type.byteCount})`
    case 'uuid':
      return 'UUID'
    case 'date':
      return 'Date'
    case 'date32':
      return 'Date32'
    case 'dateTime':
      return type.zone === null ? 'DateTime' : `DateTime(${quoteString(type.zone)})`
    case 'dateTime64':
      return `DateTime64(${type.scale}${type.zone === null ? '' : `, ${quoteString(type.zone)}`})`
    case 'enum':
      return `Enum${type.bits}(${type.members.map(({ name, value }) => `${quoteString(name)} = ${value}`).join(', ')})`
    case 'ipv4':
      return 'IPv4'
    case 'ipv6':
      return 'IPv6'
    case 'json':
      return type.parameters === '' ? 'JSON' : `JSON(${type.parameters})`
    case 'lowCardinality':
      return `LowCardinality(${formatColumnType(type.inner)})`
    case 'nullable':
      return `Nullable(${formatColumnType(type.inner)})`
    case 'array':
      return `Array(${formatColumnType(type.element)})`
    case 'map':
      return `Map(${formatColumnType(type.key)}, ${formatColumnType(type.value)})`
    case 'tuple':
      return `Tuple(${type.fields.map(formatField).join(', ')})`
    case 'simpleAggregateFunction':
      return `SimpleAggregateFunction(${type.aggregate}, ${formatColumnType(type.inner)})`
    case 'aggregateFunction':
      return `AggregateFunction(${type.parameters})`
  }
}

function formatField({ name, type }: TupleField): string {
  if (name === null) return formatColumnType(type)
  return `${/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : quoteName(name)} ${formatColumnType(type)}`
}

function readTypeAt(cursor: TokenCursor, depth: number): ColumnType {
  const name = cursor.peek()
  if (name.kind !== 'word')
    throw new TextError({ reason: `Expected a type, found ${cursor.describe()}`, offset: name.offset })
  if (depth === typeDepthMax) {
    throw new TextError({ reason: `Types are nested more than ${typeDepthMax} deep`, offset: name.offset })
  }
  cursor.take()
  switch (name.text) {
    case 'Nullable':
      return { kind: 'nullable', inner: readInner(cursor, name.text, depth, nullableFault) }
    case 'LowCardinality':
      return { kind: 'lowCardinality', inner: readInner(cursor, name.text, depth, lowCardinalityFault) }
    case 'Array':
      return { kind: 'array', element: readInner(cursor, name.text, depth, nestedFault) }
    case 'Map':
      return readMap(cursor, depth)
    case 'Tuple':
      return readTuple(cursor, depth)
    case 'JSON':
      return readJson(cursor, depth)
    case 'SimpleAggregateFunction':
      return readSimpleAggregateFunction(cursor, depth)
    case 'AggregateFunction':
      return readAggregateFunction(cursor, depth)
    default:
      return readScalarType(cursor, name)
  }
}

/** Says what is wrong with a type at its place, given its kind and its text; null when nothing is. */
type TypeFault = (type: ColumnType, text: string) => { readonly reason: string; readonly hint?: string } | null

function readInner(cursor: TokenCursor, name: string, depth: number, faultOf: TypeFault): ColumnType {
  cursor.expectSymbol('(', `and a type after ${name}`)
  const inner = readChecked(cursor, depth + 1, faultOf)
  cursor.expectSymbol(')', `after the type inside ${name}`)
  return inner
}

function readChecked(cursor: TokenCursor, depth: number, faultOf: TypeFault): ColumnType {
  const { offset } = cursor.peek()
  const type = readTypeAt(cursor, depth)
  const fault = faultOf(type, cursor.textFrom(offset))
  if (fault !== null) throw new TextError({ ...fault, offset })
  return type
}

function readMap(cursor: TokenCursor, depth: number): ColumnType {
  cursor.expectSymbol('(', 'and two types after Map')
  const key = readChecked(cursor, depth + 1, mapKeyFault)
  cursor.expectSymbol(',', 'and a value type after the key type of Map')
  const value = readChecked(cursor, depth + 1, nestedFault)
  cursor.expectSymbol(')', 'after the types of Map')
  return { kind: 'map', key, value }
}

function readTuple(cursor: TokenCursor, depth: number): ColumnType {
  cursor.expectSymbol('(', 'and types after Tuple')
  const fields: TupleField[] = []
  const names = new Set<string | null>()
  do {
    const { offset } = cursor.peek()
    const name = takeFieldName(cursor)
    const fault = fieldNameFault(name, names)
    names.add(name)
    if (fault !== null) throw new TextError({ ...fault, offset })
    fields.push({ name, type: readChecked(cursor, depth + 1, nestedFault) })
  } while (cursor.takeSymbolIf(','))
  cursor.expectSymbol(')', 'after the types of Tuple')
  return { kind: 'tuple', fields }
}

/** `a String` has a name and `String` has none: two words side by side begin a named field. */
function takeFieldName(cursor: TokenCursor): string | null {
  const isNamed =
    cursor.peek().kind === 'quotedName' || (cursor.peek().kind === 'word' && cursor.peek(1).kind === 'word')
  return isNamed ? cursor.take().value : null
}

function readJson(cursor: TokenCursor, depth: number): ColumnType {
  if (!cursor.takeSymbolIf('(')) return { kind: 'json', parameters: '' }
  const parameters: string[] = []
  if (!cursor.isAtSymbol(')')) {
    do parameters.push(readJsonParameter(cursor, depth))
    while (cursor.takeSymbolIf(','))
  }
  cursor.expectSymbol(')', 'after the parameters of JSON')
  return { kind: 'json', parameters: parameters.join(', ') }
}

const jsonLimits: ReadonlyMap<string, number> = new Map([
  ['max_dynamic_paths', 10_000],
  ['max_dynamic_types', 254],
])

/** `max_dynamic_paths=16`, `SKIP a.b`, `SKIP REGEXP 'x'`, or a path with its type: `a.b UInt32`. */
function readJsonParameter(cursor: TokenCursor, depth: number): string {
  if (cursor.isAtSymbol('=', 1)) return readJsonLimit(cursor)
  if (!cursor.isAtKeyword('SKIP'))
    return `${takeJsonSubpath(cursor)} ${formatColumnType(readChecked(cursor, depth + 1, nestedFault))}`
  cursor.take()
  if (!cursor.isAtKeyword('REGEXP')) return `SKIP ${takeJsonSubpath(cursor)}`
  cursor.take()
  const pattern = cursor.take()
  if (pattern.kind !== 'string') {
    throw new TextError({ reason: 'Expected a pattern in quotes after SKIP REGEXP', offset: pattern.offset })
  }
  return `SKIP REGEXP ${quoteString(pattern.value)}`
}

function readJsonLimit(cursor: TokenCursor): string {
  const name = cursor.take()
  cursor.take()
  const value = cursor.take()
  const limit = jsonLimits.get(name.text)
  if (limit === undefined)
    throw new TextError({ reason: `Unknown parameter '${name.text}' of JSON`, offset: name.offset })
  if (value.kind !== 'number' || !/^[0-9]{1,9}$/.test(value.text) || Number(value.text) > limit) {
    throw new TextError({ reason: `'${name.text}' of JSON must be from 0 to ${limit}`, offset: value.offset })
  }
  return `${name.text}=${Number(value.text)}`
}

function takeJsonSubpath(cursor: TokenCursor): string {
  const keys: string[] = []
  do {
    const key = cursor.take()
    if (key.kind !== 'word' && key.kind !== 'quotedName') {
      throw new TextError({ reason: 'Expected a path inside JSON(…)', offset: key.offset })
    }
    keys.push(key.value)
  } while (cursor.takeSymbolIf('.'))
  return quoteName(keys.join('.'))
}

function readSimpleAggregateFunction(cursor: TokenCursor, depth: number): ColumnType {
  cursor.expectSymbol('(', 'and a function after SimpleAggregateFunction')
  const { offset } = cursor.peek()
  const aggregate = takeAggregate(cursor)
  cursor.expectSymbol(',', 'and a type after the function of SimpleAggregateFunction')
  const inner = readChecked(cursor, depth + 1, nestedFault)
  const fault = simpleAggregateFault(aggregate, inner, valueTypeOf(inner))
  if (fault !== null) throw new TextError({ ...fault, offset })
  cursor.expectSymbol(')', 'after the type of SimpleAggregateFunction')
  return { kind: 'simpleAggregateFunction', aggregate, inner }
}

/** The function with its own parameters: `count`, `quantiles(0.5, 0.9)`. */
function takeAggregate(cursor: TokenCursor): string {
  const name = cursor.take()
  if (name.kind !== 'word') throw new TextError({ reason: 'Expected an aggregate function', offset: name.offset })
  if (!cursor.isAtSymbol('(')) return name.text
  return `${name.text}(${compactText(cursor.takeUntilClosed(cursor.take()))})`
}

function readAggregateFunction(cursor: TokenCursor, depth: number): ColumnType {
  cursor.expectSymbol('(', 'and a function after AggregateFunction')
  const parts: string[] = []
  // A number in front is the version of the state's format.
  if (cursor.peek().kind === 'number') {
    parts.push(cursor.take().text)
    cursor.expectSymbol(',', 'after the version of AggregateFunction')
  }
  parts.push(takeAggregate(cursor))
  while (cursor.takeSymbolIf(',')) parts.push(formatColumnType(readTypeAt(cursor, depth + 1)))
  cursor.expectSymbol(')', 'after the types of AggregateFunction')
  return { kind: 'aggregateFunction', parameters: parts.join(', ') }
}
