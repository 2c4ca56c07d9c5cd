import type http from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { GuardedPost, type GuardedPostOptions } from '../../src/imports/url/guarded-post.ts'
import { openWebhookChannel } from '../../src/notifications/webhook-channel.ts'
import { anyNotification } from '../support/notifications/any-notification.ts'
import { isSigned } from '../support/notifications/signed-webhook.ts'
import { openRemoteServer } from '../support/remote-server.ts'

const webhookSecret = 'a secret of enough length'.replaceAll(' ', '-')
const nowMs = Date.UTC(2026, 0, 2)

interface Received {
  readonly method: string | undefined
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

/** A webhook that answers with a status, and keeps what it got. */
async function openReceiver(t: Test, answer: (response: http.ServerResponse) => void = (response) => response.end()) {
  const received: Received[] = []
  const server = await openRemoteServer(t, (request, response) => {
    void text(request).then((body) => {
      received.push({ method: request.method, headers: request.headers, body })
      answer(response)
    })
  })
  return { server, received }
}

function channelOf(
  webhookUrl: string,
  more: Partial<GuardedPostOptions> = {},
  resolve?: (hostname: string) => Promise<readonly string[]>,
) {
  const options = {
    webhookUrl,
    webhookAllow: '127.0.0.1',
    webhookAllowHttp: true,
    notificationsTimeoutMs: 20_000,
    ...more,
  }
  const guarded = new GuardedPost(options, resolve === undefined ? {} : { resolve })
  return openWebhookChannel(
    { webhookSecret },
    { post: (headers, body) => guarded.post(headers, body), close: async () => guarded.close(), now: () => nowMs },
  )
}

t.test('a webhook gets the notification as JSON, signed with its time', async (t) => {
  const { server, received } = await openReceiver(t)
  await channelOf(`${server.origin}/hook?key=1`).send(anyNotification)
  const [{ method, headers, body } = { method: '', headers: {}, body: '' }] = received
  t.equal(method, 'POST')
  t.equal(server.requests[0]?.url, '/hook?key=1')
  t.match(headers, { 'content-type': 'application/json', 'x-millrace-notification-id': 'n1' })
  t.same(JSON.parse(body), {
    id: 'n1',
    level: 'alert',
    limit: 'queries_per_day',
    created_at: '2026-01-02T00:00:00.000Z',
    description: 'Queries',
    scope: 'service',
    unit: null,
    used: 1_000,
    max: 1_000,
    window_seconds: 86_400,
    reset_at: '2026-01-02T12:00:00.000Z',
    refused: {
      ...{ code: 'RATE_EXCEEDED', status: 429, request_id: 'r1' },
      ...{ token_id: 't1', token_name: 'reader', resource: 'top' },
    },
    days: null,
    documentation: 'docs/limits.md#queries_per_day',
    title: 'Alert: limit queries_per_day refuses requests',
    text: 'Limit "queries_per_day" of this service is reached – really.\n',
  })
  const header = String(headers['x-millrace-signature'])
  const check = { body, secret: webhookSecret, nowMs }
  t.equal(isSigned(header, check), true)
  t.equal(isSigned(header, { ...check, body: body.replace('429', '428') }), false, 'another body')
  t.equal(isSigned(header.replace('t=1', 't=2'), check), false, 'another time')
  t.equal(isSigned(header, { ...check, secret: `${webhookSecret}.` }), false, 'another secret')
  t.equal(isSigned(header, { ...check, nowMs: nowMs + 301_000 }), false, 'an old copy')
})

t.test('every 2xx takes it; others do not, 4xx for good, and redirects are not followed', async (t) => {
  for (const [status, outcome] of [
    [200, 'taken'],
    [204, 'taken'],
    [299, 'taken'],
    [300, 'again'],
    [302, 'again'],
    [400, 'final'],
    [404, 'final'],
    [408, 'again'],
    [410, 'final'],
    [429, 'again'],
    [499, 'final'],
    [500, 'again'],
    [503, 'again'],
  ] as const) {
    const { server, received } = await openReceiver(t, (response) => {
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    const sending = channelOf(server.origin).send(anyNotification)
    const failure = { name: 'DeliveryFailure', message: `the webhook answered ${status}`, isFinal: outcome === 'final' }
    if (outcome === 'taken') await t.resolves(sending, `${status}`)
    else await t.rejects(sending, failure)
    t.equal(received.length, 1)
  }
})

t.test('a host that is not public is refused, by its text and once it is resolved, and nothing is sent', async (t) => {
  const { server, received } = await openReceiver(t)
  t.throws(() => channelOf(server.origin, { webhookAllow: '' }), {
    code: 'URL_REFUSED',
    message: 'its address is not public; the option --webhook-allow names',
  })
  t.throws(() => channelOf(server.origin, { webhookAllowHttp: false }), { message: '--webhook-allow-http' })
  t.throws(() => channelOf(server.origin, { webhookAllow: 'a:b' }), {
    code: 'URL_ALLOW_INVALID',
    message: '"a:b" in --webhook-allow is not',
  })
  const rebound = channelOf(`http://hooks.example.com:${server.port}/secret`, { webhookAllow: '' }, async () => [
    '127.0.0.1',
  ])
  await t.rejects(rebound.send(anyNotification), {
    ...{ message: 'the webhook was not reached: its address is not public (--webhook-allow)', isFinal: false },
  })
  t.same(received, [])
})

t.test('a webhook that does not answer in time has not taken it, and a close ends it', async (t) => {
  const { server } = await openReceiver(t, () => {})
  const slow = channelOf(`${server.origin}/secret`, { notificationsTimeoutMs: 100 })
  await t.rejects(slow.send(anyNotification), {
    message: 'the webhook was not reached: it did not answer in time (--notifications-timeout-ms)',
  })
  const requested = server.requests.length
  const channel = channelOf(`${server.origin}/secret`)
  const sending = channel.send(anyNotification)
  const refused = t.rejects(sending, {
    ...{ name: 'DeliveryFailure', message: 'the webhook was not reached: the service ended' },
  })
  while (server.requests.length === requested) await new Promise((resolve) => setImmediate(resolve))
  await channel.close()
  await refused
})
