import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { type Answer, openTestService, severalWorkers } from '../support/api/test-service.ts'
import { entriesBelow, pathOf } from '../support/living-folder.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier, everyNth } from '../support/tier.ts'

const rowCount = 3000
const wide = `SELECT
  toUInt32(number) AS n, toInt64(number) * -1000000007 AS i64, toUInt64(number) * 1000000000039 AS u64, (number % 2 = 0)::Bool AS flag,
  toFloat64(number) / 7 AS f64, toFloat32(number / 3) AS f32, toDecimal64(number / 8, 3) AS dec, toDecimal128(number, 10) AS dec128,
  concat('é ', toString(number % 50)) AS word, if(number % 3 = 0, NULL, toString(number)) AS maybe,
  if(number % 5 = 0, NULL, toInt32(number))::Nullable(Int32) AS maybe_n,
  toDate32('1950-01-01') + number AS day, toDateTime('2024-01-01 00:00:00', 'UTC') + number AS s,
  toDateTime64('2024-01-01 00:00:00.123', 3, 'UTC') + number AS ms,
  toDateTime64('1960-01-01 00:00:00.123456', 6, 'UTC') + number AS us,
  toDateTime64('2024-01-01 00:00:00.123456789', 9, 'UTC') + number AS ns,
  CAST(concat(leftPad(toString(number), 8, '0'), '-5cb3-11e7-907b-a6006ad3dba0'), 'UUID') AS id, toFixedString(toString(1000 + number % 9000), 4) AS code,
  arrayMap(x -> toInt32(x * number), range(number % 4)) AS list,
  arrayMap(x -> if(x = 1, NULL, toString(x))::Nullable(String), range(number % 4)) AS texts,
  [range(number % 3), [number]] AS lists, map('a', number, 'b', number % 7) AS m,
  CAST(tuple(number, toString(number)), 'Tuple(x UInt64, y String)') AS t,
  arrayMap(x -> CAST(tuple(x, toString(x)), 'Tuple(p UInt8, q String)'), range(number % 3)) AS items
FROM numbers(${rowCount})`
const wideSchema = `n UInt32, i64 Int64, u64 UInt64, flag Bool, f64 Float64, f32 Float32, dec Decimal(18, 3), dec128 Decimal(38, 10),
  word LowCardinality(String), maybe Nullable(String), maybe_n Nullable(Int32), day Date32, s DateTime, ms DateTime64(3), us DateTime64(6),
  ns DateTime64(9), id UUID, code FixedString(4), list Array(Int32), texts Array(Nullable(String)), lists Array(Array(UInt64)),
  m Map(String, UInt64), t Tuple(x UInt64, y String), items Array(Tuple(p UInt8, q String))`
const wideSum = `sum(cityHash64(n, i64, u64, flag, f64, f32, dec, dec128, word, maybe, maybe_n, day, toUnixTimestamp(s),
  toUnixTimestamp64Milli(ms), toUnixTimestamp64Micro(us), toUnixTimestamp64Nano(ns), toString(code),
  list, texts, lists, m, t, items))`

const groups = { row_group_size: 512 }
const writers = {
  'zstd, a dictionary': { compression_method: 'zstd', ...groups },
  'snappy, a dictionary': { compression_method: 'snappy', ...groups },
  'snappy, no dictionary': { compression_method: 'snappy', max_dictionary_size: 0, ...groups },
  lz4: { compression_method: 'lz4', ...groups },
  gzip: { compression_method: 'gzip', version: '1.0', ...groups },
  brotli: { compression_method: 'brotli', ...groups },
  'nothing packed, small pages': { compression_method: 'none', data_page_size: 2048, ...groups },
  'the encoder of Arrow': { use_custom_encoder: 0, row_group_size: 512, compression_method: 'zstd' },
  'no indexes, no filters': { write_page_index: 0, write_bloom_filter: 0, write_checksums: 0, ...groups },
  'one row group': { row_group_size: 100_000 },
} as const

const rows = (sql: string) => ({ sql })
const thirtyDays = (wrong: string) =>
  rows(`SELECT toString(toDate('2026-01-01') + number % 30) AS day, if(number IN (${wrong}), 'x', toString(number)) AS n,
    if(number % 2 = 0, NULL, 'b') AS kind FROM numbers(90)`)
const fileOf = await writeParquetFiles({
  days: thirtyDays('100'),
  'days with bad rows': thirtyDays('7, 50'),
  ...Object.fromEntries(Object.entries(writers).map(([name, settings]) => [name, { sql: wide, settings }])),
  sum: rows(`SELECT ${wideSum} AS total FROM (${wide})`),
  nested: rows(`SELECT CAST(tuple(tuple(7, 'deep'), [tuple(1, 'a'), tuple(2, 'b')]),
    'Tuple(inner Tuple(n UInt8, s String), list Array(Tuple(k UInt8, v String)))') AS outer,
    map('x', 1, 'y', 2) AS counts, map('x', ['1']) AS texts, toUInt8(1) AS "a.b", 5 AS id`),
  refused: rows(`SELECT [toInt64(-1), 5, 7, 300][number + 1] AS small, ['a', 'b', NULL, 'c'][number + 1] AS word,
    [[toInt64(1), 2], [3, 4], [5, 300], [6]][number + 1] AS list,
    toDateTime64(['2020-01-01', '2024-01-01', '2020-01-01', '2150-01-01'][number + 1], 3, 'UTC') AS ts FROM numbers(4)`),
  large: {
    sql: "SELECT toInt64(number) AS n, if(number % 1000 = 7, 'x', toString(number)) AS text FROM numbers(20000)",
    settings: { row_group_size: 100_000 },
  },
  empty: rows('SELECT 1 AS n WHERE 0'),
  other: rows('SELECT 1 AS unknown, 2 AS neither'),
})

// Small INSERTs: of the row groups two or one, and several out of a row group that is large.
const service = await openTestService(t, { ...severalWorkers, insertRowsMax: 1000, parquetBytesMax: 1024 * 1024 })

function load(name: string, body: Uint8Array | FormData, more: Readonly<Record<string, string>> = {}) {
  const parameters = new URLSearchParams({ name, mode: 'append', format: 'parquet', ...more })
  return service.call('POST', `/v0/datasources?${parameters}`, { body })
}

t.test('every type is read as it was written, whatever the pages are packed with', async (t) => {
  const total = await load('sum', fileOf('sum'), { schema: 'total UInt64' })
  t.match(total, { status: 200, json: { imported_rows: 1 } })
  const [[expected] = []] = await service.rows('SELECT total FROM sum')
  for (const name of everyNth(Object.keys(writers), byTier({ quick: 3, full: 1, soak: 1 }))) {
    const answer = await load('wide', fileOf(name), { schema: wideSchema })
    t.match(answer, { status: 200, json: { error: false, imported_rows: rowCount, quarantine_rows: 0 } }, name)
    t.same(
      await service.rows(`SELECT ${wideSum}, count(), uniqExact(id) FROM wide`),
      [[expected, '3000', '3000']],
      name,
    )
    await service.call('DELETE', '/v0/datasources/wide')
  }
})

t.test('a file comes raw, in a form, and packed, and its format is told in any way', async (t) => {
  const body = fileOf('zstd, a dictionary')
  const formOf = (content: Uint8Array, fileName: string): FormData => {
    const form = new FormData()
    form.append('csv', new Blob([Uint8Array.from(content)]), fileName)
    return form
  }
  const ways = {
    'known by its bytes': body,
    'by its name': formOf(body, 'rows.parquet'),
    'by its bytes, in a form': formOf(body, 'upload'),
    'packed by gzip': formOf(gzipSync(body), 'rows.parquet.gz'),
    'packed by zstd': formOf(await compress(body), 'rows.parquet.zst'),
  }
  await service.create('ways', 'n UInt32, word String')
  for (const [way, content] of Object.entries(ways)) {
    const answer = await service.call('POST', '/v0/datasources?name=ways&mode=append', { body: content })
    t.match(answer, { status: 200, json: { error: false, imported_rows: rowCount } }, way)
  }
  const encoded = { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } }
  const answer = await service.call('POST', '/v0/datasources?name=ways&mode=append&format=parquet', encoded)
  t.match(answer, { status: 200, json: { imported_rows: rowCount } })
  t.equal(await service.count('ways'), 6 * rowCount)
})

t.test('JSONPaths reach into groups, lists and maps', async (t) => {
  const schema = [
    'deep String `json:$.outer.inner.s`',
    'n UInt16 `json:$.outer.inner.n`',
    'keys Array(UInt8) `json:$.outer.list[:].k`',
    'list Array(Tuple(k UInt16, v String)) `json:$.outer.list[:]`',
    'inner String `json:$.outer.inner`',
    'turned Tuple(s String, n UInt8, gone Nullable(UInt8)) `json:$.outer.inner`',
    'x UInt64 `json:$.counts.x`',
    'z Nullable(UInt64) `json:$.counts.z`',
    'texts Array(UInt8) `json:$.texts.x[:]`',
    'dotted UInt8 `json:$.["a.b"]`',
    'document JSON `json:$.outer`',
    'whole String `json:$`',
    "gone String DEFAULT concat('no ', deep) `json:$.outer.gone`",
    'nowhere Nullable(Float64) `json:$.nowhere.at.all`',
  ].join(', ')
  const answer = await load('nested', fileOf('nested'), { schema })
  t.match(answer, { status: 200, json: { error: false, imported_rows: 1 } }, answer.text)
  const texts = 'deep, n, keys, list, inner, turned, x, z, texts, dotted, document.inner.n, gone, nowhere'
  t.same(await service.rows(`SELECT ${texts} FROM nested`), [
    [
      ...[
        'deep',
        '7',
        '[1,2]',
        "[(1,'a'),(2,'b')]",
        '{"n":7,"s":"deep"}',
        "('deep',7,NULL)",
        '1',
        '\\N',
        '[1]',
        '1',
        '7',
      ],
      ...['no deep', '\\N'],
    ],
  ])
  const [[whole = ''] = []] = await service.rows('SELECT whole FROM nested')
  t.same(JSON.parse(whole), {
    outer: {
      inner: { n: 7, s: 'deep' },
      list: [
        { k: 1, v: 'a' },
        { k: 2, v: 'b' },
      ],
    },
    counts: { x: 1, y: 2 },
    texts: { x: ['1'] },
    'a.b': 1,
    id: 5,
  })
})

t.test('rows that a cast refuses are set aside with every column and reason', async (t) => {
  const schema = 'small UInt8, word String, list Array(UInt8), ts DateTime'
  const answer = await load('refused', fileOf('refused'), { schema })
  const { import_id } = answer.json as { readonly import_id: string } // The shape of an import result.
  t.match(answer, {
    status: 200,
    json: {
      error: 'There was an error with file contents: 3 rows in quarantine and 0 invalid lines.',
      imported_rows: 1,
      quarantine_rows: 3,
      invalid_lines: 0,
    },
  })
  t.same(await service.rows('SELECT * FROM refused'), [['5', 'b', '[3,4]', '2024-01-01 00:00:00']])
  const columns = 'small, word, list, ts, c__error_column, c__error, c__import_id'
  t.same(await service.rows(`SELECT ${columns} FROM refused_quarantine ORDER BY toInt32(small)`), [
    [
      ...['-1', 'a', '[1,2]', '2020-01-01 00:00:00.000', "['small']"],
      ...["['value \\'-1\\' on column \\'small\\' is not UInt8']", import_id],
    ],
    [
      ...['7', '\\N', '[5,300]', '2020-01-01 00:00:00.000', "['word','list']"],
      "['value \\'null\\' on column \\'word\\' is not String','value \\'[5,300]\\' on column \\'list\\' is not Array(UInt8)']",
      import_id,
    ],
    [
      ...['300', 'c', '[6]', '2150-01-01 00:00:00.000', "['small','ts']"],
      "['value \\'300\\' on column \\'small\\' is not UInt8','value \\'2150-01-01 00:00:00.000\\' on column \\'ts\\' is not DateTime']",
      import_id,
    ],
  ])
})

t.test('a row group too large for one INSERT is read in pieces, and each row is counted once', async (t) => {
  const parameters = { schema: 'n UInt32 `json:$.n`, text UInt32 `json:$.text`', debug: 'blocks' }
  const answer = await load('pieces', fileOf('large'), parameters)
  t.match(answer, { status: 200, json: { imported_rows: 19_980, quarantine_rows: 20, invalid_lines: 0 } })
  const { blocks } = answer.json as { readonly blocks: readonly object[] } // As above.
  t.equal(blocks.length, 20)
  t.same(await service.rows('SELECT uniqExact(n), sum(n = text) FROM pieces'), [['19980', '19980']])
  t.same(await service.rows('SELECT uniqExact(n), groupUniqArray(text) FROM pieces_quarantine'), [['20', "['x']"]])
})

t.test('rows of thirty days are stored twelve partitions at a time', async (t) => {
  // The column of the key is named like one of the file, and is made of another.
  const schema =
    "n UInt32 `json:$.n`, day Date `json:$.day`, kind String `json:$.kind` DEFAULT 'a', left UInt8 `json:$.left` DEFAULT 3"
  const engine = {
    engine: 'MergeTree',
    engine_partition_key: '(toStartOfDay(day), kind, left)',
    engine_sorting_key: 'n',
  }
  for (const [name, bad] of [
    ['days', 0],
    ['days with bad rows', 2],
  ] as const) {
    const parameters = new URLSearchParams({ name: 'thirty_days', format: 'parquet', schema, ...engine })
    const answer = await service.call('POST', `/v0/datasources?${parameters}`, { body: fileOf(name) })
    t.match(answer, { status: 200, json: { imported_rows: 90 - bad, quarantine_rows: bad } }, answer.text)
    const counts = "count(), uniqExact(n), uniqExact(day), countIf(kind = 'a'), uniqExact(_partition_id)"
    t.same(await service.rows(`SELECT ${counts} FROM thirty_days`), [
      [90 - bad, 90 - bad, 30, 45 - Math.ceil(bad / 2), 30].map(String),
    ])
    t.equal(insertSizes(answer), '12,12,6', name)
    t.equal((await service.call('DELETE', '/v0/datasources/thirty_days')).status, 204)
  }
})

/** The parts that each INSERT into the table of a data source left. */
function insertSizes({ json }: Answer): string {
  // The shape is what other tests check.
  const { datasource } = json as { readonly datasource: { readonly id: string } }
  const directory = join(service.dataDir, 'clickhouse')
  // Tables that were dropped stay for a while, so the table is found by its definition.
  const paths = entriesBelow(join(directory, 'store')).map(pathOf)
  const definition = paths.find((path) => path.endsWith(`/${datasource.id}.sql`)) ?? ''
  const uuid = /UUID '([^']+)'/.exec(readFileSync(definition, 'utf8'))?.[1]
  const log = paths.find((path) => path.endsWith(`${uuid}/deduplication_logs/deduplication_log_1.txt`)) ?? ''
  // A record for each part: partition, then the token's hash.
  const records = readFileSync(log, 'utf8').trim().split('\n')
  const tokens = records.map((record) => record.split('_').slice(-2).join('_'))
  return [...new Set(tokens)].map((token) => tokens.filter((one) => one === token).length).join(',')
}

t.test('a column that the file lacks takes its DEFAULT or NULL, or no row', async (t) => {
  const schema = "n Int64, here String DEFAULT 'x', maybe Nullable(UInt8) DEFAULT 3, none Nullable(String)"
  const answer = await load('lacking', fileOf('large'), { schema: `${schema}, text String` })
  t.match(answer, { status: 200, json: { error: false, imported_rows: 20_000 } })
  t.same(await service.rows('SELECT DISTINCT here, maybe, none FROM lacking'), [['x', '3', '\\N']])
  const needed = await load('needed', fileOf('large'), { schema: 'n Int64, gone UInt8' })
  t.match(needed, { status: 200, json: { imported_rows: 0, quarantine_rows: 20_000 } })
  t.same(await service.rows('SELECT DISTINCT c__error_column, c__error FROM needed_quarantine'), [
    ["['gone']", "['value is missing on column \\'gone\\', which is neither Nullable nor has a DEFAULT']"],
  ])
})

t.test('NULL takes the DEFAULT of a column that cannot hold it', async (t) => {
  const schema = "word LowCardinality(String) DEFAULT concat('for ', toString(small)), small Int64"
  t.match(await load('defaults', fileOf('refused'), { schema }), {
    status: 200,
    json: { error: false, imported_rows: 4 },
  })
  t.same(await service.rows('SELECT word FROM defaults ORDER BY small'), [['a'], ['b'], ['for 7'], ['c']])
})

t.test('the schema that analyze and the dry run give takes the same file', async (t) => {
  for (const name of ['zstd, a dictionary', 'nested', 'refused']) {
    const analyzed = await service.call('POST', '/v0/analyze', { body: fileOf(name) })
    t.equal(analyzed.status, 200, analyzed.text)
    const { analysis, preview } = analyzed.json as Analyzed
    const dry = await service.call('POST', '/v0/datasources?dry=true&format=parquet', { body: fileOf(name) })
    t.match(dry, { status: 200, json: { sql_schema: analysis.schema } })
    const answer = await load('analyzed', fileOf(name), { schema: analysis.schema })
    t.match(answer, { status: 200, json: { error: false, quarantine_rows: 0 } }, analysis.schema)
    t.equal(preview.data.length, Math.min(10, preview.statistics.rows_read))
    await service.call('DELETE', '/v0/datasources/analyzed')
  }
  const analyzed = await service.call('POST', '/v0/analyze?format=parquet', { body: fileOf('nested') })
  t.match(analyzed.json, {
    analysis: {
      columns: [
        { path: '$.outer.inner.n', recommended_type: 'UInt8', present_pct: 1, name: 'outer_inner_n' },
        { path: '$.outer.inner.s', recommended_type: 'String', present_pct: 1, name: 'outer_inner_s' },
        { path: '$.outer.list[:]', recommended_type: 'Array(Tuple(k UInt8, v String))', name: 'outer_list' },
        { path: '$.counts', recommended_type: 'Map(String, UInt8)', name: 'counts' },
        { path: '$.texts', recommended_type: 'Map(String, Array(String))', name: 'texts' },
        { path: "$['a.b']", recommended_type: 'UInt8', name: 'a_b' },
        { path: '$.id', recommended_type: 'UInt8', name: 'id' },
      ],
    },
    preview: { rows: 1, data: [{ outer_inner_n: 7, outer_inner_s: 'deep', id: 5 }] },
  })
})

interface Analyzed {
  readonly analysis: { readonly schema: string }
  readonly preview: { readonly data: readonly object[]; readonly statistics: { readonly rows_read: number } }
}

t.test('what cannot be a file of the data source is refused before anything is begun', async (t) => {
  const good = fileOf('large')
  await service.create('kept', 'n Int64')
  const cases: readonly (readonly [body: Uint8Array, status: number, error: RegExp])[] = [
    [Buffer.from('n,text\n1,x\n'), 400, /^The body is not valid Parquet file: it does not begin with PAR1$/],
    [Buffer.from('PAR1'), 400, /it has 4 bytes, and needs 12 or more$/],
    [Buffer.from('PAR1\u0000\u0000\u0000\u0000PAR1'), 400, /its metadata cannot be read/],
    [good.subarray(0, -1), 400, /it does not end with PAR1, so it is cut off or not Parquet$/],
    [
      Buffer.concat([good.subarray(0, -8), Buffer.from('\u00ff\u00ff\u00ff\u007fPAR1', 'latin1')]),
      400,
      /longer than the file$/,
    ],
    [Buffer.concat([good.subarray(0, -1), Buffer.from('E')]), 400, /it is encrypted$/],
    [fileOf('other'), 400, /^The Parquet file has none of the columns of Data Source "\w+"; it has unknown, neither$/],
    [Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(1024 * 1024)]), 413, /^The Parquet file is larger than 1 MiB$/],
  ]
  for (const [body, status, error] of cases) {
    t.match(await load('kept', body), { status, json: { error } }, String(error))
    const created = await load('never', body, { mode: 'create', schema: 'n Int64' })
    t.equal(created.status, status)
    t.equal((await service.call('GET', '/v0/datasources/never')).status, 404, 'nothing is created for it')
  }
  t.match(await load('never2', good, { mode: 'create' }), {
    status: 400,
    json: { error: 'Parameter "schema" is required to create a Data Source from parquet' },
  })
  t.equal((await service.call('GET', '/v0/datasources/never2')).status, 404)
  t.equal(await service.count('kept'), 0)
  const empty = new FormData()
  empty.append('parquet', new Blob([]), 'rows.parquet')
  const refusal = {
    status: 400,
    json: { error: 'The body is not valid Parquet file: it has 0 bytes, and needs 12 or more' },
  }
  t.match(await load('kept', empty), refusal)
  t.match(await load('never', empty, { mode: 'create', schema: 'n Int64' }), refusal)
  const two = new FormData()
  two.append('csv', new Blob([Uint8Array.from(good)]), 'a.parquet')
  two.append('csv', new Blob([Uint8Array.from(good)]), 'b.parquet')
  t.match(await load('kept', two), { status: 400, json: { error: /one file/ } })
  t.equal(await service.count('kept'), 0, 'all of the form is read before anything is stored')
})

t.test('a file without rows is a file', async (t) => {
  const answer = await load('none', fileOf('empty'), { schema: 'n UInt8' })
  t.match(answer, { status: 200, json: { error: false, imported_rows: 0, quarantine_rows: 0 } }, answer.text)
})

t.test('a damaged file is refused or read, and never taken for another', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const good = fileOf('no indexes, no filters')
  await service.create('damaged', 'n UInt32, word String')
  let storedRows = 0
  for (let round = 0; round < byTier({ quick: 12, full: 20, soak: 40 }); round += 1) {
    const body = Buffer.from(good)
    // In the metadata, where all that is read by hand stands, and now and then in the pages.
    const at = round % 4 === 0 ? random.below(body.length) : body.length - 1 - random.below(4000)
    body[at] = random.below(256)
    const { status, json, text } = await load('damaged', body)
    t.ok(status === 200 || status === 400, `byte ${at}: ${status} ${text.slice(0, 300)}`)
    storedRows += (json as { readonly imported_rows?: number }).imported_rows ?? 0 // Absent where nothing began.
  }
  t.equal(await service.count('damaged'), storedRows)
})

t.test(
  'a page that says it unpacks to more than it does is refused at once, and others are read meanwhile',
  async (t) => {
    const body = Buffer.from(fileOf('zstd, a dictionary'))
    // The first page begins behind the magic: its type, and then its unpacked size.
    t.equal(body[6], 0x15)
    let at = 7
    while ((body[at] ?? 0) >= 0x80) at += 1
    body[at] = (body[at] ?? 0) + 2
    await service.create('spun', 'n UInt32')
    const refused = {
      status: 400,
      json: { error: /in the column n a page unpacks to \d+ bytes at most, and its header says \d+$/ },
    }
    for (let count = 0; count < byTier({ quick: 3, full: 10, soak: 10 }); count += 1) {
      t.match(await load('spun', body), refused)
      t.match(await service.call('POST', '/v0/analyze?format=parquet', { body }), refused)
    }
    t.match(await load('spun', fileOf('zstd, a dictionary')), { status: 200, json: { imported_rows: rowCount } })
    t.equal(await service.count('spun'), rowCount)
  },
)

t.test('nothing of the files stays behind', async (t) => {
  t.same(readdirSync(join(service.dataDir, 'parts')), [])
})
