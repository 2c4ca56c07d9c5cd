// What errors about views name: views by their pipes and nodes, and nothing that whoever asks may not know of.

import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import type { Answer } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { urlOptions } from '../support/imports/url-imports.ts'
import { openRemoteServer } from '../support/remote-server.ts'

const engineName = /v_[0-9a-f]{32}/

const { service, call } = await openPipeService(t, urlOptions)
const views = new ViewCalls(service)

async function tokenWith(...scopes: readonly string[]): Promise<string> {
  const query = new URLSearchParams({ name: `asker ${scopes.join()}` })
  for (const scope of scopes) query.append('scope', scope)
  return ((await call('POST', `/v0/tokens?${query}`)).json as { readonly token: string }).token
}

t.test('a view that fails is named by its pipe and node, whichever way rows come', async (t) => {
  const schema = 'word String `json:$.word`, other String `json:$.other`'
  for (const name of ['risky', 'replaced']) {
    await service.create(name, schema)
    await views.fill(`fail_${name}`, `SELECT toUInt32(word) AS n FROM ${name}`, { datasource: `numbers_of_${name}` })
  }
  const row = '{"word":"none","other":"x"}\n'
  const post = (parameters: Readonly<Record<string, string>>) =>
    call('POST', `/v0/datasources?${new URLSearchParams({ format: 'ndjson', ...parameters })}`, { body: row })
  const server = await openRemoteServer(t, (_request, response) => response.end(row))
  const byUrl = async (mode: string, name: string, query = ''): Promise<Answer> => {
    const url = `${server.origin}/rows.ndjson`
    const asked = new URLSearchParams({ mode, name, url, format: 'ndjson' })
    const id = jobIdOf(await call('POST', `/v0/datasources?${asked}`))
    await endedJob(service, id)
    return await call('GET', `/v0/jobs/${id}${query}`)
  }
  const ways: readonly (readonly [way: string, () => Promise<Answer>, node: RegExp])[] = [
    ['append', () => post({ mode: 'append', name: 'risky' }), /fail_risky\.fail_risky_view/],
    ['with progress', () => post({ mode: 'append', name: 'risky', progress: 'true' }), /fail_risky\.fail_risky_view/],
    ['with blocks', () => post({ mode: 'append', name: 'risky', debug: 'blocks' }), /fail_risky\.fail_risky_view/],
    ['replace', () => post({ mode: 'replace', name: 'replaced' }), /fail_replaced\.fail_replaced_view/],
    [
      'replace with progress',
      () => post({ mode: 'replace', name: 'replaced', progress: 'true' }),
      /fail_replaced\.fail_replaced_view/,
    ],
    ['a job', () => byUrl('append', 'risky'), /fail_risky\.fail_risky_view/],
    ['a job with progress', () => byUrl('append', 'risky', '?progress=true'), /fail_risky\.fail_risky_view/],
    ['a job of a replace', () => byUrl('replace', 'replaced'), /fail_replaced\.fail_replaced_view/],
  ]
  for (const [way, ask, node] of ways) {
    const { text } = await ask()
    t.match(text, node, way)
    t.notMatch(text, engineName, way)
  }
  const answer = await service.events('risky', row, { wait: 'true' })
  t.notMatch(answer.text, engineName)
  t.notMatch((await call('GET', '/v0/datasources/risky')).text, engineName)
  t.notMatch((await call('GET', '/v0/jobs')).text, engineName)
  t.equal((await call('DELETE', '/v0/pipes/fail_risky?force=true')).status, 204)
})

t.test('nothing is named that whoever asks may not know of', async (t) => {
  await service.create('hidden_source', 'n UInt32')
  await service.create('middle', 'n UInt32')
  await service.create('mine', 'n UInt32')
  await call('POST', '/v0/pipes', {
    body: JSON.stringify({ name: 'window', nodes: [{ name: 'window_0', sql: 'SELECT n FROM hidden_source' }] }),
  })
  await call('POST', '/v0/pipes', {
    body: JSON.stringify({
      name: 'odd_window',
      nodes: [
        { name: 'odd_0', sql: 'WITH secret_part AS (SELECT number AS n FROM numbers(3)) SELECT n FROM secret_part' },
      ],
    }),
  })
  await call('POST', '/v0/pipes', {
    body: JSON.stringify({ name: 'outer_window', nodes: [{ name: 'outer_0', sql: 'SELECT n FROM odd_window' }] }),
  })
  await views.fill('hidden_pipe', 'SELECT n FROM mine', { datasource: 'middle' })
  await views.fill('other_hidden', 'SELECT n FROM middle', { datasource: 'hidden_source' })
  const own = ['PIPES:CREATE:own', 'PIPES:READ:window', 'PIPES:READ:outer_window', 'DATASOURCES:CREATE:mine']
  const blind = await tokenWith(...own, 'DATASOURCES:APPEND:hidden_source', 'DATASOURCES:DROP:mine')
  const readsAll = await tokenWith(...own, 'WORKSPACE:READ_ALL', 'DATASOURCES:CREATE', 'DATASOURCES:DROP')
  await call('POST', '/v0/pipes', {
    body: JSON.stringify({ name: 'own', nodes: [{ name: 'own_0', sql: 'SELECT 1 AS n' }] }),
  })
  const append = (sql: string, more: Readonly<Record<string, string>>) => (token: string) => {
    const asked = new URLSearchParams({ type: 'materialized', datasource: 'mine', ...more })
    return call('POST', `/v0/pipes/own/nodes?${asked}`, { body: sql, token })
  }
  const cases: readonly (readonly [about: string, (token: string) => Promise<Answer>, hidden: RegExp])[] = [
    ['a circle', append('SELECT n FROM window', {}), /middle/],
    ['SQL of a pipe that another one reads', append('SELECT n FROM outer_window', {}), /secret_part|numbers/],
    [
      'views that use what is to be overridden',
      append('SELECT toString(n) AS n FROM window', { override_datasource: 'true' }),
      /hidden_pipe/,
    ],
  ]
  for (const [about, ask, hidden] of cases) {
    const told = await ask(readsAll)
    t.ok(told.status === 400 || told.status === 409, `${about}: ${told.text}`)
    t.match(errorOf(told), hidden, `${about}, for who sees it`)
    const untold = await ask(blind)
    t.equal(untold.status, told.status, `${about}: ${untold.text}`)
    t.notMatch(untold.text, hidden, `${about}, for who does not`)
  }
  await t.test('what a view is asked to fill is not what it reads', async (t) => {
    await service.create('hidden_null', 'n UInt32', { engine: 'Null' })
    await call('POST', '/v0/pipes', {
      body: JSON.stringify({ name: 'null_window', nodes: [{ name: 'null_0', sql: 'SELECT n FROM hidden_null' }] }),
    })
    const ask = async (...scopes: readonly string[]): Promise<string> => {
      const token = await tokenWith(...own, 'PIPES:READ:null_window', 'DATASOURCES:APPEND:hidden_null', ...scopes)
      return errorOf(await append('SELECT n FROM null_window', { populate: 'true' })(token))
    }
    t.match(await ask(), /"hidden_null" has the engine Null/, 'who may send rows to it knows of it')
  })
})

t.test('what is about a data source to fill needs type=materialized', async (t) => {
  for (const [name, value] of [
    ['datasource', 'somewhere'],
    ['override_datasource', 'true'],
    ['unlink_on_populate_error', 'true'],
    ['engine', 'MergeTree'],
    ['engine_sorting_key', 'n'],
    ['populate', 'true'],
  ] as const) {
    const asked = new URLSearchParams({ [name]: value })
    const answers = [
      await call('POST', `/v0/pipes/own/nodes?${asked}`, { body: 'SELECT 1 AS n' }),
      await call('POST', `/v0/pipes?name=plain&${asked}`, { body: 'SELECT 1 AS n' }),
      await call('POST', '/v0/pipes', {
        body: JSON.stringify({ name: 'plain', nodes: [{ sql: 'SELECT 1 AS n', [name]: value }] }),
      }),
    ]
    for (const answer of answers) {
      t.equal(answer.status, 400, `${name}: ${answer.text}`)
      t.match(errorOf(answer), `"${name}" needs type=materialized`)
    }
  }
  const engine = 'datasource=sorted&engine_sorting_key=n'
  for (const [method, path] of [
    ['POST', `/v0/pipes/own/nodes?type=materialized&${engine}`],
    ['POST', `/v0/pipes/own/nodes/own_0/materialization?${engine}`],
    ['GET', `/v0/pipes/own/nodes/own_0/analysis?${engine}`],
  ] as const) {
    const answer = await call(method, path, method === 'GET' ? {} : { body: 'SELECT n FROM mine' })
    t.equal(answer.status, 400, answer.text)
    t.match(errorOf(answer), /"engine_sorting_key" needs "engine" beside it/)
  }
})

t.test(
  'a standard node may say what it would fill, as the official client tries one that is to be materialized',
  async (t) => {
    const target = { datasource: 'tried_rows', engine: 'MergeTree', engine_sorting_key: 'n' }
    const node = { name: 'tried', sql: 'SELECT n FROM mine', type: 'standard', ...target }
    const nodes = [{ ...node, params: { ...node } }]
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'tries__checker', nodes })
    const pushed = await call('POST', '/v0/pipes?force=true', { body, headers })
    t.match(pushed, { status: 200, json: { nodes: [{ name: 'tried', materialized: null }] } })
    const analysis = await call('GET', '/v0/pipes/tries__checker/nodes/tried/analysis?datasource=tried_rows')
    t.match(analysis, { status: 200, json: { analysis: { datasource: { name: 'tried_rows' } } } })
    t.equal((await call('GET', '/v0/datasources/tried_rows')).status, 404)
    t.equal((await call('DELETE', '/v0/pipes/tries__checker')).status, 204)
  },
)
