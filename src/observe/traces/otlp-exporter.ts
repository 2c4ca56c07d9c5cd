// Spans as OpenTelemetry's own exporter sends them, OTLP over HTTP in JSON. Requests only queue plain records; what the exporter
// wants is made of a batch of them at a time.

import { Agent } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { hostname } from 'node:os'
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { within } from '../../shared/within.ts'
import type { InnerSpan, RequestSpan, SpanExporter } from './span.types.ts'
import { newSpanId } from './trace-context.ts'

export interface OtlpOptions {
  /** Where traces are sent. */
  readonly tracesUrl: string
  /** `name=value` of further headers, separated by commas; undefined for none. */
  readonly tracesHeaders: string | undefined
  /** How long one sending may take; 10 seconds when absent. */
  readonly sendTimeMaxMs?: number
}

type ReadableSpan = Parameters<OTLPTraceExporter['export']>[0][number]
type Time = ReadableSpan['startTime']

const sendTimeMaxMsDefault = 10_000
// As OpenTelemetry numbers them (SpanKind, SpanStatusCode, TraceFlags, ExportResultCode).
const kinds = { internal: 0, server: 1 } as const
const statuses = { unset: 0, error: 2 } as const
const sampledFlag = 1
const succeeded = 0

/** Loads the exporter, which is not loaded where no traces are sent: it takes a quarter of a second and 15 MB. */
export async function openOtlpExporter(options: OtlpOptions): Promise<SpanExporter> {
  const { tracesUrl, tracesHeaders = '', sendTimeMaxMs = sendTimeMaxMsDefault } = options
  const { OTLPTraceExporter: Exporter } = await import('@opentelemetry/exporter-trace-otlp-http')
  const agent =
    new URL(tracesUrl).protocol === 'https:' ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true })
  const exporter = new Exporter({
    ...{ url: tracesUrl, headers: headersOf(tracesHeaders) },
    ...{ timeoutMillis: sendTimeMaxMs, httpAgentOptions: () => agent },
  })
  const resource = { attributes: { 'service.name': 'millrace', 'host.name': hostname() } }
  return {
    send: async (spans) => {
      let hasArrived = false
      const sent = new Promise<void>((resolve) => {
        const readable = spans.flatMap((span) => readableSpans(span, resource))
        exporter.export(readable, ({ code }) => {
          hasArrived = code === succeeded
          resolve()
        })
      })
      // The exporter's own time begins anew with every byte that it is sent. Without its connections it ends, and the next sending
      // opens another.
      if (!(await within(sendTimeMaxMs, sent))) agent.destroy()
      return hasArrived
    },
    close: async () => {
      agent.destroy()
      await exporter.shutdown()
    },
  }
}

function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair) => {
    const equals = pair.indexOf('=')
    return equals < 0 ? [] : [[pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()] as const]
  })
  return Object.fromEntries(pairs)
}

function readableSpans(span: RequestSpan, resource: object): readonly ReadableSpan[] {
  const { context, startMs, durationMs, inner } = span
  const { spanId, parentSpanId } = context
  const server = {
    name: span.route === null ? span.method : `${span.method} ${span.route}`,
    kind: kinds.server,
    spanId,
    parentSpanId,
    attributes: attributesOf(span),
    isError: span.status >= 500,
  }
  const work = inner.map((one) => innerSpan(one, span))
  return [{ ...server, startMs, durationMs }, ...work].map((made) => readable(made, context.traceId, resource))
}

function attributesOf({ method, route, status, requestId, errorCode }: RequestSpan): ReadableSpan['attributes'] {
  return {
    'http.request.method': method,
    'http.response.status_code': status,
    'millrace.request_id': requestId,
    ...(route === null ? {} : { 'http.route': route }),
    ...(errorCode === null ? {} : { 'error.type': errorCode }),
  }
}

interface MadeSpan {
  readonly name: string
  readonly kind: number
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly attributes: ReadableSpan['attributes']
  readonly isError: boolean
  readonly startMs: number
  readonly durationMs: number
}

function innerSpan({ name, startMs, durationMs }: InnerSpan, { context, startMs: beganMs }: RequestSpan): MadeSpan {
  const { spanId: parentSpanId } = context
  const of = { kind: kinds.internal, spanId: newSpanId(), parentSpanId, attributes: {}, isError: false }
  return { ...of, name, startMs: beganMs + startMs, durationMs }
}

function readable(made: MadeSpan, traceId: string, resource: object): ReadableSpan {
  const { name, kind, attributes, startMs, durationMs, parentSpanId } = made
  const span = {
    name,
    kind,
    spanContext: () => ({ traceId, spanId: made.spanId, traceFlags: sampledFlag }),
    ...(parentSpanId === null ? {} : { parentSpanContext: { traceId, spanId: parentSpanId, traceFlags: sampledFlag } }),
    startTime: timeOf(startMs),
    endTime: timeOf(startMs + durationMs),
    duration: timeOf(durationMs),
    status: { code: made.isError ? statuses.error : statuses.unset },
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: 'millrace' },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
  // Of a resource the serializer reads the attributes alone; the rest of its type is for who detects them.
  return span as unknown as ReadableSpan
}

/** Seconds and nanoseconds. */
function timeOf(ms: number): Time {
  const seconds = Math.floor(ms / 1_000)
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)]
}
