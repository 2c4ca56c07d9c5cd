import type { FastifyInstance } from 'fastify'
import { AllowedOrigins } from './allowed-origins.ts'

export interface AnswerHeaderOptions {
  readonly corsOrigins: string
  /** With TLS, how long browsers may use no other way to this host; 0 says nothing of it. */
  readonly hstsSeconds: number
  /** Empty without TLS. */
  readonly tlsCertFile: string
}

type Header = readonly [name: string, value: string]

/** Headers that every answer has, also where no route and no hook makes it. */
export class AnswerHeaders {
  readonly origins: AllowedOrigins
  readonly everywhere: readonly Header[]
  /** For answers to what has not been read as a request, whose origin nobody knows. */
  readonly unread: readonly Header[]

  /** @throws StartRefusal HTTP_OPTION_INVALID. */
  constructor({ corsOrigins, hstsSeconds, tlsCertFile }: AnswerHeaderOptions) {
    const hasHsts = hstsSeconds > 0 && tlsCertFile !== ''
    this.everywhere = [
      // A browser must not take rows for a page or a script.
      ['x-content-type-options', 'nosniff'],
      // A URL may have a token in it.
      ['referrer-policy', 'no-referrer'],
      // An answer is for whoever sent the token, and its URL may be the same for all.
      ['cache-control', 'no-store'],
      ...(hasHsts ? [['strict-transport-security', `max-age=${hstsSeconds}`] as const] : []),
    ]
    this.origins = new AllowedOrigins(corsOrigins)
    const open: readonly Header[] = this.origins.areAll ? [['access-control-allow-origin', '*']] : []
    this.unread = [...this.everywhere, ...open]
  }

  /** Puts them on every answer of `app`. */
  addTo(app: FastifyInstance): void {
    app.addHook('onRequest', (_request, reply, done) => {
      for (const [name, value] of this.everywhere) reply.header(name, value)
      done()
    })
  }
}
