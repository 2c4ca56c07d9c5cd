import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { openOtlpExporter } from '../../../src/observe/traces/otlp-exporter.ts'
import type { RequestSpan } from '../../../src/observe/traces/span.types.ts'
import { newTrace } from '../../../src/observe/traces/trace-context.ts'

const span: RequestSpan = {
  ...{ context: newTrace(), method: 'GET', route: '/v0/sql', requestId: 'r', status: 200, errorCode: null },
  ...{ startMs: 0, durationMs: 1, inner: [] },
}

t.test('a collector whose headers never end loses the batch, and the next goes over a new connection', async (t) => {
  let isEndless = true
  let openCount = 0
  const closed: Promise<void>[] = []
  const server = createServer((socket: Socket) => {
    openCount += 1
    closed.push(new Promise((resolve) => socket.once('close', () => resolve())))
    socket.on('error', () => {})
    socket.once('data', () => {
      if (!isEndless) {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
        return
      }
      socket.write('HTTP/1.1 200 OK\r\n')
      // Each byte is a sign of life.
      const timer = setInterval(() => socket.write('x'), 20)
      socket.once('close', () => clearInterval(timer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo
  const tracesUrl = `http://127.0.0.1:${port}/v1/traces`
  const exporter = await openOtlpExporter({ tracesUrl, tracesHeaders: undefined, sendTimeMaxMs: 1_000 })
  t.equal(await exporter.send([span]), false)
  await Promise.all(closed)
  isEndless = false
  const before = openCount
  t.equal(await exporter.send([span]), true)
  t.ok(openCount > before)
  await exporter.close()
})
