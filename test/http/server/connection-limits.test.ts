import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import type { HttpOptions } from '../../../src/http/http.types.ts'
import { createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'
import type { RawClient } from '../../support/raw-client.ts'

const connectionsPerAddressMax = 3

async function openApp(t: Test, options: Partial<HttpOptions> = {}) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, connectionsPerAddressMax, ...options })
  await deps.dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'csv' })
  return { deps, open: await listen(t, app) }
}

const live = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'

async function ask(client: RawClient): Promise<number> {
  client.send(live)
  return (await client.answer()).status
}

/** A connection with a request under way, whose body is not whole. */
async function openBusy(open: (address: string) => Promise<RawClient>, address: string): Promise<RawClient> {
  const client = await open(address)
  const lines = ['POST /v0/events?name=a HTTP/1.1', 'Host: a', `Authorization: Bearer ${token}`]
  client.send(`${[...lines, 'Expect: 100-continue', 'Content-Length: 9'].join('\r\n')}\r\n\r\n`)
  // It says so when it reads the body.
  await client.until((text) => text.includes('100 Continue'))
  client.text = ''
  return client
}

t.test('an address has as many busy connections as it may, and the next one is told so', async (t) => {
  const { deps, open } = await openApp(t)
  const busy = [await openBusy(open, '127.0.0.2'), await openBusy(open, '127.0.0.2')]
  // One below the limit, and at it.
  busy.push(await openBusy(open, '127.0.0.2'))
  for (const isSending of [true, false]) {
    const refused = await open('127.0.0.2')
    if (isSending) refused.send(live)
    const { status, head, body } = await refused.answer()
    t.equal(status, 429)
    t.match(body, { error: 'Your address has 3 busy connections', documentation: /connections_too_many/ })
    t.match(head, /retry-after: 1[\s\S]*connection: close/i)
    await refused.end()
  }
  t.match(
    deps.entries.find(({ message }) => message.startsWith('Connections are refused')),
    { level: 'warn', fields: { code: 'CONNECTIONS_TOO_MANY', clientAddress: '127.0.0.2', refusedCount: 1 } },
  )
  // Others are served as ever, and so are those that it has.
  t.equal(await ask(await open('127.0.0.3')), 200)
  for (const client of busy) {
    client.send('{"id":1}\n')
    t.equal((await client.answer()).status, 202)
  }
  // None is busy any more.
  t.equal(await ask(await open('127.0.0.2')), 200)
})

t.test('a connection that waits for a request gives way to a new one, the one that is unused first', async (t) => {
  const { open } = await openApp(t)
  const used = await open('127.0.0.2')
  t.equal(await ask(used), 200)
  const unused = await open('127.0.0.2')
  const slow = await open('127.0.0.2')
  slow.send('GET /health/live HTTP/1.1\r\nHost: a\r\nX-Slow: ')
  for (const given of [unused, slow]) {
    const next = await open('127.0.0.2')
    t.equal(await ask(next), 200)
    await given.end()
    t.equal(await ask(used), 200)
  }
})

t.test('a trusted proxy has no limit of its own, and 0 sets none', async (t) => {
  const { open } = await openApp(t)
  const all = []
  for (let count = 0; count <= connectionsPerAddressMax; count += 1) all.push(await openBusy(open, '127.0.0.1'))
  t.equal(await ask(await open('127.0.0.1')), 200)
  const unlimited = await openApp(t, { connectionsPerAddressMax: 0 })
  for (let count = 0; count <= connectionsPerAddressMax; count += 1) {
    all.push(await openBusy(unlimited.open, '127.0.0.2'))
  }
  t.equal(await ask(await unlimited.open('127.0.0.2')), 200)
  t.notOk(all.some(({ isEnded }) => isEnded))
})

t.test('the connections of all addresses have a limit, that proxies count for too', async (t) => {
  const { open } = await openApp(t, { connectionsMax: 4, connectionsPerAddressMax: 0 })
  for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) await openBusy(open, address)
  const idle = await open('127.0.0.4')
  t.equal(await ask(idle), 200)
  // It takes the place of the one that waits.
  await openBusy(open, '127.0.0.5')
  await idle.end()
  const refused = await open('127.0.0.6')
  const { status, head, body } = await refused.answer()
  t.equal(status, 503)
  t.match(body, { documentation: /connections_exhausted/ })
  t.match(head, /retry-after: 1/i)
})

t.test('of many refused at once those that are told are bounded, and none is left open', async (t) => {
  const { open } = await openApp(t, { connectionsPerAddressMax: 1 })
  await openBusy(open, '127.0.0.2')
  const refused = await Promise.all(Array.from({ length: 300 }, () => open('127.0.0.2')))
  const texts = await Promise.all(refused.map((client) => client.until(() => false)))
  for (const text of texts) t.match(text, /^(?:$|HTTP\/1\.1 429 )/)
  t.ok(texts.some((text) => text !== ''))
  t.equal(await ask(await open('127.0.0.3')), 200)
})

t.test('nothing is read of connections that are reset before they are accepted', async (t) => {
  const { deps, open } = await openApp(t, { connectionsPerAddressMax: 0 })
  const event = [
    'POST /v0/events?name=a HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${token}`,
    'Content-Length: 8',
    '',
  ]
  // The server accepts one in a turn of the event loop, and the others have sent and left by then.
  const opened = Array.from({ length: 60 }, () => open('127.0.0.2'))
  for (const opening of opened) {
    void opening.then(({ socket }) => {
      socket.write(`${event.join('\r\n')}\r\n{"id":1}`, () => socket.resetAndDestroy())
    })
  }
  await Promise.all(opened)
  t.equal(await ask(await open('127.0.0.3')), 200)
  t.ok(deps.events.length < 30, `${deps.events.length} are read`)
})
