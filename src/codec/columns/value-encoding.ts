/**
 * One table: how the values of each ClickHouse type are kept while a part grows, how they travel in an Arrow part,
 * and as which type the engine reads them. Where the two types differ the engine casts on insert, and the codec has
 * judged each value before, because one failing cast refuses a whole part.
 */
import type { ColumnType, TupleField } from '../../schema/types/column-type.types.ts'
import type { ScanKernel } from '../scan-kernel/scan-kernel.ts'
import { Column, type Storage } from './column.ts'

/** Arrow's own types, as far as parts use them; the encoder makes them real. */
export type ArrowKind =
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'float32'
  | 'float64'
  | 'utf8'
  | 'fixedBinary16'
  | 'timestampSecond'
  | 'timestampMillisecond'
  | 'timestampMicrosecond'
  | 'timestampNanosecond'
  | 'list'
  | 'map'
  | 'struct'

export interface ValueEncoding {
  readonly storage: Storage
  readonly arrow: ArrowKind
  /** The ClickHouse type as which the engine reads the part's column, without Nullable. */
  readonly engineType: string
  readonly isNullable: boolean
  readonly children: readonly ValueEncoding[]
  /** Names of a tuple's fields, `1`, `2`, … when it has none; empty for all else. */
  readonly fieldNames: readonly string[]
  /** Ticks of the part's unit in one tick of the DateTime64 cell. */
  readonly tickFactor: bigint
}

export function encodingOf(type: ColumnType): ValueEncoding {
  switch (type.kind) {
    case 'nullable':
      return { ...encodingOf(type.inner), isNullable: true }
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return encodingOf(type.inner)
    case 'integer':
      return integerEncoding(type.bits, type.isSigned)
    case 'float':
      return type.bits === 32 ? scalar('float64', 'float32', 'Float32') : scalar('float64', 'float64', 'Float64')
    case 'bool':
      return scalar('uint32', 'uint8', 'UInt8')
    case 'date':
      return scalar('uint32', 'uint16', 'UInt16')
    case 'date32':
      return scalar('int32', 'int32', 'Int32')
    case 'dateTime':
    case 'ipv4':
      return scalar('uint32', 'uint32', 'UInt32')
    case 'dateTime64':
      return timestampEncoding(type.scale)
    case 'enum':
      return type.bits === 8 ? scalar('int32', 'int8', 'Int8') : scalar('int32', 'int16', 'Int16')
    case 'uuid':
      // 16 bytes in the order of the text: the engine takes them three to five times faster than 36 characters.
      return scalar('fixed16', 'fixedBinary16', 'UUID')
    case 'string':
    case 'fixedString':
    case 'decimal':
    case 'ipv6':
    case 'json':
    case 'aggregateFunction':
      return text
    case 'array':
      return listEncoding(encodingOf(type.element))
    case 'map':
      return mapEncoding(encodingOf(type.key), encodingOf(type.value))
    case 'tuple':
      return tupleEncoding(type.fields)
  }
}

/** A new, empty column for values of this encoding. */
export function createColumn(kernel: ScanKernel, encoding: ValueEncoding): Column {
  const children = encoding.children.map((child) => createColumn(kernel, child))
  return new Column(kernel, encoding.storage, children, encoding.tickFactor)
}

/** The type that the part's column is declared with; `Nullable(…)` when the part may hold NULL. */
export function declaredType(encoding: ValueEncoding): string {
  return encoding.isNullable ? `Nullable(${encoding.engineType})` : encoding.engineType
}

/** Whether the engine can hold NULL for this value: composite types cannot. */
export function canBeNull(encoding: ValueEncoding): boolean {
  return encoding.children.length === 0
}

function scalar(storage: Storage, arrow: ArrowKind, engineType: string): ValueEncoding {
  return { storage, arrow, engineType, isNullable: false, children: [], fieldNames: [], tickFactor: 1n }
}

const text = scalar('utf8', 'utf8', 'String')

function integerEncoding(bits: number, isSigned: boolean): ValueEncoding {
  switch (bits) {
    case 8:
      return isSigned ? scalar('int32', 'int8', 'Int8') : scalar('uint32', 'uint8', 'UInt8')
    case 16:
      return isSigned ? scalar('int32', 'int16', 'Int16') : scalar('uint32', 'uint16', 'UInt16')
    case 32:
      return isSigned ? scalar('int32', 'int32', 'Int32') : scalar('uint32', 'uint32', 'UInt32')
    case 64:
      return isSigned ? scalar('words', 'int64', 'Int64') : scalar('words', 'uint64', 'UInt64')
    default:
      // Arrow has no wider integers: they travel as decimal text.
      return text
  }
}

/** Arrow knows seconds and three finer units; ticks of other scales are widened to the next finer unit. */
function timestampEncoding(scale: number): ValueEncoding {
  if (scale === 0) return scalar('words', 'timestampSecond', 'DateTime64(0)')
  const unitScale = scale <= 3 ? 3 : scale <= 6 ? 6 : 9
  const arrow =
    unitScale === 3 ? 'timestampMillisecond' : unitScale === 6 ? 'timestampMicrosecond' : 'timestampNanosecond'
  return { ...scalar('words', arrow, `DateTime64(${unitScale})`), tickFactor: 10n ** BigInt(unitScale - scale) }
}

function listEncoding(element: ValueEncoding): ValueEncoding {
  return { ...scalar('list', 'list', `Array(${declaredType(element)})`), children: [element] }
}

function mapEncoding(key: ValueEncoding, value: ValueEncoding): ValueEncoding {
  return { ...scalar('map', 'map', `Map(${declaredType(key)}, ${declaredType(value)})`), children: [key, value] }
}

/** The engine matches a named tuple's fields by name and an unnamed one's by position. */
function tupleEncoding(fields: readonly TupleField[]): ValueEncoding {
  const children = fields.map((field) => encodingOf(field.type))
  const types = children.map((child, position) => {
    const name = fields[position]?.name ?? null
    return name === null ? declaredType(child) : `\`${escapeName(name)}\` ${declaredType(child)}`
  })
  return {
    ...scalar('struct', 'struct', `Tuple(${types.join(', ')})`),
    children,
    fieldNames: fields.map((field, position) => field.name ?? String(position + 1)),
  }
}

function escapeName(name: string): string {
  return name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')
}
