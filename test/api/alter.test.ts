// The life of a data source after its creation: renamed, altered, truncated, dropped.

import t, { type Test } from 'tap'
import { type Answer, openTestService, type TestService } from '../support/api/test-service.ts'

const service = await openTestService(t)

function change(method: string, path: string, parameters: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return service.call(method, `/v0/datasources/${path}?${new URLSearchParams(parameters)}`)
}

async function alter(name: string, parameters: Readonly<Record<string, string>>): Promise<Answer> {
  return await change('POST', `${name}/alter`, parameters)
}

async function single(name: string): Promise<unknown> {
  return (await change('GET', name)).json
}

function refuses(t: Test, answer: Answer, message: RegExp, status = 400): void {
  t.equal(answer.status, status, answer.text)
  t.match(answer.json, { error: message, documentation: String })
}

async function tableOf(name: string, of: TestService = service): Promise<string> {
  // The shape of the answer is what other tests check.
  return ((await of.call('GET', `/v0/datasources/${name}`)).json as { readonly id: string }).id
}

t.test('columns are added at the end, in the table and in the quarantine, and rows fill them', async (t) => {
  await service.create('grows', "a Int32 `json:$.a`, b String `json:$.b` DEFAULT 'x'")
  await service.events('grows', '{"a":1,"b":"one"}\n{"a":"bad","b":"two"}\n')
  const schema =
    "a Int32 `json:$.a`, b String `json:$.b` DEFAULT 'x', age UInt16 `json:$.age` DEFAULT a * 2, n Nullable(Int64) `json:$.n`"
  const dry = await alter('grows', { schema, dry: 'true' })
  const operations = ['ADD COLUMN `age` UInt16 DEFAULT a * 2', 'ADD COLUMN `n` Nullable(Int64)']
  t.same([dry.status, dry.json], [200, { operations, dependencies: [] }])
  t.match(await single('grows'), { version: 1, schema: { columns: { length: 2 } } }, 'dry changes nothing')
  t.same((await alter('grows', { schema })).json, { operations, dependencies: [] })
  t.match(await single('grows'), { version: 2, schema: { columns: { length: 4 } }, quarantine_rows: 1 })
  await service.events('grows', '{"a":2,"n":7}\n{"a":3,"age":9}\n{"a":4,"age":-1}\n', { wait: 'true' })
  t.same(await service.rows('SELECT a, b, age, n FROM grows ORDER BY a'), [
    ['1', 'one', '2', '\\N'],
    ['2', 'x', '4', '7'],
    ['3', 'x', '9', '\\N'],
  ])
  const fields = await service.sql('SELECT * FROM grows_quarantine ORDER BY age DESC LIMIT 1 FORMAT JSONEachRow')
  t.match(fields, /^\{"a":"4","b":null,"age":"-1","n":null,"c__error_column":\["age"\]/)
  refuses(t, await alter('grows', { schema }), /^There were no operations to perform/)
})

t.test('a TTL comes and goes, and rows that are past it go with it', async (t) => {
  await service.create('ages', 'd Date, n Int32', { engine_sorting_key: 'n' })
  await service.append('ages', 'csv', 'd,n\n2020-01-01,1\n2099-01-01,2\n')
  t.match((await alter('ages', { ttl: 'd + toIntervalDay(30)' })).json, {
    operations: ['MODIFY TTL d + toIntervalDay(30)'],
  })
  for (let count = 2; count > 1; ) count = await service.count('ages')
  t.match(await single('ages'), { engine: { ttl: 'd + toIntervalDay(30)' }, version: 1 })
  refuses(t, await alter('ages', { ttl: 'd  +  toIntervalDay( 30 )' }), /no operations/)
  t.match((await alter('ages', { ttl: 'false' })).json, { operations: ['REMOVE TTL'] })
  refuses(t, await alter('ages', { ttl: 'false' }), /no operations/)
  t.notMatch(await service.call('GET', '/v0/datasources/ages'), { text: /ttl/i })
  await service.append('ages', 'csv', 'd,n\n2020-01-01,3\n')
  t.equal(await service.count('ages'), 2)
})

t.test('description, raw values and indexes are altered too, by form, by JSON, and in one request', async (t) => {
  await service.create('words', 's String, n Int32')
  const form = await service.call('POST', '/v0/datasources/words/alter', {
    body: new URLSearchParams({ description: 'Two\nlines', kafka_store_raw_value: 'true' }).toString(),
  })
  t.same(form.json, { operations: ['MODIFY DESCRIPTION', 'MODIFY kafka_store_raw_value = true'], dependencies: [] })
  t.match(await single('words'), { description: 'Two\nlines', kafka_store_raw_value: true })
  const indexes = 'INDEX by_s s TYPE bloom_filter(0.01) GRANULARITY 3\nby_n n TYPE minmax'
  const json = await service.call('POST', '/v0/datasources/words/alter', { body: JSON.stringify({ indexes }) })
  t.match(json.json, {
    operations: [
      'ADD INDEX `by_s` s TYPE bloom_filter(0.01) GRANULARITY 3',
      'ADD INDEX `by_n` n TYPE minmax GRANULARITY 1',
    ],
  })
  t.match(await single('words'), {
    indexes: [
      { name: 'by_s', expr: 's', type_full: 'bloom_filter(0.01)', granularity: '3' },
      { name: 'by_n', expr: 'n', type_full: 'minmax', granularity: '1' },
    ],
  })
  const changed = await alter('words', {
    indexes: 'by_n n TYPE set(10)',
    schema: 's String, n Int32, d Date',
    ttl: 'd',
  })
  t.match(changed.json, {
    operations: [
      'ADD COLUMN `d` Date',
      'DROP INDEX `by_s`',
      'DROP INDEX `by_n`',
      'ADD INDEX `by_n` n TYPE set(10) GRANULARITY 1',
      'MODIFY TTL d',
    ],
  })
  t.match(
    (await change('GET', 'words.datasource')).text,
    /^DESCRIPTION >\n {4}Two\n {4}lines\n\nSCHEMA >\n {4}`s` String,/,
  )
  t.match((await alter('words', { indexes: '0' })).json, { operations: ['DROP INDEX `by_n`'] })
})

t.test('what an alter cannot do is refused in words, and changes nothing', async (t) => {
  await service.create('firm', "a Int32 `json:$.x.a`, b String DEFAULT 'x' CODEC(ZSTD(1))", { engine_sorting_key: 'a' })
  const a = 'a Int32 `json:$.x.a`'
  const b = "b String DEFAULT 'x' CODEC(ZSTD(1))"
  const cases: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ schema: b }, /^Data Source "firm" cannot be altered: column 'a' is missing: columns cannot be dropped/],
    [{ schema: `${a}, c Int32` }, /column 'b' is missing/],
    [{ schema: `${b}, ${a}` }, /column 'b' stands where 'a' was: the order of the columns cannot change/],
    [{ schema: `${a}, c Int32, ${b}` }, /column 'c' is new and stands before 'b': new columns come at the end/],
    [{ schema: `a Int64 \`json:$.x.a\`, ${b}` }, /column 'a' is Int32 and cannot become Int64/],
    [{ schema: `a Int32, ${b}` }, /column 'a' has JSONPath \$\.x\.a, and cannot get no JSONPath/],
    [{ schema: `${a}, b String CODEC(ZSTD(1))` }, /column 'b' has DEFAULT 'x', and cannot get no DEFAULT/],
    [{ schema: `${a}, b String DEFAULT 'x' CODEC(LZ4)` }, /has CODEC ZSTD\(1\), and cannot get CODEC LZ4/],
    [{ schema: `${a}, ${b}, a Int32` }, /^Wrong schema at line 1, column \d+: Column 'a' stands twice/],
    [{ schema: `${a}, ${b}, c Int3` }, /^Wrong schema at line 1, column \d+: .*Int3/],
    [{ schema: `${a}, ${b}, c Int32 DEFAULT zz` }, /^Wrong schema at line 1, column \d+: .*zz/],
    [{ schema: `${a}, ${b}, \`c.d\` Array(Int8)` }, /an Array with a dot in its name cannot be added later/],
    [{ ttl: 'a' }, /^Wrong engine: .*TTL/],
    [{ ttl: 'now() SETTINGS x = 1' }, /^Wrong engine: ttl cannot hold SETTINGS/],
    [{ ttl: 'zz + toIntervalDay(1)' }, /^Wrong engine: .*zz/],
    [{ indexes: 'i zz TYPE minmax' }, /^Wrong index: 'i': .*zz/],
    [{ indexes: 'i a TYPE nothing' }, /^Wrong index: 'i': .*nothing/],
    [{ indexes: 'i a' }, /^Wrong index: Index 'i' has no TYPE/],
    [{ engine: 'Null' }, /engine stays as it was created/],
    [{ engine_sorting_key: 'b' }, /engine_sorting_key stays as it was created/],
    [{ name: 'other' }, /use PUT to rename it/],
    [{ dry: 'perhaps' }, /Parameter "dry" is "perhaps", but must be true or false/],
    [{}, /^There were no operations to perform: send "schema", "description", "ttl"/],
  ]
  const before = await single('firm')
  for (const [parameters, message] of cases) refuses(t, await alter('firm', parameters), message)
  t.same(await single('firm'), before)
  refuses(t, await alter('nobody', { description: 'x' }), /"nobody" does not exist/, 404)
  await service.create('joined', 'a Int32, b String', {
    engine: 'Join',
    engine_join_strictness: 'ANY',
    engine_join_type: 'LEFT',
    engine_key_columns: 'a',
  })
  refuses(t, await alter('joined', { schema: 'a Int32, b String, c Int8' }), /the engine Join takes no new columns/)
  refuses(t, await alter('joined', { ttl: 'now()' }), /the engine Join takes no TTL/)
  await service.create('nothing', 'a Int32', { engine: 'Null' })
  refuses(t, await alter('nothing', { indexes: 'i a TYPE minmax' }), /the engine Null takes no indexes/)
  t.match((await alter('nothing', { schema: 'a Int32, b Int32' })).json, { operations: ['ADD COLUMN `b` Int32'] })
})

t.test('a rename keeps id, rows and quarantine', async (t) => {
  await service.create('before', 'a Int32')
  await service.append('before', 'csv', 'a\n1\nx\n')
  const id = await tableOf('before')
  const answer = await change('PUT', 'before', { name: 'after' })
  t.match(answer.json, { id, name: 'after', statistics: { row_count: 1 }, quarantine_rows: 1, used_by: [] })
  t.equal((await change('GET', 'before')).status, 404)
  t.equal(await service.count('after'), 1)
  t.equal(await service.count('after_quarantine'), 1)
  const described = await service.call('PUT', `/v0/datasources/${id}`, { body: 'description=What+it+is' })
  t.match(described.json, { name: 'after', description: 'What it is' })
  await service.create('taken', 'a Int32')
  const taken = await change('PUT', 'after', { name: 'taken' })
  refuses(t, taken, /already a Data Source with name "taken"/, 409)
  refuses(t, await change('PUT', 'after', { name: 'a b' }), /"a b" is not a valid name/)
  refuses(t, await change('PUT', 'after', { name: ' ' }), /Parameter "name" is required/)
  t.match(
    await change('PUT', 'after', { name: 'after' }),
    { status: 200, json: { name: 'after' } },
    'the name that it has is no mistake',
  )
  refuses(t, await change('PUT', 'after'), /no operations to perform/)
  refuses(t, await service.call('PUT', '/v0/datasources/after', { body: '{"name":["x"]}' }), /"name" must be a text/)
  refuses(t, await service.call('PUT', '/v0/datasources/after', { body: '{"name":' }), /The body is not valid JSON/)
  refuses(t, await change('PUT', 'nobody', { name: 'x' }), /"nobody" does not exist/, 404)
})

t.test('truncate empties a data source or its quarantine, and the same events count again behind it', async (t) => {
  await service.create('full', 'a Int32')
  const send = () => service.events('full', '{"a":1}\n{"a":"x"}\n', {}, { headers: { 'idempotency-key': 'k1' } })
  await send()
  const answer = await change('POST', 'full/truncate')
  t.same([answer.status, answer.text], [205, ''])
  t.same([await service.count('full'), await service.count('full_quarantine')], [0, 1])
  t.equal((await change('POST', 'full_quarantine/truncate')).status, 205)
  t.equal(await service.count('full_quarantine'), 0)
  await service.events('full', '{"a":2}\n', { wait: 'true' })
  t.equal(await service.count('full'), 1)
  for (const [name, engine] of [
    ['empty_null', { engine: 'Null' }],
    [
      'empty_join',
      { engine: 'Join', engine_join_strictness: 'ALL', engine_join_type: 'FULL', engine_key_columns: 'a' },
    ],
  ] as const) {
    await service.create(name, 'a Int32', engine)
    t.equal((await change('POST', `${name}/truncate`)).status, 205, name)
  }
  refuses(t, await change('POST', 'nobody_quarantine/truncate'), /"nobody_quarantine" does not exist/, 404)
})

t.test('several changes of one data source at once are made one after the other', async (t) => {
  await service.create('busy', 'a Int32')
  const answers = await Promise.all([
    alter('busy', { schema: 'a Int32, b Int32' }),
    alter('busy', { schema: 'a Int32, c Int32' }),
    change('POST', 'busy/truncate'),
    change('PUT', 'busy', { name: 'calm' }),
  ])
  // Whichever alter comes first adds its column, which the other one leaves out.
  const isFirst = answers[0].status === 200
  t.same(
    answers.map(({ status }) => status),
    isFirst ? [200, 400, 205, 200] : [400, 200, 205, 200],
  )
  refuses(t, isFirst ? answers[1] : answers[0], isFirst ? /column 'b' is missing/ : /column 'c' is missing/)
  t.match(await single('calm'), { version: 2 })
})

t.test('the text of a data source makes the same data source again', async (t) => {
  await service.create(
    'origin',
    "a Int32 `json:$.x.a` CODEC(Delta, LZ4), s LowCardinality(String) DEFAULT concat('\"', ','), d Date",
    {
      description: 'First\n\n  third',
      engine: 'ReplacingMergeTree',
      engine_ver: 'a',
      engine_sorting_key: "s,\n concat(s, '\"')",
      engine_partition_key: 'toYYYYMM(d)',
      indexes: 'i lower(s) TYPE tokenbf_v1(256, 2, 0) GRANULARITY 4',
    },
  )
  const { status, headers, text } = await change('GET', 'origin.datasource')
  t.equal(status, 200)
  t.match(headers.get('content-type'), /^text\/plain/)
  t.equal(
    text,
    [
      'DESCRIPTION >',
      '    First',
      '',
      '      third',
      '',
      'SCHEMA >',
      '    `a` Int32 `json:$.x.a` CODEC(Delta, LZ4),',
      "    `s` LowCardinality(String) DEFAULT concat('\"', ','),",
      '    `d` Date',
      '',
      'ENGINE "ReplacingMergeTree"',
      'ENGINE_VER "a"',
      "ENGINE_SORTING_KEY s, concat(s, '\"')",
      'ENGINE_PARTITION_KEY "toYYYYMM(d)"',
      '',
      'INDEXES >',
      '    `i` lower(s) TYPE tokenbf_v1(256, 2, 0) GRANULARITY 4',
      '',
    ].join('\n'),
  )
  t.equal((await change('GET', 'nobody.datasource')).status, 404)
})

t.test('a change that a drop overtakes names the data source as its caller does', async (t) => {
  await service.create('racing', 'n Int32')
  const answers = await Promise.all([
    ...Array.from({ length: 3 }, () => change('POST', 'racing/truncate')),
    change('DELETE', 'racing'),
    ...['racing/truncate', 'racing/quarantine/replay', 'racing/alter'].map((path) =>
      change('POST', path, path.endsWith('alter') ? { schema: 'n Int32, s String' } : {}),
    ),
    change('PUT', 'racing', { description: 'late' }),
  ])
  const missing = answers.filter(({ status }) => status === 404)
  t.ok(missing.length > 0, 'some came late')
  for (const { json } of missing) t.match(json, { error: 'Data Source "racing" does not exist' })
})
