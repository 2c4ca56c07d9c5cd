import { PassThrough, Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createApp } from '../../src/app.ts'
import { BodyBudget } from '../../src/http/request/body-budget.ts'
import { ChunkBudget } from '../../src/http/request/chunk-budget.ts'
import { ArrivingBody, readWhole } from '../../src/http/request/request-body.ts'
import { JoinedChunks } from '../../src/shared/joined-chunks.ts'
import { ask, createFakeDeps, limits, token } from '../support/http/fake-deps.ts'
import { multipart } from '../support/http/test-form.ts'

const headers = { authorization: `Bearer ${token}` }

function open(t: Test, options: Partial<typeof limits> = {}) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, formBytesMax: 2_000_000, eventsBodyBytesMax: 20_000, ...options })
  t.teardown(() => app.close())
  const post = (url: string, payload: PassThrough | Buffer | string, more: Readonly<Record<string, string>> = {}) =>
    ask(app, { method: 'POST', url, payload, headers: { ...headers, ...more } })
  return { deps, app, post }
}

const bodiesBytesMax = 10_000
const chunked = { 'transfer-encoding': 'chunked' }

/** Resolves when a body that takes `byteCount` bytes finds no room any more. */
async function untilFull(post: ReturnType<typeof open>['post'], byteCount: number) {
  for (;;) {
    const answer = await post('/v0/sql', `q=SELECT+1&x=${'a'.repeat(byteCount)}`)
    if (answer.statusCode !== 200) return answer
  }
}

t.test('forms, queries and events that wait share one budget, and get 503 beyond it', async (t) => {
  const { deps, post } = open(t, { bodiesBytesMax })
  await deps.dataSources.create({ name: 'e', description: '', schema: 'id UInt32', engine: null, type: 'ndjson' })
  const fields = multipart([{ name: 'x', content: 'a'.repeat(9_000) }])
  const slowBodies = [
    { url: '/v0/sql', begin: `q=SELECT+1&x=${'a'.repeat(9_000)}`, more: {} },
    { url: '/v0/pipes', begin: `{"name":"p","x":"${'a'.repeat(9_000)}`, more: {} },
    { url: '/v0/variables', begin: `name=v&value=1&x=${'a'.repeat(9_000)}`, more: {} },
    { url: '/v0/datasources', begin: `name=a&schema=id+Int32&description=${'a'.repeat(9_000)}`, more: {} },
    {
      url: '/v0/datasources/e/alter',
      begin: fields.payload.toString().slice(0, -20),
      more: { 'content-type': fields.type },
    },
    { url: '/v0/events?name=e', begin: `{"id":"${'a'.repeat(900)}"}\n`.repeat(10), more: {} },
  ]
  for (const { url, begin, more } of slowBodies) {
    const slow = new PassThrough()
    const first = post(url, slow, { ...chunked, ...more })
    slow.write(begin)
    const refused = await untilFull(post, 2_000)
    t.match([refused.statusCode, refused.headers], [503, { 'retry-after': '1' }], url)
    t.match(refused.json(), { error: /Too many request bodies/ })
    t.equal((await post('/v0/events?name=e', `{"id":"${'a'.repeat(900)}"}`.repeat(2))).statusCode, 503, 'events too')
    slow.end()
    await first
    t.equal((await post('/v0/sql', `q=SELECT+1&x=${'a'.repeat(9_000)}`)).statusCode, 200, 'there is room again')
  }
})

t.test('what a form unpacks to counts as what it is', async (t) => {
  const { post } = open(t, { bodiesBytesMax })
  const packed = gzipSync(`q=SELECT 1&x=${'a'.repeat(20_000)}`)
  t.equal((await post('/v0/sql', packed, { 'content-encoding': 'gzip' })).statusCode, 503)
  t.equal((await post('/v0/sql', gzipSync('q=SELECT 1'), { 'content-encoding': 'gzip' })).statusCode, 200)
})

t.test('a budget takes anything when nothing is held, and is told of every end', async (t) => {
  const budget = new BodyBudget(100, () => 'a')
  budget.take(1_000)
  t.throws(() => budget.take(1), { code: 'BODIES_TOO_MANY' })
  budget.give(1_000)
  budget.take(40)
  budget.take(60)
  t.throws(() => budget.take(1), { code: 'BODIES_TOO_MANY' })
  t.equal(budget.heldBytes, 100)
})

t.test('a form may have 10000 fields, and no more', async (t) => {
  const { post, deps } = open(t)
  const form = (count: number) => `q=SELECT+1${'&a=b'.repeat(count - 1)}`
  const json = (count: number) =>
    `{"q":"SELECT 1"${Array.from({ length: count - 1 }, (_, n) => `,"k${n}":1`).join('')}}`
  const nested = (count: number) => `{"q":"SELECT 1","a":[{"b":1}${',{"b":1}'.repeat(count - 3)}]}`
  for (const [count, status] of [
    [9_999, 200],
    [10_000, 200],
    [10_001, 400],
    [100_000, 400],
  ] as const) {
    for (const [name, body] of Object.entries({ form: form(count), nested: nested(count) })) {
      const answer = await post('/v0/sql', body)
      t.equal(answer.statusCode, status, `${count} fields as ${name}: ${answer.body.slice(0, 200)}`)
      if (status === 400) t.match(answer.json(), { error: /more than 10000 fields/ })
    }
    const pipe = await post('/v0/pipes', json(count))
    t.match(pipe.json(), { error: status === 200 ? /"name" is required/ : /more than 10000 fields/ })
  }
  t.equal((await post('/v0/datasources?name=a', `schema=id+Int32${'&name=a'.repeat(10_000)}`)).statusCode, 400)
  t.equal((await post('/v0/datasources/a/alter', `description=x${'&a=b'.repeat(10_000)}`)).statusCode, 400)
  t.equal((await post('/v0/datasources/a/alter', `x${'&a'.repeat(10_000)}`)).statusCode, 400)
  t.equal(deps.created.length, 0)
})

t.test('JSON may be nested 500 levels deep, and quotes and brackets in texts count for nothing', async (t) => {
  const { post } = open(t)
  const deep = (depth: number) => `{"x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  t.match((await post('/v0/pipes', deep(500))).json(), { error: /"name" is required/ })
  t.match((await post('/v0/pipes', deep(501))).json(), { error: /nested deeper than 500 levels/ })
  t.match((await post('/v0/pipes', `{"x":${'['.repeat(900_000)}`)).json(), { error: /nested deeper than 500 levels/ })
  t.match((await post('/v0/sql', `{"x":${'{"a":'.repeat(9_000)}`)).json(), { error: /nested deeper than 500 levels/ })
  const text = JSON.stringify({ x: `${'['.repeat(20_000)}"\\${':'.repeat(20_000)}` })
  t.match((await post('/v0/pipes', text)).json(), { error: /"name" is required/ })
})

t.test('thousands of tiny chunks are refused, and a few are not', async (t) => {
  const read = (count: number, size: number) => {
    // In object mode each chunk comes as it is.
    const source = Readable.from(Array.from({ length: count }, () => Buffer.alloc(size, 'a')))
    const body = new ArrivingBody(source, { idleMsMax: 0, bodyRateMin: 0, bodyRateWindowMs: 1, onFirstRead: () => {} })
    return readWhole(body, { headers: {}, bytesMax: 10_000_000, onBytes: () => {} })
  }
  for (const [count, size] of [
    [1, 1],
    [4_096, 1],
    [4_228, 1],
    [100_000, 32],
    [20_000, 85],
  ] as const) {
    t.equal((await read(count, size)).length, count * size, `${count} chunks of ${size} bytes`)
  }
  for (const [count, size] of [
    [4_300, 1],
    [500_000, 1],
    [100_000, 30],
  ] as const) {
    await t.rejects(read(count, size), { code: 'CHUNKS_TOO_SMALL' }, `${count} chunks of ${size} bytes`)
  }
})

t.test(
  'a body whose client has left before it is read is cut, also where its stream looks as if it had ended',
  async (t) => {
    // As a request of HTTP/2 is then.
    const source = Object.assign(Readable.from([Buffer.from('half of it')]), { aborted: true })
    const body = new ArrivingBody(source, { idleMsMax: 0, bodyRateMin: 0, bodyRateWindowMs: 1, onFirstRead: () => {} })
    await t.rejects(readWhole(body, { headers: {}, bytesMax: 100, onBytes: () => {} }), { code: 'BODY_CUT' })
  },
)

t.test('an import in hundreds of thousands of tiny chunks is refused, and one in large ones is not', async (t) => {
  const read = async (count: number, size: number) => {
    const source = Readable.from(Array.from({ length: count }, () => Buffer.alloc(size, 'a')))
    let byteCount = 0
    for await (const chunk of new ArrivingBody(source, {
      idleMsMax: 0,
      bodyRateMin: 0,
      bodyRateWindowMs: 1,
      onFirstRead: () => {},
    }).stream()) {
      byteCount += Buffer.byteLength(chunk)
    }
    return byteCount
  }
  for (const [count, size] of [
    [16_384, 1],
    [200_000, 32],
  ] as const) {
    t.equal(await read(count, size), count * size, `${count} chunks of ${size} bytes`)
  }
  await t.rejects(read(500_000, 1), { code: 'CHUNKS_TOO_SMALL' })
})

t.test('whoever sends small chunks slowly may do so for ever, and gains nothing by a long silence', (t) => {
  let now = 0
  const send = (
    chunks: ChunkBudget,
    { count, size, everyMs }: Record<'count' | 'size' | 'everyMs', number>,
  ): number => {
    for (let sent = 0; sent < count; sent += 1) {
      now += everyMs
      if (chunks.take(size) !== null) return sent
    }
    return count
  }
  const clock = () => now
  const slow = new ChunkBudget(clock)
  t.equal(send(slow, { count: 1_000_000, size: 1, everyMs: 1 }), 1_000_000, 'a byte in each millisecond')
  now += 86_400_000
  const afterSilence = send(slow, { count: 1_000_000, size: 1, everyMs: 0 })
  t.ok(afterSilence < 2 * 4_300, `${afterSilence} chunks at once after a day`)
  t.equal(
    send(new ChunkBudget(clock), { count: 1_000_000, size: 32, everyMs: 0 }),
    1_000_000,
    'rows of 32 bytes at once',
  )
  t.equal(send(new ChunkBudget(clock), { count: 100_000, size: 1, everyMs: 0 }), 16_912)
  const busy = send(new ChunkBudget(clock), { count: 100_000, size: 1, everyMs: 0.5 })
  t.ok(busy > 25_000 && busy < 26_500, `${busy} chunks, two in a millisecond`)
  t.end()
})

t.test('a body is the same bytes however it was cut', async (t) => {
  const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 251))
  for (const size of [1, 2, 3, 100, 1_023, 1_024, 1_025, 2_500, 4_999, 5_000, 5_001]) {
    const joined = new JoinedChunks()
    for (let at = 0; at < bytes.length; at += size) joined.push(bytes.subarray(at, at + size))
    t.ok(joined.bytes().equals(bytes), `chunks of ${size} bytes`)
    t.equal(joined.byteCount, bytes.length)
  }
  const mixed = new JoinedChunks()
  for (const [start, end] of [
    [0, 1],
    [1, 2],
    [2, 2_000],
    [2_000, 2_001],
    [2_001, 2_003],
    [2_003, 5_000],
  ] as const) {
    mixed.push(bytes.subarray(start, end))
  }
  t.ok(mixed.bytes().equals(bytes))
  t.equal(new JoinedChunks().bytes().length, 0)
})

t.test('a form that is refused for its size or its chunks gives back what it held', async (t) => {
  const { post } = open(t, { bodiesBytesMax, formBytesMax: 5_000 })
  for (let round = 0; round < 5; round += 1) {
    t.equal((await post('/v0/sql', `q=SELECT 1&x=${'a'.repeat(6_000)}`)).statusCode, 413)
    t.equal((await post('/v0/pipes', `{"x":${'['.repeat(4_000)}`)).statusCode, 400)
    const { payload, type } = multipart([{ name: 'x', content: 'a'.repeat(4_900) }])
    t.equal((await post('/v0/variables', payload, { 'content-type': type })).statusCode, 400)
  }
  t.equal((await post('/v0/sql', `q=SELECT 1&x=${'a'.repeat(4_900)}`)).statusCode, 200)
})
