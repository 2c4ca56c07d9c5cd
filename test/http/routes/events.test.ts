import { PassThrough, type Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'

const headers = { authorization: `Bearer ${token}` }

async function open(t: Test, options: Partial<typeof limits> = {}) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, ...options })
  t.teardown(() => app.close())
  await deps.dataSources.create({ name: 'e', description: '', schema: 'id UInt32', engine: null, type: 'ndjson' })
  const post = (query: string, payload?: string | Buffer | Readable, more: Record<string, string> = {}) => {
    const request: InjectOptions = { method: 'POST', url: `/v0/events${query}`, headers: { ...headers, ...more } }
    return ask(app, payload === undefined ? request : { ...request, payload })
  }
  return { deps, app, post }
}

t.test('events of any content type are stored, and counted in the spelling that clients know', async (t) => {
  const { deps, post } = await open(t)
  const body = '{"id":1}\n{"id":2}'
  for (const type of [
    'application/json',
    'text/plain;charset=UTF-8',
    'application/x-ndjson',
    'application/x-www-form-urlencoded',
    'nonsense',
    '',
  ]) {
    const answer = await post('?name=e', body, type === '' ? {} : { 'content-type': type })
    t.equal(answer.statusCode, 202, type)
    t.equal(answer.headers['content-type'], 'application/json')
    t.equal(answer.body, '{"successful_rows":2,"quarantined_rows":0}')
  }
  t.strictSame(new Set(deps.events.map(({ text }) => text)), new Set([body]))
  t.match(deps.events[0], { framing: 'lines', dataSource: { name: 'e' } })
})

t.test('wait chooses between 200 and 202', async (t) => {
  const { post } = await open(t)
  const cases = [
    ['', 202],
    ['&wait=false', 202],
    ['&wait=0', 202],
    ['&wait=', 202],
    ['&wait=true', 200],
    ['&wait=True', 200],
    ['&wait=1', 200],
    ['&wait=yes', 400],
  ] as const
  for (const [query, status] of cases) t.equal((await post(`?name=e${query}`, '{"id":1}')).statusCode, status, query)
})

t.test('format says whether the body is one document or lines', async (t) => {
  const { deps, post } = await open(t)
  for (const query of ['', '&format=ndjson', '&format=json', '&format=JSON']) await post(`?name=e${query}`, '{}')
  t.strictSame(
    deps.events.map(({ framing }) => framing),
    ['lines', 'lines', 'document', 'document'],
  )
  t.equal((await post('?name=e&format=csv', '{}')).statusCode, 400)
})

t.test('without a name, or with one that nothing has, nothing is stored', async (t) => {
  const { deps, post } = await open(t)
  t.match((await post('', '{}')).json(), { error: 'Parameter "name" is required' })
  t.equal((await post('?name=', '{}')).statusCode, 400)
  const missing = await post('?name=missing', '{}')
  t.equal(missing.statusCode, 404)
  t.match(missing.json(), { error: 'Data Source "missing" does not exist' })
  t.equal(deps.events.length, 0)
})

t.test('an empty body is 200 with nothing counted', async (t) => {
  const { deps, post } = await open(t)
  for (const answer of [
    await post('?name=e'),
    await post('?name=missing'),
    await post('?name=e', '', { 'content-encoding': 'gzip' }),
  ]) {
    t.equal(answer.statusCode, 200)
    t.equal(answer.body, '{"successful_rows":0,"quarantined_rows":0}')
  }
  t.equal((await post('?name=e', gzipSync(''), { 'content-encoding': 'gzip' })).statusCode, 200)
  t.equal(deps.events.length, 0)
})

t.test('packed bodies are unpacked within the limit, and refused beyond it', async (t) => {
  const { deps, post } = await open(t)
  const body = '{"id":1}\n'
  const packed = [
    ['gzip', gzipSync(body)],
    ['zstd', await compress(Buffer.from(body), 3)],
    ['identity', Buffer.from(body)],
  ] as const
  for (const [encoding, payload] of packed) {
    t.equal((await post('?name=e', payload, { 'content-encoding': encoding })).statusCode, 202, encoding)
  }
  t.strictSame(
    deps.events.map(({ text }) => text),
    [body, body, body],
  )
  const refused = [
    ['br', Buffer.from(body), 415],
    ['gzip, gzip', gzipSync(gzipSync(body)), 415],
    ['gzip', Buffer.from(body), 400],
    ['zstd', Buffer.from(body), 400],
    ['gzip', gzipSync(Buffer.alloc(2000, ' ')), 413],
    ['zstd', await compress(Buffer.alloc(2000, ' '), 3), 413],
  ] as const
  for (const [encoding, payload, status] of refused) {
    t.equal((await post('?name=e', payload, { 'content-encoding': encoding })).statusCode, status, encoding)
  }
  t.equal(deps.events.length, 3)
})

t.test('a body may have exactly the limit, and no byte more', async (t) => {
  const { deps, post } = await open(t)
  for (const [size, status] of [
    [999, 202],
    [1000, 202],
    [1001, 413],
  ] as const) {
    t.equal((await post('?name=e', Buffer.alloc(size, 'a'))).statusCode, status, `${size} bytes`)
  }
  t.equal(deps.events.length, 2)
})

t.test('bodies that are on their way in have a limit together', async (t) => {
  const { deps, post } = await open(t, { bodiesBytesMax: 1500 })
  const slow = new PassThrough()
  const first = post('?name=e', slow, { 'transfer-encoding': 'chunked' })
  slow.write(Buffer.alloc(900, 'a'))
  const refused = await untilRefused(() => post('?name=e', Buffer.alloc(900, 'b')))
  t.match(refused, { statusCode: 503, headers: { 'retry-after': '1' } })
  t.equal((await post('?name=e', Buffer.alloc(600, 'c'))).statusCode, 202)
  const before = deps.events.length
  slow.end()
  t.equal((await first).statusCode, 202)
  t.equal((await post('?name=e', Buffer.alloc(900, 'd'))).statusCode, 202, 'there is room again')
  t.equal(deps.events.length, before + 2)
})

/** The slow body is read in turns of its own. */
async function untilRefused<Answer extends { readonly statusCode: number }>(
  send: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const answer = await send()
    if (answer.statusCode !== 202) return answer
  }
}
