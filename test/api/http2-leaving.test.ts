// Clients of HTTP/2 that leave before they have their answers, in each way in which they can.

import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import type { Options } from '../../src/config.ts'
import { openTestService } from '../support/api/test-service.ts'
import { tlsFixture } from '../support/http/tls-files.ts'

const { files, ca } = tlsFixture('first')
const endless = 'SELECT count() FROM numbers(100000000000000) WHERE sipHash64(number) = 1'

/** What a client can do to leave: of its request, or of its connection. */
const ways = {
  cancel: ({ stream }) => stream.close(constants.NGHTTP2_CANCEL),
  'no error': ({ stream }) => stream.close(constants.NGHTTP2_NO_ERROR),
  connection: ({ session }) => session.destroy(),
} satisfies Record<string, (asked: Asked) => void>

interface Asked {
  readonly session: ClientHttp2Session
  readonly stream: ClientHttp2Stream
}

async function openHttp2(t: Test, given: Partial<Options> = {}) {
  const options = { ...files, http2: true, queryTimeMaxMs: 3_600_000, readSessions: 1, ...given }
  const service = await openTestService(t, options)
  const port = Number(new URL(service.address).port)
  const open = (): ClientHttp2Session => {
    const socket = () => connectTls({ port, host: '127.0.0.1', ca, servername: 'localhost', ALPNProtocols: ['h2'] })
    const session = connect(`https://localhost:${port}`, { createConnection: socket })
    session.on('error', () => {})
    t.teardown(() => session.destroy())
    return session
  }
  const ask = (session: ClientHttp2Session, path: string, body?: string): Asked => {
    const authorization = 'Bearer p.test.token'
    const stream = session.request({ ':method': body === undefined ? 'GET' : 'POST', ':path': path, authorization })
    stream.on('error', () => {})
    if (body !== undefined) stream.end(body)
    return { session, stream }
  }
  const others = open()
  const answerTo = async (path: string, body?: string): Promise<{ status: unknown; text: string }> => {
    const { stream } = ask(others, path, body)
    const [headers] = await once(stream, 'response')
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    return { status: headers[':status'], text }
  }
  const untilBusy = async (): Promise<void> => {
    for (;;) {
      const { text } = await answerTo('/metrics')
      if (/^millrace_engine_sessions_busy\{purpose="query"\} 1$/m.test(text)) return
    }
  }
  return { open, ask, answerTo, untilBusy, service }
}

t.test('a query whose client has left is stopped, and those that waited behind it', async (t) => {
  const { open, ask, answerTo, untilBusy } = await openHttp2(t)
  for (const [way, leave] of Object.entries(ways)) {
    const session = open()
    const running = ask(session, '/v0/sql', endless)
    await untilBusy()
    // Behind it, in line for the only session of the engine.
    const waiting = Array.from({ length: 3 }, () => ask(session, '/v0/sql', endless))
    for (const asked of [...waiting, running]) leave(asked)
    const answer = await answerTo('/v0/sql?q=SELECT%201%20FORMAT%20TSV')
    t.match(answer, { status: 200, text: '1\n' }, way)
  }
})

t.test('whoever leaves gives back its wait for a receipt', async (t) => {
  const { open, ask, answerTo } = await openHttp2(t, {
    ...{ eventsFlushIdleMs: 3_600_000, eventsFlushAgeMs: 3_600_000, receiptWaitMaxMs: 3_600_000, receiptWaitsMax: 1 },
  })
  t.equal((await answerTo('/v0/datasources?name=late&schema=n%20UInt32', '')).status, 200)
  const acknowledged = ask(open(), '/v0/events?name=late', '{"n":1}')
  const [headers] = await once(acknowledged.stream, 'response')
  const path = `/v0/datasources/late/freshness?wait_until=${headers['x-millrace-receipt']}`
  /** Asks twice at once. The first has the only place when the second, which is refused, has its answer alone. */
  const askTwice = async (): Promise<{ readonly first: Asked; readonly isTaken: boolean }> => {
    const session = open()
    const first = ask(session, path)
    let isTaken = true
    first.stream.once('response', () => {
      isTaken = false
    })
    const [refused] = await once(ask(session, path).stream, 'response')
    t.equal(refused[':status'], 503)
    return { first, isTaken }
  }
  for (const [way, leave] of Object.entries(ways)) {
    let asked = await askTwice()
    // The one before it has left, and the service is about to see it.
    while (!asked.isTaken) asked = await askTwice()
    leave(asked.first)
    t.pass(way)
  }
})
