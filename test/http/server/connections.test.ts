import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import type { HttpOptions } from '../../../src/http/http.types.ts'
import { bodyOf, type RequestBody } from '../../../src/http/request/request-body.ts'
import { openRequestsMax } from '../../../src/http/server/pipelining.ts'
import { createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'

async function openApp(t: Test, options: Partial<HttpOptions> = {}) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, ...options })
  const bodies: (RequestBody | undefined)[] = []
  app.addHook('preHandler', async (request) => void bodies.push(bodyOf(request)))
  await deps.dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'csv' })
  return { deps, app, bodies, open: await listen(t, app) }
}

function head(method: string, url: string, ...lines: readonly string[]): string {
  const all = [`${method} ${url} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${token}`, ...lines]
  return `${all.join('\r\n')}\r\n\r\n`
}

const append = '/v0/datasources?name=a&mode=append'

t.test('a body that ends before its Content-Length is answered with what is known of it', async (t) => {
  const { deps, open } = await openApp(t)
  const client = await open()
  client.send(head('POST', append, 'Content-Type: text/csv', 'Content-Length: 100'), '1\n2\n')
  client.socket.end()
  const { status, head: answerHead, body } = await client.answer()
  t.equal(status, 400)
  t.match(answerHead, /connection: close/i)
  t.match(body, { error: 'The connection ended before the body did', imported_rows: 2, datasource: { name: 'a' } })
  t.equal(deps.loads[0]?.text, '1\n2\n')
  t.match(
    deps.entries.find(({ fields }) => 'importId' in fields),
    { level: 'warn', fields: { storedRows: 2 } },
  )
})

t.test('a connection that dies in the middle of a body leaves its counts in the log', async (t) => {
  const { deps, open } = await openApp(t)
  const client = await open()
  const logged = new Promise<void>((resolve) => {
    const { warn } = deps.logger
    deps.logger.warn = (fields, message) => {
      warn(fields, message)
      if ('importId' in fields) resolve()
    }
  })
  client.send(head('POST', append, 'Content-Type: text/csv', 'Transfer-Encoding: chunked'), '4\r\n1\n2\n\r\n')
  // The answer to a request on a second connection tells that the first one has arrived.
  const second = await open()
  second.send(head('GET', '/health/live'))
  await second.answer()
  client.socket.resetAndDestroy()
  await logged
  t.match(deps.loads, [{ text: '1\n2\n' }])
})

t.test('bytes behind the Content-Length do not spoil the answer to it', async (t) => {
  const { deps, open } = await openApp(t)
  const client = await open()
  client.send(`${head('POST', append, 'Content-Type: text/csv', 'Content-Length: 2')}1\n2\n3\n4\n`)
  const { status, body } = await client.answer()
  t.equal(status, 200)
  t.match(body, { error: false })
  t.equal(deps.loads[0]?.text, '1\n')
})

t.test('what is no HTTP, or a broken chunk, is a 400 in the usual shape', async (t) => {
  const { open } = await openApp(t)
  const texts = [
    'nonsense\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nBad Header: \r\n\r\n',
    `GET /${'x'.repeat(70_000)} HTTP/1.1\r\n\r\n`,
    `${head('POST', append, 'Content-Type: text/csv', 'Transfer-Encoding: chunked')}4\r\n1\n2\n\r\nzz\r\n`,
    `${head('POST', '/v0/events?name=a', 'Transfer-Encoding: chunked')}zz\r\n`,
  ]
  for (const text of texts) {
    const client = await open()
    client.send(text)
    const { status, head: answerHead, body } = await client.answer()
    t.equal(status, 400, text.slice(0, 30))
    t.match(body, { error: String, documentation: String })
    t.match(answerHead, /x-request-id: [0-9A-Z]{26}/i)
    t.match(answerHead, /connection: close/i)
  }
})

t.test('a body that breaks while its request waits to be begun is answered by the route of that', async (t) => {
  const { deps, app, open } = await openApp(t)
  let nowMs = 1_000
  const { mock: clock } = mock.method(performance, 'now', () => nowMs)
  t.teardown(() => clock.restore())
  // So a request that comes behind another one in the same turn of the event loop waits.
  app.server.prependListener('request', () => {
    nowMs += 60
  })
  const [first, second] = [await open(), await open()]
  for (const client of [first, second]) {
    client.send(head('GET', '/health/live'))
    await client.answer()
  }
  first.send(head('GET', '/health/live'))
  // In one write, so that it is read before the request is begun.
  const broken = '4\r\n1\n2\n\r\nZZ\r\n'
  second.send(`${head('POST', append, 'Content-Type: text/csv', 'Transfer-Encoding: chunked')}${broken}`)
  const { status, body } = await second.answer()
  t.equal(status, 400)
  t.match(body, { error: 'The request is not valid: it is not HTTP/1.1', imported_rows: 0, datasource: { name: 'a' } })
  t.equal(deps.loads.map(({ text }) => text).join(''), '')
})

t.test('a client that is refused early reads why, although it is still sending', async (t) => {
  const { deps, open } = await openApp(t)
  const cases = [
    { url: '/v0/events?name=missing', status: 404 },
    { url: '/v0/nothing', status: 404 },
    { url: '/v0/events?name=a&wait=x', status: 400 },
    { url: '/v0/events?name=a', status: 413 },
    { url: '/v0/datasources?name=a&mode=append&format=xml', status: 400 },
  ]
  for (const { url, status } of cases) {
    const client = await open()
    const bytes = 4 * 1024 * 1024
    client.send(head('POST', url, 'Content-Type: text/csv', `Content-Length: ${bytes}`), Buffer.alloc(bytes / 2, 'a'))
    const answer = await client.answer()
    t.equal(answer.status, status, url)
    t.match(answer.head, /connection: close/i)
    client.send(Buffer.alloc(bytes / 2, 'a'))
    await client.end()
  }
  t.equal(deps.loads.length, 0)
})

t.test('a client that asks before it sends its body hears 100 or the refusal', async (t) => {
  const { deps, open } = await openApp(t)
  const wanted = await open()
  wanted.send(head('POST', append, 'Content-Type: text/csv', 'Content-Length: 2', 'Expect: 100-continue'))
  t.match(await wanted.until((text) => text.includes('\r\n\r\n')), /^HTTP\/1.1 100 Continue/)
  wanted.text = ''
  wanted.send('1\n')
  t.equal((await wanted.answer()).status, 200)
  t.equal(deps.loads[0]?.text, '1\n')
  const unwanted = await open()
  unwanted.send(head('POST', '/v0/events?name=a', 'Content-Length: 5000000', 'Expect: 100-continue'))
  const { status, head: answerHead } = await unwanted.answer()
  t.equal(status, 413)
  t.match(answerHead, /connection: close/i)
  await unwanted.end()
})

t.test('a sender that falls silent in its body is told so', async (t) => {
  const { open } = await openApp(t, { connectionIdleMsMax: 30 })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  for (const url of [append, '/v0/events?name=a']) {
    const client = await open()
    client.send(head('POST', url, 'Content-Type: text/csv', 'Content-Length: 100'), '1\n')
    const answered = client.until((text) => text.includes('\r\n\r\n'))
    // The silence begins when the service has read what came.
    while (client.text === '') {
      mock.timers.tick(30)
      await new Promise(setImmediate)
    }
    await answered
    const { status, body } = await client.answer()
    t.equal(status, 408)
    t.match(body, { error: /No byte of the body arrived for 0.03 seconds/ })
    client.socket.destroy()
  }
})

t.test('a service that is slow to read does not take the sender for silent', async (t) => {
  const idleMsMax = 20
  const { deps, bodies, open } = await openApp(t, { connectionIdleMsMax: idleMsMax })
  // The clock moves when the test says so: a machine that is slow to bring bytes is no silence of theirs.
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let byteCount = 0
  let waitCount = 0
  deps.ingest.importBody = async ({ body }) => {
    if ('chunks' in body) throw new Error('the body is not opened before')
    const [sent] = bodies
    if (sent === undefined) throw new Error('the request has a body')
    for await (const chunk of body) {
      byteCount += chunk.length
      if (byteCount >= 300_000) continue
      // Longer than the silence that is allowed, with a full buffer behind it.
      while (sent.readableLength < sent.readableHighWaterMark) await new Promise(setImmediate)
      mock.timers.tick(2 * idleMsMax)
      waitCount += 1
    }
    return { storedRows: 0, quarantinedRows: 0, invalidLines: 0, shortLines: 0, failure: null }
  }
  const client = await open()
  const size = 4 * 1024 * 1024
  client.send(head('POST', append, 'Content-Type: text/csv', `Content-Length: ${size}`), Buffer.alloc(size, 'a'))
  t.equal((await client.answer()).status, 200)
  t.equal(byteCount, size)
  t.ok(waitCount > 0, 'it was slow')
})

t.test('a connection is used again after an answer', async (t) => {
  const { deps, open } = await openApp(t)
  const client = await open()
  for (const text of ['1\n', '2\n', '3\n']) {
    client.send(head('POST', append, 'Content-Type: text/csv', `Content-Length: ${text.length}`), text)
    const { status, head: answerHead } = await client.answer()
    t.equal(status, 200)
    t.notMatch(answerHead, /connection: close/i)
  }
  client.send(head('POST', '/v0/events?name=missing', 'Content-Length: 2'), '{}')
  t.equal((await client.answer()).status, 404)
  t.strictSame(
    deps.loads.map(({ text }) => text),
    ['1\n', '2\n', '3\n'],
  )
})

t.test('a multipart body arrives whole wherever the network cuts it', async (t) => {
  const { deps, open } = await openApp(t)
  const body = Buffer.from(
    '--x\r\nContent-Disposition: form-data; name="mode"\r\n\r\nappend\r\n--x\r\nContent-Disposition: form-data; name="csv"; filename="a.csv"\r\n\r\n1,"--x\r\n"\n\r\n--x--\r\n',
  )
  const client = await open()
  client.socket.setNoDelay(true)
  for (let cut = 1; cut < body.length; cut += 5) {
    const type = 'Content-Type: multipart/form-data; boundary=x'
    client.send(head('POST', '/v0/datasources?name=a', type, `Content-Length: ${body.length}`), body.subarray(0, cut))
    await new Promise((resolve) => setImmediate(resolve))
    client.send(body.subarray(cut))
    t.equal((await client.answer()).status, 200)
    t.equal(deps.loads.at(-1)?.text, '1,"--x\r\n"\n', `cut at byte ${cut}`)
  }
})

t.test('an ambiguous form arrives whole wherever the network cuts it', async (t) => {
  const { deps, open } = await openApp(t)
  const client = await open()
  client.socket.setNoDelay(true)
  const type = 'Content-Type: application/x-www-form-urlencoded'
  const rows = 'name,x\n1,2\n'
  for (let cut = 1; cut < rows.length; cut += 1) {
    client.send(head('POST', append, type, `Content-Length: ${rows.length}`), rows.slice(0, cut))
    await new Promise((resolve) => setImmediate(resolve))
    client.send(rows.slice(cut))
    t.equal((await client.answer()).status, 200)
    t.equal(deps.loads.at(-1)?.text, rows, `cut at byte ${cut}`)
  }
})

t.test('a query stops when its client goes away, and breaks the connection when it fails in the middle', async (t) => {
  const { deps, open } = await openApp(t)
  let isAborted: () => void = () => {}
  const aborted = new Promise<void>((resolve) => {
    isAborted = resolve
  })
  deps.answer = async function* () {
    const signal = deps.queries.at(-1)?.signal
    yield Buffer.from('first')
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))
    isAborted()
  }
  const leaving = await open()
  leaving.send(head('GET', '/v0/sql?q=SELECT+1'))
  await leaving.until((text) => text.includes('first'))
  leaving.socket.destroy()
  await aborted
  deps.answer = async function* () {
    yield Buffer.from('first')
    throw new Error('engine died')
  }
  const staying = await open()
  staying.send(head('GET', '/v0/sql?q=SELECT+1'))
  await staying.end()
  t.match(staying.text, /first/)
  t.notMatch(staying.text, /\r\n0\r\n\r\n/)
  t.ok(deps.entries.some(({ level, message }) => level === 'warn' && message === 'An answer broke off in its middle.'))
})

t.test(
  'a client that closes its sending side and waits has its answer, and one that left has its query stopped',
  async (t) => {
    const { deps, open } = await openApp(t)
    for (const version of ['1.1', '1.0']) {
      for (const beginning of ['', 'first']) {
        for (const isAhead of [false, true]) {
          let isAborted: () => void = () => {}
          const aborted = new Promise<void>((resolve) => {
            isAborted = resolve
          })
          let isBegun: () => void = () => {}
          const begun = new Promise<void>((resolve) => {
            isBegun = resolve
          })
          deps.answer = async function* () {
            const signal = deps.queries.at(-1)?.signal
            if (beginning !== '') yield Buffer.from(beginning)
            isBegun()
            await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))
            isAborted()
          }
          const leaving = await open()
          const query = head('GET', '/v0/sql?q=SELECT+1').replace('1.1', version)
          leaving.send(isAhead ? head('GET', '/health/live') + query : query)
          await begun
          leaving.socket.destroy()
          await aborted
          t.pass(`HTTP/${version}, ${beginning}, ${isAhead}`)
        }
      }
    }
    let goOn: () => void = () => {}
    deps.answer = async function* () {
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
      yield Buffer.from('late')
    }
    const waiting = await open()
    waiting.send(head('GET', '/v0/sql?q=SELECT+1'))
    waiting.socket.end()
    await waiting.until((text) => text.split('100 Continue').length > 3)
    goOn()
    await waiting.end()
    t.match(waiting.text, /^(?:HTTP\/1.1 100 Continue\r\n\r\n){3,}HTTP\/1.1 200 OK\r\n.*late/s)
  },
)

t.test('while it closes the service takes no new work, and finishes what it has', async (t) => {
  const { deps, app, open } = await openApp(t)
  const working = await open()
  working.send(head('POST', append, 'Content-Type: text/csv', 'Content-Length: 4'), '1\n')
  const other = await open()
  other.send(head('GET', '/health/ready'))
  t.equal((await other.answer()).status, 200)
  // The second request of this connection waits behind its first, unfinished one.
  const late = await open()
  late.send(`POST ${append} HTTP/1.1\r\nHost: x\r\n`)
  const closed = app.close()
  late.send(`Authorization: Bearer ${token}\r\nContent-Type: text/csv\r\nContent-Length: 2\r\n\r\n1\n`)
  t.equal((await late.answer()).status, 503)
  working.send('2\n')
  t.equal((await working.answer()).status, 200)
  await closed
  t.match(deps.loads, [{ text: '1\n2\n' }])
})

t.test('a client whose requests pile up reads the first answers, then why there are no more', async (t) => {
  const { deps, open } = await openApp(t)
  const client = await open()
  client.send(head('GET', '/v0/datasources').repeat(50_000))
  await client.end()
  t.equal(answersIn(client.text), openRequestsMax)
  t.match(
    client.text.slice(client.text.lastIndexOf('HTTP/1.1 ')),
    /^HTTP\/1\.1 429 .*"error":"A connection may have 64/s,
  )
  t.match(
    deps.entries.filter(({ message }) => message.startsWith('A connection is closed')),
    [{ level: 'warn', fields: { openRequestsMax } }],
    'and one line tells it',
  )
  const other = await open()
  other.send(head('GET', '/v0/datasources'))
  t.equal((await other.answer()).status, 200)
})

t.test(
  'of requests that are sent ahead in one write those within the bound are answered, and the next one is told',
  async (t) => {
    const { deps, open } = await openApp(t)
    const chunked = `${head('POST', append, 'Transfer-Encoding: chunked')}${'1\r\n1\r\n'.repeat(500)}0\r\n\r\n`
    const behind = [
      head('GET', '/v0/datasources'),
      head('GET', '/v0/datasources').repeat(300),
      `${head('POST', append, 'Content-Length: 4')}1\n2\n`,
      chunked,
      chunked + head('GET', '/v0/datasources'),
      head('POST', append, 'Content-Length: 1000000', 'Expect: 100-continue'),
    ]
    for (const rest of behind) {
      const client = await open()
      client.send(head('GET', '/v0/datasources').repeat(openRequestsMax) + rest)
      await client.end()
      t.equal(answersIn(client.text), openRequestsMax)
      const last = client.text.slice(client.text.lastIndexOf('HTTP/1.1 '))
      t.match(last, /^HTTP\/1\.1 429 /)
      t.match(last, /connection: close/i)
      t.match(last, /retry-after: 1/i)
      t.match(last, /"error":"A connection may have 64 unanswered requests; this one and those after it were ignored/)
      t.equal(client.text.split('HTTP/1.1 429').length - 1, 1, 'it is told once')
    }
    t.equal(deps.loads.length, 0, 'and nothing behind it is done')
  },
)

t.test('requests behind one that was refused are not done when answers go out meanwhile', async (t) => {
  const { deps, open } = await openApp(t)
  const client = await open()
  const waiting = head('POST', append, 'Content-Type: text/csv', 'Content-Length: 4')
  client.send(`${head('GET', '/v0/datasources').repeat(openRequestsMax - 1)}${waiting}`)
  await client.until((text) => answersIn(text) === openRequestsMax - 1)
  client.send('1\n2\n')
  await client.until((text) => answersIn(text) === openRequestsMax)
  client.send(`${waiting}1\n2\n`)
  t.equal(
    answersIn(await client.until((text) => answersIn(text) === openRequestsMax + 1)),
    openRequestsMax + 1,
    'answered ones do not count',
  )
  t.equal(deps.loads.length, 2)
})

t.test('requests that are sent ahead, as many as clients do, are all answered in their order', async (t) => {
  const { open } = await openApp(t)
  const client = await open()
  client.send(head('GET', '/v0/datasources').repeat(openRequestsMax))
  t.equal(answersIn(await client.until((text) => answersIn(text) === openRequestsMax)), openRequestsMax)
})

function answersIn(text: string): number {
  return text.split('HTTP/1.1 200').length - 1
}
