/** Reads parts back with apache-arrow, cell by cell, into texts that can be compared. */
import { Buffer } from 'node:buffer'
import { type Data, tableFromIPC } from 'apache-arrow'
import type { Cell } from '../../../../src/codec/cell.types.ts'
import type { ColumnDefinition } from '../../../../src/schema/columns/column-definition.types.ts'
import type { ColumnType } from '../../../../src/schema/types/column-type.types.ts'
import { type ReferenceCell, takesDefault } from './reference-rows.ts'

const nullText = 'NULL'
export const defaultText = 'DEFAULT'

/** The rows of a part; `texts[row][column]`, and null for columns that have no place in it. */
export function readBlock(
  part: Uint8Array,
  columns: readonly ColumnDefinition[],
): readonly (readonly (string | null)[])[] {
  const table = tableFromIPC(part)
  const readers = columns.map(({ type, defaultExpression }, position) => {
    if (type.kind === 'aggregateFunction') return () => null
    const data = dataOf(table.getChild(`__${position}`)?.data)
    const mask = table.getChild(`__missing_${position}`)?.data[0]
    return (row: number) => {
      if (mask?.values[row] === 1) return defaultText
      const isDefault = mask === undefined && defaultExpression !== null && !data.getValid(row)
      return isDefault ? defaultText : arrowText(data, type, row)
    }
  })
  return Array.from({ length: table.numRows }, (_, row) => readers.map((read) => read(row)))
}

export interface QuarantinedRow {
  readonly texts: readonly (string | null)[]
  readonly errorColumns: readonly string[]
  readonly errors: readonly string[]
}

/** The rows of a quarantine part. */
export function readQuarantine(part: Uint8Array, columnCount: number): readonly QuarantinedRow[] {
  const table = tableFromIPC(part)
  const texts = Array.from({ length: columnCount }, (_, position) => dataOf(table.getChild(`__${position}`)?.data))
  const errorColumns = dataOf(table.getChild('__c__error_column')?.data)
  const errors = dataOf(table.getChild('__c__error')?.data)
  return Array.from({ length: table.numRows }, (_, row) => ({
    texts: texts.map((data) => (data.getValid(row) ? utf8At(data, row) : null)),
    errorColumns: utf8List(errorColumns, row),
    errors: utf8List(errors, row),
  }))
}

function dataOf(chunks: readonly Data[] | undefined): Data {
  const [data, ...more] = chunks ?? []
  if (data === undefined || more.length > 0) throw new Error('a part holds each column in one piece')
  return data
}

function utf8At(data: Data, row: number): string {
  return Buffer.from(data.values.subarray(data.valueOffsets[row], data.valueOffsets[row + 1])).toString()
}

function utf8List(data: Data, row: number): readonly string[] {
  const [items] = data.children
  if (items === undefined) throw new Error('a list has items')
  return range(data, row).map((item) => utf8At(items, item))
}

function range(data: Data, row: number): readonly number[] {
  const start: number = data.valueOffsets[row]
  const end: number = data.valueOffsets[row + 1]
  return Array.from({ length: end - start }, (_, step) => start + step)
}

function childOf(data: Data, position: number): Data {
  const child = data.children[position]
  if (child === undefined) throw new Error(`no child ${position}`)
  return child
}

/** What a part holds at a place, as a text. */
function arrowText(data: Data, type: ColumnType, row: number): string {
  switch (type.kind) {
    case 'nullable':
      return data.getValid(row) ? arrowText(data, type.inner, row) : nullText
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return arrowText(data, type.inner, row)
    case 'array':
      return `[${range(data, row)
        .map((item) => arrowText(childOf(data, 0), type.element, item))
        .join(',')}]`
    case 'map': {
      const entries = childOf(data, 0)
      return `{${range(data, row)
        .map(
          (item) =>
            `${arrowText(childOf(entries, 0), type.key, item)}:${arrowText(childOf(entries, 1), type.value, item)}`,
        )
        .join(',')}}`
    }
    case 'tuple':
      return `(${type.fields.map((field, position) => arrowText(childOf(data, position), field.type, row)).join(',')})`
    default:
      return data.getValid(row) ? arrowScalar(data, type, row) : 'a NULL where none can be'
  }
}

function arrowScalar(data: Data, type: ColumnType, row: number): string {
  switch (type.kind) {
    case 'integer':
      return type.bits > 64 ? utf8At(data, row) : String(data.values[row])
    case 'float':
      return numberText(data.values[row])
    case 'uuid':
      return Buffer.from(data.values.subarray(row * 16, row * 16 + 16)).toString('hex')
    case 'string':
    case 'fixedString':
    case 'decimal':
    case 'ipv6':
    case 'json':
      return JSON.stringify(utf8At(data, row))
    default:
      return String(data.values[row])
  }
}

/** What the reference says of a place, as the same text. */
export function cellText(type: ColumnType, cell: ReferenceCell): string {
  if (cell === takesDefault) return defaultText
  if (cell === null) return nullText
  switch (type.kind) {
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return cellText(type.inner, cell)
    case 'array':
      return `[${itemsOf(cell)
        .map((item) => cellText(type.element, item))
        .join(',')}]`
    case 'map':
      return `{${itemsOf(cell)
        .map(
          (pair) => `${cellText(type.key, itemsOf(pair)[0] ?? null)}:${cellText(type.value, itemsOf(pair)[1] ?? null)}`,
        )
        .join(',')}}`
    case 'tuple':
      return `(${type.fields.map((field, position) => cellText(field.type, itemsOf(cell)[position] ?? null)).join(',')})`
    case 'integer':
      return String(cell)
    case 'float':
      return numberText(type.bits === 32 ? Math.fround(Number(cell)) : Number(cell))
    case 'uuid':
      return String(cell).replaceAll('-', '')
    case 'dateTime64':
      return String(BigInt(String(cell)) * ticksFactor(type.scale))
    case 'string':
    case 'fixedString':
    case 'decimal':
    case 'ipv6':
    case 'json':
      return JSON.stringify(wellFormed(String(cell)))
    default:
      return String(cell)
  }
}

/** Parts know seconds, milliseconds, microseconds and nanoseconds alone. */
function ticksFactor(scale: number): bigint {
  const unitScale = scale === 0 ? 0 : Math.ceil(scale / 3) * 3
  return 10n ** BigInt(unitScale - scale)
}

export function itemsOf(cell: Cell): readonly Cell[] {
  if (!Array.isArray(cell)) throw new Error('the cell has no items')
  // `Array.isArray` widens a readonly array to any[].
  return cell as readonly Cell[]
}

/** Halves of surrogate pairs cannot be stored: they become U+FFFD. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}

function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}
