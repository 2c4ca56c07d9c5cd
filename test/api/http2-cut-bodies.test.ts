// Bodies of HTTP/2 that end without END_STREAM, in each way in which they can.

import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { RawHttp2 } from '../support/http/raw-http2.ts'
import { tlsFixture } from '../support/http/tls-files.ts'

const { files, ca } = tlsFixture('first')
const token = 'p.test.token'
const tries = 30
const leaveTries = 5

/** What ends a stream from the side of its client: its request alone, or its connection. */
const resets = {
  'no error': constants.NGHTTP2_NO_ERROR,
  cancel: constants.NGHTTP2_CANCEL,
  'internal error': constants.NGHTTP2_INTERNAL_ERROR,
}
const leaves = {
  end: (socket) => void socket.end(),
  destroy: (socket) => void socket.destroy(),
} satisfies Record<string, (socket: Socket) => void>

async function openHttp2(t: Test) {
  const service = await openTestService(t, { ...files, http2: true })
  const port = Number(new URL(service.address).port)
  const open = async (): Promise<RawHttp2> => {
    const session = await RawHttp2.open({ port, ca, token })
    t.teardown(() => session.socket.destroy())
    return session
  }
  const client = connect(`https://localhost:${port}`, {
    createConnection: () => connectTls({ port, host: '127.0.0.1', ca, servername: 'localhost', ALPNProtocols: ['h2'] }),
  })
  t.teardown(() => client.destroy())
  const post = async (path: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
    const authorization = `Bearer ${token}`
    const stream = client.request({ ':method': 'POST', ':path': path, authorization, ...headers })
    stream.end(body)
    const [answer] = await once(stream, 'response')
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    return { status: Number(answer[':status']), text }
  }
  return { service, open, post }
}

const { service, open, post } = await openHttp2(t)
const whole = '{"id":1}\n'

t.test('nothing is stored of an event body that is cut', async (t) => {
  const events = '/v0/events?name=cut'
  t.equal((await post('/v0/datasources?name=cut&schema=id%20UInt64', '')).status, 200)
  const bodies: readonly (readonly [string | Uint8Array, Readonly<Record<string, string>>])[] = [
    [whole, {}],
    [whole, { 'content-length': '1000' }],
    [`${whole}{"id":`, {}],
    [gzipSync(whole), { 'content-encoding': 'gzip' }],
    [`[${whole}]`, { 'content-type': 'application/json' }],
  ]
  const begin = async (session: RawHttp2, at: number): Promise<number> => {
    const [body, headers] = bodies[at % bodies.length] ?? [whole, {}]
    const streamId = session.post(events, body, headers)
    // Some are cut before they are begun.
    if (at % 7 !== 0) await session.untilBegun()
    return streamId
  }
  for (const code of Object.values(resets)) {
    const session = await open()
    for (let at = 0; at < tries; at += 1) session.reset(await begin(session, at), code)
    await session.untilBegun()
  }
  for (const leave of Object.values(leaves)) {
    for (let at = 0; at < leaveTries; at += 1) {
      const session = await open()
      await begin(session, at)
      leave(session.socket)
    }
  }
  t.equal((await post(`${events}&wait=true`, '{"id":2}\n')).status, 200)
  t.equal((await post('/v0/sql', 'SELECT groupArray(id) FROM cut FORMAT TSV')).text, '[2]\n')
  t.equal((await post('/v0/sql', 'SELECT count() FROM cut_quarantine FORMAT TSV')).text, '0\n')
})

t.test('the Idempotency-Key of an event body that was cut is free for the whole body', async (t) => {
  const events = '/v0/events?name=keyed'
  t.equal((await post('/v0/datasources?name=keyed&schema=id%20UInt64', '')).status, 200)
  const keyOf = (at: number) => ({ 'idempotency-key': `order ${at}` })
  const session = await open()
  for (let at = 0; at < tries; at += 1) {
    const length: Readonly<Record<string, string>> = at % 2 === 0 ? {} : { 'content-length': '1000' }
    const streamId = session.post(events, whole, { ...keyOf(at), ...length })
    await session.untilBegun()
    session.reset(streamId, constants.NGHTTP2_NO_ERROR)
  }
  await session.untilBegun()
  for (let at = 0; at < tries; at += 1) {
    t.equal((await post(`${events}&wait=true`, `${whole}{"id":${at + 2}}\n`, keyOf(at))).status, 200)
  }
  const counts = 'SELECT countIf(id = 1), countIf(id > 1), uniqExact(id) FROM keyed FORMAT TSV'
  t.equal((await post('/v0/sql', counts)).text, `${tries}\t${tries}\t${tries + 1}\n`)
})

t.test('an event body that has come is whole, though its client resets the request before the answer', async (t) => {
  const events = '/v0/events?name=come'
  t.equal((await post('/v0/datasources?name=come&schema=id%20UInt64', '')).status, 200)
  const session = await open()
  for (const code of Object.values(resets)) {
    for (let at = 0; at < tries; at += 1) {
      const streamId = session.post(`${events}&wait=true`, whole)
      session.endBody(streamId)
      // The second one comes behind what the end of the body began.
      await session.untilBegun()
      await session.untilBegun()
      session.reset(streamId, code)
    }
  }
  await session.untilBegun()
  t.equal((await post(`${events}&wait=true`, '{"id":2}\n')).status, 200)
  const counts = await post('/v0/sql', 'SELECT countIf(id = 1), countIf(id = 2) FROM come FORMAT TSV')
  t.equal(counts.text, `${3 * tries}\t1\n`)
})

t.test('an import that is cut stores its whole lines, and nothing of the line that was cut', async (t) => {
  t.equal((await post('/v0/datasources?name=rows&schema=id%20UInt64,s%20String', '')).status, 200)
  const begin = async (session: RawHttp2, at: number): Promise<number> => {
    const length: Readonly<Record<string, string>> = at % 2 === 0 ? {} : { 'content-length': '1000' }
    const path = '/v0/datasources?mode=append&name=rows&format=csv'
    const streamId = session.post(path, `${at},whole\n${at},who`, length)
    await session.untilBegun()
    return streamId
  }
  const session = await open()
  for (const code of Object.values(resets)) {
    const count = code === constants.NGHTTP2_NO_ERROR ? tries : leaveTries
    for (let at = 0; at < count; at += 1) session.reset(await begin(session, at), code)
  }
  for (const leave of Object.values(leaves)) {
    for (let at = 0; at < leaveTries; at += 1) {
      const own = await open()
      await begin(own, at)
      leave(own.socket)
    }
  }
  const cutCount = tries + 4 * leaveTries
  const ended = new Set<unknown>()
  await service.log.until('An import ended early.', ({ importId, code }) => {
    if (code === 'BODY_CUT') ended.add(importId)
    return ended.size === cutCount
  })
  t.equal((await post('/v0/sql', 'SELECT s, count() FROM rows GROUP BY s FORMAT TSV')).text, `whole\t${cutCount}\n`)
})

t.test('imports that are cut make room for others', async (t) => {
  t.equal((await post('/v0/datasources?name=many&schema=id%20UInt64', '')).status, 200)
  const path = '/v0/datasources?mode=append&name=many&format=csv'
  const session = await open()
  // There may be 64 of an address.
  for (let round = 1; round <= 3; round += 1) {
    for (let at = 0; at < tries; at += 1) {
      const streamId = session.post(path, '1\n')
      await session.untilBegun()
      session.reset(streamId, constants.NGHTTP2_CANCEL)
    }
    const ended = new Set<unknown>()
    await service.log.until('An import ended early.', ({ importId, dataSource }) => {
      if (dataSource === 'many') ended.add(importId)
      return ended.size === round * tries
    })
  }
  t.equal((await post(path, '2\n')).status, 200)
})
