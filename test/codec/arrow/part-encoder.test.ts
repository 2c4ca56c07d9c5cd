import { tableFromIPC } from 'apache-arrow'
import t from 'tap'
import { joined } from '../../../src/codec/arrow/part-chunks.ts'
import { encodePart, encodeQuarantine } from '../../../src/codec/arrow/part-encoder.ts'
import { partLayoutOf, quarantineLayoutOf } from '../../../src/codec/arrow/part-layout.ts'
import { compilePlan } from '../../../src/codec/columns/parse-plan.ts'
import { PartBuilder } from '../../../src/codec/columns/part-builder.ts'
import { ScanKernel } from '../../../src/codec/scan-kernel/scan-kernel.ts'
import { readBlock } from '../../support/codec/reference/arrow-cells.ts'
import { columnsOf } from '../../support/codec/reference/random-schema.ts'

function builderOf(schema: string): { readonly plan: ReturnType<typeof compilePlan>; readonly builder: PartBuilder } {
  const plan = compilePlan(new ScanKernel(), columnsOf(schema))
  return { plan, builder: new PartBuilder(plan) }
}

t.test('a part has the fields of the layout, in its order', async (t) => {
  const schema =
    'a Int8, b Nullable(String) DEFAULT upper(c), s AggregateFunction(uniq, String), c String, d Array(Int8) DEFAULT []'
  const { plan, builder } = builderOf(schema)
  builder.addJsonRecord(Buffer.from('{"a":1,"c":"x"}'))
  const names = tableFromIPC(joined(encodePart(plan, builder.rowCount))).schema.fields.map(({ name }) => name)
  t.same(names, ['__0', '__1', '__missing_1', '__3', '__4', '__missing_4'])
  const layout = partLayoutOf(columnsOf(schema))
  t.same(
    layout.fields.map(({ name }) => name),
    names,
  )
  t.same(
    layout.targets.map(({ column }) => column),
    ['a', 'b', 'c', 'd'],
  )
})

t.test('without a mask targets are the fields themselves, and the engine fills in DEFAULTs', async (t) => {
  t.same(partLayoutOf(columnsOf("a Int8, b String DEFAULT 'x', c LowCardinality(Nullable(String))")), {
    fields: [
      { name: '__0', engineType: 'Int8' },
      { name: '__1', engineType: 'Nullable(String)' },
      { name: '__2', engineType: 'Nullable(String)' },
    ],
    targets: [
      { column: 'a', expression: '__0' },
      { column: 'b', expression: '__1' },
      { column: 'c', expression: '__2' },
    ],
  })
})

t.test('every kind of Arrow column is as wide as the layout says', async (t) => {
  const types: Readonly<Record<string, string>> = {
    Int8: 'Int8',
    Int16: 'Int16',
    Int32: 'Int32',
    Int64: 'Int64',
    Int128: 'Utf8',
    UInt8: 'Uint8',
    UInt16: 'Uint16',
    UInt32: 'Uint32',
    UInt64: 'Uint64',
    UInt256: 'Utf8',
    Float32: 'Float32',
    Float64: 'Float64',
    Bool: 'Uint8',
    Date: 'Uint16',
    Date32: 'Int32',
    DateTime: 'Uint32',
    'DateTime64(0)': 'Timestamp<SECOND>',
    'DateTime64(2)': 'Timestamp<MILLISECOND>',
    'DateTime64(5)': 'Timestamp<MICROSECOND>',
    'DateTime64(9)': 'Timestamp<NANOSECOND>',
    "Enum8('a' = 1)": 'Int8',
    "Enum16('a' = 1)": 'Int16',
    IPv4: 'Uint32',
    IPv6: 'Utf8',
    UUID: 'FixedSizeBinary[16]',
    'Decimal(9, 2)': 'Utf8',
    String: 'Utf8',
    'FixedString(3)': 'Utf8',
    JSON: 'Utf8',
    'Array(UInt8)': 'List<Uint8>',
    'Map(String, Int8)': 'Map<{key:Utf8, value:Int8}>',
    'Tuple(a Int8, b Date)': 'Struct<{a:Int8, b:Uint16}>',
    'Tuple(Int8, Date)': 'Struct<{1:Int8, 2:Uint16}>',
  }
  for (const [typeText, arrowType] of Object.entries(types)) {
    const nullable = /^(Array|Map|Tuple)/.test(typeText) ? typeText : `Nullable(${typeText})`
    const { plan, builder } = builderOf(`a ${nullable} DEFAULT NULL`)
    builder.addJsonRecord(Buffer.from('{}'))
    t.equal(String(tableFromIPC(joined(encodePart(plan, 1))).schema.fields[0]?.type), arrowType, typeText)
  }
})

t.test('a part is exactly sized and its own: the next block does not change it', async (t) => {
  const schema = 'a String, b Nullable(Int32), c Array(Nullable(String))'
  const columns = columnsOf(schema)
  const plan = compilePlan(new ScanKernel(), columns)
  const parts = [0, 1].map((block) => {
    const builder = new PartBuilder(plan)
    for (let row = 0; row < 70; row += 1) {
      builder.addJsonRecord(
        Buffer.from(JSON.stringify({ a: `${block}/${row}`, b: row % 3 === 0 ? null : row, c: [null, `${row}`] })),
      )
    }
    const part = joined(encodePart(plan, builder.rowCount))
    t.equal(part.byteLength, part.buffer.byteLength, 'it can be transferred whole')
    return part
  })
  for (const [block, part] of parts.entries()) {
    const rows = readBlock(part, columns)
    const wanted = Array.from({ length: 70 }, (_, row) => [
      `"${block}/${row}"`,
      row % 3 === 0 ? 'NULL' : `${row}`,
      `[NULL,"${row}"]`,
    ])
    t.same(rows, wanted)
  }
})

t.test('nulls are told apart at every place of a bitmap', async (t) => {
  const columns = columnsOf('a Nullable(UInt32)')
  for (const rowCount of [1, 7, 8, 9, 63, 64, 65, 200]) {
    const plan = compilePlan(new ScanKernel(), columns)
    const builder = new PartBuilder(plan)
    const isNull = (row: number) => (row * 7) % 5 < 2
    for (let row = 0; row < rowCount; row += 1)
      builder.addJsonRecord(Buffer.from(isNull(row) ? '{"a":null}' : `{"a":${row}}`))
    const wanted = Array.from({ length: rowCount }, (_, row) => [isNull(row) ? 'NULL' : String(row)])
    t.same(readBlock(joined(encodePart(plan, rowCount)), columns), wanted, `${rowCount} rows`)
  }
})

t.test('a quarantine part has the fields of its layout', async (t) => {
  const { plan, builder } = builderOf('a Int8, `b c` String')
  builder.addJsonRecord(Buffer.from('{"a":"x"}'))
  builder.addJsonRecord(Buffer.from('nothing'))
  const table = tableFromIPC(joined(encodeQuarantine(plan, builder.quarantine)))
  const layout = quarantineLayoutOf(columnsOf('a Int8, `b c` String'), "it's")
  t.same(
    table.schema.fields.map(({ name }) => name),
    layout.fields.map(({ name }) => name),
  )
  t.same(
    layout.targets.map(({ column }) => column),
    ['a', 'b c', 'c__error_column', 'c__error', 'c__import_id', 'insertion_date'],
  )
  const importId = layout.targets.find(({ column }) => column === 'c__import_id')
  t.equal(importId?.expression, "'it\\'s'", 'what all rows have in common is no field of the part')
  t.equal(table.numRows, 2)
})

t.test('nothing is not sealed', async (t) => {
  const { plan, builder } = builderOf('a Int8')
  t.throws(() => encodePart(plan, 0), 'a part that is encoded has rows')
  t.throws(() => encodeQuarantine(plan, builder.quarantine), 'a quarantine part that is encoded has rows')
})
