import t from 'tap'
import { createApp } from '../../../src/app.ts'
import { baseUrlOf, clientAddressOf, Proxies } from '../../../src/http/server/proxies.ts'
import { ask, createFakeDeps, limits } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'

const options = { trustedProxies: '127.0.0.1, ::1,10.0.0.0/8,fd00::/8', publicHosts: '' }

t.test('the client is the last forwarded address that is no trusted proxy', async (t) => {
  const proxies = new Proxies(options)
  const cases: readonly [peer: string, forwardedFor: string | undefined, client: string][] = [
    ['192.0.2.1', undefined, '192.0.2.1'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['::ffff:127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['::1', '2001:DB8::7', '2001:db8::7'],
    // Who is no proxy has its own words only.
    ['192.0.2.1', '203.0.113.7', '192.0.2.1'],
    ['127.0.0.2', '203.0.113.7', '127.0.0.2'],
    // What the client wrote itself stands to the left of what the proxy saw.
    ['127.0.0.1', '1.1.1.1, 203.0.113.7', '203.0.113.7'],
    ['127.0.0.1', '127.0.0.1,203.0.113.7,10.1.2.3', '203.0.113.7'],
    ['127.0.0.1', '203.0.113.7, fd00::5 ,10.255.255.255', '203.0.113.7'],
    // All of them are proxies: the first one asked itself.
    ['127.0.0.1', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
    ['127.0.0.1', '203.0.113.7:5512', '203.0.113.7'],
    ['127.0.0.1', '[2001:db8::7]:5512', '2001:db8::7'],
    ['127.0.0.1', '::ffff:203.0.113.7', '203.0.113.7'],
    // What is no address is nobody, and what stands before it is not read: never is it the proxy that asks.
    ['127.0.0.1', '203.0.113.7, unknown', ''],
    ['127.0.0.1', '203.0.113.7, x, 10.0.0.1', ''],
    ['127.0.0.1', '999.1.1.1', ''],
    ['127.0.0.1', '127.0.0.1:x', ''],
    ['127.0.0.1', ',', ''],
    ['127.0.0.1', ',10.0.0.8', ''],
    ['127.0.0.1', '10.0.0.8,', ''],
    // It says nothing of anybody.
    ['127.0.0.1', '', '127.0.0.1'],
    ['127.0.0.1', ' ', '127.0.0.1'],
    ['', '203.0.113.7', ''],
  ]
  for (const [peer, forwardedFor, client] of cases) {
    t.equal(proxies.clientAddress(peer, forwardedFor), client, `${peer} <- ${forwardedFor}`)
  }
})

t.test('with none nobody is believed, this machine neither', async (t) => {
  for (const trustedProxies of ['none', '']) {
    t.equal(new Proxies({ ...options, trustedProxies }).clientAddress('127.0.0.1', '203.0.113.7'), '127.0.0.1')
  }
})

t.test('an entry that cannot be read stops the start, and is named', async (t) => {
  for (const entry of ['10.0.0.0/33', '10.0.0', '::/129', '1.2.3.4/8/8', 'fd00', '1.2.3.4/']) {
    const refused = { code: 'HTTP_OPTION_INVALID', message: `"${entry}" in --trusted-proxies is not an address` }
    t.throws(() => new Proxies({ ...options, trustedProxies: `127.0.0.1,${entry}` }), refused, entry)
  }
  for (const entry of ['ftp://a', 'https://a/b', 'https://', 'a b', '..', 'a:0', '[::g]']) {
    const refused = { code: 'HTTP_OPTION_INVALID', message: `"${entry}" in --public-hosts is not a host name` }
    t.throws(() => new Proxies({ ...options, publicHosts: entry }), refused, entry)
  }
})

/** What the URLs of an answer begin with. */
async function urlOf(
  proxyOptions: Partial<typeof options>,
  headers: Readonly<Record<string, string>>,
  remoteAddress = '127.0.0.1',
): Promise<string> {
  const app = createApp(createFakeDeps(), { ...limits, ...proxyOptions })
  app.get('/url', { config: { needs: 'nothing' } }, async (request) => baseUrlOf(request))
  return (await ask(app, { url: '/url', headers: { host: 'a:1', ...headers }, remoteAddress })).body
}

t.test('the URLs of answers have what the request names, or a trusted proxy in its place', async (t) => {
  t.equal(await urlOf({}, {}), 'http://a:1')
  const forwarded = { 'x-forwarded-host': 'api.example.com', 'x-forwarded-proto': 'https' }
  t.equal(await urlOf({}, forwarded), 'https://api.example.com')
  t.equal(await urlOf({}, forwarded, '192.0.2.1'), 'http://a:1')
  t.equal(await urlOf({ trustedProxies: 'none' }, forwarded), 'http://a:1')
  const chain = { 'x-forwarded-host': 'api.example.com, inner', 'x-forwarded-proto': 'https, http' }
  t.equal(await urlOf({}, chain), 'https://api.example.com')
  t.equal(await urlOf({}, { 'x-forwarded-host': 'a/b"><', 'x-forwarded-proto': 'javascript' }), 'http://a:1')
})

t.test('a host is repeated in URLs where it is one', async (t) => {
  const long = `${'a'.repeat(63)}.example`
  for (const host of ['a', 'a.b-c_d.example:80', 'A.example.', '10.0.0.5:7181', '[::1]:80', '[fd00::1.2.3.4]', long]) {
    t.equal(await urlOf({}, { host }), `http://${host}`)
    t.equal(await urlOf({}, { 'x-forwarded-host': host }), `http://${host}`)
  }
  const odd = ['..', '.', '.a', 'a..b', '-a', 'a-', 'a.-b', 'a:', ':80', 'a:0', 'a:65536', 'a%20b', 'a~b', '%']
  for (const host of [...odd, '1.2.3', '256.1.1.1', 'a.1', '[::]:', '[1.2.3.4]', '[:]', `a${long}`, 'a.'.repeat(130)]) {
    t.equal(await urlOf({}, { host }), 'http://localhost', host)
    t.equal(await urlOf({}, { 'x-forwarded-host': host }), 'http://a:1', host)
  }
})

t.test('a request that names no host is told the address that it arrived at', async (t) => {
  const app = createApp(createFakeDeps(), limits)
  app.get('/url', { config: { needs: 'nothing' } }, async (request) => ({ url: baseUrlOf(request) }))
  const open = await listen(t, app)
  for (const host of ['..', '']) {
    const client = await open()
    client.send(`GET /url HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    t.match(await client.answer(), { status: 200, body: { url: `http://127.0.0.1:${client.socket.remotePort}` } })
    client.socket.destroy()
  }
})

t.test('with a list of hosts the URLs have one of them, whatever a request names', async (t) => {
  const publicHosts = 'https://API.example.com, 10.0.0.5:7181'
  t.equal(await urlOf({ publicHosts }, { host: 'api.example.com' }), 'https://api.example.com')
  t.equal(await urlOf({ publicHosts }, { host: '10.0.0.5:7181' }), 'http://10.0.0.5:7181')
  t.equal(await urlOf({ publicHosts }, { host: 'evil.example' }), 'https://api.example.com')
  t.equal(await urlOf({ publicHosts }, { 'x-forwarded-host': 'evil.example' }), 'https://api.example.com')
  t.equal(await urlOf({ publicHosts }, { 'x-forwarded-host': '10.0.0.5:7181' }), 'http://10.0.0.5:7181')
})

t.test('the log has the client of a request', async (t) => {
  const deps = createFakeDeps()
  const app = createApp(deps, limits)
  app.get('/who', { config: { needs: 'nothing' } }, async (request) => clientAddressOf(request))
  const { body } = await ask(app, { url: '/who', headers: { 'x-forwarded-for': '6.6.6.6, 203.0.113.7' } })
  t.equal(body, '203.0.113.7')
  t.match(deps.entries.at(-1), { fields: { url: '/who', clientAddress: '203.0.113.7' } })
})
