import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { Agent, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import type { HttpOptions } from '../../../src/http/http.types.ts'
import { createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { tlsFixture } from '../../support/http/tls-files.ts'

const first = tlsFixture('first')
const second = tlsFixture('second')

async function openApp(t: Test, options: Partial<HttpOptions> = {}) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, ...first.files, ...options })
  await deps.dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'csv' })
  t.teardown(() => app.close())
  const listening: Promise<string> = app.listen({ host: '127.0.0.1', port: 0 })
  await listening
  // A server that listens on TCP has such an address.
  return { deps, app, port: (app.server.address() as AddressInfo).port }
}

interface Asked {
  readonly ca?: string
  readonly localAddress?: string
  readonly method?: string
  readonly path?: string
  readonly body?: string
}

async function ask(
  port: number,
  { ca = first.ca, localAddress, method = 'GET', path = '/health/live', body }: Asked = {},
) {
  const agent = new Agent({ keepAlive: false, ...(localAddress === undefined ? {} : { localAddress }) })
  const headers = { authorization: `Bearer ${token}` }
  const request = httpsRequest({ host: 'localhost', port, family: 4, ca, agent, method, path, headers })
  request.end(body)
  const [response] = await once(request, 'response')
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { status: response.statusCode as number, headers: response.headers, text }
}

t.test('with a certificate the service speaks https, and tells browsers to', async (t) => {
  const { deps, port } = await openApp(t)
  const live = await ask(port)
  t.equal(live.status, 200)
  t.match(live.headers, { 'strict-transport-security': 'max-age=86400', 'x-content-type-options': 'nosniff' })
  t.equal((await ask(port, { method: 'POST', path: '/v0/events?name=a', body: '{"id":1}\n' })).status, 202)
  t.match(deps.events, [{ text: '{"id":1}\n' }])
  const silent = await openApp(t, { hstsSeconds: 0 })
  t.equal((await ask(silent.port)).headers['strict-transport-security'], undefined)
})

t.test('what is no TLS is closed without a word, and others are served', async (t) => {
  const { port } = await openApp(t)
  const plain = connectPlain({ host: '127.0.0.1', port })
  plain.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  plain.on('error', () => {})
  plain.resume()
  await once(plain, 'close')
  t.equal((await ask(port)).status, 200)
})

t.test('files that do not belong together, or are not there, stop the start', async (t) => {
  const cases: readonly [Partial<HttpOptions>, RegExp][] = [
    [{ tlsKeyFile: second.files.tlsKeyFile }, /key values mismatch/],
    [{ tlsKeyFile: '' }, /\(none\)/],
    [{ tlsCertFile: '/nowhere.pem' }, /ENOENT/],
    [{ tlsCertFile: first.files.tlsKeyFile }, /./],
  ]
  for (const [options, message] of cases) {
    const open = () => createApp(createFakeDeps(), { ...limits, ...first.files, ...options })
    t.throws(open, { code: 'TLS_UNUSABLE', message })
  }
})

t.test('a new certificate is taken at SIGHUP, and one that cannot be used leaves the one that is there', async (t) => {
  const folder = t.testdir({})
  const files = { tlsCertFile: join(folder, 'cert.pem'), tlsKeyFile: join(folder, 'key.pem') }
  const put = ({ tlsCertFile, tlsKeyFile }: typeof files) => {
    copyFileSync(tlsCertFile, files.tlsCertFile)
    copyFileSync(tlsKeyFile, files.tlsKeyFile)
  }
  put(first.files)
  const { deps, port } = await openApp(t, files)
  t.equal((await ask(port)).status, 200)
  put({ ...second.files, tlsKeyFile: first.files.tlsKeyFile })
  process.emit('SIGHUP')
  t.match(deps.entries.at(-1), { level: 'error', message: /earlier one stays/ })
  t.equal((await ask(port)).status, 200)
  put(second.files)
  process.emit('SIGHUP')
  t.match(deps.entries.at(-1), { level: 'info', message: 'The certificate was read again.' })
  t.equal((await ask(port, { ca: second.ca })).status, 200)
})

t.test('connections with TLS are counted before their handshake, and one too many is told so behind it', async (t) => {
  const { port } = await openApp(t, { connectionsPerAddressMax: 2 })
  const localAddress = '127.0.0.2'
  const agent = new Agent({ keepAlive: true, localAddress })
  const busy = [1, 2].map(() => {
    const headers = { authorization: `Bearer ${token}`, expect: '100-continue', 'content-length': '9' }
    const path = '/v0/events?name=a'
    return httpsRequest({ host: 'localhost', port, family: 4, ca: first.ca, agent, method: 'POST', path, headers })
  })
  // The service asks for the body when it reads it.
  await Promise.all(busy.map((request) => once(request, 'continue')))
  const refused = await ask(port, { localAddress })
  t.equal(refused.status, 429)
  t.match(refused.text, /connections_too_many/)
  t.equal((await ask(port, { localAddress: '127.0.0.3' })).status, 200)
  await Promise.all(
    busy.map(async (request) => {
      request.end('{"id":1}\n')
      const [response] = await once(request, 'response')
      t.equal(response.statusCode, 202)
      response.resume()
      await once(response, 'end')
    }),
  )
  // A connection that has not made its handshake waits for a request.
  const unfinished = connectPlain({ host: '127.0.0.1', port, localAddress })
  unfinished.on('error', () => {})
  await once(unfinished, 'connect')
  t.equal((await ask(port, { localAddress })).status, 200)
  agent.destroy()
  unfinished.destroy()
})

t.test('a close ends connections that wait for a request, and those that make their handshake', async (t) => {
  const { app, port } = await openApp(t)
  const socket = connectTls({ host: '127.0.0.1', port, ca: first.ca, servername: 'localhost' })
  socket.on('error', () => {})
  socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(socket, 'data')
  const unfinished = connectPlain({ host: '127.0.0.1', port })
  unfinished.on('error', () => {})
  unfinished.resume()
  await once(unfinished, 'connect')
  // The answer to a later connection tells that this one is accepted.
  t.equal((await ask(port)).status, 200)
  const closed = Promise.all([once(socket, 'close'), once(unfinished, 'close')])
  await app.close()
  await closed
})
