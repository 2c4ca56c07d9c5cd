import { toEmailFailure } from './email-failure.ts'
import type { Channel, Notification } from './notification.types.ts'
import { SendingClock } from './sending-clock.ts'

export interface EmailOptions {
  /** `smtp://user:password@host:port`; what stands before the host is percent-encoded. */
  readonly smtpUrl: string
  readonly smtpTls: 'off' | 'optional' | 'required'
  readonly emailFrom: string
  /** Separated by commas. */
  readonly emailTo: string
  readonly notificationsTimeoutMs: number
}

const submissionPort = 587
const submissionsPort = 465

/** A server may check a message before it answers; who gives up before that has it sent twice (RFC 5321 §4.5.3.2.6). */
const answerTimeMaxMs = 600_000

export interface EmailDeps {
  /** Trusted instead of the well-known ones, as PEM. */
  readonly ca?: string
  /** How long the answer to a message that is out is waited for. */
  readonly answerTimeMaxMs?: number
}

/** E-mail by SMTP: one connection for each. Loads its package, which is not loaded where no e-mail is sent. */
export async function openEmailChannel(options: EmailOptions, deps: EmailDeps = {}): Promise<Channel> {
  const { createTransport } = await import('nodemailer')
  const { emailFrom: address, emailTo, notificationsTimeoutMs } = options
  const waitMs = deps.answerTimeMaxMs ?? answerTimeMaxMs
  const settings = {
    ...serverOf(options),
    connectionTimeout: notificationsTimeoutMs,
    greetingTimeout: notificationsTimeoutMs,
    // The clock of a sending ends what is slow before the message is out.
    socketTimeout: waitMs + notificationsTimeoutMs,
    dnsTimeout: notificationsTimeoutMs,
    ...(deps.ca === undefined ? {} : { tls: { ca: deps.ca } }),
    logger: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
  const domain = address.slice(address.indexOf('@') + 1)
  const clocks = new Set<SendingClock>()
  const send = async ({ id, title, text }: Notification): Promise<void> => {
    const clock = new SendingClock({ timeMaxMs: notificationsTimeoutMs, answerTimeMaxMs: waitMs })
    clocks.add(clock)
    const transport = createTransport(settings)
    transport.use('stream', (mail, done) => {
      mail.message.processFunc((message) => message.once('end', () => clock.noteOut()))
      done()
    })
    try {
      await transport.sendMail({
        from: { name: 'Millrace', address },
        to: emailTo.split(',').map((to) => to.trim()),
        subject: title,
        text,
        messageId: `<${id}@${domain}>`,
        // No answers of those who are on holiday (RFC 3834 §5).
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: clock.signal,
      })
    } catch (error) {
      throw clock.failure ?? toEmailFailure(error)
    } finally {
      clock.stop()
      clocks.delete(clock)
      transport.close()
    }
  }
  return {
    name: 'email',
    send,
    close: async () => {
      for (const clock of clocks) clock.close()
    },
  }
}

function serverOf({ smtpUrl, smtpTls }: EmailOptions) {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (secure ? submissionsPort : submissionPort) : Number(port),
    secure,
    requireTLS: smtpTls === 'required',
    ignoreTLS: smtpTls === 'off',
    ...(username === '' ? {} : { auth }),
  }
}
