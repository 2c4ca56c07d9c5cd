import { Buffer } from 'node:buffer'
import t from 'tap'
import { csvDialect } from '../../src/codec/csv-dialect.ts'
import { type CsvStart, readCsvStart } from '../../src/codec/csv-header.ts'
import { columnsOf } from './reference/random-schema.ts'

const columns = columnsOf('id UInt32, user_name String, `größe` Float64, _2nd String')

function startOf(text: string, schema = columns, delimiter = ','): CsvStart {
  const bytes = Buffer.from(text)
  const dialect = csvDialect(delimiter, null)
  return readCsvStart({ bytes, byteCount: bytes.length }, schema, dialect)
}

t.test('a header gives the order of the columns, and rows begin behind it', async (t) => {
  t.same(startOf('id,user_name,größe,_2nd\n1,a,2,b\n'), { fieldColumns: [0, 1, 2, 3], rowsOffset: 26 })
  t.same(startOf('größe,id,_2nd,user_name\r\n1\r\n').fieldColumns, [2, 0, 3, 1])
  t.same(startOf('"id";"größe"\n1;2\n', columns, ';'), { fieldColumns: [0, 2], rowsOffset: 15 })
  t.same(
    startOf('\n\r\nid,user_name\n1,a\n'),
    { fieldColumns: [0, 1], rowsOffset: 16 },
    'blank lines may stand before it',
  )
})

t.test('names match without regard to case and odd characters, exact ones first', async (t) => {
  t.same(startOf('ID, User Name ,GRÖSSE,2nd\n').fieldColumns, [0, 1, -1, 3])
  t.same(startOf('user-name,"user_name",id\n').fieldColumns, [-1, 1, 0])
  t.same(startOf('id,id,ID,user_name\n').fieldColumns, [0, -1, -1, 1], 'a column is filled by one field')
})

t.test('fields that no column asks for are left out', async (t) => {
  t.same(startOf('id,extra,user_name,\n1,2,3,\n').fieldColumns, [0, -1, 1, -1])
})

t.test('a first record that names too few columns is a row', async (t) => {
  const inOrder = [0, 1, 2, 3]
  t.same(startOf('1,a,2,b\n'), { fieldColumns: inOrder, rowsOffset: 0 })
  t.same(startOf('\n\n1,a,2,b\n'), { fieldColumns: inOrder, rowsOffset: 2 })
  t.same(startOf('id,a,2,b\n').fieldColumns, inOrder, 'one name of four is no header')
  t.same(startOf('id,a,größe,b\n').fieldColumns, [0, -1, 2, -1], 'two names of four are one')
  t.same(startOf('id,größe,1,2,3\n').fieldColumns, inOrder, 'two of five are not')
  t.same(startOf('id\n1\n').fieldColumns, [0], 'a file of one known column is')
})

t.test('a title that gave the columns their names is a header once more', async (t) => {
  const guessed = columnsOf('report_2026 String, column_2 String, column_3 String')
  t.same(startOf('Report 2026\na,b,c\n', guessed), { fieldColumns: [0, 1, 2], rowsOffset: 12 })
})

t.test('a line that tells the separator is no record', async (t) => {
  for (const line of ['sep=;\r\n', 'SEP=;\n', '"sep=;"\r\n']) {
    t.same(
      startOf(`${line}id;größe\n1;2\n`, columns, ';'),
      { fieldColumns: [0, 2], rowsOffset: line.length + 11 },
      line,
    )
  }
  for (const line of ['sep=12\n', 'sep=;x\n', 'sep=\n', 'sep=1\n', 'sep=ü\n', 'sep;=\n', 'sep="\n']) {
    t.equal(startOf(`${line}1;2\n`, columns, ';').rowsOffset, 0, `${line.trim()} is a row`)
  }
})

t.test('a record of empty fields is a row, whatever the columns are called', async (t) => {
  const unnamed = columnsOf('column_1 String, column_2 String')
  for (const body of [',\na,b\n', '"",""\n', '""\na,b\n']) {
    t.same(startOf(body, unnamed), { fieldColumns: [0, 1], rowsOffset: 0 }, body)
  }
  t.same(startOf('column_1,\na,b\n', unnamed), { fieldColumns: [0, 1], rowsOffset: 10 })
})

t.test('a body without records has no header', async (t) => {
  for (const body of ['\n', '\r\n\n', '\r\n']) {
    t.same(startOf(body), { fieldColumns: [0, 1, 2, 3], rowsOffset: body.length }, JSON.stringify(body))
  }
})
