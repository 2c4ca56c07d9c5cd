import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import type { HttpOptions } from '../../../src/http/http.types.ts'
import { createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'

async function openApp(t: Test, options: Partial<HttpOptions>) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, ...options })
  await deps.dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'csv' })
  return { deps, open: await listen(t, app) }
}

function head(method: string, url: string, ...lines: readonly string[]): string {
  return `${[`${method} ${url} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`, ...lines].join('\r\n')}\r\n\r\n`
}

t.test('headers that do not come to an end in time are a 408, and the connection closes', async (t) => {
  const { open } = await openApp(t, { headersTimeoutMs: 100 })
  const slow = await open()
  slow.send('GET /health/live HTTP/1.1\r\nHost: a\r\nX-Slow: ')
  const { status, head: answerHead, body } = await slow.answer()
  t.equal(status, 408)
  t.match(body, { error: 'The request did not arrive in time', documentation: /request_timeout/ })
  t.match(answerHead, /connection: close/i)
  await slow.end()
})

t.test('a connection that never says a word is closed without one', async (t) => {
  const { open } = await openApp(t, { headersTimeoutMs: 100 })
  const silent = await open()
  await silent.end()
  t.equal(silent.text, '')
})

t.test('a request that has no whole body in time is a 408', async (t) => {
  const { open } = await openApp(t, { requestTimeoutMs: 100 })
  const slow = await open()
  slow.send(head('POST', '/v0/events?name=a', 'Content-Length: 100'), '{')
  const { status, body } = await slow.answer()
  t.equal(status, 408)
  t.match(body, { documentation: /request_timeout/ })
})

t.test('a connection without a request is closed after a while', async (t) => {
  const { open } = await openApp(t, { keepAliveMs: 50 })
  const client = await open()
  client.send(head('GET', '/health/live'))
  t.equal((await client.answer()).status, 200)
  await client.end()
})

t.test('a body that comes too slowly is a 408 that closes the connection, and nothing of it is stored', async (t) => {
  const { deps, open } = await openApp(t, { bodyRateMin: 1_000, bodyRateWindowMs: 100 })
  const slow = await open()
  slow.send(head('POST', '/v0/events?name=a', 'Transfer-Encoding: chunked'), '1\r\n{\r\n')
  const { status, head: answerHead, body } = await slow.answer()
  t.equal(status, 408)
  t.match(body, {
    error: 'Fewer than 1000 bytes a second of the body arrived for 0.1 seconds',
    documentation: /body_too_slow/,
  })
  t.match(answerHead, /connection: close/i)
  t.same(deps.events, [])
  const append = '/v0/datasources?name=a&mode=append&format=csv'
  const slowImport = await open()
  slowImport.send(head('POST', append, 'Content-Length: 100'), '1\n')
  t.match(await slowImport.answer(), { status: 408, body: { imported_rows: 1, documentation: /body_too_slow/ } })
})

t.test('a request has as many headers as it may, and one more is a 400', async (t) => {
  const { open } = await openApp(t, { headersMax: 20 })
  for (const [count, status] of [
    [19, 200],
    [20, 200],
    [21, 400],
    [500, 400],
  ] as const) {
    const client = await open()
    // Two are there already.
    client.send(head('GET', '/health/live', ...Array.from({ length: count - 2 }, (_, index) => `X-${index}: 1`)))
    const answer = await client.answer()
    t.equal(answer.status, status, `${count} headers`)
    if (status === 400) t.match(answer.body, { error: 'The request is not valid: it has more than 20 headers' })
  }
})
