// What a request leaves in the log: one entry, by its outcome.
//
// - answered: `info`, and `debug` where that is the daily work (events, queries, health probes): a line for each event took
//   15 % of the throughput of single events;
// - refused, for a fault of the caller: `warn`, with code and reason;
// - failed, 5xx: `error`, with code, reason and cause. A 503 is a state and not one request's fault: the first tells it, and
//   those of the same code that follow are counted and told once a second. One that daily work brings about is `warn`.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorFields } from '../../observe/error-fields.ts'
import { loggedUrl } from '../../observe/logged-url.ts'
import type { LogFields, Logger } from '../../observe/logger.ts'
import type { ErrorCode } from '../../shared/errors/errors.ts'
import { answeredError } from '../json/answers.ts'
import { clientAddressOf } from './proxies.ts'

export interface RequestLog {
  /** Gives each answer its `X-Request-Id` and each request its entry in the log: no headers, no tokens, no rows. */
  addTo(app: FastifyInstance): void
  /** Tells of a request that the hooks do not see. */
  tell(request: FastifyRequest, reply: FastifyReply): void
}

export function createRequestLog(logger: Logger): RequestLog {
  const unavailable = new StateTally(logger)
  const isDebugging = logger.isLevelEnabled?.('debug') ?? true
  const tell = (request: FastifyRequest, reply: FastifyReply): void => {
    const { statusCode: status } = reply
    const fields = (): LogFields => ({ ...requestFields(request), status, durationMs: roundMs(reply.elapsedTime) })
    if (status < 400) {
      if (request.routeOptions.config.isFrequent !== true) logger.info(fields(), 'A request was answered.')
      else if (isDebugging) logger.debug(fields(), 'A request was answered.')
      return
    }
    const error = answeredError(reply)
    const told = { ...fields(), ...errorFields(error) }
    if (status < 500) logger.warn(told, 'A request was refused.')
    else if (status === 503 && error !== undefined) unavailable.tell(error.code, told)
    else logger.error({ ...told, err: error?.cause ?? error }, 'A request failed because of a fault of the service.')
  }
  return {
    tell,
    addTo(app) {
      app.addHook('onRequest', (request, reply, done) => {
        reply.header('x-request-id', request.id)
        done()
      })
      app.addHook('onResponse', (request, reply, done) => {
        tell(request, reply)
        done()
      })
      app.addHook('onRequestAbort', async (request) => logger.warn(requestFields(request), 'A client went away.'))
      app.addHook('onClose', async () => unavailable.close())
    },
  }
}

function requestFields(request: FastifyRequest): LogFields {
  const { id, method, url, trace, raw } = request
  const sent = raw.headers['x-request-id']
  // A request that fails before any hook has none of what hooks give it.
  const traceId = trace?.context.traceId
  // A connection that is gone has none.
  const clientAddress = clientAddressOf(request)
  return {
    requestId: id,
    method,
    url: loggedUrl(url),
    ...(clientAddress === '' ? {} : { clientAddress }),
    ...(traceId === undefined ? {} : { traceId }),
    // The name that the caller has for it.
    ...(typeof sent === 'string' && callersIdPattern.test(sent) ? { callerRequestId: sent } : {}),
  }
}

/** What proxies and clients name requests by; a token has no place there, and other characters have none in a log. */
const callersIdPattern = /^[\w-]{1,64}$/

function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

const tellPauseMs = 1_000

/** A change of a data source refuses its events for a moment, which clients repeat: nothing is lost, and nobody must act. */
const ordinaryStates: ReadonlySet<ErrorCode> = new Set(['DATASOURCE_CHANGING'])

function levelOf(code: ErrorCode): 'warn' | 'error' {
  return ordinaryStates.has(code) ? 'warn' : 'error'
}

/** Tells of a state once, and while it lasts once a second how many requests met it. */
class StateTally {
  readonly #logger: Logger
  /** By code, so there are few. */
  readonly #states = new Map<ErrorCode, { requestCount: number; timer: NodeJS.Timeout }>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  tell(code: ErrorCode, fields: LogFields): void {
    const state = this.#states.get(code)
    if (state !== undefined) {
      state.requestCount += 1
      return
    }
    this.#logger[levelOf(code)](fields, 'A request was refused for the state of the service.')
    const timer = setInterval(() => this.#tellMore(code), tellPauseMs)
    timer.unref()
    this.#states.set(code, { requestCount: 0, timer })
  }

  close(): void {
    for (const code of [...this.#states.keys()]) {
      this.#tellMore(code)
      this.#forget(code)
    }
  }

  #tellMore(code: ErrorCode): void {
    const state = this.#states.get(code)
    if (state === undefined || state.requestCount === 0) {
      this.#forget(code)
      return
    }
    const { requestCount } = state
    state.requestCount = 0
    this.#logger[levelOf(code)]({ code, requestCount }, 'More requests were refused for the state of the service.')
  }

  #forget(code: ErrorCode): void {
    clearInterval(this.#states.get(code)?.timer)
    this.#states.delete(code)
  }
}

const pathCharsMax = 2_000

/** The path of a URL. */
export function pathOf(url: string): string {
  const queryOffset = url.indexOf('?')
  return (queryOffset < 0 ? url : url.slice(0, queryOffset)).slice(0, pathCharsMax)
}
