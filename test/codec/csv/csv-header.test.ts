import { Buffer } from 'node:buffer'
import t from 'tap'
import { csvDialect } from '../../../src/codec/csv/csv-dialect.ts'
import { type CsvStart, readCsvStart } from '../../../src/codec/csv/csv-header.ts'
import { columnsOf } from '../../support/codec/reference/random-schema.ts'

const columns = columnsOf('id UInt32, user_name String, `größe` Float64, _2nd String')

function startOf(text: string, schema = columns, delimiter = ','): CsvStart {
  const bytes = Buffer.from(text)
  const dialect = csvDialect(delimiter, null)
  return readCsvStart({ bytes, byteCount: bytes.length }, schema, dialect)
}

t.test('a header of all columns gives their order, and rows begin behind it', async (t) => {
  const partialHeader = null
  t.same(startOf('id,user_name,größe,_2nd\n1,a,2,b\n'), { fieldColumns: [0, 1, 2, 3], rowsOffset: 26, partialHeader })
  t.same(startOf('größe,id,_2nd,user_name\r\n1\r\n').fieldColumns, [2, 0, 3, 1])
  t.same(startOf('"_2nd";"user_name";"id";"größe"\n1;2\n', columns, ';').fieldColumns, [3, 1, 0, 2])
  t.same(
    startOf('\n\r\nid,user_name,größe,_2nd\n1,a\n'),
    { fieldColumns: [0, 1, 2, 3], rowsOffset: 29, partialHeader },
    'blank lines may stand before it',
  )
  t.same(startOf('id,extra,_2nd,user_name,,größe\n').fieldColumns, [0, -1, 3, 1, -1, 2], 'other fields are left out')
})

t.test('names match without regard to case and odd characters, exact ones first', async (t) => {
  t.same(startOf('2nd,GRÖßE, User Name ,ID\n').fieldColumns, [3, 2, 1, 0])
  t.same(startOf('user-name,"user_name",2nd,größe,id\n').fieldColumns, [-1, 1, 3, 2, 0])
  t.same(
    startOf('id,id,ID,user_name,_2nd,größe\n').fieldColumns,
    [0, -1, -1, 1, 3, 2],
    'a column is filled by one field',
  )
})

t.test('a header of some columns gives fields by their position, where its names stand at their own', async (t) => {
  const cases = [
    ['id,user_name\n', [0, 1], true],
    ['id\n', [0], true],
    ['id,user_name,x,y\n', [0, 1, 2, 3], true],
    ['id,x,größe,y,z\n', [0, 1, 2, 3, -1], false],
    ['id,x,größe,_2nd,z\n', [0, 1, 2, 3, -1], true],
    ['id,größe\n', [0, 1], false],
    ['user_name,id,größe,x\n', [0, 1, 2, 3], false],
    ['id,x,y,z\n', [0, 1, 2, 3], false],
  ] as const
  for (const [text, fieldColumns, isByPosition] of cases) {
    const rowsOffset = Buffer.byteLength(text)
    t.match(startOf(`${text}1,2,3,4\n`), { fieldColumns, rowsOffset, partialHeader: { isByPosition } }, text)
  }
  t.match(startOf('id,größe,x,y\n').partialHeader, { misplaced: { name: 'größe', field: 2, column: 3 } })
  t.match(startOf('id,x,größe\n').partialHeader, { unknownNames: ['x'], absentColumns: ['_2nd'], knownCount: 2 })
})

t.test('a first record that may be data is a row', async (t) => {
  const row = { fieldColumns: [0, 1, 2, 3], rowsOffset: 0, partialHeader: null }
  t.same(startOf('1,a,2,b\n'), row)
  t.same(startOf('\n\n1,a,2,b\n'), { ...row, rowsOffset: 2 })
  t.same(startOf('id,a,2,b\n'), row, 'one name of four, and a number for a column of numbers')
  t.same(startOf('7,user_name,2,id\n'), row, 'numbers for all columns of numbers')
  const texts = columnsOf('a String, b LowCardinality(String), c Nullable(String), d FixedString(5)')
  for (const [body, isRow] of [
    ['a,b,x,y\n1,2,3,4\n', false],
    ['a,b,x,y\n1,2,3,4\na,2,3,4\n', true],
    ['a,x,y,z\n1,2,3,4\n', true],
    ['a,x\n1,2\n', true],
    ['a\n1\n', false],
    ['a,b,x,y,z\n1,2,3,4,5\n', true],
    ['a,,b,\n1,2,3,4\n', false],
  ] as const) {
    t.equal(startOf(body, texts).partialHeader === null, isRow, body)
  }
})

t.test('a title that gave the columns their names is a header once more', async (t) => {
  const guessed = columnsOf('report_2026 String, column_2 String, column_3 String')
  t.same(startOf('Report 2026\na,b,c\n', guessed), { fieldColumns: [0, 1, 2], rowsOffset: 12, partialHeader: null })
})

t.test('a line that tells the separator is no record', async (t) => {
  for (const line of ['sep=;\r\n', 'SEP=;\n', '"sep=;"\r\n']) {
    const start = startOf(`${line}id;user_name\n1;2\n`, columns, ';')
    t.match(start, { fieldColumns: [0, 1], rowsOffset: line.length + 13 }, line)
  }
  for (const line of ['sep=12\n', 'sep=;x\n', 'sep=\n', 'sep=1\n', 'sep=ü\n', 'sep;=\n', 'sep="\n']) {
    t.equal(startOf(`${line}1;2\n`, columns, ';').rowsOffset, 0, `${line.trim()} is a row`)
  }
})

t.test('a record of empty fields is a row, whatever the columns are called', async (t) => {
  const unnamed = columnsOf('column_1 String, column_2 String')
  for (const body of [',\na,b\n', '"",""\n', '""\na,b\n']) {
    t.same(startOf(body, unnamed), { fieldColumns: [0, 1], rowsOffset: 0, partialHeader: null }, body)
  }
  t.match(startOf('column_1,\na,b\n', unnamed), { fieldColumns: [0, 1], rowsOffset: 10 })
})

t.test('a body without records has no header', async (t) => {
  for (const body of ['\n', '\r\n\n', '\r\n']) {
    t.same(
      startOf(body),
      { fieldColumns: [0, 1, 2, 3], rowsOffset: body.length, partialHeader: null },
      JSON.stringify(body),
    )
  }
})

t.test('long and many names cost as much as they are long and many', async (t) => {
  const row = { fieldColumns: [0, 1, 2, 3], rowsOffset: 0, partialHeader: null }
  t.same(startOf(`${'x'.repeat(4_000_000)}\n1,y\n`), row)
  t.same(startOf(`${'é'.repeat(1_000_000)},${'~id~user_name'.repeat(100_000)}\n1,y\n`), row)
  const wide = columnsOf(Array.from({ length: 100 }, (_, position) => `column_number_${position} String`).join(', '))
  const namesOf = (count: number): string => Array.from({ length: count }, (_, n) => `Column-Number ${n}`).join(',')
  t.same(startOf(`${namesOf(20_000)}\n1\n`, wide).fieldColumns.slice(0, 200), [
    ...wide.map((_, position) => position),
    ...Array.from({ length: 100 }, () => -1),
  ])
  t.match(startOf(`${namesOf(20_001)}\n1\n`, wide), { rowsOffset: 0, partialHeader: null }, 'too many for a header')
  t.match(startOf(`${'id,'.repeat(1_000_000)}\n1\n`), row)
  t.match(startOf(`${'"a,b",'.repeat(500_000)}\n1\n`), row)
})
