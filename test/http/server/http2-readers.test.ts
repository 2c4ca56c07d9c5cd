import { once } from 'node:events'
import { constants, createServer, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { type ConnectionQueue, StreamReaders } from '../../../src/http/server/http2-readers.ts'
import { frame, frameTypes, opening, wholeRequest } from '../../support/http/http2-frames.ts'

const kibibyte = 1024
const idleMsMax = 1_000
const head = { ':method': 'GET', ':scheme': 'http', ':authority': 'a', ':path': '/' }

/** 300 KiB in which no two parts are alike. */
const answer = Buffer.from(Array.from({ length: 51_200 }, (_, at) => `${String(at).padStart(5, '0')}\n`).join(''))

/** A client that has only what it has asked for, and says so by windows. */
class Client {
  readonly socket: Socket
  #unread = Buffer.alloc(0)
  body = Buffer.alloc(0)
  pongCount = 0
  resetCode: number | undefined

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.setMaxListeners(0)
    this.socket.on('error', () => {})
    this.socket.on('data', (bytes: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, bytes])
      this.#readFrames()
    })
    const noWindow = frame({ type: frameTypes.settings, payload: Buffer.of(0, 4, 0, 0, 0, 0) })
    this.socket.write(Buffer.concat([opening(), noWindow, windowUpdate(0, answer.length), wholeRequest(1, head)]))
  }

  async take(byteCount: number): Promise<void> {
    const enough = this.body.length + byteCount
    this.socket.write(windowUpdate(1, byteCount))
    while (this.body.length < enough && this.resetCode === undefined) await once(this.socket, 'data')
    await this.untilAnswered()
  }

  /** Until the server has done what it was asked before, and what the turns of its event loop bring. */
  async untilAnswered(): Promise<void> {
    const pongCount = this.pongCount + 2
    while (this.pongCount < pongCount) {
      this.socket.write(frame({ type: frameTypes.ping, payload: Buffer.alloc(8) }))
      await once(this.socket, 'data')
    }
  }

  #readFrames(): void {
    while (this.#unread.length >= 9) {
      const end = 9 + this.#unread.readUIntBE(0, 3)
      if (this.#unread.length < end) return
      const [type, flags] = this.#unread.subarray(3, 5)
      const payload = this.#unread.subarray(9, end)
      if (type === frameTypes.data) this.body = Buffer.concat([this.body, payload])
      if (type === frameTypes.ping && flags === 1) this.pongCount += 1
      if (type === frameTypes.rstStream) this.resetCode = payload.readUInt32BE()
      this.#unread = this.#unread.subarray(end)
    }
  }
}

function windowUpdate(streamId: number, byteCount: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(byteCount)
  return frame({ type: frameTypes.windowUpdate, streamId, payload })
}

/** A client of an answer, and what lets a time pass that is a share of `idleMsMax`. */
async function openAnswer(t: Test, send: (stream: ServerHttp2Stream) => void, queue?: () => ConnectionQueue) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let nowMs = 0
  const queueOf = async () => queue?.() ?? { handedBytes: 0, unsentBytes: null }
  const readers = new StreamReaders({ idleMsMax, clock: () => nowMs, queueOf })
  t.teardown(() => readers.close())
  const server = createServer()
  server.on('stream', (stream) => {
    stream.on('error', () => {})
    readers.add(stream)
    stream.respond()
    send(stream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const client = new Client((server.address() as AddressInfo).port)
  t.teardown(() => client.socket.destroy())
  await client.untilAnswered()
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms
    mock.timers.tick(idleMsMax / 4)
    await client.untilAnswered()
  }
  return { client, pass }
}

const waysToSend: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  'one buffer': (stream) => stream.end(answer),
  'one text': (stream) => stream.end(answer.toString()),
  'a stream of large chunks': (stream) => {
    Readable.from([answer.subarray(0, 200_000), answer.subarray(200_000)]).pipe(stream)
  },
  'many chunks at once': (stream) => {
    for (let at = 0; at < answer.length; at += 5_000) stream.write(answer.subarray(at, at + 5_000))
    stream.end()
  },
  'small and large chunks at once': (stream) => {
    for (const at of [0, 10, 20, 100_000]) stream.write(answer.subarray(at, at === 20 ? 100_000 : at + 10))
    stream.end(answer.toString('latin1', 100_010), 'latin1')
  },
}

for (const [name, send] of Object.entries(waysToSend)) {
  t.test(`a client that takes a part of its answer now and then gets all of it: ${name}`, async (t) => {
    const { client, pass } = await openAnswer(t, send)
    while (client.body.length < answer.length) {
      await client.take(Math.min(16 * kibibyte, answer.length - client.body.length))
      t.equal(client.resetCode, undefined, `${client.body.length} bytes`)
      if (client.resetCode !== undefined) return
      await pass(idleMsMax / 2)
    }
    t.ok(client.body.equals(answer))
    t.not(client.resetCode, constants.NGHTTP2_CANCEL)
  })
}

t.test('a client that takes less than a part within its time is cut', async (t) => {
  const { client, pass } = await openAnswer(t, (stream) => stream.end(answer))
  await client.take(32 * kibibyte)
  for (let looks = 0; looks < 4; looks += 1) {
    await pass(idleMsMax / 4)
    t.equal(client.resetCode, undefined)
    await client.take(kibibyte)
  }
  await pass(idleMsMax / 4)
  t.equal(client.resetCode, constants.NGHTTP2_CANCEL)
})

t.test('a client is not cut while it takes what the system has of its session, and is when it stops', async (t) => {
  const queue = { handedBytes: 5_000_000, unsentBytes: 4_000_000 }
  const { client, pass } = await openAnswer(
    t,
    (stream) => stream.end(answer),
    () => ({ ...queue }),
  )
  for (let looks = 0; looks < 40; looks += 1) {
    queue.unsentBytes -= 20_000
    await pass(idleMsMax / 2)
    t.equal(client.resetCode, undefined)
  }
  await pass(idleMsMax)
  t.equal(client.resetCode, constants.NGHTTP2_CANCEL)
})

t.test('a client that takes other answers of its session is cut for the one that it leaves', async (t) => {
  const queue = { handedBytes: 5_000_000, unsentBytes: 4_000_000 }
  const { client, pass } = await openAnswer(
    t,
    (stream) => stream.end(answer),
    () => ({ ...queue }),
  )
  await pass(0)
  for (let looks = 0; looks < 4; looks += 1) {
    t.equal(client.resetCode, undefined)
    queue.handedBytes += 50_000
    queue.unsentBytes -= 20_000
    await pass(idleMsMax / 4)
  }
  t.equal(client.resetCode, constants.NGHTTP2_CANCEL)
})
