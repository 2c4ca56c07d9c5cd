import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { openTestService, severalWorkers } from '../support/api/test-service.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'

// Frames of the smallest size, so that bodies of some hundred rows are cut many times.
const service = await openTestService(t, { ...severalWorkers, frameBytes: 4096 })

const schema = 'n UInt32 `json:$.n`, word String `json:$.word`'
const csvBody = 'n,word\n1,"a, ""b"""\n2,ü\n3,\n'
const ndjsonBody = '{"n":1,"word":"a, \\"b\\""}\n{"n":2,"word":"\\u00fc"}\n{"n":3,"word":""}\n'

t.test('a body gives the same rows raw, packed and as the file of a form, as CSV and as NDJSON', async (t) => {
  const bodies = { csv: csvBody, ndjson: ndjsonBody }
  for (const format of ['csv', 'ndjson'] as const) {
    const body = Buffer.from(bodies[format])
    const form = new FormData()
    form.append(format, new Blob([body]), `rows.${format}`)
    const misnamed = new FormData()
    misnamed.append('csv', new Blob([body]), `rows.${format}`)
    const ways = {
      raw: { body },
      chunked: { body: new Blob([body]).stream() },
      gzip: { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } },
      zstd: { body: await compress(body), headers: { 'content-encoding': 'zstd' } },
      'gzip in two members': {
        body: Buffer.concat([gzipSync(body.subarray(0, 9)), gzipSync(body.subarray(9))]),
        headers: { 'content-encoding': 'gzip' },
      },
      'zstd in two frames': {
        body: Buffer.concat([await compress(body.subarray(0, 9)), await compress(body.subarray(9))]),
        headers: { 'content-encoding': 'zstd' },
      },
      form: { body: form },
      'a form with the field that one client always uses': { body: misnamed },
      'a type that says something else': { body, headers: { 'content-type': 'text/html; charset=utf-8' } },
    }
    for (const [way, call] of Object.entries(ways)) {
      await service.create('ways', schema)
      const answer = await service.append('ways', format, call.body, call)
      t.match(answer, { status: 200, json: { error: false, quarantine_rows: 0, invalid_lines: 0, imported_rows: 3 } })
      t.same(
        await service.rows('SELECT n, word FROM ways ORDER BY n'),
        [
          ['1', 'a, "b"'],
          ['2', 'ü'],
          ['3', ''],
        ],
        `${format}, ${way}`,
      )
      await service.call('DELETE', '/v0/datasources/ways')
    }
  }
})

t.test('a data source is created with its first rows, and shown with what it holds', async (t) => {
  const parameters = new URLSearchParams({ name: 'with_rows', schema, format: 'ndjson', engine_sorting_key: 'n' })
  const created = await service.call('POST', `/v0/datasources?${parameters}`, { body: ndjsonBody })
  t.match(created, { status: 200, json: { error: false, imported_rows: 3 } })
  const { datasource } = created.json as { readonly datasource: { readonly id: string } } // The answer of an import.
  t.match(datasource, {
    id: /^t_[0-9a-f]{32}$/,
    name: 'with_rows',
    type: 'ndjson',
    engine: { engine: 'MergeTree', engine_full: 'MergeTree ORDER BY n', sorting_key: 'n' },
    statistics: { row_count: 3 },
  })
  const again = await service.call('POST', `/v0/datasources?${parameters}`, { body: ndjsonBody })
  t.match(again, { status: 409, json: { error: 'There is already a Data Source with name "with_rows"' } })
  t.equal(await service.count('with_rows'), 3)

  const unknown = await service.append('t_00000000000000000000000000000000', 'csv', csvBody)
  t.match(unknown, { status: 404, json: { error: 'Data Source "t_00000000000000000000000000000000" does not exist' } })
})

t.test('a header gives the order of the columns, and what the schema does not name is passed over', async (t) => {
  await service.create('ordered', 'n UInt32, word String, x Nullable(Float64)')
  const bodies = [
    ['csv', 'word,x,n\nfirst,0.5,1\n'],
    ['csv', 'junk,word,n,x,more\n"a,b",second,2,,c\n'],
    ['csv', '3,third,1.5\n'],
    ['csv', 'n;word;x\n4;"four;th";\n'],
    ['ndjson', '{"more":{"n":9},"x":null,"word":"fifth","n":5,"last":[1,{"word":"x"}]}\n'],
  ] as const
  for (const [format, body] of bodies) {
    const delimiter = body.includes(';') ? '&dialect_delimiter=%3B' : ''
    const path = `/v0/datasources?mode=append&name=ordered&format=${format}${delimiter}`
    t.match(await service.call('POST', path, { body }), { status: 200, json: { error: false, imported_rows: 1 } }, body)
  }
  t.same(await service.rows('SELECT n, word, x FROM ordered ORDER BY n'), [
    ['1', 'first', '0.5'],
    ['2', 'second', '\\N'],
    ['3', 'third', '1.5'],
    ['4', 'four;th', '\\N'],
    ['5', 'fifth', '\\N'],
  ])
})

t.test(
  'a row that does not fit is kept as text, with each column and reason, and the import that brought it',
  async (t) => {
    await service.create('strict', 'n UInt32, x Float32, word String')
    const csv = await service.append('strict', 'csv', 'n,x,word\n1,0.5,a\n-2,x,b\n3,,c\n')
    const csvId = (csv.json as { readonly import_id: string }).import_id
    t.match(csv.json, {
      id: csvId,
      error: 'There was an error with file contents: 2 rows in quarantine and 0 invalid lines.',
      quarantine_rows: 2,
      invalid_lines: 0,
      imported_rows: 1,
      datasource: { quarantine_rows: 2, statistics: { row_count: 1 } },
    })
    const body = '{"n":4,"x":"y","word":{"a": [1]}}\nno object\n'
    const ndjson = await service.append('strict', 'ndjson', body)
    const ndjsonId = (ndjson.json as { readonly import_id: string }).import_id
    t.match(ndjson.json, {
      error: 'There was an error with file contents: 1 row in quarantine and 1 invalid line.',
      quarantine_rows: 1,
      invalid_lines: 1,
      imported_rows: 0,
    })
    const columns = 'n, x, word, c__error_column, c__error, c__import_id'
    const quarantined = await service.rows(`SELECT ${columns} FROM strict_quarantine ORDER BY n NULLS LAST`)
    t.same(quarantined, [
      [
        '-2',
        'x',
        'b',
        "['n','x']",
        "['value \\'-2\\' on column \\'n\\' is not UInt32','value \\'x\\' on column \\'x\\' is not Float32']",
        csvId,
      ],
      ['3', '', 'c', "['x']", "['value \\'\\' on column \\'x\\' is not Float32']", csvId],
      ['4', 'y', '{"a": [1]}', "['x']", "['value \\'y\\' on column \\'x\\' is not Float32']", ndjsonId],
      ['\\N', '\\N', '\\N', "['']", "['record is not a JSON object: no object']", ndjsonId],
    ])
    const types = 'n, x, word, c__error_column, c__error, c__import_id, insertion_date'.replaceAll(
      /\w+/g,
      'toTypeName($&)',
    )
    t.same(await service.rows(`SELECT DISTINCT ${types} FROM strict_quarantine`), [
      [
        ...['Nullable(String)', 'Nullable(String)', 'Nullable(String)'],
        ...['Array(String)', 'Array(String)', 'Nullable(String)', 'DateTime'],
      ],
    ])
    const young = 'SELECT count() FROM strict_quarantine WHERE abs(dateDiff(second, insertion_date, now())) < 600'
    t.same(await service.rows(young), [['4']])
  },
)

t.test('names and ids mean the same, in paths, parameters and queries', async (t) => {
  const created = await service.create('two_names', schema)
  const { id } = (created.json as { readonly datasource: { readonly id: string } }).datasource
  const labelled = id.replace('t_', 't_.two_names.')
  t.match(await service.append(id, 'csv', '1,a\n'), { status: 200, json: { imported_rows: 1 } })
  t.match(await service.events(id, '{"n":2,"word":"b"}', { wait: 'true' }), {
    status: 200,
    json: { successful_rows: 1 },
  })
  t.match(await service.events(labelled, '{"n":3,"word":"c"}', { wait: 'true' }), {
    status: 200,
    json: { successful_rows: 1 },
  })
  t.match(await service.append('two_names', 'csv', 'x,d\n'), { status: 200, json: { quarantine_rows: 1 } })
  for (const name of ['two_names', id, labelled]) {
    t.match(await service.call('GET', `/v0/datasources/${name}`), { status: 200, json: { id, name: 'two_names' } })
    t.equal(await service.count(`\`${name}\``), 3, name)
    t.equal(await service.count(`\`${name}_quarantine\``), 1, `${name}_quarantine`)
  }
  t.equal((await service.call('DELETE', `/v0/datasources/${id}`)).status, 204)
  t.equal((await service.call('GET', '/v0/datasources/two_names')).status, 404)
})

t.test('a data source that is dropped is gone, and its name begins anew', async (t) => {
  const list = async (): Promise<string> => (await service.call('GET', '/v0/datasources?attrs=name')).text
  await service.create('passing', schema)
  await service.append('passing', 'csv', '1,a\nx,b\n')
  t.match(await list(), '"passing"')
  t.match(await service.call('DELETE', '/v0/datasources/passing/'), { status: 204, text: '' })
  t.notMatch(await list(), '"passing"')
  const missing = { status: 404, json: { error: 'Data Source "passing" does not exist' } }
  t.match(await service.call('GET', '/v0/datasources/passing'), missing)
  t.match(await service.call('DELETE', '/v0/datasources/passing'), missing)
  for (const name of ['passing', 'passing_quarantine']) {
    const answer = await service.call('POST', '/v0/sql', { body: `SELECT * FROM ${name}` })
    t.match(answer, { status: 400, json: { error: `Resource '${name}' not found` } })
  }

  t.match(await service.create('passing', 'other String'), {
    status: 200,
    json: { datasource: { quarantine_rows: 0 } },
  })
  t.equal(await service.count('passing'), 0)
  t.equal(await service.count('passing_quarantine'), 0)
  t.match(await service.append('passing', 'csv', 'a\nb\n'), { json: { imported_rows: 2 } })
})

t.test('a wrong schema is told with line and column, a wrong engine with its reason', async (t) => {
  const schemas = [
    ['n UInt32,\n  word Strin', 'Wrong schema at line 2, column 8: '],
    ['n UInt32, n String', 'Wrong schema at line 1, column 11: '],
    ['n UInt32 `json:$.a[*]`', 'Wrong schema at line 1, column '],
    ['n UInt32 DEFAULT nowhere()', 'Wrong schema at line 1, column 18: '],
    ['a String, n UInt32 DEFAULT b + 1', 'Wrong schema at line 1, column 11: '],
  ] as const
  for (const [wrong, beginning] of schemas) {
    const answer = await service.create('refused', wrong)
    t.equal(answer.status, 400, wrong)
    const { error, documentation } = answer.json as { readonly error: string; readonly documentation: string }
    t.ok(error.startsWith(beginning) && error.length > beginning.length, error)
    t.equal(documentation, 'docs/errors.md#schema_invalid')
  }
  const engines = [
    { engine: 'Memory' },
    { engine: 'MergeTree', engine_sorting_key: 'nowhere' },
    { engine: 'ReplacingMergeTree', engine_ver: 'nowhere' },
    { engine: 'MergeTree', engine_partition_key: 'toYYYYMM(word)' },
    { engine: 'MergeTree', engine_ttl: 'word + 1' },
  ]
  for (const engine of engines) {
    const answer = await service.create('refused', schema, engine)
    t.match(answer, {
      status: 400,
      json: { error: /^Wrong engine: ./, documentation: 'docs/errors.md#engine_invalid' },
    })
    t.notMatch(answer.text, /DB::|ws_0001|\/tmp/, answer.text)
  }
  t.equal((await service.call('GET', '/v0/datasources/refused')).status, 404)
})

t.test('a body gives the same rows wherever the network cuts it', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const rows = Array.from({ length: 120 }, (_, n) => ({
    n,
    word: `${random.hex(random.below(60))} "é€😀",\n\r\n\\t${n}`,
  }))
  const bad = { n: -1, word: 'set aside' }
  const ndjson = [...rows, bad].map((row) => `${JSON.stringify(row)}${random.pick(['\n', '\r\n', '\n\n'])}`).join('')
  const csv = [...rows, bad]
    .map(({ n, word }) => `${n},"${word.replaceAll('"', '""')}"${random.pick(['\n', '\r\n'])}`)
    .join('')
  await service.create('expected', schema)
  await service.append('expected', 'ndjson', rows.map((row) => JSON.stringify(row)).join('\n'))
  for (const [format, text] of [
    ['ndjson', ndjson],
    ['csv', csv],
  ] as const) {
    for (const piecesOf of [2, 100, 5000]) {
      await service.create('cut', schema)
      const answer = await service.append('cut', format, pieces(Buffer.from(text), random, piecesOf))
      t.match(answer.json, { imported_rows: 120, quarantine_rows: 1, invalid_lines: 0 }, `${format} in ${piecesOf}`)
      const differing = 'SELECT count() FROM (SELECT n, word FROM cut EXCEPT SELECT n, word FROM expected)'
      t.same(await service.rows(differing), [['0']])
      await service.call('DELETE', '/v0/datasources/cut')
    }
  }
})

/** Each chunk of the stream is a chunk of the body on the wire, and comes out of the parser as such. */
function pieces(body: Buffer, random: SeededRandom, bytesMax: number): ReadableStream {
  const chunks: Buffer[] = []
  for (let offset = 0; offset < body.length; ) {
    const end = offset + 1 + random.below(bytesMax)
    chunks.push(body.subarray(offset, end))
    offset = end
  }
  return ReadableStream.from(chunks)
}
