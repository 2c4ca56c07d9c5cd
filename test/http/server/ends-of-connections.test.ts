import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'

async function openApp(t: Test, prepare: (app: ReturnType<typeof createApp>) => void = () => {}) {
  const deps = createFakeDeps()
  const app = createApp(deps, limits)
  prepare(app)
  await deps.dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'csv' })
  const open = await listen(t, app)
  return { deps, client: await open() }
}

function head(method: string, url: string, ...lines: readonly string[]): string {
  const all = [`${method} ${url} HTTP/1.1`, 'Host: localhost', ...lines]
  return `${all.join('\r\n')}\r\n\r\n`
}

const secret = `Authorization: Bearer ${token}`
const look = head('GET', '/v0/datasources', secret)
const append = '/v0/datasources?name=a&mode=append'
const row = `${head('POST', append, secret, 'Content-Length: 2')}1\n`

function statusesIn(text: string): readonly string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status)
}

t.test('what breaks a connection is a matter of its last request: those before it are answered', async (t) => {
  const cases = [
    { last: 'no HTTP at all\r\n\r\n', statuses: ['200', '200', '200'], loads: 2 },
    {
      last: `${head('POST', append, secret, 'Content-Length: 9')}3\n`,
      statuses: ['200', '200', '200', '400'],
      loads: 3,
    },
    {
      last: `${head('POST', append, secret, 'Transfer-Encoding: chunked')}ZZ\r\n`,
      statuses: ['200', '200', '200', '400'],
      loads: 3,
    },
  ]
  for (const { last, statuses, loads } of cases) {
    const { deps, client } = await openApp(t)
    client.send(`${look}${row}${row}${last}`)
    client.socket.end()
    await client.end()
    t.same(statusesIn(client.text), statuses, JSON.stringify(last))
    t.equal(client.text.match(/connection: close/gi)?.length, 1)
    t.equal(deps.loads.length, loads)
  }
})

t.test('an answer that waits for others when the connection breaks is the last one', async (t) => {
  const { client } = await openApp(t, (app) => {
    const later = new Promise<void>((resolve) => app.server.once('clientError', () => setImmediate(resolve)))
    app.addHook('preHandler', ({ method }) => (method === 'GET' ? later : Promise.resolve()))
  })
  client.send(`${look}${row}no HTTP at all\r\n\r\n`)
  await client.end()
  t.same(statusesIn(client.text), ['200', '200'])
})

t.test('nothing is done of what comes behind an answer that closes the connection', async (t) => {
  const { deps, client } = await openApp(t)
  client.send(head('POST', append, 'Authorization: Bearer p.nobody', 'Content-Length: 4'))
  await client.until((text) => text.includes('HTTP/1.1 403'))
  client.send(`1\n2\n${row}`)
  await client.end()
  t.same(statusesIn(client.text), ['403'])
  t.same(deps.loads, [])
})

t.test('a request that asks for another protocol is answered, and ends the connection', async (t) => {
  const { deps, client } = await openApp(t)
  const lines = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']
  client.send(`${head('POST', append, secret, ...lines, 'Content-Length: 2')}1\n${row}`)
  await client.end()
  t.same(statusesIn(client.text), ['200'])
  t.match(client.text, /connection: close/i)
  t.equal(deps.loads.length, 1)
})

t.test('100 Continue of a request that waits for its turn is not sent within its answer', async (t) => {
  const { client } = await openApp(t, (app) => {
    let release = (): void => undefined
    const answered = new Promise<void>((resolve) => {
      release = resolve
    })
    app.addHook('preHandler', ({ url }) => (url === '/health/live' ? answered : Promise.resolve()))
    app.addHook('onSend', async ({ method }) => {
      if (method === 'POST') setImmediate(release)
    })
  })
  // It does not wait for what it asks for, as clients need not.
  const slow = head('GET', '/health/live')
  client.send(`${slow}${head('POST', append, secret, 'Content-Length: 2', 'Expect: 100-continue')}1\n`)
  client.send(look)
  await client.until((text) => statusesIn(text).length === 3)
  t.same(statusesIn(client.text), ['200', '200', '200'])
})

t.test('a request with Expect that has no body does not end its connection', async (t) => {
  const { deps, client } = await openApp(t)
  client.send(`${head('GET', '/health/live', 'Expect: 100-continue')}${row}`)
  await client.until((text) => statusesIn(text).length === 2)
  t.same(statusesIn(client.text), ['200', '200'])
  t.notMatch(client.text, /connection: close/i)
  t.equal(deps.loads.length, 1)
})

t.test(
  'nothing is done behind a request that is refused before its body is read, though it came with it',
  async (t) => {
    const { deps, client } = await openApp(t)
    const lines = ['Authorization: Bearer p.nobody', 'Content-Length: 2', 'Expect: 100-continue']
    client.send(`${head('POST', append, ...lines)}1\n${row}`)
    client.send(row)
    await client.end()
    t.same(statusesIn(client.text), ['403'])
    t.match(client.text, /connection: close/i)
    t.same(deps.loads, [])
  },
)

t.test('a client that is slow to read gets the answers before one that ends its connection', async (t) => {
  const { deps, client } = await openApp(t)
  client.socket.pause()
  const refused = head('POST', append, 'Authorization: Bearer p.nobody', 'Content-Length: 9')
  client.send(`${row}${row}${refused}`)
  while (deps.loads.length < 2) await new Promise((resolve) => setImmediate(resolve))
  // Behind the body of the refused one.
  client.send(`${'x'.repeat(9)}${row.repeat(100)}`)
  await new Promise((resolve) => client.socket.write(row.repeat(100), resolve))
  client.socket.resume()
  await client.end()
  t.same(statusesIn(client.text), ['200', '200', '403'])
  t.equal(deps.loads.length, 2)
})

t.test('behind a request of HTTP/1.0 nothing is begun, and its answer ends the connection', async (t) => {
  for (const lines of [[], ['Connection: keep-alive']]) {
    const { deps, client } = await openApp(t)
    client.send(`${head('GET', '/health/live', ...lines).replace('HTTP/1.1', 'HTTP/1.0')}${row}`)
    await client.end()
    t.same(statusesIn(client.text), ['200'])
    t.same(deps.loads, [])
  }
})
