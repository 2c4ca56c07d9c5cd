// Names of columns and nodes that projects have, and that the quarantine or our own statements have too.

import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'

const parquet = await writeParquetFiles({
  dated: {
    sql: "SELECT toUInt8(number + 7) AS id, if(number = 0, '2026-01-07', 'late') AS insertion_date FROM numbers(2)",
  },
})
const service = await openTestService(t)

async function replay(name: string, order: object): Promise<Answer> {
  return await service.call('POST', `/v0/datasources/${name}/quarantine/replay`, { body: JSON.stringify(order) })
}

t.test('a node may be called as a quarantine is, and reads it by that name in its own SQL', async (t) => {
  await service.create('visits', 'id UInt8')
  await service.append('visits', 'ndjson', '{"id":1}\n{"id":"x"}\n{"id":"y"}\n')
  const nodes = [
    { name: 'visits_quarantine', sql: 'SELECT id AS bad FROM visits_quarantine' },
    {
      name: 'other_quarantine',
      sql: 'SELECT bad FROM visits_quarantine WHERE bad > (SELECT min(id) FROM visits_quarantine)',
    },
    { name: 'last', type: 'endpoint', sql: 'SELECT bad FROM other_quarantine' },
  ]
  const call = { body: JSON.stringify({ name: 'faults', nodes }), headers: { 'content-type': 'application/json' } }
  // The second node reads the first, which has no column `id`.
  t.match(await service.call('POST', '/v0/pipes', call), { status: 400, json: { error: /id/ } })
  nodes[1] = {
    name: 'other_quarantine',
    sql: 'SELECT bad FROM visits_quarantine WHERE bad > (SELECT min(bad) FROM visits_quarantine)',
  }
  const made = await service.call('POST', '/v0/pipes', { ...call, body: JSON.stringify({ name: 'faults', nodes }) })
  t.match(made, { status: 200, json: { nodes: [{ name: 'visits_quarantine', dependencies: ['visits_quarantine'] }] } })
  t.match(await service.call('GET', '/v0/pipes/faults.json'), { json: { data: [{ bad: 'y' }] } })
  const node = await service.call('GET', '/v0/pipes/faults.json?q=SELECT+count()+AS+c+FROM+visits_quarantine')
  t.match(node, { json: { data: [{ c: 2 }] } })
  t.match(await service.call('GET', '/v0/datasources/visits'), { json: { used_by: [{ name: 'faults' }] } })
  t.match(await service.call('DELETE', '/v0/datasources/visits'), { status: 409 }, 'the pipe reads it')
  for (const [method, path, body] of [
    ['POST', '/v0/pipes/faults/nodes?name=new_quarantine', 'SELECT 1 AS n'],
    ['PUT', '/v0/pipes/faults/nodes/new_quarantine?name=newer_quarantine', 'SELECT 2 AS n'],
  ] as const) {
    t.match(await service.call(method, path, { body }), { status: 200 }, path)
  }
  for (const path of ['/v0/pipes?name=a_quarantine&sql=SELECT+1', '/v0/datasources?name=a_quarantine&schema=n+UInt8']) {
    t.match(await service.call('POST', path), { status: 400, json: { error: /quarantine tables/ } }, path)
  }
})

const dated = 'id UInt8, insertion_date Date'

t.test('insertion_date may be a column; the time of the quarantine is c__insertion_date there', async (t) => {
  await service.create('dated', dated)
  await service.append('dated', 'csv', 'id,insertion_date\n1,2026-01-02\n2,never\n')
  await service.append('dated', 'ndjson', '{"id":3,"insertion_date":"2026-01-03"}\n{"id":4,"insertion_date":"soon"}\n')
  await service.events('dated', '{"id":5,"insertion_date":"2026-01-05"}\n{"id":6,"insertion_date":"later"}\n', {
    wait: 'true',
  })
  const form = new FormData()
  form.append('csv', new Blob([Uint8Array.from(parquet('dated'))]), 'rows.parquet')
  t.match(await service.call('POST', '/v0/datasources?name=dated&mode=append', { body: form }), {
    status: 200,
    json: { quarantine_rows: 1 },
  })
  t.same(await service.rows('SELECT id, insertion_date FROM dated ORDER BY id'), [
    ['1', '2026-01-02'],
    ['3', '2026-01-03'],
    ['5', '2026-01-05'],
    ['7', '2026-01-07'],
  ])
  const kept =
    'SELECT id, insertion_date, c__insertion_date > now() - 3600, c__error_column FROM dated_quarantine ORDER BY id'
  t.same(
    await service.rows(kept),
    [
      ['2', 'never'],
      ['4', 'soon'],
      ['6', 'later'],
      ['8', 'late'],
    ].map((row) => [...row, '1', "['insertion_date']"]),
  )
  const summary = await service.call('GET', '/v0/datasources/dated/quarantine/summary')
  t.match(summary, { json: { quarantine_rows: 4, groups: [{ column: 'insertion_date', rows: 4, first: /^20\d\d-/ }] } })
  const order = {
    condition: "c__insertion_date >= today() - 1 AND insertion_date != 'never'",
    fixes: { insertion_date: "'2026-01-09'" },
  }
  t.match(await replay('dated', order), { status: 200, json: { replayed_rows: 3, failed_rows: 0 } })
  t.equal(await service.count('dated'), 7)
  const body = 'id,insertion_date\n9,2026-01-09\n10,none\n'
  t.match(await service.call('POST', '/v0/datasources?mode=replace&name=dated', { body }), { status: 200 })
  t.same(await service.rows('SELECT insertion_date FROM dated_quarantine ORDER BY c__insertion_date, id'), [
    ['never'],
    ['none'],
  ])
})

t.test('it may be added to a data source that has rows in quarantine, and they keep their times', async (t) => {
  await service.create('grown', 'id UInt8, word String')
  await service.append('grown', 'ndjson', '{"id":"x","word":"a"}\n{"id":"y","word":"b"}\n')
  await service.events('grown', '{"id":"z","word":"c"}\n', { wait: 'true' })
  const before = await service.rows(
    'SELECT id, word, insertion_date, c__error, c__import_id FROM grown_quarantine ORDER BY id',
  )
  t.equal(before.length, 3)
  const alter = (columns: string) =>
    service.call('POST', '/v0/datasources/grown/alter', { body: new URLSearchParams({ schema: columns }).toString() })
  t.match(await alter('id UInt8, word String, insertion_date Nullable(Date), more Nullable(String)'), { status: 200 })
  const after =
    'SELECT id, word, c__insertion_date, c__error, c__import_id FROM grown_quarantine WHERE insertion_date IS NULL ORDER BY id'
  t.same(await service.rows(after), before)
  await service.events('grown', '{"id":1,"insertion_date":"2026-01-01"}\n{"id":2,"insertion_date":"no"}\n', {
    wait: 'true',
  })
  t.same(
    await service.rows('SELECT id, insertion_date FROM grown_quarantine WHERE insertion_date IS NOT NULL ORDER BY id'),
    [
      ['1', '2026-01-01'],
      ['2', 'no'],
    ],
  )
  t.match(await replay('grown', { condition: "id = 'x'", fixes: { id: "'7'" } }), { json: { replayed_rows: 1 } })
  t.match(await alter('id UInt8, word String, insertion_date Nullable(Date), more Nullable(String), last UInt8'), {
    status: 200,
  })
  t.equal(await service.count('grown_quarantine'), 4)
  const reserved = await service.create('refused', 'id UInt8, c__insertion_date DateTime')
  t.match(reserved, { status: 400, json: { error: /'c__insertion_date' is reserved/ } })
})

t.test('events and files that have such a name make a column of it', async (t) => {
  await service.events('made', '{"id":1,"insertion_date":"2026-01-01"}\n', { wait: 'true' })
  await service.call('POST', '/v0/datasources?name=made_csv', { body: 'id,insertion_date\n1,2026-01-01\n' })
  await service.create('divided', 'id Int32, part Int32 DEFAULT intDiv(10, id), insertion_date String')
  await service.events('divided', '{"id":0,"insertion_date":"refused"}\n{"id":1,"insertion_date":"taken"}\n', {
    wait: 'true',
  })
  t.same(await service.rows('SELECT insertion_date, c__insertion_date > now() - 3600 FROM divided_quarantine'), [
    ['refused', '1'],
  ])
  for (const name of ['made', 'made_csv']) {
    t.same(await service.rows(`SELECT insertion_date FROM ${name}`), [['2026-01-01']], name)
    t.equal(await service.count(`${name}_quarantine`), 0, name)
  }
})

const landing = [
  '__topic LowCardinality(String)',
  '__partition Int16',
  '__offset Int64',
  '__timestamp DateTime',
  '__key String',
  '__value String',
  '__headers Map(String, String)',
]

t.test('the hidden columns of Kafka and DynamoDB can be declared, and are columns as any other', async (t) => {
  const engine = {
    engine: 'MergeTree',
    engine_partition_key: 'toYYYYMM(__timestamp)',
    engine_sorting_key: '__topic, __timestamp',
  }
  const schema = `${landing.join(', ')}, id UInt32 \`json:$.id\`, __count UInt8 DEFAULT 1`
  t.match(await service.create('kafka', schema, engine), { status: 200 })
  const row = {
    __topic: 't',
    __partition: 0,
    __offset: 7,
    __timestamp: '2026-01-01 00:00:00',
    __key: 'k',
    __value: 'v',
    __headers: { a: 'b' },
  }
  await service.events(
    'kafka',
    [
      { ...row, id: 1 },
      { ...row, id: 'x', __value: 'bad' },
    ]
      .map((one) => JSON.stringify(one))
      .join('\n'),
    { wait: 'true' },
  )
  await service.append(
    'kafka',
    'csv',
    `${landing.map((text) => text.split(' ')[0]).join(',')},id,__count\nt,0,8,2026-01-01 00:00:00,k,v,{'a':'b'},y,\n`,
  )
  t.same(
    await service.rows(
      'SELECT __topic, __partition, __offset, __timestamp, __key, __value, __headers, id, __count FROM kafka',
    ),
    [['t', '0', '7', '2026-01-01 00:00:00', 'k', 'v', "{'a':'b'}", '1', '1']],
  )
  const summary = await service.call('GET', '/v0/datasources/kafka/quarantine/summary')
  t.match(summary, {
    status: 200,
    json: { quarantine_rows: 2, groups: [{ column: 'id', rows: 2, samples: { length: 2 } }] },
  })
  t.match(JSON.stringify(summary.json), /"samples":\["x","y"\]|"samples":\["y","x"\]/)
  const order = { condition: "__value = 'bad' AND ifNull(__count, '') != '9'", fixes: { id: "'2'" } }
  t.match(await replay('kafka', order), { status: 200, json: { replayed_rows: 1 } })
  const dynamo = [
    '_record Nullable(String) `json:$.NewImage`',
    '_old_record Nullable(String) `json:$.OldImage`',
    '_timestamp DateTime64(3) `json:$.ApproximateCreationDateTime`',
    '_event_name LowCardinality(String) `json:$.eventName`',
    '_is_deleted UInt8 `json:$._is_deleted`',
    "pk String DEFAULT JSONExtractString(ifNull(_record, ''), 'pk')",
  ].join(', ')
  const replacing = {
    engine: 'ReplacingMergeTree',
    engine_ver: '_timestamp',
    engine_is_deleted: '_is_deleted',
    engine_sorting_key: 'pk',
  }
  t.match(await service.create('dynamo', dynamo, replacing), { status: 200 })
  const change = {
    eventName: 'INSERT',
    NewImage: { pk: 'p' },
    ApproximateCreationDateTime: 1767225600000,
    _is_deleted: 0,
  }
  await service.events('dynamo', JSON.stringify(change), { wait: 'true' })
  t.same(await service.rows('SELECT pk, _event_name FROM dynamo'), [['p', 'INSERT']])
})

t.test('settings of a connector are told as not run', async (t) => {
  const settings = { kafka_connection_name: 'k', kafka_topic: 'visits', kafka_group_id: 'g' }
  const made = await service.create('connected', `${landing.join(', ')}, id UInt32`, settings)
  const warning = /"kafka_connection_name", "kafka_topic", "kafka_group_id".*not run/
  t.match(made, { status: 200, json: { error: false, warnings: [warning] } })
  for (const more of [
    { import_service: 's3' },
    { connector: 'c1', service: 'gcs' },
    { import_table_arn: 'arn:aws:dynamodb:x' },
  ]) {
    const name = `connected_${Object.keys(more)[0]}`
    const answer = await service.create(name, 'id UInt8', more)
    t.match(answer, { status: 200, json: { warnings: [/not run/] } }, name)
    t.equal(answer.headers.get('x-warning'), null, 'told once')
  }
  t.match(await service.create('keyed', 'id UInt32', { engine: 'MergeTree', engine_sorting_key: '__timestamp' }), {
    status: 400,
    json: {
      error: /'__timestamp' is not in the schema$/,
      hint: /^Declare the column in the schema, __timestamp DateTime: connectors/,
    },
  })
})
