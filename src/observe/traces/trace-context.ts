// W3C Trace Context: which trace a request belongs to, as the header `traceparent` says it.

import { randomFillSync } from 'node:crypto'

/** The work of one request in its trace. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** Of our own work: 16 hex digits. */
  readonly spanId: string
  /** Of who asked; null where nobody said so. */
  readonly parentSpanId: string | null
  /** Whether whoever began the trace wants it kept. */
  readonly isSampled: boolean
}

/** Later versions may have more behind the flags, and are read as this one (§4.2 of the recommendation). */
const headerPattern = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:$|-.*$)/
const headerCharsMax = 256

/** The context of a request that somebody else's trace is in; null for a header that says nothing of the kind. */
export function continuedTrace(header: string): TraceContext | null {
  if (header.length > headerCharsMax) return null
  const found = headerPattern.exec(header)
  if (found === null || (header.startsWith('00') && header.length !== 55)) return null
  const [, traceId = '', parentSpanId = '', flags = ''] = found
  return { traceId, spanId: newSpanId(), parentSpanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** The context of a request that begins a trace. */
export function newTrace(): TraceContext {
  return { traceId: randomHex(16), spanId: newSpanId(), parentSpanId: null, isSampled: true }
}

export function newSpanId(): string {
  return randomHex(8)
}

/** What whoever comes behind is told. */
export function traceparentOf({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

// A call for random bytes costs as much for 16 of them as for thousands; each byte is used once.
const pool = Buffer.alloc(4_096)
let poolOffset = pool.length

function randomHex(byteCount: number): string {
  if (poolOffset + byteCount > pool.length) {
    randomFillSync(pool)
    poolOffset = 0
  }
  const start = poolOffset
  poolOffset += byteCount
  return pool.toString('hex', start, poolOffset)
}
