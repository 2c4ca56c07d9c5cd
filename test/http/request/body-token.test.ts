import { PassThrough } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { multipart } from '../../support/http/test-form.ts'

const formBytesMax = 100_000

function open(t: Test) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, formBytesMax })
  t.teardown(() => app.close())
  return { deps, app }
}

const paths = [
  { method: 'POST', url: '/v0/sql' },
  { method: 'POST', url: '/v0/datasources' },
  { method: 'POST', url: '/v0/datasources/a/alter' },
  { method: 'POST', url: '/v0/datasources/a/truncate' },
  { method: 'PUT', url: '/v0/datasources/a' },
  { method: 'POST', url: '/v0/datasources/a/quarantine/replay' },
  { method: 'POST', url: '/v0/analyze' },
  { method: 'POST', url: '/v0/pipes' },
  { method: 'PUT', url: '/v0/pipes/a' },
  { method: 'POST', url: '/v0/pipes/a/nodes' },
  { method: 'POST', url: '/v0/pipes/a.json' },
  { method: 'POST', url: '/v0/variables' },
  { method: 'PUT', url: '/v0/variables/a' },
] as const

/** What is sent and never ends, and the answer that comes all the same. */
async function askUnended(app: FastifyInstance, path: (typeof paths)[number], begin: string) {
  const payload = new PassThrough()
  payload.write(begin)
  const answer = await ask(app, { ...path, payload, headers: { 'transfer-encoding': 'chunked' } })
  payload.destroy()
  return answer
}

t.test('a body without a token is not read beyond its first 8 KiB', async (t) => {
  const { app } = open(t)
  const beginnings = {
    form: `q=${'x'.repeat(8_190)}`,
    'form of many keys': `q=1${'&a='.repeat(3_000)}`,
    'JSON of many keys': `{${Array.from({ length: 1_500 }, (_, index) => `"k${index}":1`).join(',')}`,
    'deep JSON': '['.repeat(8_192),
    text: 'SELECT 1 '.repeat(1_000),
    zeros: '\0'.repeat(8_192),
  }
  for (const path of paths) {
    for (const [name, begin] of Object.entries(beginnings)) {
      const answer = await askUnended(app, path, begin)
      t.equal(answer.statusCode, 403, `${path.method} ${path.url}: ${name}`)
      t.match(answer.json(), { error: /in the first 8 KiB of an uncompressed body/ })
    }
  }
})

t.test('a wrong token in the first bytes is refused before the rest has come', async (t) => {
  const { app } = open(t)
  const rest = 'x'.repeat(8_192)
  for (const path of paths) {
    for (const begin of [`token=wrong&q=${rest}`, `{"token":"wrong","q":"${rest}`]) {
      const answer = await askUnended(app, path, begin)
      t.match([answer.statusCode, answer.json()], [403, { error: 'Invalid token' }], path.url)
    }
  }
})

const q = 'SELECT 1'
const many = 'a'.repeat(7_000)
const later = 'a'.repeat(9_000)

t.test('a token is found wherever it stands in the first 8 KiB of a body, and nowhere else', async (t) => {
  const { app, deps } = open(t)
  const cases: readonly (readonly [body: string, status: number])[] = [
    [`token=${token}&q=${q}`, 200],
    [`q=${q}&token=${token}`, 200],
    [`q=${q}&token=${token}\n`, 200],
    [`\n q=${q}&token=${token}`, 200],
    [`q=${q}&token=${encodeURIComponent(token)}&x=${later}`, 200],
    [`q=${q}&x=${many}&token=${token}`, 200],
    [`q=${q}&token=&token=${token}`, 200],
    [`q=${q}&token=wrong&token=${token}`, 200],
    [`q=${q}&%74oken=${token}`, 200],
    [`%74oken=${token}&q=${q}`, 200],
    [`q=${q}&token=${token}&%74oken=wrong`, 403],
    [`q=${q}&token=${token}&token=wrong`, 403],
    [`q=${q}&token=+${token}+`, 200],
    [`q=${q}&x=${later}&token=${token}`, 403],
    // The border goes through the token, and what stands before it is another one.
    [`q=${q}&x=${'a'.repeat(8_192 - `q=${q}&x=&token=${token}`.length)}&token=${token}extra`, 403],
    [`q=${q}&tokens=${token}`, 403],
    [`q=${q}&x=token=${token}`, 403],
    [`{"token":"${token}","q":"${q}"}`, 200],
    [`\ufeff {"q":"${q}",\n "token" : "${token}"}`, 200],
    [`{"q":"${q}","a":[1,{"token":"wrong"}],"token":"${token}","x":"${later}"}`, 200],
    [`{"q":"${q}","a":"\\"token\\":\\"wrong\\"","token":"${token}"}`, 200],
    [`{"q":"${q}","token":"wrong","token":"${token}"}`, 200],
    [`{"q":"${q}","token":"${token.replace('t', '\\u0074')}"}`, 200],
    [`{"q":"${q}","a":{"token":"${token}"}}`, 403],
    [`{"q":"${q}","a":"token","b":"${token}"}`, 403],
    [`{"q":"${q}","a":"${later}","token":"${token}"}`, 403],
    [`{"q":"${q}","token":["${token}"]}`, 403],
    [`{"q":"${q}","token":{"a":"${token}"}}`, 403],
    [`SELECT '&token=${token}'`, 403],
    [`SELECT 1 AS token, '${token}'`, 403],
    ['', 403],
  ]
  for (const [payload, status] of cases) {
    const before = deps.queries.length
    const answer = await ask(app, { method: 'POST', url: '/v0/sql', payload })
    t.equal(answer.statusCode, status, `${payload.slice(0, 80)} … ${payload.slice(-40)}`)
    t.equal(deps.queries.length - before, status === 200 ? 1 : 0)
    if (status === 200) t.equal(deps.queries.at(-1)?.sql, q)
  }
})

t.test('a body arrives whole behind its token, wherever the network cuts it', async (t) => {
  const { app, deps } = open(t)
  const sql = `SELECT '${'é'.repeat(9_000)}'`
  const body = Buffer.from(new URLSearchParams({ token, q: sql }).toString())
  for (const cut of [1, 5, 6, 20, 4_095, 8_191, 8_192, 8_193, 20_000, body.length - 1]) {
    const payload = new PassThrough()
    payload.write(body.subarray(0, cut))
    setImmediate(() => payload.end(body.subarray(cut)))
    const headers = { 'transfer-encoding': 'chunked' }
    const answer = await ask(app, { method: 'POST', url: '/v0/sql', payload, headers })
    t.equal(answer.statusCode, 200, `cut at ${cut}`)
    t.equal(deps.queries.at(-1)?.sql, sql)
  }
})

t.test('a token in a multipart form counts before a large file, and comes too late behind it', async (t) => {
  const { app, deps } = open(t)
  const rows = { name: 'csv', fileName: 'a.csv', content: '1,x\n'.repeat(5_000) }
  const small = { ...rows, content: '1,x\n' }
  const field = { name: 'token', content: token }
  const cases = [
    { parts: [field, rows], status: 200 },
    { parts: [small, field], status: 200 },
    { parts: [{ name: 'x', content: 'y' }, field, small], status: 200 },
    { parts: [rows, field], status: 403 },
    { parts: [{ name: 'x', content: later }, field, small], status: 403 },
    { parts: [{ ...small, name: 'token', fileName: 'token', content: token }], status: 403 },
    { parts: [small], status: 403 },
  ]
  for (const [index, { parts, status }] of cases.entries()) {
    const { payload, type } = multipart(parts)
    const url = `/v0/datasources?name=a${index}&schema=id+UInt32,+v+String`
    const answer = await ask(app, { method: 'POST', url, payload, headers: { 'content-type': type } })
    t.equal(answer.statusCode, status, `${index}: ${answer.body}`)
    const imported = deps.loads.filter(({ request }) => request.dataSource.name === `a${index}`)
    t.strictSame(
      imported.map(({ text }) => text),
      status === 200 ? [parts.find(({ name }) => name === 'csv')?.content] : [],
    )
  }
  const broken = { method: 'POST', url: '/v0/datasources', payload: 'x' } as const
  const answer = await ask(app, { ...broken, headers: { 'content-type': 'multipart/form-data' } })
  t.equal(answer.statusCode, 400, 'a form without a boundary')
})

t.test('what is packed is not searched for a token', async (t) => {
  const { app } = open(t)
  const headers = { 'content-encoding': 'gzip' }
  const payload = gzipSync(`q=${q}&token=${token}`)
  const answer = await ask(app, { method: 'POST', url: '/v0/sql', payload, headers })
  t.match([answer.statusCode, answer.json()], [403, { error: /uncompressed/ }])
  const known = { method: 'POST', url: `/v0/sql?token=${token}`, payload, headers } as const
  t.equal((await ask(app, known)).statusCode, 200)
})

t.test('events and questions of GET take no token from a body', async (t) => {
  const { app } = open(t)
  const payload = `token=${token}&q=${q}`
  t.equal((await ask(app, { method: 'POST', url: '/v0/events?name=e', payload })).statusCode, 403)
  t.equal((await ask(app, { method: 'GET', url: '/v0/sql', payload })).statusCode, 403)
  t.equal((await ask(app, { method: 'DELETE', url: '/v0/sql', payload })).statusCode, 403)
})
