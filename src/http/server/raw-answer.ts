// Answers that no route makes: to what is no request, to connections that are too many.

import { STATUS_CODES } from 'node:http'
import type { ApiError } from '../../shared/errors/errors.ts'
import { createRequestId } from '../../shared/ids.ts'
import { jsonContentType } from '../json/answers.ts'
import type { AnswerHeaders } from './answer-headers.ts'

/** Why a request for a tunnel is refused. */
export const tunnelReason = 'it asks for a tunnel to another server (CONNECT)'

/** Makes them; `now` is in epoch milliseconds. */
export class RawAnswers {
  readonly #headers: AnswerHeaders
  readonly #now: () => number

  constructor(headers: AnswerHeaders, now: () => number) {
    this.#headers = headers
    this.#now = now
  }

  requestId(): string {
    return createRequestId(this.#now())
  }

  /** The headers of an answer that closes its connection, and its body. */
  partsOf(
    error: ApiError,
    requestId = this.requestId(),
  ): { readonly headers: Record<string, string>; readonly body: string } {
    const { retryAfterSeconds } = error
    const headers: Record<string, string> = {
      'content-type': jsonContentType,
      'x-request-id': requestId,
      ...Object.fromEntries(this.#headers.unread),
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      connection: 'close',
    }
    return { headers, body: JSON.stringify(error.body()) }
  }

  /** The whole answer as it goes over a connection of HTTP/1.1. */
  textOf(error: ApiError, requestId?: string): string {
    const { headers, body } = this.partsOf(error, requestId)
    const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body) })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n${head}\r\n${body}`
  }
}
