// The clients that applications use, as they are published, against the service: what they send is theirs to decide.

import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Tinybird as ZodBird } from '@chronark/zod-bird'
import {
  createClient,
  createTinybirdApi,
  defineDatasource,
  defineEndpoint,
  node,
  p,
  Tinybird,
  TinybirdApiError,
  TinybirdError,
  t as types,
} from '@tinybirdco/sdk'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { openUrlService, untilEnded } from '../support/imports/url-imports.ts'
import { answerFile } from '../support/remote-server.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const token = 'p.test.token'
const visitsSchema = [
  'path String `json:$.path`',
  'org LowCardinality(String) `json:$.org`',
  'n UInt64 `json:$.n`',
  'at DateTime64(3) `json:$.at`',
  'tags Array(String) `json:$.tags[:]`',
  'labels Map(String, String) `json:$.labels`',
].join(', ')

/** An alias, as the SDK takes records, which no interface is. */
type Visit = {
  readonly path: string
  readonly org: string
  readonly n: number | bigint
  readonly at: string
  readonly tags: readonly string[]
  readonly labels: Readonly<Record<string, string>>
}

function visit(path: string, n: number | bigint): Visit {
  return { path, org: n === 2 ? 'b' : 'a', n, at: '2026-01-02T03:04:05.678Z', tags: ['x', path], labels: { k: path } }
}

const topNodes = [
  {
    name: 'chosen',
    sql: `%
      SELECT path, org, n, at FROM visits
      WHERE 1
      {% if defined(org) %} AND org = {{ String(org, description='Whose visits', required=True) }} {% end %}
      {% if defined(paths) %} AND path IN {{ Array(paths, 'String') }} {% end %}
      {% if defined(numbers) %} AND n IN {{ Array(numbers, 'UInt64') }} {% end %}
      {% if defined(filter) %} AND n > {{ UInt64(JSON(filter).get('more')) }} {% end %}
      {% if org == 'nobody' %} {{ error('nobody has no visits') }} {% end %}
      {% if org == 'gone' %} {{ custom_error({'error': 'it is gone', 'error_id': 7}, 410) }} {% end %}`,
  },
  {
    name: 'result',
    sql: "% SELECT path, n, {{ String(note, '') }} AS note FROM chosen ORDER BY n LIMIT {{ Int32(size, 10) }}",
    type: 'endpoint',
  },
]

/** A service with a data source and an endpoint over it. */
async function openWithEndpoint(t: Test): Promise<TestService> {
  const service = await openTestService(t)
  await service.create('visits', visitsSchema, { engine: 'MergeTree', engine_sorting_key: 'org, at' })
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'top', nodes: topNodes })
  const answer = await service.call('POST', '/v0/pipes', { body, headers })
  if (answer.status !== 200) throw new Error(answer.text)
  return service
}

async function storeVisits(service: TestService): Promise<void> {
  const lines = ['/a', '/b', '/c,d', "/e'f"].map((path, index) => JSON.stringify(visit(path, index + 1)))
  await service.events('visits', lines.join('\n'), { wait: 'true' })
}

t.test('the SDK ingests events and reads endpoints', async (t) => {
  const service = await openWithEndpoint(t)
  const client = createClient({ baseUrl: `${service.address}/`, token })

  t.same(await client.ingest('visits', visit('/a', 1)), { successful_rows: 1, quarantined_rows: 0 })
  const batch = [visit('/b', 2), { ...visit('/c,d', 3n), labels: new Map([['k', '/c,d']]) }, { path: '/bad', n: 'x' }]
  t.same(await client.ingestBatch('visits', batch), { successful_rows: 2, quarantined_rows: 1 })
  t.same(await client.ingestBatch('visits', [visit("/e'f", 4)], { wait: false }), {
    successful_rows: 1,
    quarantined_rows: 0,
  })
  await service.untilStored('visits')

  const all = await client.query('top')
  t.same(all.data, [
    { path: '/a', n: 1, note: '' },
    { path: '/b', n: 2, note: '' },
    { path: '/c,d', n: 3, note: '' },
    { path: "/e'f", n: 4, note: '' },
  ])
  t.same(all.meta, [
    { name: 'path', type: 'String' },
    { name: 'n', type: 'UInt64' },
    { name: 'note', type: 'String' },
  ])
  t.match(all, { rows: 4, statistics: { elapsed: Number, rows_read: Number, bytes_read: Number } })

  const pathsOf = async (parameters: Record<string, unknown>) =>
    (await client.query<{ readonly path: string }>('top', parameters)).data.map(({ path }) => path)
  t.same(await pathsOf({ org: 'b' }), ['/b'])
  t.same(await pathsOf({ org: undefined, size: 1 }), ['/a'])
  t.same(await pathsOf({ paths: ['/c,d', "/e'f"] }), ['/c,d', "/e'f"], 'each value of a list comes as a parameter')
  t.same(await pathsOf({ paths: ['/b'] }), ['/b'])
  t.same(await pathsOf({ numbers: [1, 4] }), ['/a', "/e'f"])
  t.same(await pathsOf({ filter: { more: 3 } }), ["/e'f"], 'an object comes as JSON')
  t.same(await pathsOf({ filter: { more: 3 }, note: '" % \\ {{x}} é' }), ["/e'f"])
  const hostile = "a' OR '1'='1"
  t.same(await pathsOf({ org: hostile }), [])
  const noted = await client.query('top', { note: hostile, size: 1 })
  t.match(noted.data, [{ note: hostile }], 'a value arrives as it is')

  const counted = await client.sql(
    'SELECT count() AS c, sum(n) AS total, any(labels) AS labels FROM visits WHERE n = 3',
  )
  t.same(counted.data, [{ c: 1, total: 3, labels: { k: '/c,d' } }])
  t.match((await client.sql('SELECT * FROM top FORMAT JSON')).data, [{ path: '/a' }, {}, {}, {}])
  t.same((await client.sql('SELECT c__error_column FROM visits_quarantine')).rows, 1)
})

t.test('the typed client of the SDK takes definitions, and finds what they describe', async (t) => {
  const service = await openWithEndpoint(t)
  await storeVisits(service)
  const visits = defineDatasource('visits', { schema: { path: types.string(), n: types.uint64() } })
  const top = defineEndpoint('top', {
    params: { paths: p.array(p.string()).optional(), size: p.int32().optional(10) },
    nodes: [node({ name: 'result', sql: 'SELECT 1' })],
    output: { path: types.string(), n: types.uint64() },
  })
  const { baseUrl, ...client } = { baseUrl: service.address, datasources: { visits }, pipes: { top } }
  const tinybird = new Tinybird({ ...client, baseUrl, token })
  const result = await tinybird.top.query({ paths: ['/a', '/b'], size: 1 })
  t.match(result.data, [{ path: '/a', n: 1 }])
  t.equal(result.data.length, 1)
})

t.test('the SDK appends, replaces and truncates', async (t) => {
  const service = await openTestService(t)
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  await service.create('prices', 'id UInt32 `json:$.id`, name String `json:$.name`')
  const client = createClient({ baseUrl: service.address, token })
  const file = async (name: string, content: string | Uint8Array) => {
    const path = join(directory.path, name)
    await writeFile(path, content)
    return path
  }
  const csv = await file('rows.csv', 'id;name\n1;"a;b"\n2;c\nx;d\n')
  const appended = await client.datasources.append('prices', { file: csv, csvDialect: { delimiter: ';' } })
  t.match(appended, { datasource: { name: 'prices' }, import_id: String, quarantine_rows: 1 })
  t.match(appended, { error: /There was an error with file contents: 1 row in quarantine/ })

  const ndjson = await file('rows.ndjson', '{"id":3,"name":"e"}\n{"id":4,"name":"f"}')
  t.match(await client.datasources.append('prices', { file: ndjson }), { error: false, quarantine_rows: 0 })
  t.same(await service.rows('SELECT id, name FROM prices ORDER BY id'), [
    ['1', 'a;b'],
    ['2', 'c'],
    ['3', 'e'],
    ['4', 'f'],
  ])

  const exported = await fetch(`${service.address}/v0/sql?token=${token}`, {
    method: 'POST',
    body: "SELECT toUInt32(9) AS id, 'p' AS name FORMAT Parquet",
  })
  const parquet = await file('rows.parquet', new Uint8Array(await exported.arrayBuffer()))
  t.match(await client.datasources.replace('prices', { file: parquet }), { error: false })
  t.same(await service.rows('SELECT id, name FROM prices'), [['9', 'p']])

  t.same(await client.datasources.truncate('prices'), {})
  t.equal(await service.count('prices'), 0)
  await t.rejects(client.datasources.truncate('missing'), { statusCode: 404, message: /"missing" does not exist/ })
})

t.test('the SDK appends and replaces by URL', async (t) => {
  const { service, server, files } = await openUrlService(t)
  await service.create('prices', 'id UInt32 `json:$.id`, name String `json:$.name`')
  files.set('/rows.csv', answerFile({ content: Buffer.from('1|"a|b"\n2|c\n') }))
  files.set('/rows.ndjson', answerFile({ content: Buffer.from('{"id":3,"name":"e"}\n') }))
  const client = createClient({ baseUrl: service.address, token })
  const idOf = (result: object): string => ('import_id' in result ? String(result.import_id) : '')
  const appended = await client.datasources.append('prices', {
    url: `${server.origin}/rows.csv?a=1&b=%2F`,
    csvDialect: { delimiter: '|' },
  })
  t.match(appended, {
    id: idOf(appended),
    job_id: idOf(appended),
    job: { kind: 'import', datasource: { name: 'prices' } },
  })
  t.match(await untilEnded(service, idOf(appended)), { status: 'done', imported_rows: 2 })
  t.equal(server.requests[0]?.url, '/rows.csv?a=1&b=%2F', 'the URL arrives as it was sent')
  t.same(await service.rows('SELECT id, name FROM prices ORDER BY id'), [
    ['1', 'a|b'],
    ['2', 'c'],
  ])
  const replaced = await client.datasources.replace('prices', { url: `${server.origin}/rows.ndjson` })
  t.match(await untilEnded(service, idOf(replaced)), { status: 'done', imported_rows: 1 })
  t.same(await service.rows('SELECT id, name FROM prices'), [['3', 'e']])
  await t.rejects(client.datasources.replace('missing', { url: `${server.origin}/rows.csv` }), {
    statusCode: 404,
    message: /"missing" does not exist/,
  })
  await t.rejects(client.datasources.append('prices', { url: 'http://10.0.0.1/rows.csv' }), {
    statusCode: 400,
    message: /is refused: its address is not public/,
  })
})

t.test('the SDK tells errors apart', async (t) => {
  const service = await openWithEndpoint(t)
  const client = createClient({ baseUrl: service.address, token })
  const failure = async (attempt: () => Promise<unknown>): Promise<TinybirdError | TinybirdApiError> => {
    try {
      await attempt()
    } catch (error) {
      if (error instanceof TinybirdError || error instanceof TinybirdApiError) return error
      throw error
    }
    throw new Error('it did not fail')
  }
  for (const [attempt, statusCode, message] of [
    [() => client.query('none'), 404, "The pipe 'none' does not exist"],
    [() => client.query('top', { org: 'nobody' }), 400, 'nobody has no visits'],
    [() => client.query('top', { org: 'gone' }), 410, 'it is gone'],
    [() => client.query('top', { size: 'x' }), 400, "Template Syntax Error: Error validating 'x' to type Int32"],
    [
      () => client.query('top', { numbers: [1, 'x'] }),
      400,
      /^Template Syntax Error: Error validating \[1,x\]\[1\] \(x\)/,
    ],
    [() => client.sql('SELECT none FROM visits'), 400, /none/],
    [() => client.sql('SELECT * FROM none'), 400, /none/],
    [() => client.sql('DROP TABLE visits'), 400, /./],
    [() => client.ingest('no name', { a: 1 }), 400, /not a valid name/],
  ] as const) {
    const error = await failure(attempt)
    t.equal(error.statusCode, statusCode, error.message)
    if (typeof message === 'string') t.equal(error.message, message)
    else t.match(error.message, message)
  }
  const stranger = createClient({ baseUrl: service.address, token: 'p.wrong.token' })
  const refused = await failure(() => stranger.query('top'))
  t.same([refused.statusCode, refused instanceof TinybirdError && refused.isAuthError()], [403, true])
  t.equal((await failure(() => stranger.ingest('visits', {}))).statusCode, 403)

  const api = createTinybirdApi({ baseUrl: service.address, token })
  const body = await failure(() => api.requestJson('/v0/pipes/top.json?org=gone'))
  t.match(body.message, 'it is gone')
  t.match(body instanceof TinybirdApiError && body.response, { error: 'it is gone', error_id: 7 })
  t.match(await api.requestJson('/v0/pipes/top'), { name: 'top', type: 'endpoint' })
})

t.test('zod-bird ingests events, reads endpoints, and understands every answer', async (t) => {
  const service = await openWithEndpoint(t)
  const bird = new ZodBird({ token, baseUrl: service.address })
  const event = z.object({
    path: z.string(),
    org: z.string(),
    n: z.number(),
    at: z.string(),
    tags: z.array(z.string()),
    labels: z.record(z.string(), z.string()),
  })
  const ingest = bird.buildIngestEndpoint({ datasource: 'visits', event, wait: true })
  const events = [visit('/a', 1), visit('/b', 2), visit('/c', 3)].map((one) => ({
    ...one,
    n: Number(one.n),
    tags: [...one.tags],
  }))
  t.same(await ingest(events), { successful_rows: 3, quarantined_rows: 0 })
  const later = bird.buildIngestEndpoint({ datasource: 'visits', event })
  t.same(await later({ ...visit('/d', 4), n: 4, tags: [] }), { successful_rows: 1, quarantined_rows: 0 })
  await service.untilStored('visits')

  const top = bird.buildPipe({
    pipe: 'top',
    parameters: z.object({
      org: z.string().optional(),
      paths: z.array(z.string()).optional(),
      numbers: z.array(z.number()).optional(),
      size: z.number().optional(),
    }),
    data: z.object({ path: z.string(), n: z.number(), note: z.string() }),
  })
  const pathsOf = async (parameters: Parameters<typeof top>[0]) => (await top(parameters)).data.map(({ path }) => path)
  t.same(await pathsOf({}), ['/a', '/b', '/c', '/d'])
  t.same(await pathsOf({ paths: ['/a', '/c'] }), ['/a', '/c'], 'a list comes as one text with commas')
  t.same(await pathsOf({ numbers: [2, 4], size: 1 }), ['/b'])
  t.match(await top({ org: 'b' }), { rows: 1, rows_before_limit_at_least: 1, statistics: { rows_read: Number } })

  await t.rejects(top({ org: 'nobody' }), { message: 'nobody has no visits' })
  const none = bird.buildPipe({ pipe: 'none', data: z.any() })
  await t.rejects(none(undefined), { message: "The pipe 'none' does not exist" })
  const stranger = new ZodBird({ token: 'p.wrong.token', baseUrl: service.address })
  await t.rejects(stranger.buildPipe({ pipe: 'top', data: z.any() })(undefined), { message: 'Unauthorized' })
})

/** What charts share with no one: the request behind every chart. The package has no types for its parts. */
interface ChartParts {
  readonly chartQueryFetcher: (resource: string, init?: RequestInit) => Promise<ChartAnswer>
  readonly buildEndpointUrl: (
    endpoint: string,
    token: string,
    parameters: Readonly<Record<string, string | number>>,
  ) => URL
  readonly Table: unknown
  readonly createElement: (component: unknown, properties: object) => unknown
  readonly renderToStaticMarkup: (element: unknown) => string
}

interface ChartAnswer {
  readonly data: readonly Readonly<Record<string, unknown>>[]
  readonly meta: readonly { readonly name: string; readonly type: string }[]
  readonly statistics: object
}

function loadCharts(): ChartParts {
  const require = createRequire(import.meta.url)
  return {
    ...require('@tinybirdco/charts/dist/lib/fetcher.cjs'),
    ...require('@tinybirdco/charts/dist/lib/utils.cjs'),
    Table: require('@tinybirdco/charts').Table,
    createElement: require('react').createElement,
    renderToStaticMarkup: require('react-dom/server').renderToStaticMarkup,
  }
}

t.test('charts read endpoints, also by parameters too long for a URL', async (t) => {
  const service = await openWithEndpoint(t)
  await storeVisits(service)
  const { chartQueryFetcher, buildEndpointUrl, Table, createElement, renderToStaticMarkup } = loadCharts()
  const endpoint = `${service.address}/v0/pipes/top.json`
  const read = (parameters: Readonly<Record<string, string | number>>) =>
    chartQueryFetcher(buildEndpointUrl(endpoint, token, parameters).toString())
  const short = await read({ org: 'a', size: 2, paths: "/a,/e'f" })
  t.same(
    short.data.map(({ path }) => path),
    ['/a', "/e'f"],
  )
  t.match(short, { meta: [{ name: 'path' }, { name: 'n' }, { name: 'note' }], statistics: { rows_read: Number } })

  // Beyond 2,048 characters some of the parameters go into a JSON body, and the others stay in the URL.
  const note = 'é long '.repeat(400)
  for (const parameters of [
    { note, size: 1 },
    { size: 1, note },
    { org: 'a', note, size: 1, paths: '/a' },
    { paths: '/a', numbers: '1,2,3', org: 'a', note, size: 1 },
  ]) {
    const { data } = await read(parameters)
    t.same(data, [{ path: '/a', n: 1, note }], Object.keys(parameters).join())
  }

  const { data, meta } = short
  const html = renderToStaticMarkup(createElement(Table, { data, meta, categories: ['path', 'n'], index: 'path' }))
  t.match(html, /<td[^>]*>\/a<|\/a/)
  await t.rejects(read({ org: 'nobody' }), { message: /^Error: \{.*nobody has no visits/ })

  const preflight = await fetch(endpoint, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://dashboard.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    },
  })
  t.ok(preflight.ok)
  t.equal(preflight.headers.get('access-control-allow-origin'), '*')
  t.match(preflight.headers.get('access-control-allow-headers')?.toLowerCase(), /content-type|\*/)
  t.match(preflight.headers.get('access-control-allow-methods'), /POST/)
})
