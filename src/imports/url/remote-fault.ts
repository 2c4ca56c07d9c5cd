// What a request failed with, and whether another one may help.

import { errors as undiciErrors } from 'undici'
import { connectionFaultOf, isTlsCode } from '../../shared/connection-faults.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'

/** One request failed; what the reader of the file is told when there is no further one. */
export class RemoteFault extends Error {
  override readonly name = 'RemoteFault'
  readonly answer: ApiError
  readonly isRetryable: boolean
  /** What the server asks for; undefined where it asks for nothing. */
  readonly retryAfterMs: number | undefined
  /** Whether the server has too much to do. */
  readonly isThrottled: boolean

  constructor(answer: ApiError, { isRetryable, retryAfterMs, isThrottled = false }: RetryAdvice) {
    super(answer.message, { cause: answer })
    this.answer = answer
    this.isRetryable = isRetryable
    this.retryAfterMs = retryAfterMs
    this.isThrottled = isThrottled
  }
}

interface RetryAdvice {
  readonly isRetryable: boolean
  readonly retryAfterMs?: number | undefined
  readonly isThrottled?: boolean
}

/** A server that does not send what it says; `isRetryable` where the bytes that it sent before are right for sure. */
export function brokenFault(place: string, reason: string, { isRetryable }: RetryAdvice): RemoteFault {
  return new RemoteFault(errors.REMOTE_BROKEN({ place, reason }), { isRetryable })
}

export function changedFault(place: string, reason: string): RemoteFault {
  return new RemoteFault(errors.REMOTE_FILE_CHANGED({ place, reason }), { isRetryable: false })
}

interface FaultPlace {
  readonly place: string
  /** Whether a part of the answer was received. */
  readonly isInBody: boolean
}

/** The fault of an error that a connection ended with. Others are no faults of servers, and are raised as they are. */
export function toRemoteFault(thrown: unknown, { place, isInBody }: FaultPlace): RemoteFault {
  if (thrown instanceof RemoteFault) return thrown
  if (thrown instanceof ApiError) return new RemoteFault(thrown, { isRetryable: false })
  const code = codeOf(thrown)
  if (code === undefined) throw thrown
  const isForeign = code.startsWith('HPE_') || foreignCodes.has(code)
  const make = isInBody || isForeign ? errors.REMOTE_BROKEN : errors.REMOTE_UNREACHABLE
  return new RemoteFault(make({ place, reason: reasonOf(code, thrown), cause: thrown }), {
    isRetryable: !isFinal(code),
  })
}

/** Answers that are no HTTP, or none that fits its own length. */
const foreignCodes: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'])

const reasons: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'the connection was not made in time (--url-connect-timeout-ms)',
  UND_ERR_HEADERS_TIMEOUT: 'the headers did not arrive in time (--url-headers-timeout-ms)',
  UND_ERR_BODY_TIMEOUT: 'no bytes arrived for too long (--url-idle-timeout-ms)',
  UND_ERR_HEADERS_OVERFLOW: 'the headers are too long (--url-header-bytes-max)',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer does not have the length that it says',
}

function reasonOf(code: string, thrown: unknown): string {
  if (code.startsWith('HPE_')) return 'the answer is not valid HTTP'
  return reasons[code] ?? connectionFaultOf(code) ?? `the connection failed (${code}${syscallOf(thrown)})`
}

function isFinal(code: string): boolean {
  return code === 'ENOTFOUND' || code === 'UND_ERR_HEADERS_OVERFLOW' || isTlsCode(code)
}

function codeOf(thrown: unknown): string | undefined {
  // Some of them have no code.
  if (thrown instanceof undiciErrors.HTTPParserError) return 'HPE_INVALID'
  const isCoded = thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string'
  return isCoded ? String(thrown.code) : undefined
}

function syscallOf(thrown: unknown): string {
  const isNamed = thrown instanceof Error && 'syscall' in thrown && typeof thrown.syscall === 'string'
  return isNamed ? ` in ${String(thrown.syscall)}` : ''
}
