import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type Settings } from 'node:http2'
import { type AddressInfo, connect as connectPlain, type Socket } from 'node:net'
import { mock } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import type { HttpOptions } from '../../../src/http/http.types.ts'
import { createFakeDeps, type FakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { frame, frameTypes, opening, requestHead, wholeRequest } from '../../support/http/http2-frames.ts'
import { tlsFixture } from '../../support/http/tls-files.ts'

const { files, ca } = tlsFixture('first')

type App = ReturnType<typeof createApp>

async function openApp(t: Test, options: Partial<HttpOptions> = {}, prepare: (app: App) => void = () => {}) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, ...files, http2: true, ...options })
  prepare(app)
  await deps.dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'csv' })
  t.teardown(() => app.close())
  const listening: Promise<string> = app.listen({ host: '127.0.0.1', port: 0 })
  await listening
  // A server that listens on TCP has such an address.
  const { port } = app.server.address() as AddressInfo
  const openSocket = (localAddress: string): TLSSocket => {
    const over = connectPlain({ host: '127.0.0.1', port, localAddress })
    const socket = connectTls({ socket: over, ca, servername: 'localhost', ALPNProtocols: ['h2'] })
    socket.on('error', () => {})
    t.teardown(() => over.destroy())
    return socket
  }
  const open = (localAddress = '127.0.0.1', settings: Settings = {}): ClientHttp2Session => {
    const session = connect(`https://localhost:${port}`, {
      settings,
      maxSendHeaderBlockLength: 1_000_000,
      createConnection: () => openSocket(localAddress),
    })
    session.on('error', () => {})
    t.teardown(() => session.destroy())
    return session
  }
  const openRaw = async (): Promise<Socket> => {
    const socket = openSocket('127.0.0.1')
    await once(socket, 'secureConnect')
    return socket
  }
  return { deps, app, open, openRaw }
}

const authorization = `Bearer ${token}`

interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

async function answerTo(stream: ClientHttp2Stream): Promise<Answer> {
  const [headers] = await once(stream, 'response')
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return { status: headers[':status'], headers, text }
}

function get(session: ClientHttp2Session, path: string): Promise<Answer> {
  return answerTo(session.request({ ':path': path, authorization }))
}

function post(session: ClientHttp2Session, path: string, more: Record<string, string> = {}): ClientHttp2Stream {
  return session.request({ ':method': 'POST', ':path': path, authorization, ...more })
}

const append = '/v0/datasources?name=a&mode=append&format=csv'

t.test('clients that choose HTTP/2 have the same answers', async (t) => {
  const { deps, open } = await openApp(t)
  const session = open()
  const live = await get(session, '/health/live')
  t.equal(live.status, 200)
  t.match(live.headers, { 'strict-transport-security': /max-age/, 'x-request-id': /^\w{26}$/ })
  t.match(await get(session, '/v0/nothing'), { status: 404, text: /"documentation"/ })
  t.equal((await answerTo(session.request({ ':path': '/v0/datasources' }))).status, 403)
  // A body has no length in HTTP/2 unless its sender says so.
  for (const headers of [{}, { 'content-length': '9' }] as Record<string, string>[]) {
    const events = post(session, '/v0/events?name=a', headers)
    events.end('{"id":1}\n')
    t.match(await answerTo(events), { status: 202, text: /"successful_rows":1/ })
  }
  t.match(deps.events, [{ text: '{"id":1}\n' }, { text: '{"id":1}\n' }])
  const rows = post(session, append)
  rows.write('1\n')
  rows.end('2\n')
  t.equal((await answerTo(rows)).status, 200)
  t.equal(deps.loads[0]?.text, '1\n2\n')
  t.match(await get(session, '/v0/sql?q=SELECT%201'), { status: 200, text: '{"data":[]}\n' })
  t.equal((await get(session, '/v0/events?name=a')).status, 405)
  const empty = post(session, '/v0/events?name=a')
  empty.end()
  t.equal((await answerTo(empty)).status, 200)
})

t.test('the URLs of answers have the authority that the request names, which must be one', async (t) => {
  const { open } = await openApp(t)
  const session = open()
  const urls = session.request({ ':path': '/v0/pipes/none/openapi.json', ':authority': 'a@b', authorization })
  t.match(await answerTo(urls), { status: 400, text: /its header Host is not a name/ })
})

t.test('a request has as many headers, and as long ones, as one of HTTP/1.1', async (t) => {
  const { open } = await openApp(t)
  const session = open()
  const withHeaders = (path: string, headers: Record<string, string>): Promise<Answer> =>
    answerTo(session.request({ ':path': path, ':authority': 'localhost', authorization, ...headers }))
  const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, 'a']))
  t.equal((await withHeaders('/health/live', numbered(255))).status, 200)
  t.match(await withHeaders('/health/live', numbered(256)), { status: 400, text: /more than 256 headers/ })
  t.equal((await withHeaders('/health/live', { 'x-a': 'a'.repeat(65_000) })).status, 200)
  const tooLong = { status: 400, text: /its URL and headers are too long/, headers: { 'x-request-id': /./ } }
  t.match(await withHeaders('/health/live', { 'x-a': 'a'.repeat(66_000) }), tooLong)
  t.match(await withHeaders('/health/live', { 'x-a': 'a'.repeat(100_000) }), tooLong)
  t.match(await withHeaders(`/health/live?a=${'a'.repeat(66_000)}`, {}), tooLong)
})

t.test('a request that expects what nobody knows is told so', async (t) => {
  const { open } = await openApp(t)
  const stream = post(open(), '/v0/events?name=a', { expect: 'foo' })
  stream.end('{"id":1}\n')
  const headers = { 'x-request-id': /^\w{26}$/, 'x-content-type-options': 'nosniff' }
  t.match(await answerTo(stream), { status: 417, text: /"documentation":".*#expectation_unknown"/, headers })
})

t.test('a client that waits for 100 Continue is told to go on, however it is spelled', async (t) => {
  const { open } = await openApp(t)
  for (const expect of ['100-continue', '100-Continue']) {
    const stream = post(open(), '/v0/events?name=a', { expect })
    await once(stream, 'continue')
    stream.end('{"id":1}\n')
    t.match(await answerTo(stream), { status: 202 }, expect)
  }
})

t.test('a client that waits for 100 Continue is not told to go on where its request is refused', async (t) => {
  const { open } = await openApp(t)
  for (const expect of ['100-continue', '100-Continue']) {
    for (const { path, status, ...headers } of [
      { path: '/v0/events?name=a', status: 403, authorization: 'Bearer nobody' },
      { path: '/v0/nothing', status: 404 },
      { path: '/v0/events?name=a', status: 413, 'content-length': '99999999999' },
    ]) {
      const stream = post(open(), path, { expect, ...headers })
      const told = { goesOn: false }
      stream.on('continue', () => {
        told.goesOn = true
      })
      t.match(await answerTo(stream), { status }, `${path} ${status}`)
      t.equal(told.goesOn, false, `${path} ${status}`)
    }
  }
})

t.test('a request for a tunnel is refused as over HTTP/1.1', async (t) => {
  const { open } = await openApp(t)
  const stream = open().request({ ':method': 'CONNECT', ':authority': 'a:22' })
  const headers = { 'x-request-id': /^\w{26}$/, 'x-content-type-options': 'nosniff' }
  t.match(await answerTo(stream), { status: 400, text: /it asks for a tunnel/, headers })
})

t.test('a method that nobody knows is refused as over HTTP/1.1', async (t) => {
  const { open } = await openApp(t)
  const session = open()
  const headers = { 'x-request-id': /^\w{26}$/, 'x-content-type-options': 'nosniff' }
  for (const method of ['get', 'FOO', 'x'.repeat(5_000)]) {
    const stream = session.request({ ':method': method, ':path': '/health/live' }, { endStream: true })
    t.match(await answerTo(stream), { status: 400, text: /HTTP has no such method/, headers }, method.slice(0, 9))
  }
  const known = session.request({ ':method': 'PROPFIND', ':path': '/health/live' }, { endStream: true })
  t.match(await answerTo(known), { status: /40[45]/, headers })
})

t.test('a body that its client cuts is taken for cut', async (t) => {
  for (const isReset of [true, false]) {
    const { deps, openRaw, open } = await openApp(t)
    const logged = untilImportLogged(deps)
    const socket = await openRaw()
    const head = { ':method': 'POST', ':scheme': 'https', ':authority': 'a', ':path': append, authorization }
    const rows = frame({ type: frameTypes.data, streamId: 1, payload: Buffer.from('1\n') })
    const events = { ...head, ':path': '/v0/events?name=a' }
    const event = frame({ type: frameTypes.data, streamId: 3, payload: Buffer.from('{"id":1}\n') })
    const ping = frame({ type: frameTypes.ping, payload: Buffer.alloc(8) })
    socket.write(Buffer.concat([opening(), requestHead(1, head), rows, requestHead(3, events), event, ping]))
    // The answer to the ping tells that the rows have arrived.
    await untilPingAnswered(socket)
    if (isReset) {
      const payload = Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL)
      for (const streamId of [1, 3]) socket.write(frame({ type: frameTypes.rstStream, streamId, payload }))
    } else socket.destroy()
    await logged
    t.match(
      deps.entries.find(({ fields }) => 'importId' in fields),
      { level: 'warn', fields: { code: 'BODY_CUT', storedRows: 1 } },
    )
    t.same(deps.events, [])
    t.equal((await get(open(), '/health/live')).status, 200)
    socket.destroy()
  }
})

function untilImportLogged({ logger }: FakeDeps): Promise<void> {
  return new Promise((resolve) => {
    const { warn } = logger
    logger.warn = (fields, message) => {
      warn(fields, message)
      if ('importId' in fields) resolve()
    }
  })
}

function untilPingAnswered(socket: Socket): Promise<void> {
  const answer = frame({ type: frameTypes.ping, flags: 1, payload: Buffer.alloc(8) })
  let bytes = Buffer.alloc(0)
  return new Promise((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (bytes.includes(answer)) resolve()
    })
  })
}

t.test('a client that is refused early reads why', async (t) => {
  const { open } = await openApp(t)
  const session = open()
  const large = post(session, '/v0/events?name=a')
  large.on('error', () => {})
  large.write(Buffer.alloc(500_000, 'a'))
  t.match(await answerTo(large), { status: 413, text: /payload_too_large/ })
  large.end()
  t.equal((await get(session, '/health/live')).status, 200)
})

t.test('what a client sends behind a refusal is read for a while, and then reset', async (t) => {
  const { open } = await openApp(t)
  const session = open()
  const large = post(session, '/v0/events?name=a', { authorization: 'Bearer none' })
  large.on('error', () => {})
  large.write(Buffer.alloc(4 * 1024 * 1024, 'a'))
  const closed = once(large, 'close')
  t.equal((await answerTo(large)).status, 403)
  await closed
  t.equal(large.rstCode, constants.NGHTTP2_NO_ERROR)
  t.not(large.writableLength, 0, 'the rest was not read')
  t.equal((await get(session, '/health/live')).status, 200)
})

t.test('a session has as many requests at once as it may', async (t) => {
  const { open } = await openApp(t, { http2StreamsMax: 2 })
  const session = open()
  await once(session, 'remoteSettings')
  t.equal(session.remoteSettings.maxConcurrentStreams, 2)
  const held = [post(session, '/v0/events?name=a'), post(session, '/v0/events?name=a')]
  for (const stream of held) stream.write('{')
  // The client waits with the third one.
  const third = get(session, '/health/live')
  for (const stream of held) {
    stream.end('"id":1}\n')
    t.equal((await answerTo(stream)).status, 202)
  }
  t.equal((await third).status, 200)
})

t.test('an address that has too many connections is told to go away', async (t) => {
  const { open } = await openApp(t, { connectionsPerAddressMax: 1 })
  const busy = open('127.0.0.2')
  const events = post(busy, '/v0/events?name=a')
  events.write('{"id":1}\n')
  await get(busy, '/health/live')
  const refused = open('127.0.0.2')
  const [code, lastStreamId, told] = await once(refused, 'goaway')
  t.equal(code, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  t.equal(lastStreamId, 0)
  t.match(JSON.parse(String(told)), { documentation: /connections_too_many/ })
  events.end()
  t.equal((await answerTo(events)).status, 202)
  // It waits for a request now, and gives way: its client is told to take another connection.
  const told2 = once(busy, 'goaway')
  t.equal((await get(open('127.0.0.2'), '/health/live')).status, 200)
  t.equal((await told2)[0], constants.NGHTTP2_NO_ERROR)
})

t.test('all connections together have a limit too, and a session too many is told so', async (t) => {
  const { open } = await openApp(t, { connectionsMax: 16 })
  const busy = Array.from({ length: 16 }, (_, index) => post(open(`127.0.0.${index + 2}`), '/v0/events?name=a'))
  for (const events of busy) events.write('{"id":1}\n')
  for (const { session } of busy) if (session !== undefined) await get(session as ClientHttp2Session, '/health/live')
  const [code, , told] = await once(open('127.0.0.20'), 'goaway')
  t.equal(code, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  t.match(JSON.parse(String(told)), { documentation: /connections_exhausted/ })
})

t.test('a stream whose body comes too slowly is told so, however busy its session is', async (t) => {
  const { open } = await openApp(t, { bodyRateMin: 1_000, bodyRateWindowMs: 1_000 })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const session = open()
  const slow = post(session, '/v0/events?name=a')
  slow.on('error', () => {})
  slow.write('{"id":1}\n')
  const answer = answerTo(slow)
  let isAnswered = false
  const answered = answer.finally(() => {
    isAnswered = true
  })
  while (!isAnswered) {
    t.equal((await get(session, '/health/live')).status, 200)
    mock.timers.tick(1_000)
  }
  t.match(await answered, { status: 408, text: /body_too_slow/ })
  slow.end()
  t.equal((await get(session, '/health/live')).status, 200)
})

t.test('streams whose answers nobody reads are given up, and their session serves others', async (t) => {
  const streamIds = Array.from({ length: 50 }, (_, index) => 2 * index + 1)
  let openCount = 0
  let seenCount = 0
  let tellSeen = (): void => undefined
  const seen = new Promise<void>((resolve) => {
    tellSeen = resolve
  })
  const { open, openRaw } = await openApp(t, { connectionIdleMsMax: 200 }, (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      if (request.url === '/v0/sql?q=1') {
        openCount += 1
        seenCount += 1
        if (seenCount === streamIds.length) tellSeen()
        reply.raw.once('close', () => {
          openCount -= 1
        })
      }
      done()
    })
  })
  const head = { ':method': 'GET', ':scheme': 'https', ':authority': 'a', ':path': '/v0/sql?q=1', authorization }
  // No byte of an answer fits into a window that its client has made this small.
  const noWindow = frame({ type: frameTypes.settings, payload: Buffer.of(0, 4, 0, 0, 0, 0) })
  const socket = await openRaw()
  const ping = frame({ type: frameTypes.ping, payload: Buffer.alloc(8) })
  socket.write(Buffer.concat([opening(), noWindow, ...streamIds.map((id) => wholeRequest(id, head)), ping]))
  await untilPingAnswered(socket)
  await seen
  const session = open()
  while (openCount > 0) t.equal((await get(session, '/health/live')).status, 200)
  t.notOk(socket.destroyed)
})

t.test('a session that resets hundreds of its requests is closed', async (t) => {
  const { deps, open, openRaw } = await openApp(t)
  const head = { ':method': 'GET', ':scheme': 'https', ':authority': 'a', ':path': '/health/live' }
  const payload = Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL)
  const reset = (streamId: number): Buffer =>
    Buffer.concat([requestHead(streamId, head), frame({ type: frameTypes.rstStream, streamId, payload })])
  const ping = frame({ type: frameTypes.ping, payload: Buffer.alloc(8) })
  const socket = await openRaw()
  socket.write(Buffer.concat([opening(), ...Array.from({ length: 400 }, (_, index) => reset(2 * index + 1)), ping]))
  await untilPingAnswered(socket)
  t.notOk(
    deps.entries.some(({ message }) => message.startsWith('An HTTP/2 session is closed')),
    '400 are let pass',
  )
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume()
  socket.write(reset(801))
  await closed
  t.ok(deps.entries.some(({ message }) => message.startsWith('An HTTP/2 session is closed')))
  t.equal((await get(open(), '/health/live')).status, 200)
})

t.test('a close answers what is under way, and ends sessions that wait', async (t) => {
  const { app, open } = await openApp(t)
  const idle = open()
  t.equal((await get(idle, '/health/live')).status, 200)
  const session = open()
  const events = post(session, '/v0/events?name=a')
  events.write('{"id":1}\n')
  await get(session, '/health/live')
  const closing = app.close()
  await once(idle, 'close')
  events.end()
  t.equal((await answerTo(events)).status, 202)
  await closing
})

t.test(
  'a stream whose client takes nothing of its answer is closed, whatever the session does beside it',
  async (t) => {
    const { open } = await openApp(t, { connectionIdleMsMax: 400 })
    const session = open('127.0.0.1', { initialWindowSize: 0 })
    const ping = (): void => {
      if (!session.destroyed) session.ping(ping)
    }
    session.once('connect', ping)
    const unread = session.request({ ':path': '/health/live' })
    unread.resume()
    await once(unread, 'response')
    await once(unread, 'close')
    t.equal(unread.rstCode, constants.NGHTTP2_CANCEL)
    t.notOk(session.destroyed)
  },
)

t.test('without the option clients have HTTP/1.1', async (t) => {
  const { open } = await openApp(t, { http2: false })
  const session = open()
  await new Promise((resolve) => session.once('close', resolve))
  t.not(session.alpnProtocol, 'h2')
})
