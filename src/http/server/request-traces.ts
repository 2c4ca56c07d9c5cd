// The trace that a request belongs to. A request that nobody traces costs a look at one header, and nothing where there is none.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { InnerSpan } from '../../observe/traces/span.types.ts'
import type { SpanQueue } from '../../observe/traces/span-queue.ts'
import { continuedTrace, newTrace, type TraceContext, traceparentOf } from '../../observe/traces/trace-context.ts'
import { Allowance } from '../../shared/allowance.ts'
import { answeredError } from '../json/answers.ts'
import { routePattern } from './route-pattern.ts'

/** What a request leaves in its trace. */
export interface RequestTrace {
  readonly context: TraceContext
  /** Epoch milliseconds. */
  readonly startMs: number
  readonly inner: InnerSpan[]
}

interface TraceDeps {
  /** Null where traces are not sent. */
  readonly spans: Pick<SpanQueue, 'add'> | null
  /** Epoch milliseconds. */
  readonly now: () => number
  /** From 0 up to 1; tests hand in their own. */
  readonly random?: () => number
}

export interface TraceOptions {
  /** Of 100 requests that are in no trace, how many begin one, where traces are sent. */
  readonly traceSamplePercent: number
  /** How many of them may do so in a second. */
  readonly tracesPerSecondMax: number
}

/**
 * Takes over the trace that `traceparent` names, and answers with the part of it that this service is. Where traces are sent,
 * requests without that header begin one, as many of them as the options say.
 */
export function addRequestTraces(
  app: FastifyInstance,
  { traceSamplePercent, tracesPerSecondMax }: TraceOptions,
  { spans, now, random = Math.random }: TraceDeps,
): void {
  app.decorateRequest('trace', null)
  // Each costs as much as the first, and a hundred in a second show what a thousand would.
  const allowed = new Allowance({ atOnce: tracesPerSecondMax, perMs: tracesPerSecondMax / 1_000 }, now)
  const begin = (header: string | undefined): TraceContext | null => {
    const continued = header === undefined ? null : continuedTrace(header)
    if (continued !== null || spans === null) return continued
    return random() * 100 < traceSamplePercent && allowed.take() ? newTrace() : null
  }
  app.addHook('onRequest', (request, reply, done) => {
    const { traceparent } = request.raw.headers
    const context = begin(typeof traceparent === 'string' ? traceparent : undefined)
    if (context !== null) {
      request.trace = { context, startMs: now(), inner: [] }
      reply.header('traceparent', traceparentOf(context))
    }
    done()
  })
  if (spans === null) return
  app.addHook('onResponse', (request, reply, done) => {
    const { trace } = request
    if (trace?.context.isSampled === true) addSpan(spans, trace, { request, reply })
    done()
  })
}

function addSpan(
  spans: Pick<SpanQueue, 'add'>,
  trace: RequestTrace,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): void {
  const { statusCode: status, elapsedTime: durationMs } = reply
  spans.add({
    method: request.method,
    route: routeOf(request),
    requestId: request.id,
    status,
    errorCode: status < 400 ? null : (answeredError(reply)?.code ?? null),
    durationMs,
    ...trace,
  })
}

function routeOf({ routeOptions: { url } }: FastifyRequest): string | null {
  return url === undefined ? null : routePattern(url)
}
