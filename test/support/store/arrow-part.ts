import {
  type Data,
  type DataType,
  Field,
  FixedSizeBinary,
  List,
  Map_,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
} from 'apache-arrow'

/** One column of a part, as Arrow data under a name. */
export interface ArrowColumn {
  readonly name: string
  // apache-arrow types columns one by one; a list of different ones has no narrower type.
  readonly data: Data<DataType>
}

/** An Arrow IPC stream of one record batch. */
export function arrowPart(columns: readonly ArrowColumn[]): Uint8Array {
  const fields = columns.map(({ name, data }) => new Field(name, data.type, true))
  const schema = new Schema(fields)
  const children = columns.map(({ data }) => data)
  const length = children[0]?.length ?? 0
  const batch = new RecordBatch(schema, makeData({ type: new Struct(fields), length, nullCount: 0, children }))
  return tableToIPC(new Table(schema, [batch]), 'stream')
}

/** Bits of a validity bitmap, `null` meaning that everything is valid. */
function validity(isValid: readonly boolean[]): { nullCount: number; nullBitmap: Uint8Array } {
  const nullBitmap = new Uint8Array(Math.ceil(isValid.length / 8))
  for (const [row, valid] of isValid.entries()) {
    if (valid) nullBitmap[row >> 3] = (nullBitmap[row >> 3] ?? 0) | (1 << (row & 7))
  }
  return { nullCount: isValid.filter((valid) => !valid).length, nullBitmap }
}

type Numbers =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array

/** A column of fixed width over its own typed array; rows in `nullRows` are null. */
export function numbers(type: DataType, values: Numbers, nullRows: readonly number[] = []): Data<DataType> {
  const isValid = Array.from({ length: values.length }, (_, row) => !nullRows.includes(row))
  // makeData's parameters differ by type, and `type` is any of them here.
  return makeData({ type, length: values.length, data: values, ...validity(isValid) } as never)
}

export function utf8(values: readonly (string | null)[]): Data<DataType> {
  const texts = values.map((value) => Buffer.from(value ?? ''))
  const valueOffsets = new Int32Array(values.length + 1)
  for (const [row, text] of texts.entries()) valueOffsets[row + 1] = (valueOffsets[row] ?? 0) + text.length
  const isValid = values.map((value) => value !== null)
  const data = Buffer.concat(texts)
  return makeData({ type: new Utf8(), length: values.length, valueOffsets, data, ...validity(isValid) })
}

export function binary(values: readonly string[], byteCount: number): Data<DataType> {
  const data = Buffer.concat(values.map((hex) => Buffer.from(hex, 'hex')))
  return makeData({ type: new FixedSizeBinary(byteCount), length: values.length, nullCount: 0, data })
}

function offsets(lengths: readonly number[]): Int32Array {
  const ends = new Int32Array(lengths.length + 1)
  for (const [row, length] of lengths.entries()) ends[row + 1] = (ends[row] ?? 0) + length
  return ends
}

/** Rows of a list column by their lengths; rows in `nullRows` are null. */
export function list(
  lengths: readonly number[],
  child: Data<DataType>,
  nullRows: readonly number[] = [],
): Data<DataType> {
  const type = new List(new Field('item', child.type, true))
  const isValid = lengths.map((_, row) => !nullRows.includes(row))
  return makeData({ type, length: lengths.length, valueOffsets: offsets(lengths), child, ...validity(isValid) })
}

export function struct(fields: Readonly<Record<string, Data<DataType>>>, length: number): Data<DataType> {
  const children = Object.values(fields)
  const type = new Struct(Object.entries(fields).map(([name, child]) => new Field(name, child.type, true)))
  return makeData({ type, length, nullCount: 0, children })
}

export function map(lengths: readonly number[], keys: Data<DataType>, values: Data<DataType>): Data<DataType> {
  const entries = makeData({
    type: new Struct([new Field('key', keys.type, false), new Field('value', values.type, true)]),
    length: keys.length,
    nullCount: 0,
    children: [keys, values],
  })
  // Map_ names the types of key and value, which are any here.
  const type = new Map_(new Field('entries', entries.type, false) as never, false)
  return makeData({
    type,
    length: lengths.length,
    nullCount: 0,
    valueOffsets: offsets(lengths),
    child: entries,
  } as never)
}
