// Pipes and JWTs go by names: whoever gives a name to something gives its rows to them, and must be able to read these.

import t from 'tap'
import { openTokenService } from '../support/api/token-service.ts'

const { admin, as, valueWith } = await openTokenService(t)
const canary = /HIDDENCANARY/

async function done(method: string, path: string, body?: string): Promise<void> {
  const { status, text } = await admin(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path}: ${text}`)
}

/** A pipe that reads a name which is gone. */
async function dangling(reader: string, name: string): Promise<void> {
  await done('POST', `/v0/datasources?name=${name}&schema=id+UInt32`)
  const node = { name: `${reader}_0`, sql: `SELECT * FROM ${name}`, type: 'endpoint' }
  await done('POST', '/v0/pipes', JSON.stringify({ name: reader, nodes: [node] }))
  await done('DELETE', `/v0/datasources/${name}?force=true`)
}

t.test('a data source that the caller does not read gets no name that pipes read', async (t) => {
  await dangling('waits', 'awaited')
  const writer = as(await valueWith('writer', 'DATASOURCES:CREATE', 'PIPES:READ:waits'))
  const filtered = as(await valueWith('filtered', 'DATASOURCES:CREATE', "DATASOURCES:READ:ev:tenant = 'a'"))
  const refused = await writer('PUT', '/v0/datasources/ev?name=awaited&force=true')
  t.match(refused, { status: 403, text: /may not read 'ev'.*Pipes read the new name/ })
  t.equal((await filtered('PUT', '/v0/datasources/ev?name=awaited&force=true')).status, 403)
  t.notMatch((await writer('GET', '/v0/pipes/waits.json')).text, canary)
  t.equal((await writer('PUT', '/v0/datasources/ev?name=free&force=true')).status, 200, 'a name that nobody reads')
  const owner = as(await valueWith('owner', 'DATASOURCES:CREATE', 'DATASOURCES:READ:free'))
  t.equal((await owner('PUT', '/v0/datasources/free?name=awaited&force=true')).status, 200)
  await done('PUT', '/v0/datasources/awaited?name=ev&force=true')
})

t.test('nor by a version of the name, its quarantine, or a name in a branch of a template', async (t) => {
  const writer = as(await valueWith('namer', 'DATASOURCES:CREATE'))
  for (const [pipe, sql] of [
    ['branch', '% {% if defined(x) %} SELECT * FROM branched {% else %} SELECT 1 AS one {% end %}'],
    ['quarantined', '% {% if defined(x) %} SELECT * FROM kept_quarantine {% else %} SELECT 1 AS one {% end %}'],
    [
      'made',
      "% {% if defined(x) %} SELECT * FROM {{table('kinds__v' + String(x))}} {% else %} SELECT 1 AS one {% end %}",
    ],
    [
      'kept_version',
      "% {% if defined(x) %} SELECT * FROM {{table(String(x) + 'ces__v3_quarantine')}} {% else %} SELECT 1 AS one {% end %}",
    ],
    ['twice', '% {% if defined(x) %} SELECT * FROM second__v3__v5 {% else %} SELECT 1 AS one {% end %}'],
    [
      'tail',
      "% {% if defined(x) %} SELECT * FROM {{table('tails' + String(x) + '_v3')}} {% else %} SELECT 1 AS one {% end %}",
    ],
    ['old', '% {% if defined(x) %} SELECT * FROM aged__v3 {% else %} SELECT 1 AS one {% end %}'],
  ] as const) {
    await done('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes: [{ name: `${pipe}_0`, sql }] }))
  }
  const shadowed = [
    { name: 'shadow', sql: 'SELECT 1 AS one' },
    {
      name: 'last',
      sql: '% {% if defined(x) %} SELECT * FROM shadow_quarantine {% else %} SELECT * FROM shadow {% end %}',
    },
  ]
  await done('POST', '/v0/pipes', JSON.stringify({ name: 'shadows', nodes: shadowed }))
  for (const name of ['branched', 'kept', 'aged', 'aged__v3', 'shadow', 'kinds', 'pieces', 'second__v3', 'tails']) {
    const refused = await writer('PUT', `/v0/datasources/ev?name=${name}&force=true`)
    t.equal(refused.status, 403, `${name}: ${refused.text}`)
  }
})

t.test('a pipe over what the caller does not read gets no name that pipes read', async (t) => {
  await dangling('takes', 'taken')
  const maker = as(await valueWith('maker', 'PIPES:CREATE', 'PIPES:READ:takes'))
  const refused = await maker('PUT', '/v0/pipes/p1?name=taken&force=true')
  t.match(refused, { status: 403, text: /Pipes read the new name/ })
  t.notMatch((await maker('GET', '/v0/pipes/takes.json')).text, canary)
  t.equal((await maker('PUT', '/v0/pipes/p1?name=nobodys&force=true')).status, 200)
  await done('PUT', '/v0/pipes/nobodys?name=p1&force=true')
  const whole = as(await valueWith('whole', 'PIPES:CREATE', 'DATASOURCES:READ:ev'))
  t.equal((await whole('PUT', '/v0/pipes/p1?name=taken&force=true')).status, 200)
  await done('PUT', '/v0/pipes/taken?name=p1&force=true')
})

const oneHour = () => `expiration_time=${Math.floor(Date.now() / 1_000) + 3_600}`

async function jwt(maker: ReturnType<typeof as>, scopes: readonly object[]): Promise<ReturnType<typeof as>> {
  const { status, json, text } = await maker(
    'POST',
    `/v0/tokens?${oneHour()}`,
    JSON.stringify({ name: 'reader', scopes }),
  )
  if (status !== 200) throw new Error(text)
  return as((json as { readonly token: string }).token) // As documented of a token.
}

t.test('a filter of a JWT that the service has made holds for its data source under each name', async (t) => {
  const { json } = await admin('GET', '/v0/datasources/ev')
  const { id } = json as { readonly id: string }
  const maker = as(await valueWith('jwt maker', 'TOKENS', "DATASOURCES:READ:ev:tenant = 'a'"))
  const filter = { type: 'DATASOURCES:READ', resource: 'ev', filter: "tenant = 'a'" }
  const twice = await jwt(maker, [filter, { type: 'DATASOURCES:READ', resource: id }])
  const withPipe = await jwt(admin, [
    filter,
    { type: 'PIPES:READ', resource: 'pagg' },
    { type: 'PIPES:READ', resource: 'p1' },
  ])
  const rows = [
    [twice, 'POST', '/v0/sql', `SELECT * FROM ${id}`],
    [twice, 'POST', '/v0/sql', 'SELECT * FROM moved'],
    [withPipe, 'GET', '/v0/pipes/p1.json', undefined],
    [withPipe, 'POST', '/v0/sql', 'SELECT * FROM p1'],
  ] as const
  await done('PUT', '/v0/datasources/ev?name=moved&force=true')
  for (const [caller, method, path, body] of rows) {
    const { status, text } = await caller(method, path, body)
    t.match(text, /"a"|tenant\s*a|\ba\b/, `${status} ${text.slice(0, 200)}`)
    t.notMatch(text, canary, `${path} ${body}`)
  }
  await done('POST', '/v0/datasources?name=ev&schema=id+UInt32,tenant+String')
  for (const [caller, method, path, body] of rows)
    t.notMatch((await caller(method, path, body)).text, canary, `${path} ${body}`)
  await done('DELETE', '/v0/datasources/ev?force=true')
  await done('PUT', '/v0/datasources/moved?name=ev&force=true')

  const other = { type: 'DATASOURCES:READ', resource: 'dropped', filter: 'id = 1' }
  await done('POST', '/v0/datasources?name=dropped&schema=id+UInt32')
  await done('POST', '/v0/pipes?name=of_dropped&sql=SELECT+*+FROM+dropped')
  const reader = await jwt(admin, [other, { type: 'PIPES:READ', resource: 'of_dropped' }])
  t.equal((await reader('POST', '/v0/sql', 'SELECT * FROM of_dropped')).status, 200)
  await done('DELETE', '/v0/datasources/dropped?force=true')
  await done('POST', '/v0/datasources?name=dropped&schema=id+UInt32')
  t.equal((await reader('POST', '/v0/sql', 'SELECT * FROM dropped')).status, 200, 'by its name, with the filter')
  t.equal((await reader('POST', '/v0/sql', 'SELECT * FROM of_dropped')).status, 403, 'as of a static token')
})

t.test('a JWT of a maker who does not see all does not follow a name to something else', async (t) => {
  await done('POST', '/v0/datasources?name=own&schema=id+UInt32')
  const rights = ['TOKENS', 'DATASOURCES:CREATE', 'DATASOURCES:READ:own']
  const maker = as(await valueWith('swapper', ...rights))
  const reader = await jwt(maker, [{ type: 'DATASOURCES:READ', resource: 'own' }])
  const filtered = await jwt(maker, [{ type: 'DATASOURCES:READ', resource: 'own', filter: '1 = 1' }])
  t.equal((await reader('POST', '/v0/sql', 'SELECT * FROM own')).status, 200)
  t.equal((await maker('PUT', '/v0/datasources/own?name=away')).status, 200)
  t.equal((await maker('PUT', '/v0/datasources/ev?name=own&force=true')).status, 200)
  for (const caller of [reader, filtered]) t.equal((await caller('POST', '/v0/sql', 'SELECT * FROM own')).status, 403)
  t.equal((await reader('POST', '/v0/sql', 'SELECT * FROM away')).status, 200)
  await done('DELETE', '/v0/datasources/away')
  for (const caller of [reader, filtered]) t.equal((await caller('POST', '/v0/sql', 'SELECT * FROM own')).status, 403)
  await done('PUT', '/v0/datasources/own?name=ev&force=true')
})

t.test('a scope with resource_id and no filter is refused', async (t) => {
  const scopes = [{ type: 'DATASOURCES:READ', resource: 'ev', resource_id: 't_1' }]
  const { status, text } = await admin('POST', `/v0/tokens?${oneHour()}`, JSON.stringify({ name: 'x', scopes }))
  t.match({ status, text }, { status: 400, text: /has a resource_id, and neither filter nor fixed_params/ })
})

t.test('fixed values of a JWT that the service has made hold for their pipe under each name', async (t) => {
  const sql = "% SELECT * FROM ev WHERE tenant = {{String(tenant, 'b')}}"
  for (const [name, text] of [
    ['chosen', sql],
    ['around', '% SELECT * FROM chosen'],
  ] as const) {
    const nodes = [{ name: `${name}_0`, sql: text, type: 'endpoint' }]
    await done('POST', '/v0/pipes', JSON.stringify({ name, nodes }))
  }
  const fixed = { type: 'PIPES:READ', resource: 'chosen', fixed_params: { tenant: 'a' } }
  const scopes = [fixed, { type: 'PIPES:READ', resource: 'around' }]
  const reader = await jwt(admin, scopes)
  const rights = ['TOKENS', 'PIPES:READ:chosen', 'PIPES:READ:around']
  const ofOther = await jwt(as(await valueWith('pipe reader', ...rights)), scopes)
  const paths = ['chosen', 'around', 'other'].map((name) => `/v0/pipes/${name}.csv?tenant=b`)
  for (const path of paths) t.notMatch((await reader('GET', path)).text, canary, path)
  await done('PUT', '/v0/pipes/chosen?name=other&force=true')
  for (const path of paths) t.notMatch((await reader('GET', path)).text, canary, path)
  t.match((await admin('GET', '/v0/pipes/around.csv?tenant=b')).text, canary, 'others see it')
  await done('DELETE', '/v0/pipes/other?force=true')
  await done('POST', '/v0/pipes', JSON.stringify({ name: 'other', nodes: [{ name: 'o', sql, type: 'endpoint' }] }))
  for (const path of paths) t.notMatch((await reader('GET', path)).text, canary, `${path}, of another pipe`)
  for (const path of paths) t.notMatch((await ofOther('GET', path)).text, canary, `${path}, of another maker`)
})

t.test('a data source that the caller does not read gets no version that pipes read', async (t) => {
  await done('POST', '/v0/datasources?name=hid&schema=id+UInt32')
  await done('PUT', '/v0/datasources/hid?version=3')
  await done('POST', '/v0/pipes?name=third&sql=SELECT+*+FROM+hid__v3')
  await done('PUT', '/v0/datasources/hid?name=gone&force=true')
  await done('PUT', '/v0/datasources/ev?version=4')
  const node = { name: 'v3', sql: '% {% if defined(x) %} SELECT * FROM ev__v03 {% else %} SELECT 1 AS one {% end %}' }
  await done('POST', '/v0/pipes', JSON.stringify({ name: 'branch_of_v3', nodes: [node] }))
  const writer = as(await valueWith('versions', 'DATASOURCES:CREATE'))
  t.equal((await writer('PUT', '/v0/datasources/ev?version=3')).status, 403)
  t.equal((await writer('PUT', '/v0/datasources/ev?version=5')).status, 200)
  t.equal((await admin('PUT', '/v0/datasources/ev?version=3')).status, 200)
})

t.test('a node that hides what the caller may not read is not deleted by him', async (t) => {
  const nodes = [
    { name: 'ev', sql: "SELECT 'none' AS tenant" },
    { name: 'reads', sql: 'SELECT * FROM ev', type: 'endpoint' },
  ]
  await done('POST', '/v0/pipes', JSON.stringify({ name: 'hides', nodes }))
  const remover = as(await valueWith('remover', 'IMPORT', 'PIPES:READ:hides'))
  t.equal((await remover('DELETE', '/v0/pipes/hides/nodes/ev?force=true')).status, 403)
  t.notMatch((await remover('GET', '/v0/pipes/hides.csv')).text, canary)
  t.equal((await admin('DELETE', '/v0/pipes/hides/nodes/ev?force=true')).status, 204)
})

t.test('a JWT of a maker with a filter names nothing that is not there yet', async (t) => {
  const maker = as(await valueWith('all but', 'TOKENS', 'WORKSPACE:READ_ALL', "DATASOURCES:READ:ev:tenant = 'a'"))
  const scopes = [{ type: 'DATASOURCES:READ', resource: 'future' }]
  const body = JSON.stringify({ name: 'future', scopes })
  t.equal((await maker('POST', `/v0/tokens?${oneHour()}`, body)).status, 403)
  t.equal((await admin('POST', `/v0/tokens?${oneHour()}`, body)).status, 200)
})

t.test('the right to the data sources of the organization is enough to read them', async (t) => {
  const reader = as(await valueWith('organization', 'ORG_DATASOURCES:READ'))
  t.equal((await reader('POST', '/v0/sql', 'SELECT count() FROM organization.pipe_stats_rt')).status, 200)
  for (const name of ['tinybird.pipe_stats_rt', 'ev', 'p1'])
    t.equal((await reader('POST', '/v0/sql', `SELECT count() FROM ${name}`)).status, 403, name)
})
