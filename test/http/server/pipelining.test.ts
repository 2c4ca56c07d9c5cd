import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { boundPipelining, onceLastBegun } from '../../../src/http/server/pipelining.ts'
import { createFakeDeps } from '../../support/http/fake-deps.ts'

const [crowd, other] = ['127.0.0.2', '127.0.0.3']
const requestFor = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

/** A server whose requests each take so many milliseconds of a clock that stands still meanwhile. */
async function openServer(t: Test, tookMs: number) {
  let nowMs = 1_000
  /** Requests in the order in which they were begun. */
  const begun: { readonly address: string | undefined; readonly path: string | undefined }[] = []
  const { logger, limitHits, now } = createFakeDeps()
  const answers = { requestId: () => 'r', partsOf: () => ({ headers: {}, body: '' }) }
  const deps = { logger, limitHits, now, answers, clock: () => nowMs }
  const { listener, beginStream } = boundPipelining(({ socket, url }, response) => {
    begun.push({ address: socket.remoteAddress, path: url })
    nowMs += tookMs
    response.end()
  }, deps)
  const server = createServer(listener).listen(0, '127.0.0.1')
  /** How many requests were begun when what concerns the one of a broken connection was done. */
  const broken: number[] = []
  server.on('clientError', (_error, socket: Socket) => {
    onceLastBegun(socket, () => {
      broken.push(begun.length)
      socket.destroy()
    })
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // It listens to a port.
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port, localAddress })
    t.teardown(() => socket.destroy())
    await Promise.all([once(socket, 'connect'), once(server, 'connection')])
    return socket
  }
  t.teardown(() => server.close())
  /** A request of HTTP/2, of the session that the address has, or of another one. */
  const sessions: Readonly<Record<string, object>> = { [crowd]: {}, [other]: {} }
  const ask = (address: string, path: string, connection: object = sessions[address] ?? {}): void =>
    beginStream({ connection, remoteAddress: address }, () => {
      begun.push({ address, path })
      nowMs += tookMs
    })
  return { begun, broken, open, ask }
}

/** Sends one request over each in one turn, so that the server finds them together, and waits for the answers. */
async function askTogether(sockets: readonly Socket[]): Promise<void> {
  const answered = sockets.map((socket) => once(socket, 'data'))
  for (const socket of sockets) socket.write(requestFor('/'))
  await Promise.all(answered)
}

void t.test('a request does not wait for all that many connections of another address bring', async (t) => {
  const { begun, open } = await openServer(t, 6)
  const sockets: Socket[] = []
  for (let index = 0; index < 30; index += 1) sockets.push(await open(crowd))
  await askTogether([...sockets, await open(other)])
  t.equal(begun.length, 31)
  const place = begun.findIndex(({ address }) => address === other)
  t.ok(place >= 0 && place <= 4, `it was begun behind ${place}`)
})

void t.test(
  'streams that one session opens by the hundred are begun by and by, and those of others between them',
  async (t) => {
    const { begun, ask } = await openServer(t, 6)
    for (let index = 0; index < 100; index += 1) ask(crowd, `/${index}`)
    ask(other, '/')
    t.equal(begun.length, 2, 'as many as one turn has time for')
    while (begun.length < 101) await new Promise((resolve) => setImmediate(resolve))
    t.ok(begun.findIndex(({ address }) => address === other) < 6)
    const own = begun.filter(({ address }) => address === crowd)
    t.strictSame(
      own.map(({ path }) => path),
      Array.from({ length: 100 }, (_, index) => `/${index}`),
    )
  },
)

void t.test('a session with hundreds of streams has one turn, as another one of its address has', async (t) => {
  const { begun, ask } = await openServer(t, 6)
  for (let index = 0; index < 100; index += 1) ask(crowd, `/${index}`)
  const session = {}
  for (let index = 0; index < 3; index += 1) ask(crowd, `/other/${index}`, session)
  while (begun.length < 103) await new Promise((resolve) => setImmediate(resolve))
  const places = begun.flatMap(({ path }, place) => (path?.startsWith('/other') === true ? [place] : []))
  t.strictSame(places, [3, 5, 7], 'every second one, behind what one turn had time for')
})

void t.test('requests that take no time are begun as they come', async (t) => {
  const { begun, open } = await openServer(t, 0)
  const sockets: Socket[] = []
  for (let index = 0; index < 30; index += 1) sockets.push(await open(index === 29 ? other : crowd))
  await askTogether(sockets)
  t.strictSame(
    begun.map(({ address }) => address),
    [...Array.from({ length: 29 }, () => crowd), other],
  )
})

void t.test('requests of one connection are begun in their order, though some wait', async (t) => {
  const { begun, open } = await openServer(t, 6)
  const socket = await open(crowd)
  const paths = Array.from({ length: 12 }, (_, index) => `/${index}`)
  const answered = new Promise<void>((resolve) => {
    let text = ''
    socket.on('data', (bytes) => {
      text += String(bytes)
      if (text.split('HTTP/1.1 200').length > paths.length) resolve()
    })
  })
  socket.write(paths.map(requestFor).join(''))
  await answered
  t.strictSame(
    begun.map(({ path }) => path),
    paths,
  )
})

void t.test('what is no HTTP behind a request that waits is told of it when it is begun', async (t) => {
  const { begun, broken, open } = await openServer(t, 6)
  const sockets: Socket[] = []
  for (let index = 0; index < 6; index += 1) sockets.push(await open(crowd))
  const last = await open(crowd)
  const closed = once(last, 'close')
  for (const socket of sockets) socket.write(requestFor('/'))
  last.write(`${requestFor('/last')}no HTTP\r\n\r\n`)
  last.resume()
  await closed
  t.equal(begun.at(-1)?.path, '/last')
  t.strictSame(broken, [begun.length])
})

void t.test('what is no HTTP is told at once where no request waits', async (t) => {
  const { begun, broken, open } = await openServer(t, 0)
  const socket = await open(crowd)
  const closed = once(socket, 'close')
  socket.write('no HTTP\r\n\r\n')
  socket.resume()
  await closed
  t.strictSame([begun, broken], [[], [0]])
})
