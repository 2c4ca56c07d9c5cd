// Against a real SMTP server on loopback.

import { readFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import t from 'tap'
import { type EmailOptions, openEmailChannel } from '../../src/notifications/email-channel.ts'
import { tlsFixture } from '../support/http/tls-files.ts'
import { anyNotification } from '../support/notifications/any-notification.ts'
import { MailServer } from '../support/notifications/mail-server.ts'

const { files, ca } = tlsFixture('first')
const tls = { cert: readFileSync(files.tlsCertFile), key: readFileSync(files.tlsKeyFile) }
const password = encodeURIComponent('right: @/?#%')

function optionsOf(smtpUrl: string, more: Partial<EmailOptions> = {}): EmailOptions {
  return {
    ...{ smtpUrl, smtpTls: 'off', emailFrom: 'millrace@example.com', emailTo: 'a@example.com, b@example.com' },
    notificationsTimeoutMs: 20_000,
    ...more,
  }
}

t.test('an e-mail arrives at all addresses, with its subject, its text, and an id that stays', async (t) => {
  const server = await MailServer.open(t)
  const channel = await openEmailChannel(optionsOf(`smtp://127.0.0.1:${server.port}`))
  t.teardown(() => channel.close())
  await channel.send(anyNotification)
  await channel.send(anyNotification)
  const [mail, repeated] = server.mails
  t.match(mail, { from: 'millrace@example.com', to: ['a@example.com', 'b@example.com'], user: undefined })
  for (const line of [
    /^From: Millrace <millrace@example\.com>\r$/m,
    /^To: a@example\.com, b@example\.com\r$/m,
    /^Subject: Alert: limit queries_per_day refuses requests\r$/m,
    /^Message-ID: <n1@example\.com>\r$/im,
    /^Auto-Submitted: auto-generated\r$/im,
    /^Limit "queries_per_day" of this service is reached =E2=80=93 really\.\r$/m,
  ]) {
    t.match(mail?.source, line)
    t.match(repeated?.source, line)
  }
})

t.test('the user and the password of the address are sent, percent-decoded', async (t) => {
  const server = await MailServer.open(t, { allowInsecureAuth: true })
  const channel = await openEmailChannel(optionsOf(`smtp://me%40x:${password}@127.0.0.1:${server.port}`))
  t.teardown(() => channel.close())
  await channel.send(anyNotification)
  t.match(server.mails, [{ user: 'me@x' }])
})

t.test('a refusal says the code, and neither the password nor what the server said of it', async (t) => {
  const server = await MailServer.open(t, { allowInsecureAuth: true })
  const wrong = await openEmailChannel(optionsOf(`smtp://me:hunter2@127.0.0.1:${server.port}`))
  t.teardown(() => wrong.close())
  await t.rejects(wrong.send(anyNotification), {
    name: 'DeliveryFailure',
    message: 'the mail server refused the user or the password (answer 535)',
    isFinal: true,
  })
  t.same(server.logins, [['me', 'hunter2']])
  const channel = await openEmailChannel(optionsOf(`smtp://127.0.0.1:${server.port}`))
  t.teardown(() => channel.close())
  server.refusal = Object.assign(new Error('come later'), { responseCode: 451 })
  await t.rejects(channel.send(anyNotification), {
    message: 'the mail server refused the message (answer 451)',
    isFinal: false,
  })
  t.same(server.mails, [])
})

t.test('an answer of 500 or more is final, and others are not, wherever the server gives them', async (t) => {
  const refusal = (responseCode: number) => Object.assign(new Error('no'), { responseCode })
  const refuseAll = (responseCode: number) => ({
    onRcptTo: (_address: unknown, _session: unknown, done: (error: Error) => void) => done(refusal(responseCode)),
  })
  const refuseFrom = (responseCode: number) => ({
    onMailFrom: (_address: unknown, _session: unknown, done: (error: Error) => void) => done(refusal(responseCode)),
  })
  for (const [options, message, isFinal] of [
    [refuseFrom(550), 'the mail server refused the sender (answer 550)', true],
    [refuseFrom(450), 'the mail server refused the sender (answer 450)', false],
    [refuseAll(550), 'the mail server refused all receivers (answer 550)', true],
    [refuseAll(451), 'the mail server refused all receivers (answer 451)', false],
    [{ authOptional: false }, 'the mail server refused the sender (answer 530)', true],
  ] as const) {
    const server = await MailServer.open(t, options)
    const channel = await openEmailChannel(optionsOf(`smtp://127.0.0.1:${server.port}`))
    await t.rejects(channel.send(anyNotification), { name: 'DeliveryFailure', message, isFinal })
  }
  const server = await MailServer.open(t)
  const channel = await openEmailChannel(optionsOf(`smtp://127.0.0.1:${server.port}`))
  for (const code of [550, 554]) {
    server.refusal = refusal(code)
    const message = `the mail server refused the message (answer ${code})`
    await t.rejects(channel.send(anyNotification), { message, isFinal: true })
  }
})

t.test('receivers that are refused for different reasons are tried again', async (t) => {
  const server = await MailServer.open(t, {
    onRcptTo: ({ address }, _session, done) =>
      done(Object.assign(new Error('no'), { responseCode: address.startsWith('a') ? 451 : 550 })),
  })
  const channel = await openEmailChannel(optionsOf(`smtp://127.0.0.1:${server.port}`))
  await t.rejects(channel.send(anyNotification), { name: 'DeliveryFailure', isFinal: false })
})

t.test('a server that gets an e-mail and does not answer is told apart from one that does not take it', async (t) => {
  const server = await MailServer.open(t)
  server.held = new Promise(() => {})
  const url = `smtp://127.0.0.1:${server.port}`
  const late = await openEmailChannel(optionsOf(url), { answerTimeMaxMs: 50 })
  await t.rejects(late.send(anyNotification), {
    ...{ message: 'the mail server got the e-mail, and did not say in time whether it takes it', isFinal: false },
  })
  const closed = await openEmailChannel(optionsOf(url))
  const ended = t.rejects(closed.send(anyNotification), { message: 'the service ended', isFinal: false })
  while (server.mails.length < 2) await new Promise((resolve) => setImmediate(resolve))
  await closed.close()
  await ended
})

t.test('TLS is required unless options say otherwise, and the certificate must be trusted', async (t) => {
  const server = await MailServer.open(t, tls)
  const plain = await MailServer.open(t, {
    hideSTARTTLS: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
  })
  const open = (port: number, smtpTls: EmailOptions['smtpTls'], trusted?: string) =>
    openEmailChannel(
      optionsOf(`smtp://me:${password}@localhost:${port}`, { smtpTls }),
      trusted === undefined ? {} : { ca: trusted },
    )
  const sent = await open(server.port, 'required', ca)
  await sent.send(anyNotification)
  t.match(server.mails, [{ isSecure: true, user: 'me' }])
  await (await open(server.port, 'optional', ca)).send(anyNotification)
  t.match(server.mails[1], { isSecure: true })
  const notSecure = 'a secure connection to the mail server could not be made (--smtp-tls)'
  await t.rejects((await open(server.port, 'required')).send(anyNotification), {
    message: /^the mail server was not reached: a secure connection could not be made: DEPTH_ZERO_SELF_SIGNED_CERT$/,
    isFinal: false,
  })
  await t.rejects((await open(plain.port, 'required', ca)).send(anyNotification), { message: notSecure })
  t.same([server.mails.length, server.logins.length], [2, 2])
  t.same([plain.mails, plain.logins], [[], []], 'no password goes over a plain connection')
  await (await open(plain.port, 'optional')).send(anyNotification)
  t.match(plain.mails, [{ isSecure: false }])
})

t.test('smtps speaks TLS from the first byte', async (t) => {
  const server = await MailServer.open(t, { secure: true, ...tls })
  const channel = await openEmailChannel(optionsOf(`smtps://localhost:${server.port}`, { smtpTls: 'required' }), { ca })
  t.teardown(() => channel.close())
  await channel.send(anyNotification)
  t.match(server.mails, [{ isSecure: true }])
})

t.test('a server that says nothing fails in time, and one that is not there at once', async (t) => {
  const silent = net.createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const sockets = new Set<net.Socket>()
  silent.on('connection', (socket) => sockets.add(socket))
  // A server that listens on a port has an address that is no text.
  const { port } = silent.address() as AddressInfo
  const slow = await openEmailChannel(optionsOf(`smtp://127.0.0.1:${port}`, { notificationsTimeoutMs: 100 }))
  await t.rejects(slow.send(anyNotification), {
    message: 'the mail server did not take the e-mail in time (--notifications-timeout-ms)',
  })
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => silent.close(resolve))
  await t.rejects(slow.send(anyNotification), {
    ...{ message: 'the mail server was not reached: the connection was refused', isFinal: false },
  })
})
