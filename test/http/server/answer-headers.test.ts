import t from 'tap'
import { createApp } from '../../../src/app.ts'
import { AllowedOrigins } from '../../../src/http/server/allowed-origins.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'

const safe = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' }

t.test('every answer has the headers that keep it from being taken for another thing', async (t) => {
  const app = createApp(createFakeDeps(), limits)
  const authorization = `Bearer ${token}`
  const requests = [
    { url: '/v0/datasources', headers: { authorization } },
    { url: '/v0/datasources' },
    { url: '/v0/nothing' },
    { url: '/health/live' },
    { url: '/v0/sql?q=SELECT+1', headers: { authorization } },
    { url: '/%', headers: { authorization } },
    { method: 'OPTIONS' as const, url: '/v0/events' },
  ]
  for (const request of requests) t.match((await ask(app, request)).headers, safe, request.url)
  const client = await (await listen(t, app))()
  client.send('nonsense\r\n\r\n')
  const { status, head } = await client.answer()
  t.equal(status, 400)
  for (const [name, value] of Object.entries(safe)) t.match(head, `${name}: ${value}`)
  t.match(head, 'access-control-allow-origin: *')
})

t.test('pages of listed origins alone are let in', async (t) => {
  const app = createApp(createFakeDeps(), { ...limits, corsOrigins: 'https://app.example.com' })
  const preflight = (origin: string) =>
    ask(app, { method: 'OPTIONS', url: '/v0/events', headers: { origin, 'access-control-request-method': 'POST' } })
  const allowed = await preflight('https://app.example.com')
  t.equal(allowed.statusCode, 204)
  t.match(allowed.headers, {
    'access-control-allow-origin': 'https://app.example.com',
    'access-control-allow-methods': /POST/,
    vary: 'origin',
  })
  for (const origin of ['https://app.example.com.evil.example', 'http://app.example.com', 'null', '*']) {
    const { statusCode, headers } = await preflight(origin)
    t.equal(statusCode, 204)
    t.same(
      Object.keys(headers).filter((name) => name.startsWith('access-control')),
      [],
      origin,
    )
    t.equal(headers['vary'], 'origin')
  }
  t.equal((await ask(app, '/v0/datasources')).headers['access-control-allow-origin'], undefined)
  const client = await (await listen(t, app))()
  client.send('nonsense\r\n\r\n')
  t.notMatch((await client.answer()).head, /access-control/i)
})

t.test('an origin is listed by itself, or by the hosts below one', async (t) => {
  const origins = new AllowedOrigins('https://a.example, https://*.b.example:8443,capacitor://localhost')
  for (const origin of [
    'https://a.example',
    'https://x.b.example:8443',
    'https://x.y.b.example:8443',
    'capacitor://localhost',
  ])
    t.ok(origins.has(origin), origin)
  for (const origin of [
    ...['https://b.example:8443', 'https://.b.example:8443', 'https://xb.example:8443', 'https://x.b.example'],
    ...['http://a.example', 'https://a.example:8443', 'https://x.a.example', ''],
    // What ends as the pattern does, and is another host.
    ...['https://evil.example/.b.example:8443', 'https://evil.example?.b.example:8443'],
    ...[
      'https://evil.example#.b.example:8443',
      'https://a@x.b.example:8443',
      'https://evil.example:1@x.b.example:8443',
    ],
    ...[
      'https://evil.example\\.b.example:8443',
      'https://evil.example:80.b.example:8443',
      'https://[::1].b.example:8443',
    ],
    ...[
      'https://x..b.example:8443',
      'https://x .b.example:8443',
      'https://x\n.b.example:8443',
      'https://x%2f.b.example:8443',
    ],
  ])
    t.notOk(origins.has(origin), origin)
  t.ok(new AllowedOrigins('*').has('https://any.example'))
  t.notOk(new AllowedOrigins('none').has('https://a.example'))
  for (const entry of [
    'a.example',
    'https://a.example/',
    'https://*',
    'https://a.*.example',
    'none,https://a.example',
  ]) {
    t.throws(() => new AllowedOrigins(entry), { code: 'HTTP_OPTION_INVALID' }, entry)
  }
})
