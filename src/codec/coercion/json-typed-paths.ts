/**
 * Paths of a JSON column with a type of their own, `JSON(a.b UInt32)`. The engine casts what stands there, and one
 * failing cast refuses a whole part: so such values are judged like a column's, and written in the one form that the
 * engine reads without doubt.
 */

import { TokenCursor } from '../../schema/syntax/token-cursor.ts'
import { readColumnType } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import type { Cell } from '../cell.types.ts'
import { type PathWriter, quoteJson } from './json-documents.ts'
import type { Coercion } from './verdict.ts'

/**
 * Compiles the parameters of a JSON type in their canonical text; null when no path has a type.
 * Precondition: the schema's parser wrote them.
 */
export function typedPathWriter(parameters: string, createCoercion: (type: ColumnType) => Coercion): PathWriter | null {
  const types = typedPaths(parameters)
  if (types.size === 0) return null
  const writers = new Map([...types].map(([path, type]) => [path, typedWriter(type, createCoercion(type))]))
  return (path) => writers.get(path) ?? null
}

function typedWriter(type: ColumnType, judge: Coercion): ReturnType<PathWriter> {
  return (value) => {
    // Inside JSON a null is as good as nothing: the engine takes NULL or the type's default.
    if (value.kind === 'null') return 'null'
    const verdict = judge(value)
    return verdict.isAccepted ? jsonOfCell(type, verdict.cell) : undefined
  }
}

/** Parameters are parted by commas: `` `a.b` Type ``, `name=1`, `` SKIP `a` ``, `SKIP REGEXP 'x'`. */
export function typedPaths(parameters: string): ReadonlyMap<string, ColumnType> {
  const types = new Map<string, ColumnType>()
  const cursor = new TokenCursor(parameters)
  while (!cursor.isAtEnd()) {
    const first = cursor.take()
    if (first.kind === 'quotedName') types.set(first.value, readColumnType(cursor))
    while (!cursor.isAtEnd() && !cursor.isAtSymbol(',')) cursor.take()
    cursor.takeSymbolIf(',')
  }
  return types
}

function jsonOfCell(type: ColumnType, cell: Cell): string {
  if (cell === null) return 'null'
  switch (type.kind) {
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return jsonOfCell(type.inner, cell)
    case 'integer':
      return type.bits > 64 ? quoteJson(String(cell)) : String(cell)
    case 'dateTime':
    case 'dateTime64':
      // The engine reads an integer as ticks of the path's own scale, and as nothing else.
      return String(cell)
    case 'enum':
      // By value, because a name could look like a number.
      return String(cell)
    case 'json':
      return String(cell)
    case 'float':
      return jsonOfFloat(Number(cell))
    case 'bool':
      return cell === 1 ? 'true' : 'false'
    case 'string':
    case 'fixedString':
    case 'decimal':
    case 'uuid':
    case 'ipv6':
    case 'ipv4':
    case 'date':
    case 'date32':
    case 'aggregateFunction':
      return quoteJson(textOfCell(type, cell))
    case 'array':
      return `[${elementsOf(cell)
        .map((element) => jsonOfCell(type.element, element))
        .join(',')}]`
    case 'tuple':
      return `[${type.fields.map((field, at) => jsonOfCell(field.type, elementsOf(cell)[at] ?? null)).join(',')}]`
    case 'map':
      return `{${elementsOf(cell)
        .map((pair) => jsonOfPair(type.key, type.value, elementsOf(pair)))
        .join(',')}}`
  }
}

function jsonOfPair(keyType: ColumnType, valueType: ColumnType, pair: readonly Cell[]): string {
  const [key = null, value = null] = pair
  return `${quoteJson(textOfCell(keyType, key))}:${jsonOfCell(valueType, value)}`
}

/** The text by which the engine knows a scalar. */
function textOfCell(type: ColumnType, cell: Cell): string {
  switch (type.kind) {
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return textOfCell(type.inner, cell)
    case 'date':
    case 'date32':
      return new Date(Number(cell) * 86_400_000).toISOString().slice(0, 10)
    case 'ipv4':
      return [24, 16, 8, 0].map((shift) => (Number(cell) >>> shift) & 0xff).join('.')
    case 'enum':
      return type.members.find(({ value }) => value === cell)?.name ?? ''
    default:
      return String(cell)
  }
}

function jsonOfFloat(value: number): string {
  if (Number.isNaN(value)) return '"nan"'
  if (!Number.isFinite(value)) return value > 0 ? '"inf"' : '"-inf"'
  return Object.is(value, -0) ? '-0.0' : String(value)
}

function elementsOf(cell: Cell): readonly Cell[] {
  return Array.isArray(cell) ? cell : []
}
