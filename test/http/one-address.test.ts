// What bodies of one address cannot take from others, over connections.

import { mock } from 'node:test'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createApp } from '../../src/app.ts'
import type { HttpOptions } from '../../src/http/http.types.ts'
import { createFakeDeps, limits, token } from '../support/http/fake-deps.ts'
import { listen } from '../support/http/listening-app.ts'
import type { RawClient } from '../support/raw-client.ts'

const one = '127.0.0.2'
const other = '127.0.0.3'
const kilobyte = 1_000

async function openApp(t: Test, options: Partial<HttpOptions> = {}) {
  const deps = createFakeDeps()
  const app = createApp(deps, {
    ...limits,
    bodiesBytesMax: 400 * kilobyte,
    eventsBodyBytesMax: 190 * kilobyte,
    ...options,
  })
  await deps.dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'ndjson' })
  const open = await listen(t, app)
  const post = async (address: string, url: string, byteCount: number, ...lines: readonly string[]) => {
    const client = await open(address)
    const head = [`POST ${url} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`, `Content-Length: ${byteCount}`]
    client.send(`${[...head, ...lines].join('\r\n')}\r\n\r\n`)
    return client
  }
  /** Resolves when all that was sent before has arrived, as far as it is read. */
  const settle = async (address: string): Promise<void> => {
    for (let count = 0; count < 3; count += 1) {
      const client = await post(address, '/v0/events?name=a', 9)
      client.send('{"id":1}\n')
      await client.answer()
      client.socket.destroy()
    }
  }
  return { deps, open, post, settle }
}

function events(byteCount: number): string {
  return '{"id":123}\n'.repeat(byteCount / 11)
}

const bodyBytes = 165 * kilobyte
const begun = events(110 * kilobyte)
const rest = events(55 * kilobyte)

t.test('bodies of one address beyond its share are not read until others of it are answered', async (t) => {
  const { post, settle, deps } = await openApp(t)
  const url = '/v0/events?name=a'
  const [first, second] = [await post(one, url, bodyBytes), await post(one, url, bodyBytes)]
  for (const client of [first, second]) {
    client.send(begun)
    await settle(other)
  }
  const third = await post(one, url, bodyBytes)
  third.send(begun, rest)
  const small = await post(one, url, 9)
  small.send('{"id":1}\n')
  t.equal((await small.answer()).status, 202, 'a small body waits for nothing')
  const neighbour = await post(other, url, bodyBytes)
  neighbour.send(begun, rest)
  t.equal((await neighbour.answer()).status, 202)
  await settle(one)
  t.equal(third.text, '', 'it waits')
  first.send(rest)
  second.send(rest)
  for (const client of [first, second, third]) t.equal((await client.answer()).status, 202)
  const sizes = deps.events.map(({ text }) => text.length).filter((size) => size > 9)
  t.same(sizes, [bodyBytes, bodyBytes, bodyBytes, bodyBytes])
})

t.test('behind a trusted proxy the address is that of the client', async (t) => {
  const { post, settle } = await openApp(t, { trustedProxies: one })
  const url = '/v0/events?name=a'
  for (const client of ['192.0.2.1', '192.0.2.1']) {
    const begins = await post(one, url, bodyBytes, `X-Forwarded-For: ${client}`)
    begins.send(begun)
    await settle(other)
  }
  const waits = await post(one, url, bodyBytes, 'X-Forwarded-For: 192.0.2.1')
  waits.send(begun, rest)
  const neighbour = await post(one, url, bodyBytes, 'X-Forwarded-For: 192.0.2.2')
  neighbour.send(begun, rest)
  t.equal((await neighbour.answer()).status, 202)
  await settle(other)
  t.equal(waits.text, '')
})

t.test('a body that waits too long for others of its address is refused', async (t) => {
  const { post, settle } = await openApp(t, { connectionIdleMsMax: 0, bodyRateMin: 0 })
  const url = '/v0/events?name=a'
  for (let count = 0; count < 2; count += 1) {
    const begins = await post(one, url, bodyBytes)
    begins.send(begun)
    await settle(other)
  }
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const waits = await post(one, url, bodyBytes)
  waits.send(begun, rest)
  while (waits.text === '') {
    mock.timers.tick(10_000)
    await new Promise(setImmediate)
  }
  const { status, head, body } = await waits.answer()
  t.equal(status, 503)
  t.match(head, /retry-after: 1/i)
  t.match(body, { error: /^Too many request bodies from your address / })
})

t.test('what bodies of one address are unpacked to counts until they are answered', async (t) => {
  const { post, deps, settle } = await openApp(t)
  const packed = gzipSync(events(bodyBytes))
  const ends: (() => void)[] = []
  const { appendEvents } = deps.ingest
  deps.ingest.appendEvents = async (request) => {
    if (request.body.length > 9) await new Promise<void>((resolve) => ends.push(resolve))
    return await appendEvents(request)
  }
  const send = async (address: string) => {
    const client = await post(address, '/v0/events?name=a', packed.length, 'Content-Encoding: gzip')
    client.send(packed)
    return client
  }
  const own: RawClient[] = []
  // Two of them have the share, and one more goes on.
  for (let count = 1; count <= 3; count += 1) {
    own.push(await send(one))
    while (ends.length < count) await settle(other)
  }
  own.push(await send(one))
  await settle(one)
  const neighbour = await send(other)
  while (ends.length < 4) await settle(other)
  ends.pop()?.()
  t.equal((await neighbour.answer()).status, 202)
  t.equal(ends.length, 3, 'the last one is not unpacked')
  for (const end of ends.splice(0)) end()
  while (ends.length < 1) await settle(other)
  ends[0]?.()
  for (const client of own) t.equal((await client.answer()).status, 202)
})

t.test('one address has half of the places for imports', async (t) => {
  const { post, settle } = await openApp(t, { connectionsPerAddressMax: 0 })
  const url = '/v0/datasources?name=a&mode=append&format=ndjson'
  for (let count = 0; count < 64; count += 1) (await post(one, url, 100)).send('{"id":1}\n')
  await settle(one)
  const refused = await post(one, url, 9)
  refused.send('{"id":1}\n')
  const { status, body } = await refused.answer()
  t.equal(status, 503)
  t.match(body, { error: /^Too many request bodies from your address / })
  const neighbour = await post(other, url, 9)
  neighbour.send('{"id":1}\n')
  t.equal((await neighbour.answer()).status, 200)
})

t.test('what an address sends behind refusals is read at a rate, and no further', async (t) => {
  const { open } = await openApp(t)
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const send = async (address: string, mebibytes: number) => {
    const client = await open(address)
    const bytes = mebibytes * 1024 * 1024
    client.send(
      `POST /v0/events?name=a HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`,
      Buffer.alloc(bytes, 'a'),
    )
    t.equal((await client.answer()).status, 403)
    return client
  }
  // Read to its end, as its connection ends with it.
  const first = await send(one, 12)
  await first.end()
  t.equal(first.socket.writableLength, 0)
  const [second, third] = [await send(one, 40), await send(one, 40)]
  await (await send(other, 12)).end()
  t.notOk(second.isEnded || third.isEnded)
  t.not(third.socket.writableLength, 0, 'it is not read')
  // Who waits for a client to read its answer waits five seconds.
  mock.timers.tick(5_000)
  await Promise.all([second.end(), third.end()])
})
