// Column types that hold no other type, and what to say of names that are no type here.

import { didYouMean } from '../../shared/nearest-name.ts'
import { TextError } from '../../shared/text-error.ts'
import type { TextToken } from '../syntax/text-tokens.ts'
import type { TokenCursor } from '../syntax/token-cursor.ts'
import { timeZoneFault } from '../time-zones/time-zone.ts'
import type { ColumnType, EnumMember, IntegerTypeName } from './column-type.types.ts'

// The engine calls longer ones suspicious and refuses them unless told otherwise.
const fixedStringBytesMax = 256
const decimalPrecisionMax = 76
const dateTimeScaleMax = 9

const integerBits = [8, 16, 32, 64, 128, 256] as const

const plainTypes: ReadonlyMap<string, ColumnType> = new Map([
  ...integerBits.flatMap((bits) => [integerEntry(`Int${bits}`, bits), integerEntry(`UInt${bits}`, bits)]),
  ['Float32', { kind: 'float', bits: 32 }],
  ['Float64', { kind: 'float', bits: 64 }],
  ['Bool', { kind: 'bool' }],
  ['String', { kind: 'string' }],
  ['UUID', { kind: 'uuid' }],
  ['Date', { kind: 'date' }],
  ['Date32', { kind: 'date32' }],
  ['IPv4', { kind: 'ipv4' }],
  ['IPv6', { kind: 'ipv6' }],
])

type ScalarReader = (cursor: TokenCursor, name: TextToken) => ColumnType

const parametricTypes: ReadonlyMap<string, ScalarReader> = new Map([
  ['Decimal', readDecimal],
  ['Decimal32', decimalOf(9)],
  ['Decimal64', decimalOf(18)],
  ['Decimal128', decimalOf(38)],
  ['Decimal256', decimalOf(76)],
  ['FixedString', readFixedString],
  ['DateTime', readDateTime],
  ['DateTime64', readDateTime64],
  ['Enum', readEnum],
  ['Enum8', readEnum],
  ['Enum16', readEnum],
])

const compositeTypes = [
  'Nullable',
  'LowCardinality',
  'Array',
  'Map',
  'Tuple',
  'JSON',
  'SimpleAggregateFunction',
  'AggregateFunction',
]

const typeNameByLowerCase: ReadonlyMap<string, string> = new Map(
  [...plainTypes.keys(), ...parametricTypes.keys(), ...compositeTypes].map((name) => [name.toLowerCase(), name]),
)

/** Whether a word is the name of a type, in any case. */
export function isTypeName(word: string): boolean {
  return typeNameByLowerCase.has(word.toLowerCase()) || foreignTypes.has(word.toLowerCase())
}

/** What to write instead of a type of another database, or of a ClickHouse type that is not supported here. */
const foreignTypes: ReadonlyMap<string, string> = new Map([
  ['boolean', 'use Bool'],
  ['int', 'use Int32 or another size, Int8 to Int256'],
  ['uint', 'use UInt32 or another size, UInt8 to UInt256'],
  ...['integer', 'int4', 'mediumint'].map((name) => [name, 'use Int32'] as const),
  ['bigint', 'use Int64'],
  ['smallint', 'use Int16'],
  ['tinyint', 'use Int8'],
  ['float', 'use Float32 or Float64'],
  ['double', 'use Float64'],
  ['real', 'use Float32'],
  ['bfloat16', 'use Float32'],
  ...['numeric', 'dec', 'number'].map((name) => [name, 'use Decimal(P, S), for example Decimal(18, 4)'] as const),
  ...['text', 'varchar', 'char', 'character', 'string32', 'tinytext', 'mediumtext', 'longtext', 'clob'].map(
    (name) => [name, 'use String'] as const,
  ),
  ...['blob', 'bytes', 'bytea', 'binary', 'varbinary'].map((name) => [name, 'use String'] as const),
  ['timestamp', 'use DateTime, or DateTime64(3) for milliseconds'],
  ...['time', 'time64', 'interval'].map((name) => [name, 'use String, or a number of seconds'] as const),
  ['inet', 'use IPv4 or IPv6'],
  ['object', 'use JSON'],
  ['jsonb', 'use JSON'],
  ['dynamic', 'use JSON or String'],
  ['variant', 'use JSON or String'],
  ['nested', 'use Array(Tuple(name Type, …))'],
  ['point', 'use Tuple(Float64, Float64)'],
])

/**
 * Reads a type that holds no other type; its name is taken already.
 *
 * @throws TextError when it is no such type, or its parameters are wrong.
 */
export function readScalarType(cursor: TokenCursor, name: TextToken): ColumnType {
  const read = parametricTypes.get(name.text)
  if (read !== undefined) return read(cursor, name)
  const type = plainTypes.get(name.text)
  if (type === undefined) throw unknownType(name)
  if (!cursor.isAtSymbol('(')) return type
  throw new TextError({
    reason: `Type ${name.text} takes no parameters`,
    offset: cursor.peek().offset,
    ...(name.text === 'String' ? { hint: 'use FixedString(N) for texts of N bytes' } : {}),
  })
}

function unknownType(name: TextToken): TextError {
  const { text, offset } = name
  const known = typeNameByLowerCase.get(text.toLowerCase())
  if (known !== undefined)
    return new TextError({ reason: `Unknown type '${text}'`, offset, hint: `did you mean ${known}?` })
  const hint = foreignTypes.get(text.toLowerCase())
  if (hint !== undefined) return new TextError({ reason: `${text} type is not supported`, offset, hint })
  const spelled = /^(u?)int(?:eger)?[_-]?(8|16|32|64|128|256)$/i.exec(text)
  const integer = spelled === null ? undefined : `${spelled[1] === '' ? 'Int' : 'UInt'}${spelled[2]}`
  const advice = integer === undefined ? didYouMean(text, typeNameByLowerCase.values()) : `Did you mean '${integer}'?`
  return new TextError({ reason: `Unknown type '${text}'`, offset, advice })
}

function integerEntry(name: IntegerTypeName, bits: number): [string, ColumnType] {
  return [name, { kind: 'integer', name, bits, isSigned: name.startsWith('I') }]
}

function readDecimal(cursor: TokenCursor, name: TextToken): ColumnType {
  if (!cursor.takeSymbolIf('(')) {
    throw new TextError({ reason: 'Decimal needs a precision', offset: name.offset, hint: 'use Decimal(P, S)' })
  }
  const precisionToken = cursor.peek()
  const precision = readCount(cursor, 'the precision of Decimal')
  if (precision < 1 || precision > decimalPrecisionMax) {
    const reason = `Precision of Decimal must be from 1 to ${decimalPrecisionMax}, not ${precision}`
    throw new TextError({ reason, offset: precisionToken.offset })
  }
  const scale = cursor.takeSymbolIf(',') ? readScale(cursor, precision) : 0
  cursor.expectSymbol(')', 'after the parameters of Decimal')
  return { kind: 'decimal', precision, scale }
}

function decimalOf(precision: number): ScalarReader {
  return (cursor, name) => {
    cursor.expectSymbol('(', `and a scale after ${name.text}`)
    const scale = readScale(cursor, precision)
    cursor.expectSymbol(')', `after the scale of ${name.text}`)
    return { kind: 'decimal', precision, scale }
  }
}

function readScale(cursor: TokenCursor, precision: number): number {
  const { offset } = cursor.peek()
  const scale = readCount(cursor, 'the scale of Decimal')
  if (scale <= precision) return scale
  throw new TextError({ reason: `Scale of Decimal must be from 0 to ${precision}, not ${scale}`, offset })
}

function readFixedString(cursor: TokenCursor): ColumnType {
  cursor.expectSymbol('(', 'and a number of bytes after FixedString')
  const { offset } = cursor.peek()
  const byteCount = readCount(cursor, 'the length of FixedString')
  if (byteCount < 1 || byteCount > fixedStringBytesMax) {
    const reason = `Length of FixedString must be from 1 to ${fixedStringBytesMax} bytes, not ${byteCount}`
    throw new TextError({ reason, offset, hint: 'use String' })
  }
  cursor.expectSymbol(')', 'after the length of FixedString')
  return { kind: 'fixedString', byteCount }
}

function readDateTime(cursor: TokenCursor): ColumnType {
  if (!cursor.takeSymbolIf('(')) return { kind: 'dateTime', zone: null }
  const token = cursor.peek()
  if (token.kind === 'number') {
    const hint = `use DateTime64(${token.text})`
    throw new TextError({ reason: 'DateTime takes no precision', offset: token.offset, hint })
  }
  const zone = readZone(cursor)
  cursor.expectSymbol(')', 'after the time zone')
  return { kind: 'dateTime', zone }
}

function readDateTime64(cursor: TokenCursor, name: TextToken): ColumnType {
  const hint = 'use DateTime64(3) for milliseconds'
  if (!cursor.takeSymbolIf('(') || cursor.peek().kind !== 'number') {
    throw new TextError({ reason: 'DateTime64 needs a precision', offset: name.offset, hint })
  }
  const { offset } = cursor.peek()
  const scale = readCount(cursor, 'the precision of DateTime64')
  if (scale > dateTimeScaleMax) {
    const reason = `Precision of DateTime64 must be from 0 to ${dateTimeScaleMax}, not ${scale}`
    throw new TextError({ reason, offset })
  }
  const zone = cursor.takeSymbolIf(',') ? readZone(cursor) : null
  cursor.expectSymbol(')', 'after the parameters of DateTime64')
  return { kind: 'dateTime64', scale, zone }
}

function readZone(cursor: TokenCursor): string {
  const token = cursor.take()
  if (token.kind !== 'string') {
    throw new TextError({ reason: "Expected a time zone in quotes, such as 'Europe/Madrid'", offset: token.offset })
  }
  const fault = timeZoneFault(token.value)
  if (fault !== null) throw new TextError({ ...fault, offset: token.offset })
  return token.value
}

function readEnum(cursor: TokenCursor, name: TextToken): ColumnType {
  cursor.expectSymbol('(', `and the members after ${name.text}`)
  const widest = name.text === 'Enum8' ? 8 : 16
  const members = new Map<string, number>()
  const namesByValue = new Map<number, string>()
  let value = 0
  do {
    const token = cursor.take()
    if (token.kind !== 'string') {
      throw new TextError({ reason: `Expected a member of ${name.text} in single quotes`, offset: token.offset })
    }
    value = cursor.takeSymbolIf('=') ? readSignedInteger(cursor) : value + 1
    const fault = memberFault({ name: token.value, value }, widest, members, namesByValue)
    if (fault !== null) throw new TextError({ reason: `${fault} in ${name.text}`, offset: token.offset })
    members.set(token.value, value)
    namesByValue.set(value, token.value)
  } while (cursor.takeSymbolIf(','))
  cursor.expectSymbol(')', `after the members of ${name.text}`)
  // The order of the engine's own text: by value.
  const sorted = [...members]
    .map(([member, number]) => ({ name: member, value: number }))
    .sort((a, b) => a.value - b.value)
  return { kind: 'enum', bits: enumBits(name.text, sorted), members: sorted }
}

function enumBits(typeName: string, members: readonly EnumMember[]): 8 | 16 {
  if (typeName === 'Enum8') return 8
  if (typeName === 'Enum16') return 16
  return members.every(({ value }) => isWithin(value, 8)) ? 8 : 16
}

function memberFault(
  { name, value }: EnumMember,
  bits: 8 | 16,
  valuesByName: ReadonlyMap<string, number>,
  namesByValue: ReadonlyMap<number, string>,
): string | null {
  if (!isWithin(value, bits)) return `Value ${value} of '${name}' is out of the range of ${bits} bits`
  if (valuesByName.has(name)) return `Duplicate member '${name}'`
  const other = namesByValue.get(value)
  return other === undefined ? null : `'${name}' has the value ${value} of '${other}'`
}

function isWithin(value: number, bits: 8 | 16): boolean {
  const limit = 2 ** (bits - 1)
  return value >= -limit && value < limit
}

function readSignedInteger(cursor: TokenCursor): number {
  const sign = cursor.takeSymbolIf('-') ? -1 : 1
  if (sign === 1) cursor.takeSymbolIf('+')
  const count = readCount(cursor, 'the value of the member')
  // Zero has no sign, also in the stored type.
  return count === 0 ? 0 : sign * count
}

function readCount(cursor: TokenCursor, meaning: string): number {
  const token = cursor.take()
  // Nine digits are more than any limit here and exact as a number.
  if (token.kind === 'number' && /^[0-9]{1,9}$/.test(token.text)) return Number(token.text)
  throw new TextError({ reason: `Expected an integer for ${meaning}`, offset: token.offset })
}
