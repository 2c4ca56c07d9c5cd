import t from 'tap'
import { quoteString } from '../../src/shared/text-escapes.ts'
import { openTestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'

// What a text becomes does not depend on the way on which it comes.

const ways = ['ndjson', 'csv', 'parquet', 'events'] as const

/** A text, and the instant that it is for all four types; null where none takes it. */
const times: readonly (readonly [string, string | null])[] = [
  ['2024', null],
  ['1', null],
  ['19737', null],
  ['202401', null],
  ['2024011', null],
  ['12345678', null],
  ['17053128000', null],
  ['170531280012', null],
  ['170531280012345', null],
  ['17053128001234567', null],
  ['20240230', null],
  ['20241301', null],
  ['20240115250000', null],
  ['-86400', null],
  ['1705312800e0', null],
  ['0', '1970-01-01 00:00:00.000'],
  ['000000000', '1970-01-01 00:00:00.000'],
  ['0000019737', '1970-01-01 05:28:57.000'],
  ['170531280', '1975-05-28 17:48:00.000'],
  ['1705312800', '2024-01-15 10:00:00.000'],
  ['1705312800.75', '2024-01-15 10:00:00.750'],
  ['1705312800123', '2024-01-15 10:00:00.123'],
  ['0000000086400', '1970-01-01 00:01:26.400'],
  ['1705312800123456', '2024-01-15 10:00:00.123'],
  ['1705312800123456789', '2024-01-15 10:00:00.123'],
  ['20240115', '2024-01-15 00:00:00.000'],
  ['20240115100000', '2024-01-15 10:00:00.000'],
  ['20240115100000.5', '2024-01-15 10:00:00.500'],
  ['20240115T100000Z', '2024-01-15 10:00:00.000'],
  ['2024-01-15 10:00:00 UTC', '2024-01-15 10:00:00.000'],
  ['2024-01-15 10:00:00.123456 UTC', '2024-01-15 10:00:00.123'],
  ['2024-01-15 10:00:00 +0100', '2024-01-15 09:00:00.000'],
  ['2024-01-15 10:00:00 -05:30', '2024-01-15 15:30:00.000'],
  ['2024-01-15 10:00:00 Z', '2024-01-15 10:00:00.000'],
  ['2024-01-15T10:00:00gmt', '2024-01-15 10:00:00.000'],
  ['2024/01/15', '2024-01-15 00:00:00.000'],
  ['2024/01/15 10:00', '2024-01-15 10:00:00.000'],
  ['2024-1-5', '2024-01-05 00:00:00.000'],
  ['2024-1-15 9:00:00', '2024-01-15 09:00:00.000'],
  ['2024-01-15 9:00:00', '2024-01-15 09:00:00.000'],
  [' 2024-1-5 9:00:00.25 UTC\t', '2024-01-05 09:00:00.250'],
  ['2024-1/5', null],
  ['2024/13/01', null],
  ['2024-2-30', null],
  ['9:00:00', null],
  ['2024-01-15 24:00:00 UTC', null],
  ['2024-01-15 10:00:00 CET', null],
  ['2024-01-15 10:00:00 +24:00', null],
  ['15/01/2024', null],
  ['2024-01-15  10:00:00', null],
]

/** A text, and the name of the member of the Enum. */
const members: readonly (readonly [string, string | null])[] = [
  ['low', 'low'],
  ['5', 'low'],
  ['+5.0', 'low'],
  [' 50e-1', 'low'],
  // A name before a number.
  ['7', '7'],
  ['8', 'eight'],
  ['9', '7'],
  ['6', null],
  ['Low', null],
  ['', null],
]

/** Digits, and the nearest number of Float32: most lie near the middle between two of them. */
const floats: readonly (readonly [string, string])[] = [
  ['16777217.000000001', '16777218'],
  ['16777217', '16777216'],
  ['16777217.0', '16777216'],
  ['16777216.999999999999', '16777216'],
  ['16777219.0000000000000000000001', '16777220'],
  ['-16777217.000000001', '-16777218'],
  ['0.1', '0.1'],
  ['340282356779733661e21', '3.4028235e38'],
  ['7.038531e-26', '7.038531e-26'],
  ['1e-60', '0'],
]

const timeSchema = 'n UInt8, d Date, e Date32, t DateTime, m DateTime64(3)'
const timeRow = (n: number, text: string) => ({ n, d: text, e: text, t: text, m: text })
const enumSchema = "n UInt8, level Enum8('low' = 5, '7' = 9, 'eight' = 8)"

const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
const csvOf = (rows: readonly object[]): string =>
  rows.map((row) => `${Object.values(row).map((value) => `"${value}"`)}\n`).join('')
const selectOf = (rows: readonly object[]): string => {
  const names = Object.keys(rows[0] ?? {})
  const tuples = rows.map(
    (row) => `(${Object.values(row).map((value) => (typeof value === 'string' ? quoteString(value) : value))})`,
  )
  const types = names.map((name) => (name === 'n' ? 'n UInt8' : `${name} String`))
  return `SELECT * FROM values('${types}', ${tuples})`
}

const timeRows = times.map(([text], n) => timeRow(n, text))
const enumRows = members.map(([level], n) => ({ n, level }))
const floatRows = floats.map(([f], n) => ({ n, f }))
/** Of the texts in a file, one stands in a list of JSON beside a number. */
const listRows = [
  { n: 0, a: '["20240115",20240115,1.7053128e9,"2024-1-5"]' },
  { n: 1, a: '["2024"]' },
  { n: 2, a: '[2024]' },
]
const fileOf = await writeParquetFiles({
  times: { sql: selectOf(timeRows) },
  members: { sql: selectOf(enumRows) },
  floats: { sql: selectOf(floatRows) },
  lists: { sql: selectOf(listRows) },
})
const service = await openTestService(t)

interface Sent {
  readonly schema: string
  readonly rows: readonly object[]
}

async function send(way: (typeof ways)[number], name: string, { schema, rows }: Sent): Promise<string> {
  const table = `${name}_${way}`
  const paths = schema.replace(/(\w+) (\w+(?:\([^)]*\)+)?)/g, (column, key) => `${column} \`json:$.${key}\``)
  await service.create(table, way === 'csv' ? schema : paths, { format: way === 'csv' ? 'csv' : 'ndjson' })
  if (way === 'events') await service.events(table, lines(rows), { wait: 'true' })
  else if (way === 'csv') await service.append(table, 'csv', csvOf(rows))
  else if (way === 'ndjson') await service.append(table, 'ndjson', lines(rows))
  else {
    await service.call('POST', `/v0/datasources?name=${table}&mode=append&format=parquet`, { body: fileOf(name) })
  }
  return table
}

t.test('digits and common spellings are the same times from all ways', async (t) => {
  for (const way of ways) {
    const table = await send(way, 'times', { schema: timeSchema, rows: timeRows })
    const stored = await service.rows(`SELECT n, d, e, t, m FROM ${table} ORDER BY n`)
    const byNumber = new Map(stored.map(([n, ...values]) => [Number(n), values]))
    for (const [n, [text, instant]] of times.entries()) {
      const day = instant?.slice(0, 10)
      const expected = instant === null ? undefined : [day, day, instant.slice(0, 19), instant]
      t.same(byNumber.get(n), expected, `${JSON.stringify(text)} by ${way}`)
    }
    t.equal(await service.count(`${table}_quarantine`), times.filter(([, instant]) => instant === null).length, way)
  }
})

t.test('a text is a name of an Enum, else one of its numbers, from all ways', async (t) => {
  for (const way of ways) {
    const table = await send(way, 'members', { schema: enumSchema, rows: enumRows })
    const stored = new Map(
      (await service.rows(`SELECT n, level FROM ${table}`)).map(([n, level]) => [Number(n), level]),
    )
    for (const [n, [text, name]] of members.entries()) t.equal(stored.get(n), name ?? undefined, `'${text}' by ${way}`)
  }
})

t.test('a Float32 is the nearest one of the digits, from all ways', async (t) => {
  for (const way of ways) {
    const table = await send(way, 'floats', { schema: 'n UInt8, f Float32', rows: floatRows })
    t.same(
      await service.rows(`SELECT n, f FROM ${table} ORDER BY n`),
      floats.map(([, float], n) => [String(n), float]),
      way,
    )
  }
  const numbers = floats.map(([text], n) => `{"n":${n},"f":${text}}\n`).join('')
  await service.append('floats_ndjson', 'ndjson', numbers, {})
  t.equal(await service.count('floats_ndjson_quarantine'), 0)
  t.same(
    await service.rows(
      'SELECT n, count(), uniqExact(f) FROM floats_ndjson GROUP BY n HAVING NOT (count() = 2 AND uniqExact(f) = 1)',
    ),
    [],
  )
})

t.test('texts in a list within a text are times as others are, and numbers stay numbers', async (t) => {
  for (const way of ['ndjson', 'parquet'] as const) {
    const table = await send(way, 'lists', { schema: 'n UInt8, a Array(DateTime)', rows: listRows })
    t.same(await service.rows(`SELECT n, a FROM ${table} ORDER BY n`), [
      ['0', "['2024-01-15 00:00:00','1970-08-23 06:15:15','2024-01-15 10:00:00','2024-01-05 00:00:00']"],
      ['2', "['1970-01-01 00:33:44']"],
    ])
  }
})

t.test('what was taken when its row was set aside is replayed as the same value', async (t) => {
  const columns = [
    ...[
      'd Date',
      'e Date32',
      "t DateTime('Asia/Kolkata')",
      'm DateTime64(3)',
      'f DateTime64(9)',
      'i Int32',
      'w Int256',
    ],
    ...[
      'x Float32',
      'y Float64',
      'z Decimal(18, 4)',
      'b Bool',
      "l Enum8('low' = 1, 'high' = 2)",
      's String',
      'u UInt8',
    ],
  ]
  const types = columns.map((column) => column.replace(/^(\w+) (.*)$/, '$1 Nullable($2)'))
  const schema = ['n Int32', ...types].map((column) => `${column} \`json:$.${column.split(' ')[0]}\``).join(', ')
  const instant = (value: string): string => `"d":${value},"e":${value},"t":${value},"m":${value},"f":${value}`
  const number = (value: string): string => `"i":${value},"w":${value},"x":${value},"y":${value},"z":${value}`
  const records = [
    ...['2024', '0', '65535', '65536', '19000.5', '1.7e9', '17E8', '1705312800.123456789', '1705312800123'].map(
      instant,
    ),
    ...['1705312800123456', '1705312800123456789', '1.7053128001234567e15', '"2024"', '"1705312800"'].map(instant),
    ...['"2024-1-5"', '"20240115"', '"2024-01-15 10:00:00.123456789 +0100"', '123456'].map(instant),
    ...['"m":-1.4322,"f":-0.0000000001', '"e":-86401', '"m":10413791999', '"t":4294967295.9', '"d":"0","m":"0"'],
    ...['1e3', '1.0E+2', '-0', '-0.0', '12000e-3', '"1e3"', '"+7"'].map(number),
    ...['"i":true,"w":true,"x":true,"y":true', '"i":false,"w":false,"x":false,"y":false'],
    ...['"b":1.0', '"b":1e0', '"b":0.0', '"b":-0', '"b":10e-1', '"b":true', '"b":"off"', '"l":1e0,"u":true', '"l":"2"'],
    ...['"s":1e3', '"s":true', '"s":""', '"s":"\\\\N"', '"s":" a,\\"b\\"\\n"', '"s":null', '"x":16777217.000000001'],
  ]
  const bodyOf = (bad: boolean): string =>
    records.map((record, n) => `{"n":${bad ? `"n${n}"` : n},${record}}\n`).join('')
  await service.create('direct', schema, { format: 'ndjson' })
  await service.create('replayed', schema, { format: 'ndjson' })
  await service.append('direct', 'ndjson', bodyOf(false))
  await service.append('replayed', 'ndjson', bodyOf(true))
  const refused = await service.rows('SELECT n FROM direct_quarantine')
  const texts = records.filter((record) => record.includes('"2024"'))
  t.same(
    refused.map(([n]) => records[Number(n)]),
    texts,
  )
  // Of plain digits the quarantine does not tell whether they were a number.
  const inDoubt = ['2024', '65535', '65536', '19000.5', '123456'].map(instant)
  const doubtful = [...inDoubt, '"m":-1.4322,"f":-0.0000000001', '"e":-86401', '"m":10413791999']
  const misfits = [...texts, ...doubtful]
  const body = JSON.stringify({ fixes: { n: "replaceAll(n, 'n', '')" } })
  const answer = await service.call('POST', '/v0/datasources/replayed/quarantine/replay', { body })
  t.match(answer.json, { replayed_rows: records.length - misfits.length, failed_rows: misfits.length })
  const left = await service.rows('SELECT n FROM replayed_quarantine')
  t.same(new Set(left.map(([n]) => records[Number(n?.slice(1))])), new Set(misfits))
  const [direct, replayed] = [
    (await service.rows('SELECT * FROM direct ORDER BY n')).filter(
      ([n]) => !doubtful.includes(records[Number(n)] ?? ''),
    ),
    await service.rows('SELECT * FROM replayed ORDER BY n'),
  ]
  t.equal(direct.length, replayed.length)
  for (const [position, row] of direct.entries()) t.same(replayed[position], row, records[Number(row[0])] ?? '')
})

const replayOf = async (name: string, fixes: Readonly<Record<string, string>> = {}): Promise<unknown> => {
  const body = JSON.stringify({ fixes })
  return (await service.call('POST', `/v0/datasources/${name}/quarantine/replay`, { body })).json
}

/** Takes records with too many cells too, and changes nothing. */
const ofLongRecords = { w: 'if(empty(c__error), w, w)' }

t.test('a replay stores no cell that its column refuses, of records of the wrong shape', async (t) => {
  await service.create('sh', 'n Int32, v Date, t DateTime, w Nullable(String)')
  await service.append('sh', 'csv', '1,2024,2024\n3,2024-01-01,1e3\n6,2024,2024,ok,extra\n')
  t.match(await replayOf('sh'), { replayed_rows: 0, failed_rows: 2 }, 'a cell that no column takes keeps its record')
  t.match(await replayOf('sh', ofLongRecords), { replayed_rows: 0, failed_rows: 3 })
  t.same(await service.rows('SELECT * FROM sh'), [])
  t.equal(await service.count('sh_quarantine'), 3)
  // What stands for nothing in a record is nothing in one of the wrong shape too, and a text in quotes a text.
  await service.create(
    'void',
    "n Int32, s Nullable(String), e Nullable(String) DEFAULT 'd', p String, w Nullable(String)",
  )
  await service.append('void', 'csv', '1,\\N,\\N,x\n2,"\\N","\\N",x\n3,,,\n4,"","",""\n')
  t.match(await replayOf('void'), { replayed_rows: 4 })
  t.same(await service.rows('SELECT * FROM void ORDER BY n'), [
    ['1', '\\N', 'd', 'x', '\\N'],
    ['2', '\\\\N', '\\\\N', 'x', '\\N'],
    ['3', '\\N', 'd', '', '\\N'],
    ['4', '', '', '', '\\N'],
  ])

  const types = ['Int32', 'UInt64', 'Int256', 'Float32', 'Float64', 'Bool', 'Decimal(9, 2)', 'Date', 'Date32']
  const all = [...types, "DateTime('Asia/Kolkata')", 'DateTime64(3)', 'DateTime64(9)']
  const cells = ['true', 'false', '5', '1.0', '0', '-0', '1e0', '0.5', '1E3', '-1', '2024', '202401', '86400', '19723']
  const times = [
    '1.7e9',
    '1700000000',
    '17053128000',
    '20240115',
    '20240115100000',
    '2024-1-5',
    'TRUE',
    ' 7 ',
    'noon',
    'nan',
  ]
  const schema = all.map((type, column) => `c${column} Nullable(${type})`)
  const values = [...cells, ...times]
  for (const name of ['cut', 'whole'])
    await service.create(name, ['n Int32', ...schema, 'w Nullable(String)'].join(', '))
  // One cell to a row: short and long rows in one table, whole ones with the same cells in the other.
  const rows = values.flatMap((value, at) =>
    all.map(
      (_, column) => [at * all.length + column, all.map((_type, other) => (other === column ? value : ''))] as const,
    ),
  )
  await service.append('whole', 'csv', rows.map(([n, row]) => `${[n, ...row, '']}\n`).join(''))
  await service.append(
    'cut',
    'csv',
    rows.map(([n, row]) => `${[n, ...row, ...(n % 2 === 0 ? [] : ['', 'extra'])]}\n`).join(''),
  )
  t.equal(await service.count('cut_quarantine'), rows.length)
  const stored = await service.count('whole')
  t.match(await replayOf('cut', ofLongRecords), { replayed_rows: stored, failed_rows: rows.length - stored })
  const [cut, whole] = [
    await service.rows('SELECT * FROM cut ORDER BY n'),
    await service.rows('SELECT * FROM whole ORDER BY n'),
  ]
  for (const [at, row] of whole.entries()) t.same(cut[at], row)
})

t.test(
  'a replay keeps digits aside that were a number or, by older rules, a text, until a fix says which',
  async (t) => {
    const paths = 'n Int32 `json:$.n`, d Date `json:$.d`, t DateTime `json:$.t`'
    await service.create('doubt', paths, { format: 'ndjson' })
    const digits = ['2024', '1', '202401', '86400', '17053128000']
    const body = digits.map((value, n) => `{"n":"x${n}","d":${value},"t":${value}}\n`).join('')
    await service.append(
      'doubt',
      'ndjson',
      `${body}{"n":"x8","d":0,"t":1.7e9}\n{"n":"x9","d":"2024-1-5","t":"20240115"}\n`,
    )
    const n = "replaceAll(n, 'x', '')"
    const report = await replayOf('doubt', { n })
    t.match(report, { replayed_rows: 2, failed_rows: 5 })
    t.same(await service.rows('SELECT * FROM doubt ORDER BY n'), [
      ['8', '1970-01-01', '2023-11-14 22:13:20'],
      ['9', '2024-01-05', '2024-01-15 00:00:00'],
    ])
    const fixes = {
      d: "if(match(`d`, '^[0-9]{1,5}$'), toString(toDate32(toInt32(`d`))), `d`)",
      t: "if(match(`t`, '^[0-9]{1,7}$'), leftPad(`t`, 10, '0'), `t`)",
    }
    const { failures } = report as { readonly failures: readonly { readonly column: string; readonly hint?: string }[] }
    t.same(failures.map(({ column }) => column).toSorted(), ['d', 't'])
    // The hint is the fix itself.
    for (const { column, hint } of failures) t.ok(hint?.includes(column === 'd' ? fixes.d : fixes.t), column)
    t.match(await replayOf('doubt', { n, ...fixes }), { replayed_rows: 2, failed_rows: 3 })
    t.same(await service.rows('SELECT * FROM doubt WHERE n < 8 ORDER BY n'), [
      ['0', '1975-07-18', '1970-01-01 00:33:44'],
      ['1', '1970-01-02', '1970-01-01 00:00:01'],
    ])
  },
)

t.test('numbers and booleans of rows that the database refused are replayed as what they were', async (t) => {
  const paths = 'n Int32 `json:$.n`, i Int32 `json:$.i`, b Bool `json:$.b`, t DateTime `json:$.t`, s String `json:$.s`'
  await service.create('refused', `${paths}, e String DEFAULT toString(parseTimeDelta(s))`, { format: 'ndjson' })
  await service.events('refused', '{"n":1,"i":true,"b":1.0,"t":1.7e9,"s":"bad"}\n', { wait: 'true' })
  t.same(await service.rows('SELECT c__error_column FROM refused_quarantine'), [["['']"]])
  t.match(await replayOf('refused', { s: "'1h'" }), { replayed_rows: 1 })
  t.same(await service.rows('SELECT n, i, b, t, s FROM refused'), [['1', '1', 'true', '2023-11-14 22:13:20', '1h']])
})
