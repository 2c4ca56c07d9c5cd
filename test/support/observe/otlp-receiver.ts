import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number }
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: ReceivedSpan['attributes'] }
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[]
  }[]
}

/** Collects traces as a collector of OpenTelemetry does: OTLP over HTTP, in JSON. */
export class OtlpReceiver {
  readonly url: string
  readonly spans: ReceivedSpan[] = []
  readonly resources: ReceivedSpan['attributes'][] = []
  readonly headers: IncomingHttpHeaders[] = []
  /** What it answers with. */
  status = 200
  readonly #waiting = new Set<() => void>()

  private constructor(url: string) {
    this.url = url
  }

  static async open(t: Test): Promise<OtlpReceiver> {
    const server = createServer(async (request, response) => {
      const body = await text(request)
      receiver.headers.push(request.headers)
      if (receiver.status === 200) receiver.#take(JSON.parse(body))
      response.writeHead(receiver.status, { 'content-type': 'application/json' }).end('{}')
      for (const resolve of receiver.#waiting) resolve()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    // A server that listens on a port has an address of this kind.
    const { port } = server.address() as AddressInfo
    const receiver = new OtlpReceiver(`http://127.0.0.1:${port}/v1/traces`)
    return receiver
  }

  /** Resolves when so many requests have come. */
  async untilRequests(count: number): Promise<void> {
    while (this.headers.length < count) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  /** The first span of this name, now or later. */
  async untilSpan(isIt: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
    for (;;) {
      const found = this.spans.find(isIt)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  #take({ resourceSpans }: ExportRequest): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resources.push(resource.attributes)
      for (const { spans } of scopeSpans) this.spans.push(...spans)
    }
  }
}

/** The value of an attribute; undefined where the span has none of the name. */
export function attributeOf({ attributes }: Pick<ReceivedSpan, 'attributes'>, name: string): unknown {
  const value = attributes.find(({ key }) => key === name)?.value
  return value === undefined ? undefined : Object.values(value)[0]
}
