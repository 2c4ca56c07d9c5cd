import { Buffer } from 'node:buffer'
import t from 'tap'
import { Column } from '../../../src/codec/columns/column.ts'
import { ScanKernel } from '../../../src/codec/scan-kernel/scan-kernel.ts'

const kernel = new ScanKernel()

function textAt(column: Column, row: number): string {
  return Buffer.from(column.bytes.subarray(column.offsets[row], column.offsets[row + 1])).toString()
}

t.test('rows beyond the first capacity keep what stood before them', async (t) => {
  const columns = [
    { column: new Column(kernel, 'int32'), values: (column: Column) => column.int32 },
    { column: new Column(kernel, 'uint32'), values: (column: Column) => column.uint32 },
    { column: new Column(kernel, 'float64'), values: (column: Column) => column.float64 },
  ]
  for (const { column, values } of columns) {
    const rowCount = column.capacity * 5
    for (let row = 0; row < rowCount; row += 1) {
      column.grow(row + 1)
      column.writeCell(row, row)
    }
    t.same(
      [...values(column).subarray(0, rowCount)],
      Array.from({ length: rowCount }, (_, row) => row),
      column.storage,
    )
  }
})

t.test('64-bit values keep every bit, below zero too', async (t) => {
  const column = new Column(kernel, 'words')
  const values = [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n, -(2n ** 32n) - 1n, 1_234_567_890_123_456_789n]
  for (const [row, value] of values.entries()) column.writeCell(row, value)
  t.same([...new BigInt64Array(column.words.buffer, column.words.byteOffset, values.length)], values)
  column.writeCell(0, 2n ** 64n - 1n)
  t.equal(new BigUint64Array(column.words.buffer, column.words.byteOffset, 1)[0], 2n ** 64n - 1n)
  const ticks = new Column(kernel, 'words', [], 100n)
  ticks.writeCell(0, -7n)
  t.equal(
    new BigInt64Array(ticks.words.buffer, ticks.words.byteOffset, 1)[0],
    -700n,
    'ticks are widened to the unit of the part',
  )
})

t.test('text grows past its first bytes, and one text may be longer than all of them', async (t) => {
  const column = new Column(kernel, 'utf8')
  const texts = ['a', 'é'.repeat(50_000), '', '漢'.repeat(70_000), 'z', '😀\ud800']
  for (const [row, text] of texts.entries()) column.writeCell(row, text)
  for (const [row, text] of texts.entries()) t.equal(textAt(column, row), Buffer.from(text).toString(), `row ${row}`)
})

t.test('lists, maps and tuples grow with their elements', async (t) => {
  const list = new Column(kernel, 'list', [new Column(kernel, 'utf8')])
  const map = new Column(kernel, 'map', [
    new Column(kernel, 'utf8'),
    new Column(kernel, 'list', [new Column(kernel, 'int32')]),
  ])
  const tuple = new Column(kernel, 'struct', [
    new Column(kernel, 'int32'),
    new Column(kernel, 'list', [new Column(kernel, 'utf8')]),
  ])
  const rowCount = 3_000
  for (let row = 0; row < rowCount; row += 1) {
    for (const column of [list, map, tuple]) column.grow(row + 1)
    list.writeCell(row, [`a${row}`, `b${row}`])
    map.writeCell(row, [[`k${row}`, [row, row + 1]]])
    tuple.writeCell(row, [row, [`t${row}`]])
  }
  const [items] = list.children
  const [keys, values] = map.children
  const [numbers, texts] = tuple.children
  const row = rowCount - 1
  t.equal(items === undefined ? '' : textAt(items, row * 2 + 1), `b${row}`)
  t.equal(keys === undefined ? '' : textAt(keys, row), `k${row}`)
  t.same([...(values?.children[0]?.int32.subarray(row * 2, row * 2 + 2) ?? [])], [row, row + 1])
  t.equal(numbers?.int32[row], row)
  t.equal(texts?.children[0] === undefined ? '' : textAt(texts.children[0], row), `t${row}`)
})

t.test('marks of a row that is given up are gone, and those before it stay', async (t) => {
  const column = new Column(kernel, 'list', [new Column(kernel, 'int32')])
  const [items] = column.children
  column.writeCell(0, [1, null])
  column.writeCell(1, [null, null, 3])
  column.clearMarksFrom(1)
  column.writeCell(1, [7, 8, 9])
  t.same([...(items?.isNull.subarray(0, 6) ?? [])], [0, 1, 0, 0, 0, 0])
  t.equal(items?.nullCount, 1)
  const scalar = new Column(kernel, 'utf8')
  scalar.writeNull(0)
  scalar.writeMissing(1)
  scalar.clearMarksFrom(1)
  scalar.writeCell(1, 'x')
  t.same([scalar.nullCount, scalar.missingCount], [1, 0])
  t.same([...scalar.isMissing.subarray(0, 2)], [0, 0])
})

t.test('a row is marked once, however often it is written', async (t) => {
  const column = new Column(kernel, 'int32')
  column.writeNull(0)
  column.writeNull(0)
  column.writeMissing(0)
  column.writeMissing(0)
  t.same([column.nullCount, column.missingCount], [1, 1])
})

t.test('a missing tuple leaves no values of an earlier row in its fields', async (t) => {
  const column = new Column(kernel, 'struct', [
    new Column(kernel, 'utf8'),
    new Column(kernel, 'list', [new Column(kernel, 'int32')]),
  ])
  column.writeCell(0, ['a', [1]])
  column.writeMissing(1)
  column.writeCell(2, ['c', [2, 3]])
  const [texts, lists] = column.children
  t.same([...(texts?.offsets.subarray(0, 4) ?? [])], [0, 1, 1, 2])
  t.same([...(lists?.offsets.subarray(0, 4) ?? [])], [0, 1, 1, 3])
})

t.test('a column is used for one block after the other', async (t) => {
  const column = new Column(kernel, 'utf8')
  for (let block = 0; block < 3; block += 1) {
    column.reset()
    column.writeMissing(0)
    column.writeCell(1, `block ${block}`)
    t.same([column.nullCount, column.missingCount, column.isNull[1]], [1, 1, 0])
    t.equal(textAt(column, 1), `block ${block}`)
  }
  column.reset()
  t.same([column.nullCount, column.missingCount, column.isNull[0], column.isMissing[0]], [0, 0, 0, 0])
})
