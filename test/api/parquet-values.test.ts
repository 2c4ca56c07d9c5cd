import { isUtf8 } from 'node:buffer'
import t from 'tap'
import { readableText } from '../../src/codec/columns/utf8-text.ts'
import { openTestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'

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
  UInt64: ["'1e999999999'", "'1e161'", "'123E+200'"],
  Int8: ["'1e200'", "'-1e99999999999999999999'"],
  'Decimal(18, 2)': ["'1e161'", "'-7e500'"],
  "Enum8('a' = 0)": ["'1e200'"],
  'DateTime64(3)': ["'1e200'", "'1e999999999'"],
  'Map(String, Int128)': ["map('a', '170141183460469231731687303715884105728')"],
  String: ["unhex('636166E9')"],
  'Array(String)': ["['a', unhex('FF')]"],
  'Map(String, String)': ["map(unhex('FF'), 'a')", "map('a', unhex('C0AF'))"],
  'LowCardinality(String)': ["unhex('EDA080')"],
  IPv6: ["'::ffff:01.2.3.4'"],
  DateTime: ["'2024-01-01 10:00:00+99:00'", "'2024-01-01 10:00:00-00:60'"],
  Date: [
    "toDateTime64('1969-12-31 23:59:59.999', 3, 'UTC')",
    "toDateTime64('1969-12-31 23:59:59.5', 6, 'UTC')",
    "toDateTime64('1969-12-31 23:59:59.000000001', 9, 'UTC')",
    "'1969-12-31 23:59:59.5'",
    "'1970-01-01 00:59:59.5+01:00'",
  ],
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
    ["'-713009300.0000000001'", '1947-05-29 13:51:39.999'],
  ],
  DateTime: [["'2024-01-01 10:00:00.12345678901234567890123Z'", '2024-01-01 10:00:00']],
  'DateTime64(6)': [["'2024-01-01 10:00:00.12345678901234567890'", '2024-01-01 10:00:00.123456']],
  Date: [
    ["toDateTime64('1970-01-01 00:00:00.5', 3, 'UTC')", '1970-01-01'],
    ["'1970-01-01 00:00:00.5'", '1970-01-01'],
  ],
  'DateTime64(9)': [["'-926812000.0000000001'", '1940-08-19 00:13:19.999999999']],
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
const seed = testSeed()
const random = new SeededRandom(seed)
/** Texts in which hardly a byte is where it belongs. */
const randomTexts = Array.from({ length: 200 }, () =>
  Buffer.concat(
    Array.from({ length: 1 + random.below(12) }, () =>
      random.pick([
        Buffer.from(random.pick(['a', '%', '%E9', 'é', '€', '😀', '\0', '\n', '\x7f', '\u0800'])),
        Buffer.from([random.below(256)]),
        Buffer.from([0xe0 + random.below(16), 0x80 + random.below(64), 0x80 + random.below(64)]),
        Buffer.from([0xf0 + random.below(6), 0x80 + random.below(64), 0xbf, 0x80]),
      ]),
    ),
  ),
)
const fileOf = await writeParquetFiles({
  refused: { sql: selectOf(refusedColumns), settings: { unsupported_types_as_binary: 1 } },
  taken: { sql: selectOf(takenColumns) },
  bytes: {
    sql: `SELECT arrayJoin([${randomTexts.map((bytes) => `unhex('${bytes.toString('hex')}')`).join(', ')}]) AS s, 1 AS n`,
    settings: { unsupported_types_as_binary: 1 },
  },
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
  t.match(json, { data: [{ v: 'caf%E9' }] })
  t.match(JSON.stringify(json), `value 'caf%E9' on column 'c${index}' is not valid UTF-8`)
})

t.test('bytes of Parquet that are no UTF-8 are escaped as those of other files, and can be had back', async (t) => {
  const parameters = new URLSearchParams({ name: 'bytes', format: 'parquet', schema: 's String, n UInt8' })
  const answer = await service.call('POST', `/v0/datasources?${parameters}`, { body: fileOf('bytes') })
  const wrong = randomTexts.filter((bytes) => !isUtf8(bytes))
  const counts = { imported_rows: randomTexts.length - wrong.length, quarantine_rows: wrong.length }
  t.match(answer, { status: 200, json: counts }, answer.text)
  const columns = ['base64Encode(s)', 'base64Encode(decodeURLComponent(s))', 'base64Encode(c__error[1])']
  const rows = await service.rows(`SELECT ${columns.join(', ')} FROM bytes_quarantine`)
  const found = rows.map((row) => row.map((cell) => Buffer.from(cell, 'base64').toString('latin1')))
  const expected = wrong.map((bytes) => {
    const text = readableText(bytes)
    const reason = `value '${text}' on column 's' is not valid UTF-8`
    return [Buffer.from(text).toString('latin1'), bytes.toString('latin1'), Buffer.from(reason).toString('latin1')]
  })
  t.same(found.sort(), expected.sort(), `seed ${seed}`)
})

t.test('what a column can hold is stored to its last digit', async (t) => {
  const answer = await load('taken', takenColumns)
  t.match(answer, { status: 200, json: { imported_rows: 1, quarantine_rows: 0 } }, answer.text)
  const [row = []] = await service.rows('SELECT * FROM taken')
  for (const [index, { sql, type, stored }] of takenColumns.entries()) t.equal(row[index], stored, `${sql} as ${type}`)
})
