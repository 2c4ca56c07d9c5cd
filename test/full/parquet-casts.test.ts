import t from 'tap'
import { quoteString } from '../../src/shared/text-escapes.ts'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { coercionTable } from '../support/codec/coercion-table.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'

// What becomes of a value of the file in a column of the data source: the value as SQL, the type of the column, and the
// column's text, or null where the value is refused.
const cases: readonly (readonly [value: string, type: string, expected: string | null])[] = [
  ['toInt64(255)', 'UInt8', '255'],
  ['toInt64(256)', 'UInt8', null],
  ['toInt64(-1)', 'UInt64', null],
  ['toUInt64(18446744073709551615)', 'Int64', null],
  ['toUInt64(18446744073709551615)', 'UInt256', '18446744073709551615'],
  ['toInt32(-5)', 'Int128', '-5'],
  ['toFloat64(3)', 'Int32', '3'],
  ['toFloat64(3.5)', 'Int32', null],
  ["toFloat64('nan')", 'Int32', null],
  ['toFloat64(1e30)', 'Int64', null],
  ['toInt64(9007199254740993)', 'Float64', '9007199254740992'],
  ['toFloat64(0.1)', 'Float32', '0.1'],
  ['toFloat64(1e300)', 'Float32', null],
  ["toFloat64('inf')", 'Float32', 'inf'],
  ['true', 'UInt8', '1'],
  ['toInt8(1)', 'Bool', 'true'],
  ['toInt8(2)', 'Bool', null],
  ["'Yes'", 'Bool', 'true'],
  ["'maybe'", 'Bool', null],
  ['toDecimal64(1.999, 3)', 'Decimal(9, 2)', '1.99'],
  ['toDecimal128(123456789.5, 2)', 'Decimal(9, 2)', null],
  ['toDecimal64(1.5, 2)', 'Decimal(18, 4)', '1.5'],
  ['toDecimal64(3, 2)', 'Int32', '3'],
  ['toDecimal64(3.5, 2)', 'Int32', null],
  ['toDecimal64(300, 2)', 'UInt8', null],
  ['toDecimal64(1.5, 2)', 'Float64', '1.5'],
  ['toInt64(1000000)', 'Decimal(9, 2)', '1000000'],
  ['toInt64(10000000)', 'Decimal(9, 2)', null],
  ['toFloat64(1.5)', 'Decimal(9, 2)', '1.5'],
  ["'12'", 'UInt8', '12'],
  ["' 12 '", 'UInt8', '12'],
  ["'x'", 'UInt8', null],
  ["''", 'UInt8', null],
  ["'1.5'", 'Float64', '1.5'],
  ["'1.5'", 'Decimal(9, 2)', '1.5'],
  ['toInt64(-12)', 'String', '-12'],
  ['true', 'String', 'true'],
  ['[toInt64(1), 2]', 'String', '[1,2]'],
  ["map('a', toInt64(1))", 'String', '{"a":1}'],
  ["toDate32('2024-02-29')", 'String', '2024-02-29'],
  ["'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", 'UUID', '61f0c404-5cb3-11e7-907b-a6006ad3dba0'],
  ["'61f0c404'", 'UUID', null],
  ["toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')", 'String', '61f0c404-5cb3-11e7-907b-a6006ad3dba0'],
  ["'1.2.3.4'", 'IPv4', '1.2.3.4'],
  ["'1.2.3.256'", 'IPv4', null],
  ["toIPv4('1.2.3.4')", 'IPv4', '1.2.3.4'],
  ["'::1'", 'IPv6', '::1'],
  ["toIPv6('2001:db8::1')", 'IPv6', '2001:db8::1'],
  ['toInt128(-7)', 'Int128', '-7'],
  ["'b'", "Enum8('a' = 1, 'b' = 2)", 'b'],
  ["'c'", "Enum8('a' = 1, 'b' = 2)", null],
  ['toInt32(2)', "Enum8('a' = 1, 'b' = 2)", 'b'],
  ['toInt32(3)', "Enum8('a' = 1, 'b' = 2)", null],
  ["CAST('b', 'Enum8(\\'a\\' = 1, \\'b\\' = 2)')", "Enum16('b' = 9)", 'b'],
  ["'abc'", 'FixedString(3)', 'abc'],
  ["'abcd'", 'FixedString(3)', null],
  ['\'{"a":1}\'', 'JSON', '{"a":1}'],
  ["'[1]'", 'JSON', null],
  ["map('a', toInt64(1))", 'JSON', '{"a":1}'],
  ["'a'", 'LowCardinality(String)', 'a'],
  ["'a'", 'LowCardinality(Nullable(String))', 'a'],
  ['NULL::Nullable(Int32)', 'Nullable(Int8)', '\\N'],
  ['NULL::Nullable(Int32)', 'Int8', null],
  ['toNullable(toInt32(300))', 'Nullable(Int8)', null],
  ['[toInt64(1), 300]', 'Array(UInt8)', null],
  ['[toInt64(1), 3]', 'Array(UInt8)', '[1,3]'],
  ["['1', '2']", 'Array(UInt8)', '[1,2]'],
  ["['1', 'x']", 'Array(UInt8)', null],
  ['[[toInt64(1)], [300]]', 'Array(Array(UInt8))', null],
  ['[[toInt64(1)], [3]]', 'Array(Array(UInt8))', '[[1],[3]]'],
  ['[toNullable(toInt64(1)), NULL]', 'Array(UInt8)', null],
  ['[toNullable(toInt64(1)), NULL]', 'Array(Nullable(UInt8))', '[1,NULL]'],
  ["map('a', toInt64(300))", 'Map(String, UInt8)', null],
  ["map('a', toInt64(3))", 'Map(String, UInt8)', "{'a':3}"],
  ["map('1', toInt64(3))", 'Map(UInt8, String)', "{1:'3'}"],
  ["CAST(tuple(300, 'x'), 'Tuple(a Int32, b String)')", 'Tuple(a UInt8, b String)', null],
  ["CAST(tuple(3, 'x'), 'Tuple(a Int32, b String)')", 'Tuple(b String, a UInt8)', "('x',3)"],
  ["CAST(tuple(3, 4), 'Tuple(a Int32, b Int32)')", 'Map(String, UInt8)', "{'a':3,'b':4}"],
  ["CAST(tuple(3, 4), 'Tuple(a Int32, b Int32)')", 'Tuple(a Int32, c Int32)', null],
  ["'text'", 'Array(String)', null],
  ['toInt64(1)', 'Array(Int64)', null],
  ["toDate32('2149-06-06')", 'Date', '2149-06-06'],
  ["toDate32('1969-12-31')", 'Date', null],
  ["toDate32('2024-01-01')", 'DateTime', '2024-01-01 00:00:00'],
  ["toDate32('2110-01-01')", 'DateTime', null],
  ["toDate32('2024-01-01')", "DateTime64(3, 'Europe/Madrid')", '2024-01-01 00:00:00.000'],
  ["toDateTime64('2024-01-01 10:00:00.123456', 6, 'UTC')", 'DateTime64(3)', '2024-01-01 10:00:00.123'],
  ["toDateTime64('2024-01-01 10:00:00.123', 3, 'UTC')", 'DateTime64(9)', '2024-01-01 10:00:00.123000000'],
  ["toDateTime64('2290-01-01 00:00:00', 6, 'UTC')", 'DateTime64(9)', null],
  ["toDateTime64('2024-01-01 10:00:00.9', 9, 'UTC')", 'DateTime', '2024-01-01 10:00:00'],
  ["toDateTime64('1969-12-31 23:59:59', 9, 'UTC')", 'DateTime', null],
  ["toDateTime64('2106-02-07 06:28:15.9', 3, 'UTC')", 'DateTime', '2106-02-07 06:28:15'],
  ["toDateTime64('2106-02-07 06:28:16', 3, 'UTC')", 'DateTime', null],
  ["toDateTime64('2024-01-01 23:00:00', 3, 'UTC')", "DateTime('Europe/Madrid')", '2024-01-02 00:00:00'],
  ["toDateTime64('2024-01-01 23:00:00', 3, 'UTC')", 'Date', '2024-01-01'],
  ["toDateTime64('1960-01-01 23:00:00', 3, 'UTC')", 'Date', null],
  ["toDateTime64('1960-01-01 23:00:00', 3, 'UTC')", 'Date32', '1960-01-01'],
  ["'2024-01-01T10:00:00.123Z'", 'DateTime64(3)', '2024-01-01 10:00:00.123'],
  ["'2024-01-01 10:00:00+02:00'", 'DateTime', '2024-01-01 08:00:00'],
  ["'2024-01-01 10:00'", "DateTime('Europe/Madrid')", '2024-01-01 10:00:00'],
  ["'2024-01-01'", 'Date', '2024-01-01'],
  ["'2024-02-30'", 'Date', null],
  ["'2024-02-30 10:00:00'", 'DateTime', null],
  ["'2024-01-01 24:00:00'", 'DateTime', null],
  ["'2024-01-01 10:00:60'", 'DateTime', null],
  ["'1 January 2024'", 'DateTime', null],
  ["'1704067200'", 'DateTime', '2024-01-01 00:00:00'],
  ['toInt64(1704067200)', 'DateTime', '2024-01-01 00:00:00'],
  ['toInt64(1704067200123)', 'DateTime64(3)', '2024-01-01 00:00:00.123'],
  ['toInt64(1704067200123456789)', 'DateTime64(9)', '2024-01-01 00:00:00.123456789'],
  ['toInt64(99999999999)', 'DateTime', null],
  ['toInt64(-1)', 'DateTime', null],
  ['toUInt64(18446744073709551615)', 'DateTime64(3)', null],
  ['toInt32(19000)', 'Date', '2022-01-08'],
  ['toInt64(1704067200)', 'Date', '2024-01-01'],
  ['toInt64(-1)', 'Date', null],
  ['toFloat64(1704067200.75)', 'DateTime', '2024-01-01 00:00:00'],
  ['toFloat64(1704067200.125)', 'DateTime64(3)', '2024-01-01 00:00:00.125'],
  ['toFloat64(-1.4322)', 'DateTime64(3)', '1969-12-31 23:59:58.567'],
  ['toFloat64(1704067200123)', 'DateTime64(3)', '2024-01-01 00:00:00.123'],
  ['toFloat32(19000)', 'Date', '2022-01-08'],
  ['toFloat64(1e30)', 'DateTime64(3)', null],
  ["toFloat64('nan')", 'DateTime', null],
  ['toDecimal64(1704067200.123, 6)', 'DateTime64(6)', '2024-01-01 00:00:00.123000'],
  ["toDecimal128('1704067200.123456789', 9)", 'DateTime64(9)', '2024-01-01 00:00:00.123456789'],
  ['toDecimal64(1704067200, 2)', 'Date', '2024-01-01'],
  ['toDecimal64(20, 2)', 'Decimal(3, 2)', null],
  ['toDecimal64(1, 2)', 'Bool', 'true'],
  ["'7.0'", 'UInt8', '7'],
  ["'7.5'", 'UInt8', null],
  ["'1e2'", 'UInt8', '100'],
  ['\'[1, "2", null]\'', 'Array(Nullable(UInt8))', '[1,2,NULL]'],
  ["'[1, 256]'", 'Array(UInt8)', null],
  ["'[[1],[2,3]]'", 'Array(Array(UInt8))', '[[1],[2,3]]'],
  ['\'["2024-01-01T00:00:00Z", 1704067200.5]\'', 'Array(DateTime)', "['2024-01-01 00:00:00','2024-01-01 00:00:00']"],
  ['\'{"a":1,"b":2,"a":3}\'', 'Map(String, UInt8)', "{'b':2,'a':3}"],
  ['\'{"a":{"b":[1]}}\'', 'Map(String, Map(String, Array(UInt8)))', "{'a':{'b':[1]}}"],
  ['\'{"a":1,"z":2}\'', 'Tuple(a UInt8, b Nullable(String))', '(1,NULL)'],
  ['\'{"b":"x"}\'', 'Tuple(a UInt8, b Nullable(String))', null],
  ["['[1]', '[2,3]']", 'Array(Array(UInt8))', '[[1],[2,3]]'],
  ['\'{"a":256}\'', 'JSON(a UInt8)', null],
  ['\'{"a":18446744073709551616}\'', 'JSON', null],
]

const accepted = cases.flatMap((one, index) => (one[2] === null ? [] : [{ index, expected: one[2] }]))
const refused = cases.flatMap(([, , expected], index) => (expected === null ? [index] : []))
const select = (indexes: readonly number[]): string =>
  indexes.map((index) => `${cases[index]?.[0]} AS c${index}`).join(', ')
const schemaOf = (indexes: readonly number[]): string =>
  indexes.map((index) => `c${index} ${cases[index]?.[1]}`).join(', ')
const nameOf = (index: number): string => `${cases[index]?.[0]} as ${cases[index]?.[1]}`

/** A value as NDJSON has it, and as SQL that a file is written by. */
interface SameValue {
  readonly type: string
  readonly json: string
  readonly sql: string
}

/** Its shortest text is a smaller number, which is a Float32 when it is rounded once. */
const firstBeyondFloat32 = 2 ** 128 - 2 ** 103

/** The inputs of the table that have a type in Parquet: texts, and numbers as integers and floats. */
const compared = coercionTable
  .filter(({ typeText }) => !typeText.startsWith('AggregateFunction') && !typeText.startsWith('SimpleAggregate'))
  .flatMap(({ typeText, cases }) => cases.flatMap(({ input }) => sameValueOf(typeText, input)))

function sameValueOf(type: string, input: string): readonly SameValue[] {
  if (input.startsWith('csv ')) return []
  const value: unknown = JSON.parse(input)
  if (typeof value === 'string')
    return !/\p{Surrogate}/u.test(value) ? [{ type, json: input, sql: quoteString(value) }] : []
  if (typeof value === 'boolean') return [{ type, json: input, sql: String(value) }]
  // What is no double, or is spelled in another way than a double is, has no equal in the file.
  if (typeof value !== 'number' || !Number.isFinite(value)) return []
  const isWhole = /^-?\d{1,18}$/.test(input) && input !== '-0'
  if (isWhole) return [{ type, json: input, sql: `toInt64('${input}')` }]
  // Beyond, a float is another number than the digits that it is written with.
  if (/^U?Int/.test(type) && !Number.isSafeInteger(Math.trunc(value))) return []
  if (type === 'Float32' && Math.abs(value) === firstBeyondFloat32) return []
  return type === 'String' || /^FixedString/.test(type)
    ? []
    : [{ type, json: String(value), sql: `toFloat64('${value}')` }]
}

const nameOfSame = (index: number): string => `${compared[index]?.json} as ${compared[index]?.type}`

const fileOf = await writeParquetFiles({
  same: { sql: `SELECT ${compared.map(({ sql }, index) => `${sql} AS c${index}`).join(', ')}` },
  accepted: {
    sql: `SELECT ${select(accepted.map(({ index }) => index))}`,
    settings: { unsupported_types_as_binary: 1 },
  },
  refused: { sql: `SELECT ${select(refused)}` },
})
const service = await openTestService(t)

function load(name: 'accepted' | 'refused', indexes: readonly number[]) {
  const parameters = new URLSearchParams({ name, format: 'parquet', schema: schemaOf(indexes) })
  return service.call('POST', `/v0/datasources?${parameters}`, { body: fileOf(name) })
}

t.test('a value that a column can hold becomes it', async (t) => {
  const indexes = accepted.map(({ index }) => index)
  const answer = await load('accepted', indexes)
  const reasons = await service.rows('SELECT arrayJoin(c__error) FROM accepted_quarantine').catch(() => [])
  t.match(answer, { status: 200, json: { imported_rows: 1, quarantine_rows: 0 } }, reasons.join('\n'))
  const [row = []] = await service.rows('SELECT * FROM accepted')
  for (const [at, { index, expected }] of accepted.entries()) t.equal(row[at], expected, nameOf(index))
})

t.test('a value that a column cannot hold is refused, each by its name', async (t) => {
  t.match(await load('refused', refused), { status: 200, json: { imported_rows: 0, quarantine_rows: 1 } })
  const [names = []] = await service.rows("SELECT arrayStringConcat(c__error_column, '\\t') FROM refused_quarantine")
  const found = new Set((names[0] ?? '').split('\\t'))
  for (const index of refused) t.ok(found.has(`c${index}`), nameOf(index))
  t.equal(found.size, refused.length)
})

// The engine takes much longer for the casts of twice as many columns.
const columnsAtOnce = 80
const pieces = Array.from({ length: Math.ceil(compared.length / columnsAtOnce) }, (_, piece) =>
  compared.map((_, index) => index).slice(piece * columnsAtOnce, (piece + 1) * columnsAtOnce),
)

/** Loads these columns of the row from both formats. */
async function loadBoth(name: string, indexes: readonly number[]): Promise<readonly [Answer, Answer]> {
  const columns = indexes.map((index) => ({ index, ...compared[index] }))
  const schema = columns.map(({ index, type }) => `c${index} ${type} \`json:$.c${index}\``).join(', ')
  const load = (format: string, body: string | Buffer): Promise<Answer> => {
    const form = new FormData()
    form.append('schema', schema)
    form.append('rows', new Blob([body]), `rows.${format}`)
    return service.call('POST', `/v0/datasources?name=${name}_${format}&format=${format}`, { body: form })
  }
  const record = `{${columns.map(({ index, json }) => `"c${index}":${json}`).join(',')}}`
  return [await load('ndjson', record), await load('parquet', fileOf('same'))]
}

t.test('a value is taken and refused as the same value is in NDJSON, and becomes the same', async (t) => {
  for (const [piece, indexes] of pieces.entries()) {
    for (const answer of await loadBoth(`judged_${piece}`, indexes))
      t.equal(answer.status, 200, answer.text.slice(0, 300))
    const refusedBy = async (format: string): Promise<ReadonlySet<string>> => {
      const rows = await service.rows(`SELECT arrayJoin(c__error_column) FROM judged_${piece}_${format}_quarantine`)
      return new Set(rows.map(([name = '']) => name))
    }
    const [byJson, byParquet] = [await refusedBy('ndjson'), await refusedBy('parquet')]
    for (const index of indexes) {
      t.equal(byParquet.has(`c${index}`), byJson.has(`c${index}`), `refused: ${nameOfSame(index)}`)
    }
    const taken = indexes.filter((index) => !byJson.has(`c${index}`) && !byParquet.has(`c${index}`))
    for (const answer of await loadBoth(`taken_${piece}`, taken))
      t.match(answer.json, { imported_rows: 1 }, answer.text)
    const [ofJson = []] = await service.rows(`SELECT * FROM taken_${piece}_ndjson`)
    const [ofParquet = []] = await service.rows(`SELECT * FROM taken_${piece}_parquet`)
    for (const [at, index] of taken.entries()) t.equal(ofParquet[at], ofJson[at], nameOfSame(index))
  }
  t.ok(compared.length > 300, `${compared.length} values are compared`)
})
