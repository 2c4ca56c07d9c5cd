/**
 * The rules of docs/values.md, told a second time and apart from `src/codec`: what a value is taken for, as JSON that a
 * ClickHouse server reads as just that, or that its row is set aside; each with the reasons for which a server may differ.
 */
import type { RawValue } from '../../src/codec/cell.types.ts'
import type { ColumnType } from '../../src/schema/types/column-type.types.ts'
import { type Canonical, refusal, respelled, withReason } from './canonical.ts'
import { canonicalTimeNumber, canonicalTimeText } from './canonical-times.ts'
import { clickHouseLiteral } from './clickhouse-literals.ts'
import { referenceJson } from './codec/reference/exact-json.ts'

const nothing = 'An empty field of CSV is the DEFAULT, else NULL, else an empty text.'
const blanks = 'Blanks around a value are no part of it.'
const exact = 'What is exactly an integer is one, however it is written.'
const noNumber = 'What is no number of the type, or an empty text, sets the row aside.'
const range = 'Out of range is set aside; ClickHouse wraps around, or takes infinity.'
const words = 'The usual words are taken in any case, quoted or not, and numbers that are 1 or 0.'
const asText = 'Numbers, booleans, lists and objects are texts as they are written.'
const noNull = 'NULL is no value of a column that cannot hold it.'
const within =
  'A text may hold the value, as JSON or as ClickHouse writes it, a field of CSV too; a Tuple may be a list.'
const other = 'What an address, an id or a name of an Enum is not sets the row aside.'
const octets = 'Zeros in front make an octet octal to some.'
const unlike = 'One value is no list, map, tuple or document, and none of these is one value.'
const lastKey = 'Of a key that repeats the last one counts.'
const missing = 'A field of a Tuple that is missing is set aside, but for Nullable.'
const elements = 'What an element cannot be sets the row aside, and what it is taken for is what a value alone is.'
const boolean = 'A boolean is a number, and no time; a text of it is no number.'
const odd = 'Bytes that are too many for a FixedString set the row aside.'

type Integer = Extract<ColumnType, { kind: 'integer' }>
type Decimal = Extract<ColumnType, { kind: 'decimal' }>

/** A value as JSON has it. Of CSV and of texts in Parquet all is a text. */
export function canonicalOf(type: ColumnType, value: RawValue): Canonical {
  if (type.kind === 'lowCardinality' || type.kind === 'simpleAggregateFunction') return canonicalOf(type.inner, value)
  if (type.kind === 'nullable')
    return value.kind === 'null' ? respelled('null', nothing) : canonicalOf(type.inner, value)
  if (value.kind === 'null') return refusal(noNull)
  if (type.kind === 'array' || type.kind === 'map' || type.kind === 'tuple' || type.kind === 'json') {
    return composedOf(type, value)
  }
  if (type.kind === 'string') return respelled(quoted(value.text), asText)
  if (type.kind === 'fixedString') {
    return Buffer.byteLength(value.text) > type.byteCount ? refusal(odd) : respelled(quoted(value.text), asText)
  }
  if (value.kind === 'array' || value.kind === 'object') return refusal(unlike)
  const text = value.kind === 'string' ? value.text.replaceAll(/^[ \t]+|[ \t]+$/g, '') : value.text
  const scalar = scalarOf(type, value.kind, text)
  return text === value.text ? scalar : withReason(scalar, blanks)
}

function quoted(text: string): string {
  return JSON.stringify(Buffer.from(text).toString())
}

function scalarOf(type: ColumnType, kind: RawValue['kind'], text: string): Canonical {
  const isText = kind === 'string'
  switch (type.kind) {
    case 'integer':
      if (kind === 'boolean') return respelled(text === 'true' ? '1' : '0', boolean)
      return integerOf(type, text)
    case 'float':
      if (kind === 'boolean') return respelled(text === 'true' ? '1' : '0', boolean)
      return floatOf(type.bits, text)
    case 'decimal':
      return kind === 'boolean' ? refusal(boolean) : decimalOf(type, text)
    case 'bool':
      return boolOf(text, isText)
    case 'uuid':
      return isText && text !== '' ? respelled(quoted(text)) : refusal(other)
    case 'ipv4':
      if (/(?:^|\.)0\d/.test(text)) return refusal(octets)
      return isText && text !== '' ? respelled(quoted(text)) : refusal(other)
    case 'ipv6':
      if (/(?:^|[:.])0\d+\.|\.0\d+$/.test(text)) return refusal(octets)
      return isText && text !== '' ? respelled(quoted(text)) : refusal(other)
    case 'enum':
      return enumOf(type, text, isText)
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64':
      if (kind === 'boolean') return refusal(boolean)
      return isText ? canonicalTimeText(text, type) : canonicalTimeNumber(text, type)
    default:
      return { kind: 'unknown' }
  }
}

interface Exact {
  readonly digits: bigint
  readonly exponent: number
}

function exactOf(text: string): Exact | null {
  const found = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text)
  if (found === null) return null
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = found
  if (whole + fraction === '') return null
  const digits = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n)
  return { digits, exponent: digits === 0n ? 0 : Number(exponent) - fraction.length }
}

/** Towards zero; null beyond 10^200. */
function scaledOf({ digits, exponent }: Exact, scale: number): bigint | null {
  const shift = exponent + scale
  if (shift > 200) return null
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  return -shift > 20_000 ? 0n : digits / 10n ** BigInt(-shift)
}

function integerOf(type: Integer, text: string): Canonical {
  const value = exactOf(text)
  if (value === null) return refusal(noNumber)
  const whole = scaledOf(value, 0)
  if (whole === null) return refusal(range)
  if (value.exponent < 0 && (value.exponent < -20_000 || whole * 10n ** BigInt(-value.exponent) !== value.digits)) {
    return refusal(noNumber)
  }
  const first = type.isSigned ? -(2n ** BigInt(type.bits - 1)) : 0n
  const end = 2n ** BigInt(type.isSigned ? type.bits - 1 : type.bits)
  return whole < first || whole >= end ? refusal(range) : respelled(String(whole), exact)
}

function floatOf(bits: number, text: string): Canonical {
  if (/^[+-]?(?:nan|inf|infinity)$/i.test(text)) return respelled(quoted(text))
  if (exactOf(text) === null) return refusal(noNumber)
  const value = bits === 32 ? Math.fround(Number(text)) : Number(text)
  return Number.isFinite(value) ? respelled(quoted(text)) : refusal(range)
}

function decimalOf({ precision, scale }: Decimal, text: string): Canonical {
  const value = exactOf(text)
  if (value === null) return refusal(noNumber)
  const units = scaledOf(value, scale)
  if (units === null || units >= 10n ** BigInt(precision) || units <= -(10n ** BigInt(precision))) return refusal(range)
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const written = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return respelled(`"${units < 0n ? '-' : ''}${written}"`, 'A decimal is cut beyond its scale, however it is written.')
}

function boolOf(text: string, isText: boolean): Canonical {
  if (/^(?:true|t|yes|y|on|1)$/i.test(text)) return respelled('true', words)
  if (/^(?:false|f|no|n|off|0)$/i.test(text)) return respelled('false', words)
  const value = isText ? null : exactOf(text)
  if (value === null) return refusal(words)
  if (value.digits === 0n) return respelled('false', words)
  const isOne = value.exponent <= 0 && value.exponent > -10_000 && value.digits === 10n ** BigInt(-value.exponent)
  return isOne ? respelled('true', words) : refusal(words)
}

function enumOf({ members }: Extract<ColumnType, { kind: 'enum' }>, text: string, isText: boolean): Canonical {
  const byName = isText ? members.find(({ name }) => name === text) : undefined
  const value = exactOf(text)
  const whole = value === null ? null : scaledOf(value, 0)
  const found = byName ?? members.find((member) => whole !== null && BigInt(member.value) === whole)
  return found === undefined ? refusal(other) : respelled(quoted(found.name), exact)
}

function composedOf(type: ColumnType, value: RawValue): Canonical {
  if (value.kind === 'string') {
    const inner = referenceJson(value.text) ?? clickHouseLiteral(value.text, type)
    if (inner === undefined || inner.kind === 'string') return refusal(unlike)
    return withReason(composedOf(type, inner), within)
  }
  switch (type.kind) {
    case 'array':
      if (value.kind !== 'array') return refusal(unlike)
      return joined(
        value.items.map((item) => canonicalOf(type.element, item)),
        (items) => `[${items.join(',')}]`,
      )
    case 'map': {
      if (value.kind !== 'object') return refusal(unlike)
      const entries = [...value.entries]
      const keys = entries.map(([key]) => canonicalOf(type.key, { kind: 'string', text: key }))
      const values = entries.map(([, entry]) => canonicalOf(type.value, entry))
      const found = joined([...keys, ...values], (parts) => {
        const members = keys.map((_, at) => `${asKey(parts[at] ?? '')}:${parts[keys.length + at] ?? ''}`)
        return `{${members.join(',')}}`
      })
      return withReason(found, lastKey)
    }
    case 'tuple':
      return tupleOf(type, value)
    default:
      return value.kind === 'object' ? respelled(jsonText(value), lastKey) : refusal(unlike)
  }
}

function asKey(json: string): string {
  return json.startsWith('"') ? json : `"${json}"`
}

function tupleOf({ fields }: Extract<ColumnType, { kind: 'tuple' }>, value: RawValue): Canonical {
  if (value.kind === 'array') {
    if (value.items.length !== fields.length) return refusal(missing)
    const items = fields.map(({ type }, at) => canonicalOf(type, value.items[at] ?? { kind: 'null' }))
    return withReason(tupleText(fields, items), within)
  }
  if (value.kind !== 'object' || fields[0]?.name === null) return refusal(unlike)
  const items = fields.map(({ name, type }) => {
    const entry = value.entries.get(name ?? '')
    return entry === undefined && type.kind !== 'nullable'
      ? refusal(missing)
      : canonicalOf(type, entry ?? { kind: 'null' })
  })
  return tupleText(fields, items)
}

function tupleText(fields: readonly { readonly name: string | null }[], items: readonly Canonical[]): Canonical {
  const isNamed = fields[0]?.name !== null
  return joined(items, (parts) => {
    if (!isNamed) return `[${parts.join(',')}]`
    return `{${fields.map(({ name }, at) => `${JSON.stringify(name)}:${parts[at] ?? ''}`).join(',')}}`
  })
}

function joined(parts: readonly Canonical[], text: (parts: readonly string[]) => string): Canonical {
  const refused = parts.find(({ kind }) => kind === 'refused')
  if (refused !== undefined) return withReason(refused, elements)
  const taken = parts.flatMap((part) => (part.kind === 'taken' ? [part.json] : []))
  return taken.length < parts.length ? { kind: 'unknown' } : respelled(text(taken), elements)
}

/** Without the keys that repeat. */
function jsonText(value: RawValue): string {
  if (value.kind === 'object') {
    return `{${[...value.entries].map(([key, entry]) => `${JSON.stringify(key)}:${jsonText(entry)}`).join(',')}}`
  }
  if (value.kind === 'array') return `[${value.items.map(jsonText).join(',')}]`
  if (value.kind === 'null') return 'null'
  return value.kind === 'string' ? JSON.stringify(value.text) : value.text
}
