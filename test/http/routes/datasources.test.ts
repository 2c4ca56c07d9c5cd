import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { errors } from '../../../src/shared/errors/errors.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { multipart } from '../../support/http/test-form.ts'

const headers = { authorization: `Bearer ${token}` }
const formType = 'application/x-www-form-urlencoded'
const schema = 'id UInt32 `json:$.id`, tag Nullable(String)'

function open(t: Test) {
  const deps = createFakeDeps()
  const app = createApp(deps, limits)
  t.teardown(() => app.close())
  const post = (query: string, payload?: string | Buffer, more: Record<string, string> = headers) => {
    const request: InjectOptions = { method: 'POST', url: `/v0/datasources${query}`, headers: more }
    return ask(app, payload === undefined ? request : { ...request, payload })
  }
  const create = (name: string) =>
    deps.dataSources.create({ name, description: '', schema, engine: null, type: 'ndjson' })
  return { deps, app, post, create }
}

t.test('a schema creates an empty data source, from the query, a form, or both', async (t) => {
  const query = new URLSearchParams({ name: 'a', schema }).toString()
  const cases = [
    [`?${query}`, undefined, undefined],
    ['', query, formType],
    ['', query, undefined],
    ['?name=a', `schema=${encodeURIComponent(schema)}`, formType],
    ['?name=other', `schema=${schema}&name=a`, `${formType}; charset=utf-8`],
  ] as const
  for (const [url, payload, type] of cases) {
    const { deps, post } = open(t)
    const answer = await post(url, payload, type === undefined ? headers : { ...headers, 'content-type': type })
    t.equal(answer.statusCode, 200, answer.body)
    t.match(deps.created, [{ name: 'a', schema, engine: null, type: 'ndjson', description: '' }])
    t.match(answer.json(), { datasource: { name: 'a' }, error: false, quarantine_rows: 0, invalid_lines: 0 })
    t.equal(answer.json().id, answer.json().import_id)
    t.equal(deps.loads.length, 0)
  }
})

t.test('engine, options, description and type come from the parameters', async (t) => {
  const { deps, post } = open(t)
  const form = new URLSearchParams({
    schema: 'id UInt32, v UInt8',
    engine: 'ReplacingMergeTree',
    engine_ver: 'v',
    engine_sorting_key: ' id ',
    engine_ttl: '',
    description: 'What it is',
  })
  t.equal((await post('', form.toString())).statusCode, 200)
  t.match(deps.created[0], {
    name: undefined,
    description: 'What it is',
    type: 'csv',
    engine: { name: 'ReplacingMergeTree', options: { ver: 'v', sorting_key: 'id' } },
  })
  t.strictSame(Object.keys(deps.created[0]?.engine?.options ?? {}), ['ver', 'sorting_key'])
  await post('?name=b&schema=id+UInt32&engine_sorting_key=id')
  t.match(deps.created[1]?.engine, { name: 'MergeTree', options: { sorting_key: 'id' } })
  t.match((await post('?name=b&engine=MergeTree')).json(), { error: /schema/ })
})

t.test('a raw body of any content type is appended as it is', async (t) => {
  const types = ['text/csv', 'text/html; charset=utf-8', formType, 'application/json', 'nonsense', '']
  for (const type of types) {
    const { deps, post, create } = open(t)
    await create('a')
    const csv = 'id,tag\n1,x\n'
    const answer = await post('?name=a&mode=append', csv, type === '' ? headers : { ...headers, 'content-type': type })
    t.equal(answer.statusCode, 200, type)
    t.match(deps.loads, [{ text: csv, request: { format: 'csv', contentEncoding: undefined } }], type)
    t.match(answer.json(), { error: false, import_id: deps.loads[0]?.request.importId, datasource: { name: 'a' } })
  }
})

t.test('rows that curl sends as a form are rows, however they look', async (t) => {
  const bodies = [
    '{"id":1}\n',
    'name,schema\nx,y\n',
    'name\n',
    'na',
    '1,2,3',
    '"name=",1',
    'unknown=1&name=x',
    '=1,2\n',
    'a=b\n',
    `${'x'.repeat(300)}\n`,
  ]
  for (const body of bodies) {
    const { deps, post, create } = open(t)
    await create('a')
    await post('?name=a&mode=append', body, { ...headers, 'content-type': formType })
    t.equal(deps.loads[0]?.text, body, body)
  }
})

t.test('a form is known by its first parameter', async (t) => {
  const bodies = [
    `name=a&schema=${encodeURIComponent(schema)}`,
    `from=ts-sdk&name=a&schema=${schema}`,
    `engine_sorting_key=id&name=a&schema=${schema}`,
    `\nname=a&schema=${schema}\n`,
  ]
  for (const body of bodies) {
    const { deps, post } = open(t)
    const answer = await post('', body, { ...headers, 'content-type': formType })
    t.equal(answer.statusCode, 200, answer.body)
    t.match(deps.created, [{ name: 'a' }])
    t.equal(deps.loads.length, 0)
  }
  const { deps, post, create } = open(t)
  await create('a')
  await post('?name=a&mode=append&dialect_delimiter=%3D', 'name=age\nx=1\n', { ...headers, 'content-type': formType })
  t.equal(deps.loads[0]?.text, 'name=age\nx=1\n')
  t.equal((await post('', `name=${'a'.repeat(3000)}`, { ...headers, 'content-type': formType })).statusCode, 413)
})

t.test('the format comes from the parameter, else the file, else the content type, else it is CSV', async (t) => {
  const cases = [
    { query: '', type: 'text/plain', format: 'csv' },
    { query: '&format=ndjson', type: 'text/csv', format: 'ndjson' },
    { query: '&format=NDJSON', type: 'text/csv', format: 'ndjson' },
    { query: '', type: 'application/x-ndjson; charset=utf-8', format: 'ndjson' },
    { query: '&format=csv', type: 'application/x-ndjson', format: 'csv' },
  ]
  for (const { query, type, format } of cases) {
    const { deps, post, create } = open(t)
    await create('a')
    await post(`?name=a&mode=append${query}`, '1\n', { ...headers, 'content-type': type })
    t.equal(deps.loads[0]?.request.format, format, `${query} ${type}`)
  }
  const files = [
    { query: '', name: 'csv', fileName: 'a.csv', format: 'csv' },
    { query: '', name: 'ndjson', format: 'ndjson' },
    { query: '', name: 'csv', fileName: 'a.ndjson', format: 'ndjson' },
    { query: '', name: 'csv', fileName: 'a.JSONL', format: 'ndjson' },
    { query: '&format=ndjson', name: 'csv', fileName: 'a.csv', format: 'ndjson' },
    { query: '', name: 'file', fileName: 'blob', format: 'csv' },
    { query: '', name: 'csv', fileName: 'a.ndjson.gz', format: 'ndjson' },
    { query: '', name: 'csv', fileName: 'blob', content: '\ufeff{"id":1}\n', format: 'ndjson' },
    { query: '', name: 'csv', content: ' { "id":1}\n', format: 'ndjson' },
    { query: '&format=csv', name: 'ndjson', fileName: 'a.ndjson', content: '{"id":1}\n', format: 'csv' },
    { query: '&dialect_delimiter=%3B', name: 'csv', content: '{"id":1};x\n', format: 'csv' },
    { query: '', name: 'csv', fileName: 'a.csv', content: '{"id":1}\n', format: 'csv' },
  ]
  for (const { query, name, fileName, format, content = '1\n' } of files) {
    const { deps, post, create } = open(t)
    await create('a')
    const { payload, type } = multipart([{ name, content, ...(fileName === undefined ? {} : { fileName }) }])
    const answer = await post(`?name=a&mode=append${query}`, payload, { ...headers, 'content-type': type })
    t.equal(answer.statusCode, 200, answer.body)
    t.match(deps.loads, [{ text: content, request: { format } }])
  }
  const { post, create } = open(t)
  await create('a')
  t.match((await post('?name=a&mode=append&format=xml', 'x')).json(), {
    error: 'Format "xml" is not supported; use one of csv, ndjson, parquet',
  })
})

t.test('append creates what is missing when it knows the schema', async (t) => {
  const { deps, post } = open(t)
  const missing = await post('?name=a&mode=append&format=ndjson', '{"id":1}\n')
  t.equal(missing.statusCode, 400)
  t.match(missing.json(), {
    error: 'Data Source "a" does not exist, and parameter "schema" is required to create it from ndjson',
  })
  const created = await post(`?name=a&mode=append&schema=${encodeURIComponent(schema)}`, '{"id":1}\n')
  t.equal(created.statusCode, 200)
  t.match(deps.created, [{ name: 'a', type: 'ndjson' }])
  t.match(deps.loads, [{ request: { format: 'ndjson' } }])
  const guessed = await post('?name=guessed&mode=append', 'id,tag\n1,x\n')
  t.equal(guessed.statusCode, 200)
  t.match(deps.created[1], { name: 'guessed', type: 'csv', schema: '`id` Int32, `tag` String' })
  t.equal((await post('?mode=append', '1\n')).statusCode, 400)
  const id = await post(`?name=t_${'0'.repeat(32)}&mode=append`, '1\n')
  t.match([id.statusCode, id.json()], [404, { error: /does not exist/ }], 'an id is given by the service')
})

t.test('append creates nothing where the service is told to refuse', async (t) => {
  const deps = createFakeDeps({ missingDataSource: 'refuse' })
  const app = createApp(deps, limits)
  t.teardown(() => app.close())
  const answer = await ask(app, { method: 'POST', url: '/v0/datasources?name=a&mode=append', payload: '1\n', headers })
  t.equal(answer.statusCode, 403)
  t.match(answer.json(), {
    error: 'Adding or modifying data sources to this workspace can only be done via deployments',
  })
  t.equal(deps.created.length, 0)
})

t.test('nothing is appended to a Join engine, also not while it is created', async (t) => {
  const { deps, post } = open(t)
  const join = { name: 'Join', options: { join_strictness: 'ANY', join_type: 'LEFT', key_columns: 'id' } }
  await deps.dataSources.create({ name: 'a', description: '', schema, engine: join, type: 'csv' })
  for (const query of ['?name=a&mode=append', `?name=b&schema=${encodeURIComponent(schema)}&engine=join`]) {
    const answer = await post(query, '1\n')
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json(), { error: /has the engine Join, to which rows cannot be appended; use mode=replace$/ })
  }
  t.equal(deps.loads.length, 0)
  t.equal((await post(`?name=b&schema=${encodeURIComponent(schema)}&engine=Join`)).statusCode, 200)
})

t.test('create with rows creates and imports, once', async (t) => {
  const { deps, post } = open(t)
  t.equal((await post('?name=a&schema=id+UInt32', '1\n')).statusCode, 200)
  t.match([deps.created, deps.loads], [[{ name: 'a' }], [{ text: '1\n', request: { format: 'csv' } }]])
  t.equal((await post('?name=a&schema=id+UInt32', '1\n')).statusCode, 409)
  t.equal((await post('?name=b&schema=id+UInt32', '1\n', { ...headers, 'content-encoding': 'br' })).statusCode, 415)
  t.match((await post('?name=b&format=ndjson', '1\n')).json(), { error: /"schema" is required/ })
  t.match((await post('?name=b')).json(), { error: /no body/ })
  t.equal(deps.created.length, 1)
})

t.test('what can have no effect is refused instead of passed over', async (t) => {
  const { deps, post, create } = open(t)
  await create('a')
  const cases = [
    ['mode=append&url=http://x/', /rows beside the parameter "url"/],
    ['mode=append&replace_condition=1', /^Parameter "replace_condition"/],
  ] as const
  for (const [query, error] of cases) {
    const answer = await post(`?name=a&${query}`, '1\n')
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json(), { error })
  }
  t.equal((await post('?name=a&mode=append&dry=false&progress=false&debug=', '1\n')).statusCode, 200)
  t.equal(deps.loads.length, 1)
})

t.test('what is asked for and is not known is refused with what there is', async (t) => {
  const { post, create } = open(t)
  await create('a')
  const cases = [
    ['debug=blocks,nothing', 'Parameter "debug" is "nothing", but must be a list of blocks, block_log, hook_log'],
    ['progress=maybe', 'Parameter "progress" is "maybe", but must be true or false'],
    ['dry=2', 'Parameter "dry" is "2", but must be true or false'],
    ['dialect_new_line=%5Cx', 'Parameter "dialect_new_line" is "\\x", but must be \\n, \\r\\n or \\r'],
    ['mode=insert', /^Parameter "mode" is "insert", but must be create/],
  ] as const
  for (const [query, error] of cases) {
    const answer = await post(`?name=a&mode=append&${query}`, '1\n')
    t.match([answer.statusCode, answer.json()], [400, { error }], query)
  }
})

t.test('the dialect is one character', async (t) => {
  const { deps, post, create } = open(t)
  await create('a')
  const cases = [
    ['%3B', ';'],
    ['%09', '\t'],
    ['%5Ct', '\t'],
    ['%7C', '|'],
    ['%C2%A7', '§'],
    ['%F0%9F%98%80', '😀'],
    ['', undefined],
  ] as const
  for (const [query, delimiter] of cases) {
    await post(`?name=a&mode=append&dialect_delimiter=${query}`, '1\n')
    t.equal(deps.loads.at(-1)?.request.csv.delimiter, delimiter, query)
  }
  await post('?name=a&mode=append&dialect_escapechar=%5C', '1\n')
  t.equal(deps.loads.at(-1)?.request.csv.escapeCharacter, '\\')
  for (const query of [';;', '%C3%A9%C3%A9', '%22', '%0A', '%00']) {
    t.equal((await post(`?name=a&mode=append&dialect_delimiter=${query}`, '1\n')).statusCode, 400, query)
  }
  const refused = await post('?name=a&mode=append&dialect_escapechar=%C3%A9', '1\n')
  t.match([refused.statusCode, refused.body], [400, /dialect_escapechar.* is .*é.*one ASCII character/])
})

t.test('bad rows are a 200 with a sentence, and a failure has its own status with the counts', async (t) => {
  const { deps, post, create } = open(t)
  await create('a')
  const cases = [
    [1, 1, 'There was an error with file contents: 1 row in quarantine and 1 invalid line.'],
    [2, 0, 'There was an error with file contents: 2 rows in quarantine and 0 invalid lines.'],
    [0, 3, 'There was an error with file contents: 0 rows in quarantine and 3 invalid lines.'],
  ] as const
  for (const [quarantinedRows, invalidLines, error] of cases) {
    deps.outcome = { quarantinedRows, invalidLines }
    const answer = await post('?name=a&mode=append', '1\n')
    t.equal(answer.statusCode, 200)
    t.match(answer.json(), { error, quarantine_rows: quarantinedRows, invalid_lines: invalidLines })
  }
  deps.outcome = { failure: errors.RECORD_TOO_LARGE({ bytesMax: 1024 }), storedRows: 5, quarantinedRows: 1 }
  const failed = await post('?name=a&mode=append', '1\n')
  t.equal(failed.statusCode, 413)
  t.match(failed.json(), { error: /longer than 1 KiB/, documentation: String, imported_rows: 5, quarantine_rows: 1 })
  deps.outcome = { failure: new Error('secret') }
  const fault = await post('?name=a&mode=append', '1\n')
  t.equal(fault.statusCode, 500)
  t.notMatch(fault.body, /secret/)
  t.ok(deps.entries.some(({ level }) => level === 'error'))
})

t.test('the token of a form counts only where the header and the query have none', async (t) => {
  const { deps, post } = open(t)
  const form = (value: string) => `token=${value}&name=a&schema=id+UInt32`
  t.equal((await post('', form('wrong'), {})).statusCode, 403)
  t.equal((await post('', 'name=a&schema=id+UInt32', {})).statusCode, 403)
  t.equal((await post('?token=wrong', form(token), {})).statusCode, 403)
  t.equal((await post('', form(token), { authorization: 'Bearer wrong' })).statusCode, 403)
  t.equal((await post('?name=a&mode=append', '1\n', {})).statusCode, 403)
  t.equal((await post('')).statusCode, 400)
  t.equal(deps.created.length, 0)
  t.equal((await post('', form(token), {})).statusCode, 200)
})

t.test('lists have the attributes that were asked for', async (t) => {
  const { app, create } = open(t)
  const { id } = await create('a')
  const list = async (query: string) =>
    (await ask(app, { url: `/v0/datasources${query}`, headers })).json().datasources[0]
  t.strictSame(await list('?attrs=id,name'), { id, name: 'a' })
  t.strictSame(await list('?attrs=id,name,description,columns'), {
    id,
    name: 'a',
    description: '',
    engine: {
      engine: 'MergeTree',
      engine_sorting_key: 'id',
      engine_partition_key: '',
      engine_primary_key: null,
    },
    columns: [
      {
        name: 'id',
        type: 'UInt32',
        codec: null,
        default_value: null,
        jsonpath: '$.id',
        nullable: false,
        normalized_name: 'id',
      },
      {
        name: 'tag',
        type: 'String',
        codec: 'CODEC(ZSTD(1))',
        default_value: "DEFAULT 'x'",
        jsonpath: null,
        nullable: true,
        normalized_name: 'tag',
      },
    ],
    indexes: [],
    new_columns_detected: {},
    quarantine_rows: 1,
  })
  t.match(await list(''), { id, statistics: { bytes: 100, row_count: 2 }, used_by: [], tags: {} })
})

t.test('a data source that is used is dropped by force alone, and a dry run drops nothing', async (t) => {
  const { app, create } = open(t)
  await create('used')
  const drop = (query: string) => ask(app, { method: 'DELETE', url: `/v0/datasources/used${query}`, headers })
  const shown = await ask(app, { url: '/v0/datasources/used', headers })
  t.same(shown.json().used_by, [{ id: 't_1', name: 'top' }])
  for (const query of ['', '?dry_run=true', '?force=false']) {
    const refused = await drop(query)
    t.equal(refused.statusCode, 409)
    t.match(refused.json(), { error: /^Data Source "used" is used by daily/ })
  }
  t.match((await drop('?force=maybe')).json(), { error: 'Parameter "force" is "maybe", but must be true or false' })
  t.match((await drop('?force=true&dry_run=true')).json(), { name: 'used', dependencies: ['daily', 'top'] })
  t.equal((await drop('?force=true')).statusCode, 204)
  t.equal((await drop('')).statusCode, 404)
})

t.test('a token in the form lets a data source be changed', async (t) => {
  const { app, deps, create } = open(t)
  await create('a')
  const alter = (payload: string) => ask(app, { method: 'POST', url: '/v0/datasources/a/alter', payload })
  t.equal((await alter('description=x')).statusCode, 403)
  t.equal((await alter(`description=x&ttl=FALSE&indexes=0&token=${token}`)).statusCode, 200)
  t.match(deps.alters, [{ description: 'x', ttl: null, indexes: null, isDry: false }])
  t.equal(deps.alters[0]?.kafkaStoreRawValue, undefined)
  const large = { url: `/v0/datasources/a/alter?token=${token}`, payload: 'x'.repeat(limits.formBytesMax + 1) }
  t.equal((await ask(app, { method: 'POST', ...large })).statusCode, 413)
  const { payload, type } = multipart([
    { name: 'schema', content: 'a Int32' },
    { name: 'csv', fileName: 'a.csv', content: '1' },
  ])
  const request = {
    method: 'POST',
    url: '/v0/datasources/a/alter',
    headers: { ...headers, 'content-type': type },
  } as const
  t.match((await ask(app, { ...request, payload })).json(), { error: /there is a file in the form/ })
})

t.test('one data source is shown by name or id, and dropped with 204', async (t) => {
  const { app, create } = open(t)
  const { id } = await create('a')
  for (const key of ['a', id]) {
    const answer = await ask(app, { url: `/v0/datasources/${key}`, headers })
    t.equal(answer.statusCode, 200)
    t.match(answer.json(), {
      id,
      name: 'a',
      created_at: '2026-01-01 00:00:00.000000',
      updated_at: '2026-01-01 10:20:30.123000',
      engine: { engine: 'MergeTree', engine_full: 'MergeTree ORDER BY id', sorting_key: 'id' },
      schema: {
        columns: [
          { auto: false, name: 'id' },
          { name: 'tag', nullable: true },
        ],
        sql_schema: "`id` UInt32 `json:$.id`, `tag` Nullable(String) DEFAULT 'x' CODEC(ZSTD(1))",
      },
      statistics: { bytes: 100, row_count: 2 },
      new_columns_detected: false,
      type: 'ndjson',
      version: 1,
    })
  }
  t.match((await ask(app, { url: '/v0/datasources/a?attrs=used_by', headers })).json(), { used_by: [] })
  const dropped = await ask(app, { method: 'DELETE', url: `/v0/datasources/${id}`, headers })
  t.equal(dropped.statusCode, 204)
  t.equal(dropped.body, '')
  const again = await ask(app, { method: 'DELETE', url: '/v0/datasources/a', headers })
  t.equal(again.statusCode, 404)
  t.match(again.json(), { error: 'Data Source "a" does not exist' })
})
