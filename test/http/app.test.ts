import t, { type Test } from 'tap'
import { createApp } from '../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../support/http/fake-deps.ts'

function open(t: Test) {
  const deps = createFakeDeps()
  const app = createApp(deps, limits)
  t.teardown(() => app.close())
  return { deps, app }
}

const authorization = `Bearer ${token}`

t.test('every error is JSON with an error and its documentation, with a request id', async (t) => {
  const { app } = open(t)
  const cases = [
    { url: '/nothing', status: 404 },
    { url: '/v0/nothing', status: 404 },
    { url: '/v0/datasources/missing', status: 404 },
    { url: '/v0/datasources/%zz', status: 400 },
    { url: '/v0/events', method: 'GET' as const, status: 405 },
    { url: '/v0/datasources', method: 'PUT' as const, status: 405 },
    { url: '/v0/sql', method: 'DELETE' as const, status: 405 },
    { url: '/health/live', method: 'POST' as const, status: 405 },
    { url: '/v0/events', method: 'POST' as const, status: 400 },
    { url: '/v0/sql', status: 400 },
  ]
  for (const { url, method = 'GET', status } of cases) {
    const answer = await ask(app, { url, method, headers: { authorization } })
    t.equal(answer.statusCode, status, `${method} ${url}`)
    t.equal(answer.headers['content-type'], 'application/json; charset=UTF-8')
    t.match(answer.headers['x-request-id'], /^[0-9A-HJKMNP-TV-Z]{26}$/)
    const body = answer.json()
    const { hint, ...told } = body
    t.strictSame(Object.keys(told), ['error', 'documentation'])
    t.ok(hint === undefined || typeof hint === 'string')
    t.equal(typeof body.error, 'string')
    if (status === 405) t.match(answer.headers.allow, /OPTIONS/)
  }
})

t.test('paths work with and without a slash at their end', async (t) => {
  const { app } = open(t)
  for (const url of ['/v0/datasources', '/v0/datasources/', '/health/live/', '/health/ready']) {
    t.equal((await ask(app, { url, headers: { authorization } })).statusCode, 200, url)
  }
})

t.test('a token is taken from the header, else from the query', async (t) => {
  const { app } = open(t)
  const cases = [
    { headers: { authorization }, query: '', status: 200 },
    { headers: { authorization: `bearer ${token}` }, query: '', status: 200 },
    { headers: { authorization: `BEARER  ${token} ` }, query: '', status: 200 },
    { headers: {}, query: `?token=${token}`, status: 200 },
    { headers: {}, query: `?token=wrong&token=${token}`, status: 200 },
    { headers: { authorization: 'Basic abc' }, query: `?token=${token}`, status: 200 },
    { headers: { authorization: 'Bearer wrong' }, query: `?token=${token}`, status: 403 },
    { headers: {}, query: '', status: 403 },
    { headers: {}, query: '?token=', status: 403 },
    { headers: {}, query: '?token=wrong', status: 403 },
  ]
  for (const { headers, query, status } of cases) {
    const answer = await ask(app, { url: `/v0/datasources${query}`, headers })
    t.equal(answer.statusCode, status, JSON.stringify({ headers, query }))
  }
  t.equal((await ask(app, { method: 'POST', url: '/v0/events?name=x', payload: '{}' })).statusCode, 403)
  t.equal((await ask(app, { url: '/v0/sql?q=SELECT+1' })).statusCode, 403)
})

t.test('no path answers without a token, whatever body and method it is asked with', async (t) => {
  const app = createApp(createFakeDeps(), limits)
  t.teardown(() => app.close())
  const paths = ['/v0/datasources', '/v0/datasources/a', '/v0/variables', '/v0/variables/a', '/v0/sql?q=SELECT+1']
  const pipePaths = ['', '/openapi.json', '/a', '/a.json', '/a.pipe', '/a/explain', '/a/openapi.json', '/a/nodes/b']
  paths.push(...pipePaths.map((path) => `/v0/pipes${path}`), '/v0/pipe/a/data.json')
  for (const url of [
    ...paths,
    '/v0/project.zip',
    '/v0/datasources/a/quarantine',
    '/v0/events?name=a',
    '/v0/datasources/a.datasource',
  ]) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH'] as const) {
      for (const payload of [undefined, 'x', '{}', 'token=wrong']) {
        const answer = await ask(app, payload === undefined ? { method, url } : { method, url, payload })
        t.ok([400, 403, 404, 405].includes(answer.statusCode), `${method} ${url} with ${payload}: ${answer.statusCode}`)
      }
    }
  }
})

t.test('browsers of any origin may ask, and their preflights need no token', async (t) => {
  const { app } = open(t)
  for (const url of ['/v0/events', '/v0/datasources/x', '/v0/nothing/yet']) {
    const answer = await ask(app, { method: 'OPTIONS', url, headers: { origin: 'https://a.example' } })
    t.equal(answer.statusCode, 204)
    t.equal(answer.headers['access-control-allow-origin'], '*')
    t.match(answer.headers['access-control-allow-methods'], /POST/)
    for (const header of ['authorization', 'content-type', 'content-encoding', 'idempotency-key']) {
      t.ok(String(answer.headers['access-control-allow-headers']).includes(header), header)
    }
  }
  const asked = { origin: 'https://a.example', 'access-control-request-headers': 'x-own, authorization' }
  const own = await ask(app, { method: 'OPTIONS', url: '/v0/events', headers: asked })
  t.equal(own.headers['access-control-allow-headers'], 'x-own, authorization')
  for (const url of ['/v0/datasources', '/v0/nothing', '/v0/datasources/%zz']) {
    t.equal((await ask(app, { url })).headers['access-control-allow-origin'], '*', url)
  }
  t.equal((await ask(app, { url: '/health/live' })).headers['access-control-allow-origin'], undefined)
})

t.test('a very long URL arrives whole', async (t) => {
  const { app, deps } = open(t)
  const sql = `SELECT '${'x'.repeat(40_000)}'`
  const answer = await ask(app, { url: `/v0/sql?q=${encodeURIComponent(sql)}`, headers: { authorization } })
  t.equal(answer.statusCode, 200)
  t.equal(deps.queries[0]?.sql, sql)
  const long = await ask(app, { url: `/v0/datasources/${'n'.repeat(20_000)}`, headers: { authorization } })
  t.equal(long.statusCode, 404)
  t.match(long.json().error, /does not exist/)
})

t.test('the service is ready only while it is open', async (t) => {
  const { app, deps } = open(t)
  deps.isOpen = false
  t.equal((await ask(app, '/health/ready')).statusCode, 503)
  t.equal((await ask(app, { method: 'HEAD', url: '/health/ready' })).statusCode, 503)
  t.equal((await ask(app, '/health/live')).statusCode, 200)
  deps.isOpen = true
  t.equal((await ask(app, '/health/ready')).statusCode, 200)
  t.equal((await ask(app, { method: 'HEAD', url: '/health/live' })).statusCode, 200)
})

t.test('each request is logged once, without its token and its rows', async (t) => {
  const { app, deps } = open(t)
  await deps.dataSources.create({ name: 'e', description: '', schema: 'id UInt32', engine: null, type: 'ndjson' })
  const url = `/v0/events?name=e&token=${token}`
  await ask(app, { method: 'POST', url, payload: '{"secret":"row"}' })
  t.equal(deps.entries.length, 1)
  const [entry] = deps.entries
  t.match(entry, { level: 'debug', fields: { method: 'POST', status: 202 } })
  t.equal(entry?.fields['url'], '/v0/events?name=e&…')
  t.match(entry?.fields['requestId'], /^[0-9A-Z]{26}$/)
  const text = JSON.stringify(deps.entries)
  t.notOk(text.includes(token))
  t.notOk(text.includes('secret'))
})

t.test('a fault of ours is 500 without details, and is logged with them', async (t) => {
  const { app, deps } = open(t)
  deps.dataSources.statistics = async () => {
    throw new Error('the secret reason')
  }
  const answer = await ask(app, { url: '/v0/datasources', headers: { authorization } })
  t.equal(answer.statusCode, 500)
  t.notMatch(answer.body, /secret reason/)
  t.match(deps.entries[0], { level: 'error' })
})
