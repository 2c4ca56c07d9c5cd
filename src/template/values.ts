// The values of a running template. They follow Python: integers have no size, numbers and strings never compare equal,
// and a typed number loses its type in arithmetic. All are immutable.

import { noValueText } from '../shared/no-value.ts'
import type { ParameterValue } from './template.types.ts'
import { limitFault, notCallableFault } from './template-error.ts'

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | SequenceValue
  | DictValue
  | TypedNumber
  | SqlText
  | Placeholder

/** A list, tuple or set, or what `Array()` made, which prints as ClickHouse writes arrays. */
export class SequenceValue {
  readonly type: 'list' | 'tuple' | 'set' | 'array'
  readonly items: readonly Value[]

  readonly extent: Extent

  constructor(type: SequenceValue['type'], items: readonly Value[]) {
    this.type = type
    this.items = items
    this.extent = extentOf(items)
  }
}

export class DictValue {
  /** By `keyOf` the key, in the order of insertion. */
  readonly entries: ReadonlyMap<string, readonly [Value, Value]>
  readonly extent: Extent

  constructor(entries: Iterable<readonly [Value, Value]>) {
    this.entries = new Map(Array.from(entries, (entry) => [keyOf(entry[0]), entry]))
    this.extent = extentOf([...this.entries.values()].flat())
  }

  get(key: Value): Value | undefined {
    return this.entries.get(keyOf(key))?.[1]
  }
}

/** Values are walked by recursion, so how deep they are is bounded where they are made. */
export const valueDepthMax = 100
/** One text may stand in a list many times: written out, the list would be larger than the memory. */
const valueCharactersMax = 4 * 1024 * 1024

interface Extent {
  readonly depth: number
  readonly characters: number
}

/** @throws TemplateFault when a value that holds these would be too deep or too long. */
function extentOf(items: readonly Value[]): Extent {
  let depth = 0
  let characters = 0
  for (const item of items) {
    characters += charactersOf(item)
    if (item instanceof SequenceValue || item instanceof DictValue) depth = Math.max(depth, item.extent.depth)
  }
  if (depth >= valueDepthMax) throw limitFault(`a value is nested deeper than ${valueDepthMax} levels`)
  if (characters <= valueCharactersMax) return { depth: depth + 1, characters }
  throw limitFault(`a value holds more than ${valueCharactersMax} characters`)
}

/** About how long the value is when it is written out. */
export function charactersOf(value: Value): number {
  if (typeof value === 'string') return value.length + 4
  if (value instanceof SequenceValue || value instanceof DictValue) return value.extent.characters
  return value instanceof SqlText ? value.sql.length : 8
}

/** What `Int32(x)` gives: a number that prints with its type. */
export class TypedNumber {
  readonly type: string
  readonly value: bigint | number

  constructor(type: string, value: bigint | number) {
    this.type = type
    this.value = value
  }
}

/** SQL that prints as it is. Only this room's own functions make it, out of text they have escaped. */
export class SqlText {
  readonly sql: string
  /** What it stands for where SQL is no SQL: inside quotes. Null where it cannot stand there. */
  readonly plain: string | null

  constructor(sql: string, plain: string | null = sql) {
    this.sql = sql
    this.plain = plain
  }
}

/** A parameter without a value, in check mode. */
export class Placeholder {
  readonly name: string
  /** What it gives for each of its elements: itself, where nothing is known of them. */
  readonly item: Value

  constructor(name: string, item: Value = null) {
    this.name = name
    this.item = item ?? this
  }
}

const parameterMax = 1n << 512n

export function fromParameter(value: ParameterValue, depth = 0): Value {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value === 'bigint' && (value >= parameterMax || value <= -parameterMax)) {
    throw limitFault('an integer of a parameter has more than 512 bits')
  }
  if (value === null || typeof value !== 'object') return value
  if (depth >= valueDepthMax) throw limitFault(`a value is nested deeper than ${valueDepthMax} levels`)
  if (isList(value))
    return new SequenceValue(
      'list',
      value.map((item) => fromParameter(item, depth + 1)),
    )
  return new DictValue(Object.entries(value).map(([key, item]) => [key, fromParameter(item, depth + 1)] as const))
}

/** `Array.isArray` does not narrow to readonly arrays. */
function isList(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value)
}

/** @throws TemplateFault for what JSON has no form for. */
export function toParameter(value: Value): ParameterValue {
  if (value instanceof SequenceValue) return value.items.map(toParameter)
  if (value instanceof DictValue) {
    return Object.fromEntries([...value.entries.values()].map(([key, item]) => [textOf(key), toParameter(item)]))
  }
  if (value instanceof TypedNumber) return toParameter(value.value)
  if (value instanceof SqlText) return value.plain ?? value.sql
  if (value instanceof Placeholder) return noValueText
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

/** Python's truth: nothing, zero and what is empty are false. */
export function isTruthy(value: Value): boolean {
  if (value instanceof SequenceValue) return value.items.length > 0
  if (value instanceof DictValue) return value.entries.size > 0
  if (value instanceof TypedNumber) return isTruthy(value.value)
  if (value instanceof SqlText) return value.sql !== ''
  if (value instanceof Placeholder) return true
  if (typeof value === 'number') return value !== 0
  return Boolean(value)
}

/** Of two SQL texts the text counts; of all others Python's `==`. */
export function areEqual(left: Value, right: Value): boolean {
  const a = bareValue(left)
  const b = bareValue(right)
  if (a instanceof SequenceValue && b instanceof SequenceValue) {
    const isSameType = listType(a) === listType(b)
    return (
      isSameType &&
      a.items.length === b.items.length &&
      a.items.every((item, index) => areEqual(item, b.items[index] ?? null))
    )
  }
  if (a instanceof DictValue && b instanceof DictValue) {
    if (a.entries.size !== b.entries.size) return false
    return [...a.entries].every(([key, [, item]]) => {
      const other = b.entries.get(key)
      return other !== undefined && areEqual(item, other[1])
    })
  }
  if (isNumeric(a) && isNumeric(b)) {
    const x = typeof a === 'boolean' ? BigInt(a) : a
    const y = typeof b === 'boolean' ? BigInt(b) : b
    // JavaScript compares bigint with number by value.
    // biome-ignore lint/suspicious/noDoubleEquals: the two types are equal by value here.
    return x == y
  }
  return a === b
}

function listType(value: SequenceValue): string {
  return value.type === 'array' ? 'list' : value.type
}

/** A typed number as the number, SQL as its text. */
export function bareValue(value: Value): Exclude<Value, TypedNumber | SqlText> {
  if (value instanceof TypedNumber) return value.value
  if (value instanceof SqlText) return value.sql
  return value
}

export function isNumeric(value: Value): value is boolean | bigint | number {
  return typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean'
}

/** The name of the value's class, as messages have it. */
export function typeName(value: Value): string {
  if (value === null) return 'NoneType'
  if (value instanceof SequenceValue) return listType(value)
  if (value instanceof DictValue) return 'dict'
  if (value instanceof TypedNumber) return typeof value.value === 'bigint' ? 'int' : 'float'
  if (value instanceof Placeholder) return 'PlaceHolder'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'int'
  return typeof value === 'number' ? 'float' : 'str'
}

/** Python's `str()`. */
export function textOf(value: Value): string {
  const bare = bareValue(value)
  if (typeof bare === 'string') return bare
  return reprOf(bare)
}

/** Python's `repr()`. */
export function reprOf(value: Value): string {
  const bare = value instanceof SqlText ? (value.plain ?? value.sql) : bareValue(value)
  if (bare === null) return 'None'
  if (bare === true) return 'True'
  if (bare === false) return 'False'
  if (typeof bare === 'bigint') return bare.toString()
  if (typeof bare === 'number') return floatText(bare)
  if (typeof bare === 'string') return quoteLikePython(bare)
  if (bare instanceof Placeholder) return noValueText
  if (bare instanceof SequenceValue) {
    const inner = bare.items.map(reprOf).join(', ')
    if (bare.type === 'tuple') return bare.items.length === 1 ? `(${inner},)` : `(${inner})`
    return bare.type === 'set' ? `{${inner}}` : `[${inner}]`
  }
  return `{${[...bare.entries.values()].map(([key, item]) => `${reprOf(key)}: ${reprOf(item)}`).join(', ')}}`
}

function quoteLikePython(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')
  return quote + (quote === "'" ? inner.replaceAll("'", "\\'") : inner) + quote
}

/** The shortest text of a float, with the exponents of Python: `1.0`, `1e+20`, `1e-05`. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(value.toExponential())
  const digits = `${match?.[2] ?? ''}${match?.[3] ?? ''}`
  const exponent = Number(match?.[4])
  const sign = match?.[1] ?? ''
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : ''
    const size = Math.abs(exponent).toString().padStart(2, '0')
    return `${sign}${digits.charAt(0)}${fraction}e${exponent < 0 ? '-' : '+'}${size}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

function keyOf(key: Value): string {
  const bare = bareValue(key)
  if (bare instanceof SequenceValue || bare instanceof DictValue) {
    throw notCallableFault()
  }
  if (bare instanceof Placeholder) return `s:${noValueText}`
  if (typeof bare === 'string') return `s:${bare}`
  if (typeof bare === 'number' && !Number.isInteger(bare)) return `n:${bare}`
  return bare === null ? 'none' : `n:${BigInt(bare)}`
}
