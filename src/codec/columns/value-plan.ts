/**
 * How the kernel reads one value: which fast reader tries first, and the limits it keeps to.
 * Everything that a fast reader does not know is read again by the exact path (`coercion/`).
 */
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { columnWords } from '../scan-kernel/kernel-layout.ts'
import type { ScanKernel } from '../scan-kernel/scan-kernel.ts'
import type { Column } from './column.ts'

/** Fast readers by number, as `kernel/layout.ts` has them. */
export const FastReader = {
  /** No fast reader: the exact path reads every value. */
  none: 0,
  text: 1,
  integer: 2,
  integer64: 3,
  float: 4,
  bool: 5,
  dateTime: 6,
  dateTime64: 7,
  date: 8,
  uuid: 9,
  list: 10,
} as const

export type FastReader = (typeof FastReader)[keyof typeof FastReader]

export interface ValuePlan {
  readonly reader: FastReader
  readonly column: Column
  /** Bounds of integers up to 32 bits; the largest finite value of floats; `maximum` is 0 for Int64 and 1 for UInt64. */
  readonly minimum: number
  readonly maximum: number
  /** Decimal places of DateTime64. */
  readonly scale: number
  /** IANA zone of local times, null for UTC. */
  readonly zone: string | null
  readonly isNullable: boolean
  /** Of lists. */
  readonly element: ValuePlan | null
}

export function planValue(type: ColumnType, column: Column): ValuePlan {
  switch (type.kind) {
    case 'nullable':
      return { ...planValue(type.inner, column), isNullable: true }
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return planValue(type.inner, column)
    case 'integer':
      return integerPlan(type.bits, type.isSigned, column)
    case 'float':
      return {
        ...plain(column),
        reader: FastReader.float,
        // What little rounds down to the largest Float32 from above is left to the exact path.
        maximum: type.bits === 32 ? 3.4028234663852886e38 : Number.MAX_VALUE,
      }
    case 'string':
      return { ...plain(column), reader: FastReader.text }
    case 'bool':
      return { ...plain(column), reader: FastReader.bool }
    case 'date':
    case 'date32':
      return { ...plain(column), reader: FastReader.date }
    case 'dateTime':
      return { ...plain(column), reader: FastReader.dateTime, zone: type.zone }
    case 'dateTime64':
      return { ...plain(column), reader: FastReader.dateTime64, zone: type.zone, scale: type.scale }
    case 'uuid':
      return { ...plain(column), reader: FastReader.uuid }
    case 'array':
      return listPlan(type.element, column)
    case 'fixedString':
    case 'decimal':
    case 'enum':
    case 'ipv4':
    case 'ipv6':
    case 'json':
    case 'map':
    case 'tuple':
    case 'aggregateFunction':
      return plain(column)
  }
}

/** Tells the kernel how to read the values of a column. */
export function writeValuePlan(kernel: ScanKernel, value: ValuePlan): void {
  const { column, element } = value
  const doubles = new DataView(kernel.memory.memory.buffer, column.pointer)
  doubles.setFloat64(columnWords.minimum * 4, value.minimum, true)
  doubles.setFloat64(columnWords.maximum * 4, value.maximum, true)
  column.write('reader', value.reader)
  column.write('scale', value.scale)
  column.write('zone', kernel.zoneNumber(value.zone))
  column.write('isNullable', value.isNullable ? 1 : 0)
  column.write('element', element === null ? 0 : element.column.pointer)
  if (element !== null) writeValuePlan(kernel, element)
}

function plain(column: Column): ValuePlan {
  return {
    reader: FastReader.none,
    column,
    minimum: 0,
    maximum: 0,
    scale: 0,
    zone: null,
    isNullable: false,
    element: null,
  }
}

function integerPlan(bits: number, isSigned: boolean, column: Column): ValuePlan {
  if (bits > 64) return plain(column)
  if (bits === 64) return { ...plain(column), reader: FastReader.integer64, maximum: isSigned ? 0 : 1 }
  return isSigned
    ? { ...plain(column), reader: FastReader.integer, minimum: -(2 ** (bits - 1)), maximum: 2 ** (bits - 1) - 1 }
    : { ...plain(column), reader: FastReader.integer, maximum: 2 ** bits - 1 }
}

function listPlan(elementType: ColumnType, column: Column): ValuePlan {
  const [elementColumn] = column.children
  if (elementColumn === undefined) return plain(column)
  const element = planValue(elementType, elementColumn)
  // A list whose elements have no fast reader is read exactly as a whole, not element by element.
  return element.reader === FastReader.none ? plain(column) : { ...plain(column), reader: FastReader.list, element }
}
