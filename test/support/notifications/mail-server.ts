import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Test } from 'tap'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Headers and text as they were sent. */
  readonly source: string
  /** Who has logged in; undefined for nobody. */
  readonly user: string | undefined
  readonly isSecure: boolean
}

/** A real SMTP server on loopback, until the test ends. */
export class MailServer {
  readonly mails: ReceivedMail[] = []
  /** Names and passwords that were tried. */
  readonly logins: (readonly [user: string, password: string])[] = []
  /** Answer to a body; null takes it. */
  refusal: Error | null = null
  /** What the answer to a body waits for. */
  held: Promise<void> = Promise.resolve()
  readonly #server: SMTPServer

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      authOptional: true,
      logger: false,
      ...options,
      onAuth: ({ username, password }, _session, callback) => {
        this.logins.push([username ?? '', password ?? ''])
        if (password === 'right: @/?#%') callback(null, { user: username })
        else callback(Object.assign(new Error(`wrong password ${password}`), { responseCode: 535 }))
      },
      onData: (stream, session, callback) => {
        const { mailFrom, rcptTo } = session.envelope
        void text(stream).then((source) => {
          if (this.refusal !== null) return callback(this.refusal)
          this.mails.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            source,
            user: session.user as string | undefined,
            isSecure: session.secure,
          })
          void this.held.then(() => callback())
        })
      },
    })
  }

  static async open(t: Test, options: SMTPServerOptions = {}): Promise<MailServer> {
    const server = new MailServer(options)
    // Who hangs up in the middle of a handshake is what some tests are about.
    server.#server.on('error', () => {})
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve)
    })
    t.teardown(() => new Promise<void>((resolve) => server.#server.close(() => resolve())))
    return server
  }

  get port(): number {
    // A server that listens on a port has an address that is no text.
    return (this.#server.server.address() as AddressInfo).port
  }
}
