// Each row of the specification's tables of engines and their options, created through the API and looked at through SQL.

import t from 'tap'
import { engineCases } from '../support/api/engine-cases.ts'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)

type Parameters = Readonly<Record<string, string>>

for (const [name, { schema, parameters, full, rows, query, answer }] of Object.entries(engineCases)) {
  t.test(`an engine with its options: ${name}`, async (t) => {
    const created = await service.create(name, schema, parameters)
    t.equal(created.status, 200, created.text)
    t.match((await service.call('GET', `/v0/datasources/${name}`)).json, { engine: { engine_full: full } })
    const appended = await service.append(name, 'csv', rows)
    t.match(appended.json, { error: false, quarantine_rows: 0 })
    t.equal((await service.sql(`${query.replace('NAME', name)} FORMAT TSV`)).trim(), answer)
  })
}

t.test('a Join data source of every strictness and type is created', async (t) => {
  const combinations = ['ANY LEFT', 'ANY INNER', 'ANY RIGHT', 'ALL LEFT', 'ALL INNER', 'ALL RIGHT', 'ALL FULL']
  for (const combination of [...combinations, 'SEMI LEFT', 'SEMI RIGHT', 'ANTI LEFT', 'ANTI RIGHT']) {
    const [strictness = '', type = ''] = combination.split(' ')
    const created = await service.create(`join_${strictness}_${type}`, 'a Int32, b Int32, c String', {
      engine: 'Join',
      engine_join_strictness: strictness.toLowerCase(),
      engine_join_type: type,
      engine_key_columns: 'a, b',
    })
    t.equal(created.status, 200, `${combination}: ${created.text}`)
    t.match(created.json, {
      datasource: { engine: { engine_full: `Join(${strictness}, ${type}, \`a\`, \`b\`)` } },
    })
  }
})

t.test('defaults over other columns, codecs and indexes are what the table has', async (t) => {
  const schema = [
    'a Int32 CODEC(Delta(4), ZSTD(3))',
    's String DEFAULT concat(upper(t), toString(a))',
    "t LowCardinality(String) DEFAULT 'x' CODEC(LZ4)",
    'at DateTime64(3) DEFAULT toDateTime64(a, 3) CODEC(DoubleDelta, ZSTD(1))',
    'list Array(Int32) DEFAULT [a, length(s)]',
  ].join(', ')
  const indexes = [
    'INDEX by_s s TYPE bloom_filter(0.01) GRANULARITY 4',
    'by_a (a, at) TYPE minmax GRANULARITY 1',
    'by_t lower(t) TYPE set(100)',
    'by_words s TYPE tokenbf_v1(32768, 3, 0) GRANULARITY 2',
    'by_grams s TYPE ngrambf_v1(4, 1024, 3, 0) GRANULARITY 1',
  ]
  const created = await service.create('rich', schema, { engine_sorting_key: 'a', indexes: indexes.join('\n') })
  t.equal(created.status, 200, created.text)
  t.match(created.json, { datasource: { indexes: [{ name: 'by_s' }, { name: 'by_a', expr: '(a, at)' }, {}, {}, {}] } })
  await service.events('rich', '{"a":7}\n{"a":8,"t":"why","list":[]}\n', { wait: 'true' })
  t.same(await service.rows('SELECT s, t, toUnixTimestamp(at), list FROM rich ORDER BY a'), [
    ['X7', 'x', '7', '[7,2]'],
    ['WHY8', 'why', '8', '[]'],
  ])
  t.equal(
    (await service.create('commas', 'a Int32', { indexes: 'i a TYPE minmax, j a TYPE set(0) GRANULARITY 2' })).status,
    200,
  )
})

const anySchema =
  'a Int32, b String, n Nullable(Int32), d Date, s Int8, v UInt32, f AggregateFunction(count), x Float64'
const join = { engine: 'Join', engine_join_strictness: 'ANY', engine_join_type: 'LEFT', engine_key_columns: 'a' }
const wrong: readonly (readonly [Parameters, RegExp])[] = [
  [{ engine: 'Memory' }, /^Wrong engine: 'Memory' is not known; use one of MergeTree, .*Join, Null/],
  [{ engine: 'mergetree' }, /'mergetree' is not known; did you mean MergeTree\?/],
  [{ engine: 'MergeTree', engine_ver: 'v' }, /MergeTree takes no engine_ver; it takes engine_partition_key/],
  [{ engine: 'Null', engine_sorting_key: 'a' }, /Null takes no engine_sorting_key, nor any other/],
  [{ engine_nonsense: '1' }, /MergeTree takes no engine_nonsense/],
  [{ engine: 'CollapsingMergeTree' }, /CollapsingMergeTree needs engine_sign/],
  [{ engine: 'VersionedCollapsingMergeTree', engine_sign: 's' }, /needs engine_version/],
  [{ engine: 'CollapsingMergeTree', engine_sign: 'a' }, /engine_sign: column 'a' is Int32, but must be Int8/],
  [{ engine: 'ReplacingMergeTree', engine_ver: 'zz' }, /engine_ver: column 'zz' is not in the schema/],
  [{ engine: 'ReplacingMergeTree', engine_ver: 'n' }, /column 'n' is Nullable\(Int32\), but must be an integer/],
  [{ engine: 'ReplacingMergeTree', engine_ver: 'b' }, /column 'b' is String, but must be an integer, Float, Date/],
  [{ engine: 'ReplacingMergeTree', engine_ver: 'a, v' }, /engine_ver takes one column/],
  [{ engine: 'ReplacingMergeTree', engine_is_deleted: 's' }, /column 's' is Int8, but must be UInt8/],
  [{ engine: 'SummingMergeTree', engine_columns: 'zz' }, /engine_columns: column 'zz' is not in the schema/],
  [
    { engine: 'SummingMergeTree', engine_sorting_key: 'a', engine_columns: 'a' },
    /engine_columns: column 'a' is in engine_sorting_key too/,
  ],
  [
    { engine: 'SummingMergeTree', engine_sorting_key: 'a', engine_columns: 'b' },
    /engine_columns: column 'b' is String, which cannot be summed/,
  ],
  [{ engine_sorting_key: 'zz' }, /engine_sorting_key: column 'zz' is not in the schema/],
  [{ engine_sorting_key: 'zz + 1' }, /^Wrong engine: .*zz/],
  [{ engine_sorting_key: 'n' }, /column 'n' is Nullable and cannot be in a key/],
  [{ engine_sorting_key: 'f' }, /column 'f' has a type that cannot be in a key/],
  [{ engine_sorting_key: 'a, (SELECT 1)' }, /engine_sorting_key cannot hold a query/],
  [{ engine_sorting_key: 'a) SETTINGS x = (1' }, /engine_sorting_key has '\)' that closes nothing/],
  [{ engine_sorting_key: 'a SETTINGS index_granularity = 1' }, /cannot hold SETTINGS, use engine_settings/],
  [{ engine_sorting_key: 'a', engine_primary_key: 'b' }, /^Wrong engine: Primary key must be a prefix/],
  [
    { engine_sorting_key: 'a', engine_sampling_key: 'v' },
    /^Wrong engine: Sampling expression must be present in the primary key/,
  ],
  [{ engine_partition_key: 'x' }, /^Wrong engine: Floating point partition key/],
  [{ engine_partition_key: 'rand()' }, /^Wrong engine: .*rand/],
  [
    { engine_ttl: 'a' },
    /^Wrong engine: TTL expression result column should have Date, Date32, DateTime or DateTime64 type, but has Int32/,
  ],
  [{ engine_ttl: "file('/etc/passwd')" }, /engine_ttl cannot call file\(\)/],
  [{ engine_settings: 'nonsense = 1' }, /^Wrong engine: .*nonsense/],
  [{ engine_settings: 'index_granularity' }, /Expected '=' after 'index_granularity' in engine_settings/],
  [{ engine_settings: 'table_readonly = 1' }, /engine_settings cannot set 'table_readonly'/],
  [{ engine_settings: "storage_policy = 'x'" }, /engine_settings cannot set 'storage_policy'/],
  [{ ...join, engine_join_strictness: 'MANY' }, /engine_join_strictness must be one of ANY, ALL, SEMI, ANTI/],
  [{ ...join, engine_join_type: 'FULL' }, /engine_join_type of ANY must be one of LEFT, INNER, RIGHT/],
  [{ ...join, engine_key_columns: '' }, /Join needs engine_key_columns/],
  [{ ...join, engine_key_columns: 'zz' }, /engine_key_columns: column 'zz' is not in the schema/],
  [{ ...join, engine_ttl: 'd' }, /Join takes no engine_ttl/],
  [{ indexes: 'i zz TYPE minmax' }, /^Wrong index: 'i': .*zz/],
  [{ indexes: 'ok a TYPE minmax, bad a TYPE nothing' }, /^Wrong index: 'bad': .*nothing/],
  [{ indexes: 'i a TYPE minmax GRANULARITY 0' }, /Index 'i' needs a GRANULARITY from 1 to 1000000/],
  [{ indexes: 'i a TYPE minmax, i b TYPE minmax' }, /Index 'i' stands twice/],
  [{ indexes: 'i a minmax' }, /Index 'i' has no TYPE/],
  [{ indexes: 'i (SELECT 1) TYPE minmax' }, /index 'i' cannot hold a query/],
  [{ indexes: "i a TYPE minmax) ENGINE = File('x'" }, /^Wrong index: /],
  [{ ...join, indexes: 'i a TYPE minmax' }, /^Wrong index: the engine Join takes no indexes/],
  [{ schema: 'a String CODEC(Delta)' }, /^Wrong schema at line 1, column 1: column 'a' cannot have CODEC\(Delta\): /],
  [{ schema: 'b Int8, a String CODEC(Nonsense)' }, /^Wrong schema at line 1, column 9: .*Nonsense/],
  [{ schema: 'a Int32 DEFAULT zz' }, /column 'a' cannot have DEFAULT zz: there is no column 'zz'$/],
  [{ schema: 'a Int32 DEFAULT zz + 1' }, /column 'a' cannot have DEFAULT zz \+ 1: .*zz/],
  [{ schema: 'a Int32 DEFAULT b, b Int32 DEFAULT a' }, /^Wrong schema at line 1, column \d+: .*[Cc]ycl/],
]

t.test('a wrong combination is refused in words, and nothing of it stays', async (t) => {
  const before = (await service.call('GET', '/v0/datasources')).json
  for (const [parameters, message] of wrong) {
    const { schema = anySchema, ...options } = parameters
    const answer = await service.create('wrong', schema, options)
    t.equal(answer.status, 400, JSON.stringify(parameters))
    t.match(answer.json, { error: message }, JSON.stringify(parameters))
    t.notMatch(answer.text, /DB::|ws_0001|t_[0-9a-f]{32}/)
  }
  t.match((await service.call('POST', '/v0/datasources?name=wrong&engine=MergeTree')).json, { error: /"schema"/ })
  t.match((await service.call('POST', '/v0/datasources?name=wrong&indexes=i')).json, { error: /"schema"/ })
  t.same((await service.call('GET', '/v0/datasources')).json, before)
  t.equal((await service.create('wrong', anySchema)).status, 200, 'the name is free')
})

t.test('some rows of a table with every key are replaced', async (t) => {
  const keys = {
    engine: 'MergeTree',
    engine_partition_key: 'toYYYYMM(day)',
    engine_primary_key: 'n, cityHash64(n)',
    engine_sorting_key: 'n, cityHash64(n), country',
    engine_sampling_key: 'cityHash64(n)',
    engine_ttl: 'day + INTERVAL 100 YEAR',
    engine_settings: 'index_granularity=1024',
    indexes: 'INDEX i country TYPE bloom_filter GRANULARITY 2',
  }
  await service.create('keyed', "day Date, country String DEFAULT 'XX' CODEC(ZSTD(3)), n UInt32", keys)
  await service.append('keyed', 'csv', '2024-01-01,IT,1\n2024-02-01,IT,2\n')
  const order = new URLSearchParams({
    mode: 'replace',
    name: 'keyed',
    format: 'csv',
    replace_condition: 'toYYYYMM(day) = 202402',
  })
  const answer = await service.call('POST', `/v0/datasources?${order}`, {
    body: '2024-02-02,FR,9\n2024-02-03,,8\n2024-03-01,FR,7\n',
  })
  t.match(answer, { status: 200, json: { imported_rows: 2, unmatched_rows: 1 } }, answer.text)
  t.same(await service.rows('SELECT country, n FROM keyed ORDER BY n'), [
    ['IT', '1'],
    ['XX', '8'],
    ['FR', '9'],
  ])
  await service.call('DELETE', '/v0/datasources/keyed')
})
