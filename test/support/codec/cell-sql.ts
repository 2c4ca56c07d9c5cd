import type { Cell } from '../../../src/codec/cell.types.ts'
import { formatColumnType } from '../../../src/schema/types/column-type.ts'
import type { ColumnType } from '../../../src/schema/types/column-type.types.ts'

/** SQL that makes of a cell what a part holds, and casts it to the column's type as an insert does. */
export function castOf(type: ColumnType, cell: Cell): string {
  return `CAST(${literalOf(type, cell)} AS ${formatColumnType(type)})`
}

function literalOf(type: ColumnType, cell: Cell): string {
  if (cell === null) return 'NULL'
  switch (type.kind) {
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return literalOf(type.inner, cell)
    case 'integer':
      return typeof cell === 'string' ? quote(cell) : `to${type.name}(${cell})`
    case 'bool':
      return `toUInt8(${cell})`
    case 'enum':
      return `toInt${type.bits}(${cell})`
    case 'date':
      return `toUInt16(${cell})`
    case 'date32':
      return `toInt32(${cell})`
    case 'dateTime':
    case 'ipv4':
      return `toUInt32(${cell})`
    case 'dateTime64':
      return `reinterpret(toInt64(${cell}), 'DateTime64(${type.scale})')`
    case 'float':
      return `toFloat64(${quote(String(cell).replace('Infinity', 'inf'))})`
    case 'array':
      return `[${cellsOf(cell)
        .map((element) => castOf(type.element, element))
        .join(', ')}]`
    case 'tuple':
      return `tuple(${type.fields.map((field, position) => castAt(field.type, cell, position)).join(', ')})`
    case 'map':
      return `map(${cellsOf(cell)
        .map((pair) => `${castAt(type.key, pair, 0)}, ${castAt(type.value, pair, 1)}`)
        .join(', ')})`
    case 'string':
    case 'fixedString':
    case 'decimal':
    case 'uuid':
    case 'ipv6':
    case 'json':
    case 'aggregateFunction':
      return quote(String(cell))
  }
}

function castAt(type: ColumnType, cells: Cell, position: number): string {
  return castOf(type, cellsOf(cells)[position] ?? null)
}

function cellsOf(cell: Cell): readonly Cell[] {
  return Array.isArray(cell) ? cell : []
}

/** A text as a ClickHouse literal. */
export function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\u0000', '\\0')}'`
}
