import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { SharedChunks } from '../../../src/http/request/chunk-budget.ts'
import { type ChunkGate, gateOf, guardChunks } from '../../../src/http/server/chunk-gate.ts'
import { mebibyte } from '../../../src/shared/bytes.ts'
import { createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'
import { openRawClient } from '../../support/raw-client.ts'

async function openApp(t: Test) {
  // Tiny chunks that come back with time are more of them on a machine that stops for a moment.
  const nowMs = performance.now()
  const clock = mock.method(performance, 'now', () => nowMs)
  t.teardown(() => clock.mock.restore())
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, eventsBodyBytesMax: mebibyte, formBytesMax: mebibyte })
  await deps.dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'csv' })
  const gates: ChunkGate[] = []
  app.server.on('request', (request) => {
    const gate = gateOf(request)
    if (gate !== undefined) gates.push(gate)
  })
  return { deps, gates, open: await listen(t, app) }
}

const authorized = `Authorization: Bearer ${token}`
const append = '/v0/datasources?name=a&mode=append&format=csv'
const events = '/v0/events?name=a'
const tiny = '1\r\nx\r\n'
const tinyCount = 60_000

function head(path: string, ...lines: readonly string[]): string {
  return `${[`POST ${path} HTTP/1.1`, 'Host: a', 'Transfer-Encoding: chunked', ...lines].join('\r\n')}\r\n\r\n`
}

function chunksOf(text: string, size: number): string {
  let chunks = ''
  for (let at = 0; at < text.length; at += size) {
    const part = text.slice(at, at + size)
    chunks += `${part.length.toString(16)}\r\n${part}\r\n`
  }
  return `${chunks}0\r\n\r\n`
}

const callsOf = (gates: readonly ChunkGate[]): number => gates.reduce((sum, { callCount }) => sum + callCount, 0)

t.test(
  'chunks of one byte are not paid for once they are too many, whatever the route, and the client reads why',
  async (t) => {
    const ways = [
      { path: events, lines: [authorized], status: 400 },
      { path: append, lines: [authorized], status: 400 },
      { path: '/v0/sql', lines: [authorized], status: 400 },
      { path: '/v0/pipes', lines: [authorized], status: 400 },
      { path: append, lines: [authorized, 'Content-Type: multipart/form-data; boundary=b'], status: 400 },
      { path: append, lines: [authorized, 'Content-Encoding: gzip'], status: 400 },
      { path: events, lines: [], status: 403 },
      { path: append, lines: [], status: 403 },
      { path: '/v0/sql', lines: [], status: 403 },
      { path: '/v0/nothing', lines: [], status: 404 },
      { path: '/%zz', lines: [], status: 400 },
    ]
    for (const { path, lines, status } of ways) {
      const { gates, open } = await openApp(t)
      const client = await open()
      client.send(head(path, ...lines), tiny.repeat(tinyCount))
      const name = `${path} ${lines.join()}`
      t.equal((await client.answer()).status, status, name)
      client.send('0\r\n\r\n')
      if (path !== '/%zz') await client.end()
      t.ok(callsOf(gates) < 10_000, `${name}: ${callsOf(gates)} calls for ${tinyCount} chunks`)
    }
  },
)

t.test('many connections share what there is for tiny chunks', async (t) => {
  const { gates, open } = await openApp(t)
  const clients = await Promise.all(Array.from({ length: 40 }, open))
  for (const client of clients) client.send(head(events, authorized), tiny.repeat(20_000))
  for (const client of clients) t.equal((await client.answer()).status, 400)
  t.equal(gates.length, 40)
  t.ok(
    gates.every(({ isShut }) => isShut),
    'all are shut',
  )
  const honest = await open()
  honest.send(head(append, authorized), chunksOf('1\n'.repeat(100_000), 1_024))
  t.equal((await honest.answer()).status, 200, 'large chunks never count')
})

t.test('of what they share each body has a few hundred tiny chunks, however many there are', async (t) => {
  const connectionCount = 40
  const gates: ChunkGate[] = []
  const listener = guardChunks(
    (request, response) => {
      const gate = gateOf(request)
      if (gate !== undefined) gates.push(gate)
      request.resume()
      request.on('end', () => response.end())
    },
    // In no time nothing comes back.
    new SharedChunks(() => 0),
  )
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo
  const send = async (chunks: string): Promise<void> => {
    const client = await openRawClient(port)
    client.send(head('/'), `${chunks}0\r\n\r\n`)
    t.match(await client.until((text) => text.includes('\r\n\r\n')), /^HTTP\/1.1 200 /)
    client.socket.destroy()
  }
  await Promise.all(Array.from({ length: connectionCount }, () => send(tiny.repeat(10_000))))
  t.equal(gates.length, connectionCount)
  t.ok(
    callsOf(gates) <= 32_768 + connectionCount * 257,
    `${callsOf(gates)} calls for ${connectionCount * 10_000} chunks`,
  )
  await send(tiny.repeat(200))
  t.equal(gates.at(-1)?.isShut, false, 'a few pass all the same')
  await send(`64\r\n${'x'.repeat(100)}\r\n`.repeat(10_000))
  t.equal(gates.at(-1)?.isShut, false, 'large ones do')
})

t.test('honest uploads in chunks pass, and their connections stay open', async (t) => {
  const { deps, gates, open } = await openApp(t)
  const client = await open()
  const bodies = [
    { rows: '1\n'.repeat(100_000), size: 1_024 },
    { rows: '1234567890\n'.repeat(30_000), size: 33 },
    { rows: '1\n'.repeat(400), size: 1 },
    { rows: '1\n'.repeat(1_900), size: 1 },
    { rows: '1\n', size: 1 },
    { rows: '1\n'.repeat(100_000), size: 70_000 },
  ]
  for (const { rows, size } of bodies) {
    client.send(head(append, authorized), chunksOf(rows, size))
    const { status, head: answerHead } = await client.answer()
    t.equal(status, 200, `${rows.length} bytes by ${size}`)
    t.notMatch(answerHead, /connection: close/i)
    t.equal(deps.loads.at(-1)?.text, rows)
  }
  t.notOk(gates.some(({ isShut }) => isShut))
})

t.test('a sender of a few hundred tiny chunks, one at a time, passes', async (t) => {
  const { deps, open } = await openApp(t)
  const client = await open()
  client.socket.setNoDelay(true)
  client.send(head(append, authorized))
  for (let sent = 0; sent < 300; sent += 1) {
    client.send('2\r\n1\n\r\n')
    await new Promise((resolve) => setImmediate(resolve))
  }
  client.send('0\r\n\r\n')
  t.equal((await client.answer()).status, 200)
  t.equal(deps.loads.at(-1)?.text, '1\n'.repeat(300))
})

t.test('what stands behind a body that was shut out is another request, with all its bytes', async (t) => {
  const { deps, gates, open } = await openApp(t)
  for (let round = 0; round < 3; round += 1) {
    const client = await open()
    client.send(head(events, authorized), tiny.repeat(20_000))
    t.equal((await client.answer()).status, 400)
    client.socket.destroy()
    // The parser of a connection serves the next one.
    const next = await open()
    next.send(head(append, authorized), chunksOf('1\n2\n', 2))
    t.equal((await next.answer()).status, 200)
    t.equal(deps.loads.at(-1)?.text, '1\n2\n')
  }
  // An answer before the route leaves the connection open.
  const client = await open()
  client.send(head('/%zz'), `${tiny.repeat(20_000)}0\r\n\r\n`, head(append, authorized), chunksOf('3\n', 1))
  t.equal((await client.answer()).status, 400)
  t.equal((await client.answer()).status, 200)
  t.equal(deps.loads.at(-1)?.text, '3\n')
  t.equal(gates.length, 8)
})

t.test('a body with a Content-Length has no gate', async (t) => {
  const { gates, open } = await openApp(t)
  const client = await open()
  client.send(`POST ${append} HTTP/1.1\r\nHost: a\r\n${authorized}\r\nContent-Length: 2\r\n\r\n1\n`)
  t.equal((await client.answer()).status, 200)
  t.equal(gates.length, 0)
})

t.test('what there is for tiny chunks comes back with time, and never more of it', (t) => {
  let now = 0
  const shared = new SharedChunks(() => now)
  const takeAll = (): number => {
    let count = 0
    while (shared.take()) count += 1
    return count
  }
  t.equal(takeAll(), 32_768)
  now += 100
  t.equal(takeAll(), 500)
  now += 86_400_000
  t.equal(takeAll(), 32_768)
  t.end()
})
