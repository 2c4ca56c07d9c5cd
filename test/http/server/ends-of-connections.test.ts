import { once } from 'node:events'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { mebibyte } from '../../../src/shared/bytes.ts'
import { createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'
import type { RawClient } from '../../support/raw-client.ts'

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

const bad = 'Authorization: Bearer p.nobody'
const closings = [
  { name: 'Connection: close', last: head('GET', '/health/live', 'Connection: close'), status: '200' },
  { name: 'HTTP/1.0', last: head('GET', '/health/live').replace('HTTP/1.1', 'HTTP/1.0'), status: '200' },
  { name: 'garbage', last: 'no HTTP at all\r\n\r\n', status: null },
  { name: 'a tunnel', last: head('CONNECT', 'a:1'), status: null },
  { name: 'another protocol', last: head('GET', '/health/live', 'Upgrade: h2c'), status: '200' },
  { name: 'headers that are too long', last: head('GET', '/health/live', `X: ${'x'.repeat(70_000)}`), status: null },
  {
    name: 'a refusal',
    last: `${head('POST', append, bad, 'Content-Length: 2')}1\n\u0016\r\n\r\n`,
    status: '403',
  },
]

for (const { name, last, status } of closings) {
  t.test(`a client that sends on behind the end and reads late has all of its answers: ${name}`, async (t) => {
    for (const before of [[], [row, row]]) {
      const sockets: Socket[] = []
      const { deps, client } = await openApp(t, (app) => void app.server.on('connection', (s) => void sockets.push(s)))
      client.socket.pause()
      client.send(`${before.join('')}${last}`)
      while (!sockets[0]?.writableEnded) await new Promise((resolve) => setImmediate(resolve))
      for (let part = 0; part < 3; part++) {
        await new Promise((resolve) => client.socket.write(row.repeat(1_000), resolve))
        // A reset has come by then, where one comes.
        await new Promise((resolve) => setImmediate(resolve))
      }
      client.socket.resume()
      await client.end()
      // What breaks a connection is told where no answer stands before it.
      const own = status ?? (before.length === 0 ? '400' : null)
      t.same(statusesIn(client.text), [...before.map(() => '200'), ...(own === null ? [] : [own])])
      t.equal(deps.loads.length, before.length)
    }
  })
}

t.test(
  'a connection whose client does not end it behind its last answer ends after a while, or many bytes',
  async (t) => {
    const ends = [(): void => {}, ({ socket }: RawClient): void => void socket.write(Buffer.alloc(17 * mebibyte))]
    await Promise.all(
      ends.map(async (act) => {
        const closed: Promise<unknown>[] = []
        const { client } = await openApp(t, (app) => {
          app.server.on('connection', (socket) => void closed.push(once(socket, 'close')))
        })
        client.send(head('GET', '/health/live', 'Connection: close'))
        await client.until((text) => text.includes('live'))
        act(client)
        await Promise.all(closed)
        t.same(statusesIn(client.text), ['200'])
      }),
    )
  },
)

t.test(
  'what a client sends while it waits for its answers is not taken off what it may send behind them',
  async (t) => {
    let answer = (): void => undefined
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    const { client } = await openApp(t, (app) => {
      app.addHook('preHandler', ({ url }) => (url === '/health/live' ? held : Promise.resolve()))
    })
    client.socket.pause()
    client.send(`${head('GET', '/health/live')}${head('CONNECT', 'a:1')}`)
    const parts = Array.from({ length: 20 }, () => {
      return new Promise<void>((resolve) => client.socket.write(Buffer.alloc(mebibyte), () => resolve()))
    })
    await parts[15]
    answer()
    await Promise.all(parts)
    client.socket.resume()
    await client.end()
    t.same(statusesIn(client.text), ['200'])
  },
)

t.test('a service that closes does not wait for clients that have all of their answers', async (t) => {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, closeTimeoutMs: 2_000 })
  const client = await (await listen(t, app))()
  // Of a connection behind it Node knows nothing.
  client.send(head('CONNECT', 'a:1'))
  await client.end()
  t.same(statusesIn(client.text), ['400'])
  await app.close()
  t.same(
    deps.entries.filter(({ level }) => level === 'warn'),
    [],
    'no connection was cut',
  )
})
