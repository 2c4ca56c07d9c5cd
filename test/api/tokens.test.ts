import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { SharedService } from '../support/api/shared-service.ts'
import type { TestService } from '../support/api/test-service.ts'

const adminToken = 'p.tokens.0123456789abcdef0123456789abcdef'

interface ShownToken {
  readonly id: string
  readonly name: string
  readonly token: string
  readonly scopes: readonly object[]
}

const shared = new SharedService(t, { adminToken })

async function open(t: Test) {
  const service = await shared.take()
  const admin = (method: string, path: string, body?: string) =>
    service.call(method, path, { token: adminToken, ...(body === undefined ? {} : { body }) })
  const create = async (name: string, ...scopes: readonly string[]): Promise<ShownToken> => {
    const body = new URLSearchParams({ name })
    for (const scope of scopes) body.append('scope', scope)
    const answer = await admin('POST', '/v0/tokens', body.toString())
    t.equal(answer.status, 200, answer.text)
    // What is checked by the tests of shapes.
    return answer.json as ShownToken
  }
  const schema = encodeURIComponent('tenant String `json:$.tenant`, n Int32 `json:$.n`')
  await admin('POST', `/v0/datasources?name=visits&schema=${schema}`)
  const rows = '{"tenant":"a","n":1}\n{"tenant":"a","n":2}\n{"tenant":"b","n":3}\n{"tenant":"b","n":"x"}'
  await admin('POST', '/v0/events?name=visits&wait=true', rows)
  const sql = "%\nSELECT tenant, n FROM visits WHERE tenant = {{String(tenant, 'a')}} ORDER BY n"
  const nodes = [{ name: 'rows', sql, type: 'endpoint' }]
  await admin('POST', '/v0/pipes', JSON.stringify({ name: 'of_tenant', nodes }))
  return { service, admin, create }
}

async function dataOf(service: TestService, path: string, token: string): Promise<unknown> {
  const { status, json, text } = await service.call('GET', path, { token })
  if (status !== 200) return `${status} ${text}`
  return (json as { readonly data: unknown }).data
}

async function jwtOf(service: TestService, scopes: readonly object[], more: object = {}): Promise<string> {
  const { json } = await service.call('GET', '/v0/workspace', { token: adminToken })
  const { id } = json as { readonly id: string }
  const payload = { workspace_id: id, name: 'visitor', exp: Math.floor(Date.now() / 1_000) + 600, scopes, ...more }
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`
  return `${signed}.${createHmac('sha256', adminToken).update(signed).digest('base64url')}`
}

t.test('a token is made, shown, changed, refreshed and deleted', async (t) => {
  const { service, admin, create } = await open(t)
  const made = await create('writer', 'DATASOURCES:APPEND:visits')
  t.match(made, { name: 'writer', description: '', token: /^p\.[\w-]+\.[\w-]+$/, origin: { type: 'C' } })
  t.same(made.scopes, [{ type: 'DATASOURCES:APPEND', resource: 'visits' }])
  for (const key of ['writer', made.id, made.token]) {
    t.match((await admin('GET', `/v0/tokens/${key}`)).json, { id: made.id, token: made.token }, key)
  }
  t.equal((await service.events('visits', '{"tenant":"a","n":5}', {}, { token: made.token })).status, 202)
  t.match(await service.call('GET', '/v0/datasources/visits', { token: made.token }), {
    status: 403,
    json: { error: /DATASOURCES:READ:visits or WORKSPACE:READ_ALL or ADMIN/ },
  })
  t.equal((await admin('POST', '/v0/tokens', 'name=writer')).status, 409)
  const changed = await admin('PUT', '/v0/tokens/writer?scope=PIPES:READ:of_tenant&scope=DATASOURCE:READ:visits')
  t.same(changed.json, {
    name: 'writer',
    description: '',
    scopes: [
      { type: 'PIPES:READ', resource: 'of_tenant' },
      { type: 'DATASOURCE:READ', resource: 'visits' },
    ],
  })
  t.equal((await service.events('visits', '{"tenant":"a","n":5}', {}, { token: made.token })).status, 403)
  const refreshed = await service.call('POST', `/v0/tokens/writer/refresh?auth_token=${adminToken}`, { token: null })
  t.equal(refreshed.status, 200)
  const form = await service.call('POST', '/v0/tokens/writer/refresh', {
    token: null,
    body: `auth_token=${adminToken}`,
  })
  t.equal(form.status, 200, 'in a form too')
  t.equal((await service.call('GET', '/v0/pipes', { token: made.token })).status, 403)
  const value = (form.json as ShownToken).token
  t.equal((await service.call('GET', '/v0/pipes', { token: value })).status, 200)
  t.same((await admin('DELETE', '/v0/tokens/writer')).json, { ok: true })
  t.equal((await service.call('GET', '/v0/pipes', { token: value })).status, 403)
  t.equal((await admin('GET', '/v0/tokens/writer')).status, 403)
  t.equal((await admin('DELETE', '/v0/tokens/writer')).status, 404)
})

t.test('a scope follows its resource, and ends with it', async (t) => {
  const { service, admin, create } = await open(t)
  const { token } = await create('reader', 'DATASOURCES:READ:visits')
  t.equal((await admin('DELETE', '/v0/pipes/of_tenant')).status, 204)
  t.equal((await admin('PUT', '/v0/datasources/visits?name=hits')).status, 200)
  t.match((await admin('GET', '/v0/tokens/reader')).json, { scopes: [{ resource: 'hits' }] })
  t.same(await dataOf(service, '/v0/sql?q=SELECT+count()+AS+c+FROM+hits+FORMAT+JSON', token), [{ c: 3 }])
  t.equal((await admin('DELETE', '/v0/datasources/hits?force=true')).status, 204)
  await admin('POST', `/v0/datasources?name=hits&schema=${encodeURIComponent('n Int32 `json:$.n`')}`)
  t.equal((await service.call('GET', '/v0/datasources/hits', { token })).status, 403)
  t.match((await admin('GET', '/v0/tokens/reader')).json, { scopes: [] })
})

t.test('a filter holds in queries, in pipes and over them, and hides what counts rows', async (t) => {
  const { service, create } = await open(t)
  const { token } = await create('a', "DATASOURCES:READ:visits:tenant = 'a'", 'PIPES:READ:of_tenant')
  t.same(await dataOf(service, '/v0/sql?q=SELECT+n+FROM+visits+ORDER+BY+n+FORMAT+JSON', token), [{ n: 1 }, { n: 2 }])
  t.same(await dataOf(service, '/v0/pipes/of_tenant.json?tenant=b', token), [])
  t.same(await dataOf(service, '/v0/pipes/of_tenant.json?tenant=b&q=SELECT+count()+AS+c+FROM+_', token), [{ c: 0 }])
  t.match((await service.call('GET', '/v0/datasources/visits', { token })).json, {
    statistics: { bytes: null, row_count: null },
    quarantine_rows: null,
  })
  t.match(await dataOf(service, '/v0/sql?q=SELECT+*+FROM+visits_quarantine+FORMAT+JSON', token), /^403/)
  const { token: ofPipe } = await create('b', "PIPES:READ:of_tenant:n > 1 AND tenant = 'a'")
  t.same(await dataOf(service, '/v0/pipes/of_tenant.json', ofPipe), [{ tenant: 'a', n: 2 }])
  t.match(await dataOf(service, '/v0/sql?q=SELECT+*+FROM+visits+FORMAT+JSON', ofPipe), /^403/)
})

t.test('a filter that is no condition on its resource is refused', async (t) => {
  const { admin } = await open(t)
  for (const filter of ['1) OR (1 = 1', 'nothing = 1', '(SELECT 1)', 'n = ', "throwIf(tenant = 'b') = 0"]) {
    const body = new URLSearchParams({ name: 'wrong', scope: `DATASOURCES:READ:visits:${filter}` }).toString()
    t.equal((await admin('POST', '/v0/tokens', body)).status, 400, filter)
  }
  t.equal((await admin('GET', '/v0/tokens/wrong')).status, 403)
})

t.test('without ADMIN nobody sees or makes a stronger token, deletes himself, or takes from himself', async (t) => {
  const { service, admin, create } = await open(t)
  const { token } = await create('keeper', 'TOKENS', 'DATASOURCES:APPEND:visits')
  const call = (method: string, path: string) => service.call(method, path, { token })
  const { json } = await call('GET', '/v0/tokens')
  t.same(
    (json as { readonly tokens: readonly ShownToken[] }).tokens.map(({ name }) => name),
    ['keeper'],
  )
  t.equal((await call('POST', '/v0/tokens?name=x&scope=DATASOURCES:APPEND:visits')).status, 200)
  for (const scope of ['ADMIN', 'DATASOURCES:READ:visits', 'DATASOURCES:APPEND', 'DATASOURCES:APPEND:nothing']) {
    const answer = await call('POST', `/v0/tokens?name=y&scope=${scope}`)
    t.match(
      answer,
      {
        status: 403,
        json: {
          error: 'The token cannot give more than it may do itself',
        },
      },
      scope,
    )
  }
  const name = encodeURIComponent('workspace admin token')
  const hidden = await call('GET', `/v0/tokens/${name}`)
  t.match(hidden, { status: 403, text: (await call('GET', '/v0/tokens/nothing')).text })
  t.equal((await call('DELETE', '/v0/tokens/keeper')).status, 403)
  t.equal((await call('PUT', '/v0/tokens/keeper?scope=TOKENS')).status, 403)
  t.equal((await admin('DELETE', `/v0/tokens/${name}`)).status, 403, 'nobody deletes himself')
  t.equal((await admin('POST', `/v0/tokens/${name}/refresh`)).status, 409, 'it was given by an option')
})

t.test('a JWT reads with its fixed parameters, within its rate, as long as the key is the key', async (t) => {
  const { service, admin } = await open(t)
  const scope = { type: 'PIPES:READ', resource: 'of_tenant', fixed_params: { tenant: 'b' } }
  const token = await jwtOf(service, [scope])
  for (const query of ['', '?tenant=a', '?tenant=', '?tenant=a&tenant=a']) {
    t.same(await dataOf(service, `/v0/pipes/of_tenant.json${query}`, token), [{ tenant: 'b', n: 3 }], query)
  }
  t.equal((await service.call('GET', '/v0/tokens', { token })).status, 403)
  const elsewhere = await jwtOf(service, [scope], { workspace_id: 'another' })
  t.equal((await service.call('GET', '/v0/pipes/of_tenant.json', { token: elsewhere })).status, 403)
  t.equal((await service.events('visits', '{"tenant":"a","n":5}', {}, { token: elsewhere })).status, 404)
  const expired = await jwtOf(service, [scope], { exp: 1_700_000_000 })
  t.equal((await service.call('GET', '/v0/pipes/of_tenant.json', { token: expired })).status, 403)
  const limited = await jwtOf(service, [scope], { limits: { rps: 1 } })
  const statuses = await Promise.all(
    Array.from(
      { length: 20 },
      async () => (await service.call('GET', '/v0/pipes/of_tenant.json', { token: limited })).status,
    ),
  )
  t.ok(statuses.includes(429), statuses.join(' '))
  const body = JSON.stringify({ name: 'made', scopes: [scope] })
  const made = await admin('POST', `/v0/tokens?expiration_time=${Math.floor(Date.now() / 1_000) + 60}`, body)
  t.same(Object.keys(made.json as object), ['token'])
  const { token: madeToken } = made.json as ShownToken
  t.same(await dataOf(service, '/v0/pipes/of_tenant.json', madeToken), [{ tenant: 'b', n: 3 }])
})

t.test('who publishes an endpoint gets the one token that reads it', async (t) => {
  const { admin, create } = await open(t)
  const publish = async () => (await admin('POST', '/v0/pipes/of_tenant/nodes/rows/endpoint')).json as object
  t.notOk('token' in (await publish()))
  const { token } = await create('one', 'PIPES:READ:of_tenant')
  t.match(await publish(), { token })
  await create('two', 'PIPES:READ:of_tenant')
  t.notOk('token' in (await publish()))
})

t.test('an error that quotes a token of its request leaves it out', async (t) => {
  const { service, admin, create } = await open(t)
  const { token } = await create('reader', 'DATASOURCES:READ:visits')
  const jwt = await jwtOf(service, [{ type: 'DATASOURCES:READ', resource: 'visits' }])
  for (const value of [token, jwt]) {
    for (const path of [`/v0/pipes/${value}.json`, `/v0/nosuch/${value}`, `/v0/sql?q=SELECT+1&format=${value}`]) {
      const { status, text } = await admin('GET', path)
      t.ok(status >= 400, path)
      t.match(text, '[redacted]')
      t.notMatch(text, value.slice(-20))
    }
  }
})

t.test('the proof of access says what a token may do, by which scope, and what is missing', async (t) => {
  const { admin, create } = await open(t)
  await create('a', "DATASOURCES:READ:visits:tenant = 'a'")
  const query = encodeURIComponent('SELECT count() FROM visits')
  const { status, json } = await admin('GET', `/v0/tokens/a/access?resource=visits&q=${query}`)
  t.equal(status, 200)
  const { operations, query: shown } = json as {
    readonly operations: readonly { readonly operation: string }[]
    readonly query: { readonly sql: string }
  }
  const of = (name: string) => operations.find(({ operation }) => operation === name)
  t.same(of('datasource:describe'), {
    operation: 'datasource:describe',
    allowed: true,
    scopes: ["DATASOURCES:READ:visits:tenant = 'a'"],
  })
  t.match(of('datasource:append'), {
    allowed: false,
    needs_one_of: ['DATASOURCES:APPEND', 'DATASOURCES:CREATE', 'ADMIN'],
  })
  t.match(of('quarantine:read'), { allowed: false, reason: /filter/ })
  t.match(shown.sql, /tenant = 'a'/)
})

t.test(
  'the proof of access tells whoever manages tokens neither what there is nor how pipes are written',
  async (t) => {
    const { service, admin, create } = await open(t)
    await admin('POST', '/v0/pipes/of_tenant/nodes/rows/endpoint')
    const { token } = await create('keeper', 'TOKENS', 'PIPES:READ:of_tenant')
    const prove = async (asker: string, resource: string): Promise<unknown> => {
      const query = encodeURIComponent('SELECT count() FROM of_tenant')
      const path = `/v0/tokens/keeper/access?resource=${resource}&q=${query}`
      return (await service.call('GET', path, { token: asker })).json
    }
    t.match(await prove(token, 'visits'), { resource: { id: null, type: null }, query: { allowed: true, sql: null } })
    t.match(await prove(token, 'of_tenant'), { resource: { id: /^t_/, type: 'pipe' } })
    t.match(await prove(adminToken, 'visits'), { resource: { id: /^t_/ }, query: { sql: /FROM .*visits/ } })
  },
)

t.test('errors inside a pipe tell its readers nothing of what they may not see', async (t) => {
  const { service, admin, create } = await open(t)
  const nodes = [{ name: 'secret_node', sql: 'SELECT toUInt8(tenant) AS n FROM visits', type: 'endpoint' }]
  await admin('POST', '/v0/pipes', JSON.stringify({ name: 'secret_pipe', nodes }))
  const outer = [{ name: 'outer', sql: 'SELECT n FROM secret_pipe', type: 'endpoint' }]
  await admin('POST', '/v0/pipes', JSON.stringify({ name: 'outer', nodes: outer }))
  const { token } = await create('outside', 'PIPES:READ:outer')
  for (const path of ['pipes/outer.json', 'sql?q=SELECT+n+FROM+outer', 'pipes/outer.json?q=SELECT+n+FROM+_']) {
    const { status, text } = await service.call('GET', `/v0/${path}`, { token })
    t.equal(status, 400, path)
    t.match(text, /pipe_failed/, path)
    t.notMatch(text, /secret|visits|tenant|'[ab]'|line/, path)
  }
  t.equal((await service.call('GET', '/v0/pipes/outer/explain', { token })).status, 403)
  t.match(await dataOf(service, '/v0/pipes/outer.json', adminToken), /'a'|tenant|secret_node/)
})
