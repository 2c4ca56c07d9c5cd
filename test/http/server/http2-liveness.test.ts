// Sessions of HTTP/2 that Node reads no more, and tells nobody.

import { once } from 'node:events'
import { connect, createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import { type AddressInfo, connect as connectSocket, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { closeBehindSession } from '../../../src/http/server/http2-ends.ts'
import { endUnlessAnswered } from '../../../src/http/server/http2-liveness.ts'
import type { ConnectionQueue } from '../../../src/http/server/http2-readers.ts'
import { frame, frameTypes, opening, requestHead } from '../../support/http/http2-frames.ts'

const padded = 0x8
const head = { ':method': 'POST', ':scheme': 'http', ':authority': 'a', ':path': '/' }

/** The system does not say what it has sent. */
const unknown = async (): Promise<ConnectionQueue> => ({ handedBytes: 0, unsentBytes: null })

async function openServer(t: Test, answerMsMax: number, queueOf = unknown) {
  const server = createServer()
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => {})
    session.setTimeout(10)
    session.on('timeout', () => {
      session.setTimeout(10)
      endUnlessAnswered(session, { answerMsMax, queueOf })
    })
  })
  server.on('stream', (stream) => void stream.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { server, sessions, port }
}

/** Begins a request whose body has a wrong padding. */
async function breakSession(server: Http2Server, port: number) {
  const socket = connectSocket(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  const begun = once(server, 'stream')
  socket.write(Buffer.concat([opening(), requestHead(1, head)]))
  const [stream] = await begun
  const streamEnds = once(stream, 'close')
  socket.write(frame({ type: frameTypes.data, flags: padded, streamId: 1, payload: Buffer.of(200, 1, 2) }))
  return { socket, stream, streamEnds }
}

t.test('a session whose parser has met an error ends, with its streams and its connection', async (t) => {
  const { server, port } = await openServer(t, 50)
  const { stream, streamEnds, socket } = await breakSession(server, port)
  await Promise.all([streamEnds, once(socket, 'close')])
  t.ok(stream.destroyed)
})

t.test('a session ends only once the system has sent nothing more of it either', async (t) => {
  let lookCount = 0
  // As much is handed over as is taken, so that the queue stays as long as it is.
  const queueOf = async (): Promise<ConnectionQueue> => {
    lookCount += 1
    return { handedBytes: 1_000_000 + 1_000 * Math.min(lookCount, 8), unsentBytes: 500_000 }
  }
  const { server, port } = await openServer(t, 5, queueOf)
  const { streamEnds } = await breakSession(server, port)
  await streamEnds
  t.ok(lookCount > 8, 'what was taken has been the same twice')
})

t.test('a client that answers keeps its session', async (t) => {
  const { sessions, port } = await openServer(t, 60_000)
  const client = connect(`http://127.0.0.1:${port}`)
  t.teardown(() => client.destroy())
  client.request({ ':method': 'POST', ':path': '/' })
  for (let pings = 0; pings < 5; pings += 1) await once(client, 'ping')
  t.equal(sessions[0]?.destroyed, false)
})

/** A client that has sent its preface, never closes its end, and does not answer. */
async function openHalf(t: Test, queueOf: () => Promise<ConnectionQueue>) {
  const server = createServer()
  server.on('session', (session) => void setImmediate(() => session.close()))
  const taken = new Promise<Socket>((resolve) => {
    server.on('connection', (socket: Socket) => {
      closeBehindSession(socket, { answerMsMax: 20, queueOf })
      resolve(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = connectSocket({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => client.destroy())
  client.on('error', () => {})
  client.resume()
  client.write(opening())
  return { socket: await taken, client }
}

t.test('a connection goes behind its session, though its client leaves its end open', async (t) => {
  const { socket } = await openHalf(t, async () => ({ handedBytes: 100, unsentBytes: 0 }))
  if (!socket.destroyed) await once(socket, 'close')
  t.ok(socket.destroyed)
})

t.test('so it does where the system does not say what it has sent', async (t) => {
  const { socket } = await openHalf(t, unknown)
  if (!socket.destroyed) await once(socket, 'close')
  t.ok(socket.destroyed)
})

t.test('a client that still takes the end of its answers keeps its connection until it takes no more', async (t) => {
  const left = [300, 200, 100, 100]
  const { socket } = await openHalf(t, async () => ({ handedBytes: 400, unsentBytes: left.shift() ?? 0 }))
  if (!socket.destroyed) await once(socket, 'close')
  t.strictSame(left, [], 'it was looked at until nothing moved')
})
