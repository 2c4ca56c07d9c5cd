import { type Channel, DeliveryFailure, type Notification } from './notification.types.ts'

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

/** E-mail by SMTP: one connection for each. Loads its package, which is not loaded where no e-mail is sent. @param ca trusted instead of the well-known ones, as PEM. */
export async function openEmailChannel(options: EmailOptions, { ca }: { readonly ca?: string } = {}): Promise<Channel> {
  const { createTransport } = await import('nodemailer')
  const { emailFrom: address, emailTo, notificationsTimeoutMs } = options
  const transport = createTransport({
    ...serverOf(options),
    connectionTimeout: notificationsTimeoutMs,
    greetingTimeout: notificationsTimeoutMs,
    socketTimeout: notificationsTimeoutMs,
    dnsTimeout: notificationsTimeoutMs,
    ...(ca === undefined ? {} : { tls: { ca } }),
    logger: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const domain = address.slice(address.indexOf('@') + 1)
  const send = async ({ id, title, text }: Notification): Promise<void> => {
    await transport.sendMail({
      from: { name: 'Millrace', address },
      to: emailTo.split(',').map((to) => to.trim()),
      subject: title,
      text,
      messageId: `<${id}@${domain}>`,
      // No answers of those who are on holiday (RFC 3834 §5).
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
  }
  return {
    name: 'email',
    send: (notification) => inTime(send(notification), notificationsTimeoutMs),
    close: async () => transport.close(),
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

/** A connection that is slow at each of its steps is left alone, and ends by the timeouts of its own. */
async function inTime(sending: Promise<void>, timeMaxMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new DeliveryFailure('the server did not take it in time')), timeMaxMs)
  })
  try {
    await Promise.race([sending, late])
  } catch (error) {
    throw error instanceof DeliveryFailure ? error : new DeliveryFailure(reasonOf(error))
  } finally {
    clearTimeout(timer)
  }
}

/** The message itself may repeat what was sent. */
function reasonOf(error: unknown): string {
  // Of errors of nodemailer, both may be there.
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown }
  const answer = typeof responseCode === 'number' ? `, answer ${responseCode}` : ''
  return `the e-mail was not taken: ${typeof code === 'string' ? code : 'unknown error'}${answer}`
}
