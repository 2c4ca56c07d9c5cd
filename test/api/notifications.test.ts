import { text } from 'node:stream/consumers'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { MailServer } from '../support/notifications/mail-server.ts'
import { isSigned } from '../support/notifications/signed-webhook.ts'
import { openRemoteServer } from '../support/remote-server.ts'

const secret = '0123456789abcdef-of-the-webhook'
const password = 'right: @/?#%'

t.test('a refusal reaches the mailbox and the webhook once, and no secret reaches the log or an answer', async (t) => {
  const mail = await MailServer.open(t, { allowInsecureAuth: true })
  const bodies: { readonly signature: string; readonly body: string }[] = []
  const hook = await openRemoteServer(t, (request, response) => {
    void text(request).then((body) => {
      bodies.push({ signature: String(request.headers['x-millrace-signature']), body })
      response.end()
    })
  })
  const service = await openTestService(t, {
    ...{ smtpUrl: `smtp://me:${encodeURIComponent(password)}@127.0.0.1:${mail.port}`, smtpTls: 'off' },
    ...{ emailFrom: 'millrace@example.com', emailTo: 'ops@example.com' },
    ...{ webhookUrl: `${hook.origin}/T0/path-of-the-webhook`, webhookSecret: secret },
    ...{ webhookAllow: '127.0.0.1', webhookAllowHttp: true, variablesRequestsPerSecondMax: 1 },
  })
  const ask = async (): Promise<number> => (await service.call('GET', '/v0/variables')).status
  let refusedCount = 0
  while (refusedCount < 3) if ((await ask()) === 429) refusedCount += 1
  for (const channel of ['email', 'webhook']) {
    await service.log.until('A notification was sent.', (fields) => fields['channel'] === channel)
  }
  t.match(mail.mails, [
    { to: ['ops@example.com'], user: 'me', source: 'Alert: limit secret_requests refuses requests' },
  ])
  const [{ signature, body } = { signature: '', body: '' }] = bodies
  t.equal(isSigned(signature, { body, secret, nowMs: Date.now() }), true)
  t.match(JSON.parse(body), { limit: 'secret_requests', level: 'alert', max: 1, refused: { status: 429 } })
  const metrics = await service.call('GET', '/metrics')
  for (const line of [
    /^millrace_notifications_sent_total\{channel="email"\} 1$/m,
    /^millrace_notifications_sent_total\{channel="webhook"\} 1$/m,
    /^millrace_notifications_waiting\{channel="email"\} 0$/m,
  ]) {
    t.match(metrics.text, line)
  }
  const shown = [(await service.call('GET', '/v0/limits')).text, metrics.text, JSON.stringify(service.log.entries)]
  for (const hidden of [password, encodeURIComponent(password), secret, 'path-of-the-webhook']) {
    t.notOk(
      shown.some((one) => one.includes(hidden)),
      hidden,
    )
  }
})
