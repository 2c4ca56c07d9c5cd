import type { TraceContext } from './trace-context.ts'

/** A piece of work in the middle of a request. */
export interface InnerSpan {
  readonly name: string
  /** Since the request began. */
  readonly startMs: number
  readonly durationMs: number
}

/** A request that was answered, as it goes into its trace. */
export interface RequestSpan {
  readonly context: TraceContext
  readonly method: string
  /** The pattern of its path; null for a path without a route. */
  readonly route: string | null
  readonly requestId: string
  readonly status: number
  /** Code of the table of errors; null for an answer without an error. */
  readonly errorCode: string | null
  /** Epoch milliseconds. */
  readonly startMs: number
  readonly durationMs: number
  readonly inner: readonly InnerSpan[]
}

/** Where spans are sent; in the end the network. */
export interface SpanExporter {
  /** Resolves with whether they have arrived. Never rejects. */
  send(spans: readonly RequestSpan[]): Promise<boolean>
  close(): Promise<void>
}

/** Spans of requests since the start. */
export interface SpanCounts {
  readonly sentCount: number
  /** The queue was full, or they could not be sent. */
  readonly droppedCount: number
  readonly waitingCount: number
}
