import { Agent } from 'undici'
import { PinnedConnector } from './pinned-connector.ts'
import type { RemoteFileDeps } from './remote-file.types.ts'
import { endpointOf, UrlRules } from './url-rules.ts'

export interface GuardedPostOptions {
  readonly webhookUrl: string
  readonly webhookAllow: string
  readonly webhookAllowHttp: boolean
  /** Of a request, to the end of the headers of its answer. */
  readonly notificationsTimeoutMs: number
}

const headerBytesMax = 64 * 1024

/** Requests to one address that an operator has named, whose host is judged like those of files by URL: once it is resolved, each time. */
export class GuardedPost {
  readonly #options: GuardedPostOptions
  readonly #deps: Pick<RemoteFileDeps, 'ca' | 'resolve'>
  readonly #rules: UrlRules
  readonly #url: URL
  readonly #closed = new AbortController()

  /** @throws StartRefusal URL_ALLOW_INVALID; URL_INVALID, URL_REFUSED (400) */
  constructor(options: GuardedPostOptions, deps: Pick<RemoteFileDeps, 'ca' | 'resolve'> = {}) {
    this.#options = options
    this.#deps = deps
    const { webhookUrl, webhookAllow: allow, webhookAllowHttp: allowHttp } = options
    // Who names an address names its port.
    const { port } = endpointOf(new URL(webhookUrl))
    this.#rules = new UrlRules({ allow, allowHttp, allowCredentials: false, ports: String(port) }, 'webhook')
    this.#url = this.#rules.parse(webhookUrl)
  }

  /** The status of the answer, whose body is not read; redirects are not followed. */
  async post(headers: Readonly<Record<string, string>>, body: string): Promise<number> {
    const { notificationsTimeoutMs: timeMaxMs } = this.#options
    const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(timeMaxMs)])
    const connector = { ...this.#deps, rules: this.#rules, connectTimeoutMs: timeMaxMs, signal }
    const agent = new Agent({ connect: new PinnedConnector(connector).connect, maxHeaderSize: headerBytesMax })
    try {
      const { origin, pathname, search } = this.#url
      const request = { origin, path: pathname + search, method: 'POST', headers, body, signal } as const
      const { statusCode, body: answer } = await agent.request(request)
      // It ends with the agent.
      answer.on('error', () => {})
      return statusCode
    } finally {
      await agent.destroy()
    }
  }

  /** Ends requests. */
  close(): void {
    this.#closed.abort()
  }
}
