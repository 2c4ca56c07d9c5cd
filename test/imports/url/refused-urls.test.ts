import net from 'node:net'
import t, { type Test } from 'tap'
import { AllowList } from '../../../src/imports/url/allow-list.ts'
import type { RemoteFileOptions } from '../../../src/imports/url/remote-file.types.ts'
import { refusedAddresses, refusedUrls } from '../../support/imports/refused-urls.ts'
import { noSignal, openTestRemoteFiles } from '../../support/imports/test-remote-files.ts'
import { answerFile, openRemoteServer } from '../../support/remote-server.ts'

const content = Buffer.from('a,b\n1,2\n')

/** What any socket of this process tried to connect to, as `host:port`. */
const attempts: string[] = []
const connect = net.Socket.prototype.connect
// The overloads of `connect` are called here with what they were called with.
net.Socket.prototype.connect = function (this: net.Socket, ...given: unknown[]): net.Socket {
  const [first] = given.flat()
  // What net makes of any call: its options first.
  const { host, port } = first as { readonly host?: string; readonly port?: number }
  attempts.push(`${host}:${port}`)
  return Reflect.apply(connect, this, given)
}
t.teardown(() => {
  net.Socket.prototype.connect = connect
})

/** Files by URL that may be read from nowhere but public hosts; the port of the listener is one of the allowed ones. */
function openStrict(t: Test, port: number, changed: Partial<RemoteFileOptions> = {}, resolve?: Resolver) {
  const options = { allow: '', ports: `80,443,${port}`, ...changed }
  return openTestRemoteFiles(t, options, resolve === undefined ? {} : { resolve })
}

type Resolver = (hostname: string) => Promise<readonly string[]>

t.test(
  `${refusedUrls.length} URLs are refused, by their text and by opening them, and nothing is connected to`,
  async (t) => {
    const server = await openRemoteServer(t, answerFile({ content }))
    const asked: string[] = []
    const files = openStrict(t, server.port, {}, async (hostname) => {
      asked.push(hostname)
      return ['127.0.0.1']
    })
    attempts.length = 0
    for (const [text, error] of refusedUrls) {
      const url = text.replaceAll('PORT', String(server.port))
      t.throws(() => files.check(url), { status: 400, code: /^URL_(?:INVALID|REFUSED)$/, message: error }, url)
      await t.rejects(files.open(url, { signal: noSignal }), { status: 400, message: error }, url)
    }
    t.ok(refusedUrls.length >= 80)
    t.same(attempts, [])
    t.same(asked, [], 'no name was resolved')
    t.equal(server.connectionCount, 0)
  },
)

t.test('a redirect to such a URL is refused like the URL itself', async (t) => {
  let target = ''
  let redirectCount = 0
  const server = await openRemoteServer(t, (_, response) => {
    response.writeHead(302, { location: target }).end()
  })
  const files = openStrict(t, server.port, { allow: 'files.test' }, async () => ['127.0.0.1'])
  for (const [text] of refusedUrls.filter(([url]) => /^[\x21-\x7e]+$/.test(url))) {
    target = text.replaceAll('PORT', String(server.port))
    // A target without a host leads back to the listener, and a public one somewhere else, which this test must not.
    const base = `http://files.test:${server.port}/`
    const read = URL.canParse(target, base) ? new URL(target, base) : null
    const isPublic = read !== null && /(?:^8\.8\.8\.8|\.com)\.?$/.test(read.hostname) && read.port === ''
    if (read?.hostname === 'files.test' || (isPublic && read.username === '')) continue
    redirectCount += 1
    attempts.length = 0
    const opening = files.open(`http://files.test:${server.port}/start`, { signal: noSignal })
    await t.rejects(opening, { code: /^(?:URL_|REMOTE_BROKEN)/ }, target)
    t.same(
      attempts.filter((attempt) => attempt !== `127.0.0.1:${server.port}`),
      [],
    )
  }
  t.ok(redirectCount >= 80)
  t.same(
    server.requests.filter(({ url }) => url !== '/start'),
    [],
    'the listener heard nothing but the first request of each',
  )
})

t.test('a redirect to the address of a host that is allowed by its name alone is refused', async (t) => {
  const server = await openRemoteServer(t, (_, response) => {
    response.writeHead(301, { location: `http://127.0.0.1:${server.port}/inner` }).end()
  })
  const files = openStrict(t, server.port, { allow: 'files.test' }, async () => ['127.0.0.1'])
  await t.rejects(files.open(`http://files.test:${server.port}/`, { signal: noSignal }), {
    code: 'URL_REFUSED',
    message: `The URL http://127.0.0.1:${server.port}/inner is refused: its address is not public; the option --url-allow names private hosts and networks that may be read`,
  })
  t.same(
    server.requests.map(({ url }) => url),
    ['/'],
  )
})

for (const address of refusedAddresses) {
  t.test(`a name that is resolved to "${address}" is refused, alone and among public addresses`, async (t) => {
    const server = await openRemoteServer(t, answerFile({ content }))
    for (const addresses of [[address], [address, '93.184.215.14'], ['93.184.215.14', '2a00:1450::1', address]]) {
      const files = openStrict(t, server.port, {}, async () => addresses)
      attempts.length = 0
      await t.rejects(files.open(`http://files.test:${server.port}/`, { signal: noSignal }), {
        code: 'URL_REFUSED',
        message: /not public/,
      })
      t.same(attempts, [])
    }
    t.equal(server.connectionCount, 0)
  })
}

t.test(
  'a name that means a public address at first and a private one later is connected to as it was judged',
  async (t) => {
    const server = await openRemoteServer(t, answerFile({ content }))
    const answers = ['127.0.0.1', '127.0.0.2', '10.0.0.1']
    let count = 0
    const resolve = async (): Promise<readonly string[]> => [answers[count++] ?? '10.0.0.1']
    const files = openStrict(t, server.port, { allow: '127.0.0.1' }, resolve)
    attempts.length = 0
    const file = await files.open(`http://files.test:${server.port}/`, { signal: noSignal })
    for await (const chunk of file.read({ offset: 0, isParallel: false })) t.same(chunk, content)
    await file.close()
    t.equal(count, 1, 'it was resolved once')
    t.same(attempts, [`127.0.0.1:${server.port}`])
    t.match(server.requests, [{ headers: { host: `files.test:${server.port}` } }], 'its name is kept')
    await t.rejects(files.open(`http://files.test:${server.port}/`, { signal: noSignal }), { code: 'URL_REFUSED' })
    t.same(attempts, [`127.0.0.1:${server.port}`])
  },
)

t.test('what is allowed is read: an address, a network, a name, and a name with a dot at its end', async (t) => {
  const server = await openRemoteServer(t, answerFile({ content }))
  const resolve = async (): Promise<readonly string[]> => ['127.0.0.1']
  for (const [allow, host] of [
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.0/8', '127.0.0.1'],
    ['10.0.0.0/8, 127.0.0.1/32', 'files.test'],
    ['files.test', 'files.test'],
    ['FILES.test.', 'files.TEST'],
    ['files.test', 'files.test.'],
    ['bücher.test', 'bücher.test'],
    ['localhost', 'localhost'],
    ['127.0.0.1', '[::ffff:127.0.0.1]'],
  ] as const) {
    const files = openTestRemoteFiles(t, { allow, ports: '80' }, { resolve })
    const file = await files.open(`http://${host}:${server.port}/`, { signal: noSignal })
    t.equal(file.identity.byteCount, content.length, `${host} by ${allow}`)
    await file.close()
  }
  for (const [allow, host] of [
    ['127.0.0.2', '127.0.0.1'],
    ['127.0.0.0/31', '127.0.0.2'],
    ['files.test', 'other.files.test'],
    ['files.test', 'files.test.example'],
    ['::/0', '10.0.0.1'],
  ] as const) {
    const files = openTestRemoteFiles(t, { allow }, { resolve })
    await t.rejects(files.open(`http://${host}/`, { signal: noSignal }), { code: 'URL_REFUSED' }, `${host} by ${allow}`)
  }
})

t.test('an entry that is neither a name nor an address nor a network refuses the start', async (t) => {
  for (const entry of [
    '10.0.0.0/33',
    '::ffff:0:0/96',
    '10.0.0.0/x',
    'fd00::/129',
    'http://a',
    'a:80',
    '*.example.com',
    '10.0.0',
    '1',
    'a..b',
    'a/8',
  ]) {
    t.throws(
      () => new AllowList(entry, 'url-allow'),
      { code: 'URL_ALLOW_INVALID', message: `"${entry}" in --url-allow` },
      entry,
    )
  }
})

t.test(
  'http needs its option, and so do credentials, which then go to their host alone and into no text',
  async (t) => {
    const other = await openRemoteServer(t, answerFile({ content }))
    const server = await openRemoteServer(t, (_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${other.port}/b?signature=geheim2` }).end()
    })
    const url = `http://user:geh%65im@127.0.0.1:${server.port}/a?signature=geheim3`
    t.throws(() => openTestRemoteFiles(t, { allowHttp: false }).check('http://8.8.8.8/'), { message: /only https/ })
    t.doesNotThrow(() => openTestRemoteFiles(t, { allowHttp: false }).check('https://8.8.8.8/'))
    const files = openTestRemoteFiles(t, { allowCredentials: true })
    await (await files.open(url, { signal: noSignal })).close()
    t.match(server.requests, [{ headers: { authorization: `Basic ${Buffer.from('user:geheim').toString('base64')}` } }])
    t.equal(other.requests[0]?.headers.authorization, undefined)
    const broken = await openRemoteServer(t, (_, response) => response.writeHead(500).end())
    await t.rejects(files.open(url.replace(String(server.port), String(broken.port)), { signal: noSignal }), {
      message: `The server answered 500 for http://127.0.0.1:${broken.port}/a`,
    })
    t.ok(files.lines.length > 0)
    t.notMatch(files.lines.join('\n'), /geh|user:|signature/)
    await t.rejects(openTestRemoteFiles(t).open(url, { signal: noSignal }), {
      message: `The URL http://127.0.0.1:${server.port}/a is refused: it has a user or a password; the option --url-credentials allows them`,
    })
  },
)
