import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type ReaderRules, watchReader } from '../../../src/http/server/slow-readers.ts'
import { SocketQueues } from '../../../src/http/server/socket-queues.ts'

const answerBytes = 24 * 1024 * 1024
const takenBytes = 256 * 1024

/** A client of a server that answers `answerBytes`, which reads when it is told to. */
async function openAnswer(t: Test, rules: (client: Client) => ReaderRules) {
  const answered = new Promise<{ response: ServerResponse; socket: Socket }>((resolve) => {
    const server = createServer((_request, response) => {
      watchReader(response, rules(client))
      response.end(Buffer.alloc(answerBytes, 'x'))
      if (response.socket !== null) resolve({ response, socket: response.socket })
    })
    t.teardown(() => server.close())
    server.listen(0, '127.0.0.1')
    // A server that listens on TCP has such an address.
    server.once('listening', () => client.open((server.address() as AddressInfo).port))
  })
  const client = new Client()
  t.teardown(() => client.socket?.destroy())
  return { client, ...(await answered) }
}

class Client {
  socket: Socket | undefined
  takenBytes = 0

  open(port: number): void {
    this.socket = connect({ port, host: '127.0.0.1' })
    this.socket.setMaxListeners(0)
    this.socket.on('error', () => undefined)
    this.socket.pause()
    this.socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  }

  /** Reads so many bytes, or all that still comes. */
  async take(byteCount: number): Promise<void> {
    const { socket } = this
    if (socket === undefined) throw new Error('the client is not open')
    const enough = this.takenBytes + byteCount
    while (this.takenBytes < enough) {
      const chunk: Buffer | null = socket.read()
      if (chunk !== null) this.takenBytes += chunk.length
      else if (socket.readableEnded || socket.destroyed) return
      else await Promise.race([once(socket, 'readable'), once(socket, 'end'), once(socket, 'close')])
    }
  }
}

t.test('a client that takes nothing of its answer is cut, and what waited for it is told', async (t) => {
  const queues = new SocketQueues()
  const givenUp: number[] = []
  const { socket } = await openAnswer(t, () => ({
    idleMsMax: 40,
    markOf: (socket) => queues.markOf(socket),
    giveUp: (waitingBytes) => givenUp.push(waitingBytes),
  }))
  if (!socket.destroyed) await once(socket, 'close')
  t.equal(givenUp.length, 1)
  t.ok((givenUp[0] ?? 0) > 0 && (givenUp[0] ?? 0) <= answerBytes + 1_000, `${givenUp[0]} bytes waited`)
})

t.test('a client that takes a little between two looks gets all of its answer', async (t) => {
  const queues = new SocketQueues()
  let lookCount = 0
  const { client, response } = await openAnswer(t, (client) => ({
    idleMsMax: 40,
    async markOf(socket) {
      lookCount += 1
      const mark = await queues.markOf(socket)
      await client.take(takenBytes)
      return mark
    },
    giveUp: () => t.fail('the client was cut'),
  }))
  await once(response, 'finish')
  t.ok(lookCount > 10, `${lookCount} looks`)
  await client.take(2 * answerBytes)
  t.ok(client.takenBytes > answerBytes)
})

t.test('a client that stops in the middle of its answer is cut then', async (t) => {
  const queues = new SocketQueues()
  let givenUpCount = 0
  const { client, socket } = await openAnswer(t, (client) => ({
    idleMsMax: 40,
    async markOf(socket) {
      const mark = await queues.markOf(socket)
      if (client.takenBytes < answerBytes / 4) await client.take(takenBytes)
      return mark
    },
    giveUp: () => {
      givenUpCount += 1
    },
  }))
  if (!socket.destroyed) await once(socket, 'close')
  t.equal(givenUpCount, 1)
  t.ok(client.takenBytes >= answerBytes / 4 && client.takenBytes < answerBytes)
})

t.test('an answer whose body has not come yet is none that its client leaves unread', async (t) => {
  let lookCount = 0
  const server = createServer((_request, response) => {
    const rules = { idleMsMax: 4, markOf: async () => 'the same', giveUp: () => t.fail('the client was cut') }
    watchReader(response, rules)
    response.write('x')
    const timer = setInterval(() => {
      lookCount += 1
      if (lookCount > 20) response.end('y')
    }, 1)
    response.once('close', () => clearInterval(timer))
  })
  t.teardown(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on TCP has such an address.
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.equal(await answer.text(), 'xy')
})

t.test('the system tells what it still has to send, where it tells such things', async (t) => {
  const queues = new SocketQueues()
  const { client, socket } = await openAnswer(t, () => ({
    idleMsMax: 1_000_000,
    markOf: async () => null,
    giveUp: () => undefined,
  }))
  const first = await queues.markOf(socket)
  if (first === null) return
  const marks = new Set([first])
  while (marks.size < 5) {
    await client.take(takenBytes)
    marks.add(String(await queues.markOf(socket)))
  }
  t.match([...marks][0], /^[0-9A-F]{8}$/)
})
