/**
 * What the engine answers for a stored cell, as JSON with the settings below, and what it should answer; both as texts.
 *
 * JSON columns are compared by paths, as the engine keeps them: without nulls, and without objects that hold nothing.
 */
import type { Cell, RawValue } from '../../../../src/codec/cell.types.ts'
import type { ColumnType } from '../../../../src/schema/types/column-type.types.ts'
import { itemsOf, wellFormed } from './arrow-cells.ts'
import { referenceJson } from './exact-json.ts'

/** For SELECTs whose answers are read here. */
export const answerSettings = [
  'output_format_json_quote_64bit_integers = 1',
  'output_format_json_quote_decimals = 1',
  'output_format_decimal_trailing_zeros = 1',
  'output_format_json_quote_denormals = 1',
  'output_format_json_named_tuples_as_objects = 0',
  'output_format_json_map_as_array_of_tuples = 1',
  "date_time_output_format = 'iso'",
].join(', ')

/** What the engine should answer for the cell. */
export function expectedText(type: ColumnType, cell: Cell): string {
  if (cell === null) return 'null'
  switch (type.kind) {
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return expectedText(type.inner, cell)
    case 'array':
      return `[${itemsOf(cell)
        .map((item) => expectedText(type.element, item))
        .join(',')}]`
    case 'tuple':
      return `[${type.fields.map((field, position) => expectedText(field.type, itemsOf(cell)[position] ?? null)).join(',')}]`
    case 'map':
      return `{${itemsOf(cell)
        .map(
          (pair) =>
            `${scalarText(type.key, itemsOf(pair)[0] ?? null)}:${expectedText(type.value, itemsOf(pair)[1] ?? null)}`,
        )
        .join(',')}}`
    default:
      return scalarText(type, cell)
  }
}

function scalarText(type: ColumnType, cell: Cell): string {
  switch (type.kind) {
    case 'nullable':
    case 'lowCardinality':
      return scalarText(type.inner, cell)
    case 'float':
      return floatText(type.bits === 32 ? Math.fround(Number(cell)) : Number(cell))
    case 'bool':
      return String(cell === 1)
    case 'date':
    case 'date32':
      return new Date(Number(cell) * 86_400_000).toISOString().slice(0, 10)
    case 'dateTime':
      return isoText(BigInt(String(cell)), 0)
    case 'dateTime64':
      return isoText(BigInt(String(cell)), type.scale)
    case 'enum':
      return type.members.find(({ value }) => value === cell)?.name ?? 'no member'
    case 'ipv4':
      return [24, 16, 8, 0].map((shift) => (Number(cell) >>> shift) & 0xff).join('.')
    case 'ipv6':
      return String(cell)
    case 'fixedString': {
      const text = wellFormed(String(cell))
      return text + '\u0000'.repeat(type.byteCount - Buffer.byteLength(text))
    }
    case 'string':
      return wellFormed(String(cell))
    case 'json':
      return documentText(withTypedPaths(type.parameters, plainOf(referenceJson(wellFormed(String(cell))))))
    default:
      return String(cell)
  }
}

/** `2026-01-01T00:00:00.123Z` with all of the column's decimals. */
function isoText(ticks: bigint, scale: number): string {
  const ticksPerSecond = 10n ** BigInt(scale)
  const fraction = ((ticks % ticksPerSecond) + ticksPerSecond) % ticksPerSecond
  const seconds = new Date(Number((ticks - fraction) / ticksPerSecond) * 1000).toISOString().slice(0, 19)
  return scale === 0 ? `${seconds}Z` : `${seconds}.${String(fraction).padStart(scale, '0')}Z`
}

function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  return Object.is(value, -0) ? '-0' : String(value)
}

/** What the engine has answered, as read by `JSON.parse`. */
export function answeredText(type: ColumnType, answer: unknown): string {
  if (answer === null) return 'null'
  switch (type.kind) {
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return answeredText(type.inner, answer)
    case 'array':
      return `[${answersOf(answer)
        .map((item) => answeredText(type.element, item))
        .join(',')}]`
    case 'tuple':
      return `[${type.fields.map((field, position) => answeredText(field.type, answersOf(answer)[position])).join(',')}]`
    case 'map':
      return `{${answersOf(answer)
        .map(answersOf)
        .map(([key, value]) => `${answeredScalar(type.key, key)}:${answeredText(type.value, value)}`)
        .join(',')}}`
    default:
      return answeredScalar(type, answer)
  }
}

function answeredScalar(type: ColumnType, answer: unknown): string {
  switch (type.kind) {
    case 'nullable':
    case 'lowCardinality':
      return answeredScalar(type.inner, answer)
    case 'float':
      return floatText(numberOf(answer, type.bits))
    case 'ipv6':
      return fullIpv6(String(answer))
    case 'json':
      return documentText(answer)
    default:
      return String(answer)
  }
}

function numberOf(answer: unknown, bits: number): number {
  const words = new Map([
    ['inf', Number.POSITIVE_INFINITY],
    ['-inf', Number.NEGATIVE_INFINITY],
    ['nan', Number.NaN],
  ])
  const value = words.get(String(answer)) ?? Number(answer)
  // The engine writes the shortest text that gives the same Float32 back.
  return bits === 32 ? Math.fround(value) : value
}

function answersOf(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : ['no array']
}

/** Eight groups without `::`, as cells have them. */
function fullIpv6(text: string): string {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text)
  const hex = dotted === null ? text : `${dotted[1]}${group(dotted[2], dotted[3])}:${group(dotted[4], dotted[5])}`
  const [head = '', tail] = hex.split('::')
  const heads = head === '' ? [] : head.split(':')
  const tails = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = new Array<string>(8 - heads.length - tails.length).fill('0')
  return [...heads, ...zeros, ...tails].join(':')
}

function group(high: string | undefined, low: string | undefined): string {
  return (Number(high) * 256 + Number(low)).toString(16)
}

/** A path with a type that a document lacks comes back with the type's default. */
function withTypedPaths(parameters: string, document: unknown): unknown {
  if (!parameters.includes('`a` UInt32') || !(document instanceof Map)) return document
  return new Map([...document, ['a', document.get('a') ?? 0]])
}

function documentText(document: unknown): string {
  const paths = new Map<string, string>()
  const visit = (value: unknown, path: string | null): void => {
    if (value === null) return
    if (typeof value !== 'object') paths.set(path ?? '', leafText(value))
    else if (Array.isArray(value)) paths.set(path ?? '', `[${value.map(itemText).join(',')}]`)
    else
      for (const [key, member] of value instanceof Map ? value : Object.entries(value))
        visit(member, path === null ? key : `${path}.${key}`)
  }
  visit(document, null)
  return JSON.stringify([...paths].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Numbers come back as numbers or, when they are 64 bits wide, as texts. */
function leafText(value: unknown): string {
  return typeof value === 'number' ? String(value + 0) : String(value)
}

/** As `JSON.parse` gives it, but integers with every digit as texts. */
function plainOf(value: RawValue | undefined): unknown {
  switch (value?.kind) {
    case 'array':
      return value.items.map(plainOf)
    case 'object':
      return new Map([...value.entries].map(([key, entry]) => [key, plainOf(entry)]))
    case 'number':
      return /^-?\d+$/.test(value.text) ? String(BigInt(value.text)) : Number(value.text)
    case 'boolean':
      return value.text === 'true'
    case 'string':
      return value.text
    default:
      return null
  }
}

function itemText(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(itemText).join(',')}]` : JSON.stringify(leafText(value))
}
