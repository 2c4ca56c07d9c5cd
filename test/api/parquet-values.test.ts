import t from 'tap'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { openTestService } from './test-service.ts'

/** Values of a file that no column of the type can hold, as SQL, under the type; most came in as another value. */
const refused: Readonly<Record<string, readonly string[]>> = {
  UInt128: [
    "'340282366920938463463374607431768211457'",
    "'-1'",
    'toDecimal256(1, 0) * -1',
    "toUInt256('340282366920938463463374607431768211456')",
  ],
  Int128: [
    "'170141183460469231731687303715884105728'",
    "'-170141183460469231731687303715884105729'",
    "toDecimal256('170141183460469231731687303715884105728', 0)",
  ],
  UInt256: ["'115792089237316195423570985008687907853269984665640564039457584007913129639936'", "'1e78'"],
  Int256: ["'57896044618658097711785492504343953926634992332820282019728792003956564819968'", "'1e77'"],
  'Array(UInt128)': ["['1', '340282366920938463463374607431768211456']", "'[340282366920938463463374607431768211456]'"],
  'Map(String, Int128)': ["map('a', '170141183460469231731687303715884105728')"],
  String: ["unhex('636166E9')"],
  'Array(String)': ["['a', unhex('FF')]"],
  'Map(String, String)': ["map(unhex('FF'), 'a')", "map('a', unhex('C0AF'))"],
  'LowCardinality(String)': ["unhex('EDA080')"],
  IPv6: ["'::ffff:01.2.3.4'"],
  DateTime: ["'2024-01-01 10:00:00+99:00'", "'2024-01-01 10:00:00-00:60'"],
  'JSON(t DateTime64(3))': ['\'{"t":1}\'', '\'{"t":"1899-12-28"}\''],
}

/** Values that a column takes, with what is stored. */
const taken: Readonly<Record<string, readonly (readonly [sql: string, stored: string])[]>> = {
  UInt128: [
    ["'340282366920938463463374607431768211455'", '340282366920938463463374607431768211455'],
    ["'-0'", '0'],
    ["'+007.00'", '7'],
    ["'1e38'", `1${'0'.repeat(38)}`],
  ],
  Int128: [["'-170141183460469231731687303715884105728'", '-170141183460469231731687303715884105728']],
  UInt256: [
    ["'557e54'", `557${'0'.repeat(54)}`],
    ["'.77E+73'", `77${'0'.repeat(71)}`],
  ],
  Float64: [
    ["toDecimal64('4.35', 2)", '4.35'],
    ["toDecimal128('0.1', 18)", '0.1'],
  ],
  'Decimal(9, 2)': [
    ["'-62055367415138866025759E-16'", '-6205536.74'],
    ["'4166442149E-82'", '0'],
  ],
  'DateTime64(3)': [
    ["toDateTime64('1969-12-31 23:59:58.1239', 6, 'UTC')", '1969-12-31 23:59:58.123'],
    ["'-7130093.0000000001'", '1969-10-10 11:25:06.999'],
  ],
  'DateTime64(9)': [["'-926812.0000000001'", '1969-12-21 06:33:07.999999999']],
  String: [["unhex('636166C3A9')", 'café']],
}

interface Column {
  readonly type: string
  readonly sql: string
}

const columnsOf = (values: Readonly<Record<string, readonly string[]>>): readonly Column[] =>
  Object.entries(values).flatMap(([type, all]) => all.map((sql) => ({ type, sql })))
const refusedColumns = columnsOf(refused)
const takenColumns = Object.entries(taken).flatMap(([type, all]) => all.map(([sql, stored]) => ({ type, sql, stored })))
const selectOf = (columns: readonly Column[]): string =>
  `SELECT ${columns.map(({ sql }, index) => `${sql} AS c${index}`).join(', ')}`
const fileOf = await writeParquetFiles({
  refused: { sql: selectOf(refusedColumns), settings: { unsupported_types_as_binary: 1 } },
  taken: { sql: selectOf(takenColumns) },
})
const service = await openTestService(t)

const load = (name: string, columns: readonly Column[]) => {
  const schema = columns.map(({ type }, index) => `c${index} ${type}`).join(', ')
  const parameters = new URLSearchParams({ name, format: 'parquet', schema })
  return service.call('POST', `/v0/datasources?${parameters}`, { body: fileOf(name) })
}

t.test('what a column cannot hold is set aside, and never stored as another value', async (t) => {
  const answer = await load('refused', refusedColumns)
  t.match(answer, { status: 200, json: { imported_rows: 0, quarantine_rows: 1 } }, answer.text)
  const names = await service.rows('SELECT arrayJoin(c__error_column) FROM refused_quarantine')
  const found = new Set(names.map(([name = '']) => name))
  for (const [index, { type, sql }] of refusedColumns.entries()) t.ok(found.has(`c${index}`), `${sql} as ${type}`)
})

t.test('bytes that are no UTF-8 are told as such, and the quarantine can be read as JSON', async (t) => {
  const index = refusedColumns.findIndex(({ type }) => type === 'String')
  const { json } = await service.call(
    'GET',
    `/v0/sql?q=${encodeURIComponent(`SELECT c${index} AS v, c__error FROM refused_quarantine FORMAT JSON`)}`,
  )
  t.match(json, { data: [{ v: 'caf\ufffd' }] })
  t.match(JSON.stringify(json), `value 'caf\ufffd' on column 'c${index}' is not valid UTF-8`)
})

t.test('what a column can hold is stored to its last digit', async (t) => {
  const answer = await load('taken', takenColumns)
  t.match(answer, { status: 200, json: { imported_rows: 1, quarantine_rows: 0 } }, answer.text)
  const [row = []] = await service.rows('SELECT * FROM taken')
  for (const [index, { sql, type, stored }] of takenColumns.entries()) t.equal(row[index], stored, `${sql} as ${type}`)
})
