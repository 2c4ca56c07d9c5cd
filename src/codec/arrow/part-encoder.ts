/** Encodes columns as an Arrow IPC stream: chunks that are the columns' own buffers, or copies of their own width. */
import {
  AsyncByteQueue,
  type Data,
  type DataType,
  Field,
  FixedSizeBinary,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  List,
  Map_,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from 'apache-arrow'
import { assert } from '../../shared/assert.ts'
import type { Column } from '../columns/column.ts'
import type { ParsePlan } from '../columns/parse-plan.ts'
import type { QuarantineBuilder } from '../columns/quarantine-builder.ts'
import { encodingOf, type ValueEncoding } from '../columns/value-encoding.ts'
import { partColumnsOf, quarantineLayoutOf } from './part-layout.ts'

/** A column of a part that is ready to be written. */
interface NamedData {
  readonly name: string
  readonly values: Data
}

/**
 * Encodes the first `rowCount` rows of the plan's columns as a part of `partLayoutOf`'s layout, given as the chunks that
 * make it up. They are views of the columns: what is kept is to be copied before the columns change.
 * Precondition: `rowCount > 0`.
 */
export function encodePart(plan: ParsePlan, rowCount: number): readonly Uint8Array[] {
  assert(rowCount > 0, 'a part that is encoded has rows')
  const columns: NamedData[] = []
  for (const { position, field, mask } of partColumnsOf(plan.columns.map(({ definition }) => definition))) {
    const columnPlan = plan.columns[position]
    assert(columnPlan !== undefined, 'the layout speaks of the plan’s own columns')
    columns.push({ name: field, values: dataOf(columnPlan.column, columnPlan.encoding, rowCount) })
    if (mask !== null) columns.push({ name: mask, values: maskOf(columnPlan.column, rowCount) })
  }
  return streamOf(columns, rowCount)
}

/** Encodes the rows set aside as a part of `quarantineLayoutOf`'s layout, as `encodePart` does. Precondition: there are rows. */
export function encodeQuarantine(plan: ParsePlan, quarantine: QuarantineBuilder): readonly Uint8Array[] {
  const { rowCount } = quarantine
  assert(rowCount > 0, 'a quarantine part that is encoded has rows')
  quarantine.finish()
  const text = encodingOf({ kind: 'string' })
  const list = encodingOf({ kind: 'array', element: { kind: 'string' } })
  const values = [
    ...quarantine.texts.map((column) => dataOf(column, text, rowCount)),
    dataOf(quarantine.errorColumns, list, rowCount),
    dataOf(quarantine.errors, list, rowCount),
  ]
  const { fields } = quarantineLayoutOf(
    plan.columns.map(({ definition }) => definition),
    null,
  )
  assert(fields.length === values.length, 'the quarantine layout has one field for each column')
  return streamOf(
    values.map((data, position) => ({ name: fields[position]?.name ?? '', values: data })),
    rowCount,
  )
}

/** Gathers what a writer writes, without joining it. */
class ChunkQueue extends AsyncByteQueue {
  readonly chunks: Uint8Array[] = []

  override write(chunk: Uint8Array): void {
    if (chunk.byteLength > 0) this.chunks.push(chunk)
  }
}

function streamOf(columns: readonly NamedData[], rowCount: number): readonly Uint8Array[] {
  const schema = new Schema(columns.map(({ name, values }) => new Field(name, values.type, true)))
  const root = makeData({
    type: new Struct(schema.fields),
    length: rowCount,
    nullCount: 0,
    children: columns.map(({ values }) => values),
  })
  const writer = new RecordBatchStreamWriter()
  const queue = new ChunkQueue()
  writer.reset(queue, schema)
  writer.write(new RecordBatch(schema, root))
  writer.finish()
  return queue.chunks
}

function maskOf(column: Column, rowCount: number): Data {
  return makeData({ type: new Uint8(), length: rowCount, nullCount: 0, data: column.isMissing.subarray(0, rowCount) })
}

function dataOf(column: Column, encoding: ValueEncoding, rowCount: number): Data {
  const nulls = nullsOf(column, rowCount)
  switch (encoding.arrow) {
    case 'utf8':
      return makeData({
        ...nulls,
        type: new Utf8(),
        valueOffsets: column.offsets.subarray(0, rowCount + 1),
        data: column.bytes.subarray(0, column.offsets[rowCount] ?? 0),
      })
    case 'list': {
      const [child] = childrenOf(column, encoding, column.offsets[rowCount] ?? 0)
      assert(child !== undefined, 'a list has one child')
      const valueOffsets = column.offsets.subarray(0, rowCount + 1)
      return makeData({ ...nulls, type: new List(fieldOf('item', child)), valueOffsets, child })
    }
    case 'map': {
      const entryCount = column.offsets[rowCount] ?? 0
      const [keys, values] = childrenOf(column, encoding, entryCount)
      assert(keys !== undefined && values !== undefined, 'a map has keys and values')
      // The engine refuses a map whose keys could be NULL.
      const fields = [new Field('key', keys.type, false), fieldOf('value', values)]
      const child = structOf(fields, [keys, values], entryCount)
      const valueOffsets = column.offsets.subarray(0, rowCount + 1)
      return makeData({ ...nulls, type: new Map_(new Field('entries', child.type, false)), valueOffsets, child })
    }
    case 'struct': {
      const children = childrenOf(column, encoding, rowCount)
      const fields = children.map((child, position) => fieldOf(encoding.fieldNames[position] ?? '', child))
      return structOf(fields, children, rowCount)
    }
    default:
      return makeData({ ...nulls, ...flatOf(column, encoding, rowCount) })
  }
}

/** Elements lie behind one another in the children, so a list's children have as many rows as it has elements. */
function childrenOf(column: Column, encoding: ValueEncoding, rowCount: number): readonly Data[] {
  return column.children.map((child, position) => {
    const childEncoding = encoding.children[position]
    assert(childEncoding !== undefined, 'a column has the children of its encoding')
    return dataOf(child, childEncoding, rowCount)
  })
}

function structOf(fields: readonly Field[], children: readonly Data[], rowCount: number): Data<Struct> {
  return makeData({ type: new Struct([...fields]), length: rowCount, nullCount: 0, children: [...children] })
}

function fieldOf(name: string, values: Data): Field {
  return new Field(name, values.type, true)
}

/** Fixed-width values: typed arrays of the part's own width; an array that has it already is not copied. */
function flatOf(column: Column, encoding: ValueEncoding, rowCount: number): { type: DataType; data: ArrayBufferView } {
  const signed = column.int32.subarray(0, rowCount)
  const unsigned = column.uint32.subarray(0, rowCount)
  const floats = column.float64.subarray(0, rowCount)
  switch (encoding.arrow) {
    case 'int8':
      return { type: new Int8(), data: new Int8Array(signed) }
    case 'int16':
      return { type: new Int16(), data: new Int16Array(signed) }
    case 'int32':
      return { type: new Int32(), data: signed }
    case 'uint8':
      return { type: new Uint8(), data: new Uint8Array(unsigned) }
    case 'uint16':
      return { type: new Uint16(), data: new Uint16Array(unsigned) }
    case 'uint32':
      return { type: new Uint32(), data: unsigned }
    case 'float32':
      return { type: new Float32(), data: new Float32Array(floats) }
    case 'float64':
      return { type: new Float64(), data: floats }
    case 'fixedBinary16':
      return { type: new FixedSizeBinary(16), data: column.bytes.subarray(0, rowCount * 16) }
    default:
      return wideOf(column, encoding, rowCount)
  }
}

function wideOf(column: Column, encoding: ValueEncoding, rowCount: number): { type: DataType; data: ArrayBufferView } {
  const { buffer, byteOffset } = column.words
  const signed = new BigInt64Array(buffer, byteOffset, rowCount)
  switch (encoding.arrow) {
    case 'int64':
      return { type: new Int64(), data: signed }
    case 'uint64':
      return { type: new Uint64(), data: new BigUint64Array(buffer, byteOffset, rowCount) }
    case 'timestampSecond':
      return { type: new TimestampSecond(), data: signed }
    case 'timestampMillisecond':
      return { type: new TimestampMillisecond(), data: signed }
    case 'timestampMicrosecond':
      return { type: new TimestampMicrosecond(), data: signed }
    default:
      assert(encoding.arrow === 'timestampNanosecond', `${encoding.arrow} is no fixed-width type`)
      return { type: new TimestampNanosecond(), data: signed }
  }
}

/** The validity bitmap, only where there are nulls; lists, maps and tuples have none, for the engine knows none. */
function nullsOf(column: Column, rowCount: number): { length: number; nullCount: number; nullBitmap?: Uint8Array } {
  if (column.nullCount === 0 || column.children.length > 0) return { length: rowCount, nullCount: 0 }
  const nullBitmap = new Uint8Array(Math.ceil(rowCount / 64) * 8)
  if (column.nullCount === rowCount) return { length: rowCount, nullCount: rowCount, nullBitmap }
  let nullCount = 0
  for (let row = 0; row < rowCount; row += 1) {
    if (column.isNull[row] === 1) nullCount += 1
    else nullBitmap[row >> 3] = (nullBitmap[row >> 3] ?? 0) | (1 << (row & 7))
  }
  return nullCount === 0 ? { length: rowCount, nullCount: 0 } : { length: rowCount, nullCount, nullBitmap }
}
