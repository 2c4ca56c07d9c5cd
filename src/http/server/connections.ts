// What happens on a connection beside the routes: a client that cuts its body, sends what is no HTTP, or gets its answer
// before it has sent everything.

import { IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import type { BodyRateRules } from '../request/body-rate.ts'
import { type Brakable, ByteTurns } from '../request/byte-turns.ts'
import { chunkBytesMin } from '../request/chunk-budget.ts'
import { ArrivingBody, announcedBytes, announcesBody } from '../request/request-body.ts'
import { smallBytesMax } from '../request/request-hold.ts'
import { gateOf } from './chunk-gate.ts'
import { dropRest } from './gentle-close.ts'
import { askForBody, forgetHeld, holdBody, isHeld } from './held-bodies.ts'
import { headerBytesMax } from './http-server.ts'
import { answerOf, closeBehind, onceLastBegun } from './pipelining.ts'
import { clientKeyOf } from './proxies.ts'
import { type RawAnswers, tunnelReason } from './raw-answer.ts'

export interface ConnectionOptions extends BodyRateRules {
  readonly connectionIdleMsMax: number
  /** Most headers of a request. */
  readonly headersMax: number
  readonly answers: RawAnswers
}

export interface Connections {
  /** Fastify's `clientErrorHandler`. */
  readonly onClientError: (error: NodeJS.ErrnoException, socket: Socket) => void
  /** Registers the hooks and the catch-all content type parser. */
  readonly addTo: (app: FastifyInstance) => void
  /** Fails the bodies that are still on their way, for a service that closes. */
  readonly endBodies: () => void
  /** Ends connections whose answers are out and whose clients have not ended them, for a service that closes. */
  readonly endAnswered: () => void
  /** Cuts all connections, whatever is under way on them, and gives how many they were. */
  readonly cut: () => number
}

/** A request and its answer, as far as their connection matters. */
export interface OpenExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  body: ArrivingBody | undefined
  /** The connection brings no more bytes, though it may still take an answer. */
  isBroken: boolean
  /** Ends the wait for the rest of a body after its answer. */
  stopLingering: () => void
}

// How long and how much a client may go on sending after its answer. Longer than this it is cut off, and may then see
// a reset connection instead of the answer.
const lingerMsMax = 5_000
const lingerBytesMax = 16 * 1024 * 1024
/** Where chunks are too small to be read: whoever sends them has time to read why. */
const shutLingerMsMax = 1_000

/**
 * Bytes that one address brings in a turn of the event loop: what a turn takes for them, others wait. Of connections Node accepts one
 * a turn, in the order of their coming, so that turns are short while any come: a thousand of one address stand before those of others.
 */
const turnBytesMax = 1024 * 1024
/** Bytes of bodies that nobody wants, behind their answers, that are read of one address in a second. */
const unreadBytesMax = 16 * 1024 * 1024
const unreadTurnMs = 1_000

export function createConnections(options: ConnectionOptions): Connections {
  // Connections that are kept alive stay in it; what they hold is let go with each answer.
  const bySocket = new WeakMap<Socket, { exchange: OpenExchange | null }>()
  const sockets = new Set<Socket>()
  /** Those inside the sockets, with TLS. */
  const secured = new Set<Socket>()
  /** Requests of HTTP/2, which have no socket of their own. */
  const streams = new Set<OpenExchange>()
  const bounds = new ReadBounds()
  const onClientError: Connections['onClientError'] = (error, socket) => {
    onceLastBegun(socket, () => {
      const exchange = bySocket.get(socket)?.exchange ?? null
      if (exchange === null) refuse(socket, error, options.answers)
      else breakOff(exchange, error)
    })
  }
  return {
    onClientError,
    endBodies() {
      for (const socket of [...sockets, ...secured]) bySocket.get(socket)?.exchange?.body?.fail(errors.SHUTTING_DOWN())
      for (const { body } of streams) body?.fail(errors.SHUTTING_DOWN())
    },
    endAnswered() {
      for (const socket of [...sockets, ...secured]) if (socket.writableFinished) socket.destroy()
    },
    cut() {
      const open = [...sockets]
      for (const socket of open) socket.destroy()
      return open.length
    },
    addTo(app) {
      app.decorateRequest('exchange', null)
      app.server.on('connection', (socket: Socket) => {
        bounds.hurry()
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
      })
      app.server.on('secureConnection', (socket: Socket) => {
        secured.add(socket)
        socket.once('close', () => secured.delete(socket))
      })
      // Without a listener Node cuts the connection, with the answers before it.
      app.server.on('connect', (_request, socket: Socket) => {
        keepAnswering(socket)
        onClientError(Object.assign(new Error('CONNECT'), { code: tunnelCode }), socket)
      })
      app.addHook('onRequest', (request, reply, done) => {
        const { raw } = request
        const exchange: OpenExchange = {
          request: raw,
          response: reply.raw,
          body: undefined,
          isBroken: false,
          stopLingering: noLingering,
        }
        request.exchange = exchange
        if (raw.httpVersionMajor === 2) {
          streams.add(exchange)
          return done()
        }
        const connection = bySocket.get(raw.socket)
        if (connection === undefined) bySocket.set(raw.socket, { exchange })
        else connection.exchange = exchange
        done()
      })
      refuseRepeatedHeaders(app, options.headersMax)
      addBodies(app, options, bounds)
      app.addHook('onSend', (request, reply, payload, done) => {
        done(null, payloadOf(payload, { request, reply, bounds }))
      })
      app.addHook('onResponse', ({ exchange, raw }, _reply, done) => {
        if (raw.httpVersionMajor === 2) {
          if (exchange !== null) streams.delete(exchange)
          return done()
        }
        const connection = bySocket.get(raw.socket)
        // A pipelined request may have taken the socket's place already.
        if (connection?.exchange === exchange) connection.exchange = null
        done()
      })
    },
  }
}

/** What one address may bring at a time, over all of its connections. */
class ReadBounds {
  readonly #turns = new ByteTurns({ bytesMax: turnBytesMax, schedule: (begin) => setImmediate(begin) })
  readonly #unread = new ByteTurns({
    bytesMax: unreadBytesMax,
    schedule: (begin) => setTimeout(begin, unreadTurnMs).unref(),
  })

  /** Says that connections come. */
  hurry(): void {
    this.#turns.hurry()
  }

  /** What is told of the bytes of a body as they come. */
  ofBody(request: FastifyRequest): (byteCount: number, body: Brakable) => void {
    const address = clientKeyOf(request)
    return (byteCount, body) => this.#turns.take(address, byteCount, body)
  }

  /** The same for what comes behind an answer. */
  ofRest(request: FastifyRequest): (byteCount: number, rest: Brakable) => void {
    const address = clientKeyOf(request)
    return (byteCount, rest) => {
      this.#turns.take(address, byteCount, rest)
      this.#unread.take(address, byteCount, rest)
    }
  }
}

/** What decides who asks, and how a body is read, each with a bit. Node refuses a second Content-Length itself. */
const singleHeaders: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['authorization', 2],
  ['content-type', 4],
  ['content-encoding', 8],
])
const singleLengths: ReadonlySet<number> = new Set([...singleHeaders.keys()].map((name) => name.length))

/** Of two such headers a proxy before us may have read the other one. */
function refuseRepeatedHeaders(app: FastifyInstance, headersMax: number): void {
  app.addHook('onRequest', ({ raw: { rawHeaders, httpVersionMajor } }, _reply, done) => {
    let seen = 0
    // Node would leave out the others.
    if (rawHeaders.length > 2 * headersMax) refuseTooMany(rawHeaders, headersMax)
    if (httpVersionMajor === 2) refuseTooLong(rawHeaders)
    // Names and values in turns.
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at] ?? ''
      const bit = singleLengths.has(name.length) ? (singleHeaders.get(name.toLowerCase()) ?? 0) : 0
      if ((seen & bit) !== 0) throw errors.REQUEST_INVALID({ reason: `it has the header ${name} more than once` })
      seen |= bit
    }
    done()
  })
}

/** Those of HTTP/2 with a colon, such as `:path`, are no headers. */
function refuseTooMany(rawHeaders: readonly string[], headersMax: number): void {
  const count = rawHeaders.filter((name, at) => at % 2 === 0 && !name.startsWith(':')).length
  if (count > headersMax) throw errors.REQUEST_INVALID({ reason: `it has more than ${headersMax} headers` })
}

/** Of HTTP/1.1 the parser counts the same bytes. */
function refuseTooLong(rawHeaders: readonly string[]): void {
  let byteCount = 0
  for (const text of rawHeaders) byteCount += text.length
  if (byteCount > headerBytesMax) throw errors.REQUEST_INVALID({ reason: tooLongReason })
}

const noLingering = (): void => {}

interface AnswerParts {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly bounds: ReadBounds
}

/** What goes out of an answer: itself, or itself and the patience to take the rest of the client's body. */
function payloadOf(payload: unknown, { request, reply, bounds }: AnswerParts) {
  const { exchange } = request
  // Whoever has sent all of it is not in doubt whether to send it.
  const isWhole = request.raw.complete || !announcesBody(request.headers)
  if (isWhole && forgetHeld(request.raw)) noteContinue(reply.raw)
  if (exchange === null || !(exchange.isBroken || isBodyUnfinished(request))) return payload
  closeBehind(reply.raw)
  // Without `100 Continue` the client keeps its body; there is nothing to wait for.
  if (exchange.isBroken || isHeld(request.raw) || typeof payload !== 'string') return payload
  reply.header('content-length', Buffer.byteLength(payload))
  const { answer, stop } = linger(payload, request.raw, bounds.ofRest(request))
  exchange.stopLingering = stop
  return answer
}

function addBodies(app: FastifyInstance, options: ConnectionOptions, bounds: ReadBounds): void {
  const { connectionIdleMsMax: idleMsMax, bodyRateMin, bodyRateWindowMs } = options
  app.decorateRequest('sentContentType', undefined)
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    request.sentContentType = headers['content-type']
    // Fastify refuses types that it cannot parse, with 415; no route of ours needs one, and some clients send oddities.
    headers['content-type'] = undefined
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request, source, done) => {
    const gate = gateOf(request.raw)
    const announced = announcedBytes(request.headers)
    const body = new ArrivingBody(source, {
      idleMsMax,
      bodyRateMin,
      bodyRateWindowMs,
      announcedBytes: announced,
      onBytes: announced !== undefined && announced <= smallBytesMax ? undefined : bounds.ofBody(request),
      onFirstRead: () => askForBody(request.raw),
      onStop: () => gate?.stopReading(),
    })
    gate?.whenShut(() => body.fail(errors.CHUNKS_TOO_SMALL({ chunkBytesMin })))
    if (request.exchange !== null) request.exchange.body = body
    done(null, body)
  })
}

/** Lets the routes decide when a client that sent `Expect: 100-continue` may begin to send its body. */
export function deferContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request, response) => {
    holdBody(request, () => sendContinue(response))
    // The way of all requests, with what stands in front of the routes.
    app.server.emit('request', request, response)
  })
  // Refused in our words.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
}

/** Node would send one that has to wait for the answers before it between the head and the body of its own. */
function sendContinue(response: ServerResponse): void {
  if (response.socket !== null) {
    response.writeContinue()
    return
  }
  noteContinue(response)
  const assign = response.assignSocket.bind(response)
  response.assignSocket = (socket) => {
    assign(socket)
    if (!response.headersSent) response.writeContinue()
  }
}

/** As Node notes that it has sent `100 Continue`: it closes the connection behind an answer without one. */
function noteContinue(response: ServerResponse): void {
  Object.assign(response, { _sent100: true })
}

function isBodyUnfinished(request: FastifyRequest): boolean {
  // An injected request of a test has no connection whose bytes could be left over.
  if (!(request.raw instanceof IncomingMessage) || !announcesBody(request.headers)) return false
  return !request.raw.complete && !request.raw.destroyed
}

interface LingeringAnswer {
  readonly answer: Readable
  readonly stop: () => void
}

/**
 * The answer as a stream that ends only when the client has stopped sending, within bounds.
 *
 * A connection that is closed over unread bytes is reset, and a reset can overtake the answer: the client would see a
 * broken pipe instead of our reason.
 *
 * @param onBytes told of what is read, and may brake it.
 */
function linger(
  payload: string,
  source: IncomingMessage,
  onBytes: (byteCount: number, rest: Brakable) => void,
): LingeringAnswer {
  const answer = new Readable({ read() {} })
  answer.push(payload)
  const rest = new Rest(source)
  let restBytes = lingerBytesMax
  const stop = (): void => {
    if (rest.isOver) return
    rest.isOver = true
    clearTimeout(timeout)
    source.off('data', count)
    answer.push(null)
  }
  const count = (chunk: Buffer): void => {
    restBytes -= chunk.length
    if (restBytes < 0) stop()
    else onBytes(chunk.length, rest)
  }
  let timeout = setTimeout(stop, lingerMsMax)
  const gate = gateOf(source)
  gate?.stopReading()
  gate?.whenShut(() => {
    clearTimeout(timeout)
    if (!rest.isOver) timeout = setTimeout(stop, shutLingerMsMax)
  })
  source.on('data', count)
  source.once('end', stop)
  source.once('close', stop)
  source.resume()
  onBytes(0, rest)
  return { answer, stop }
}

/** What a client sends behind its answer. */
class Rest implements Brakable {
  readonly #source: IncomingMessage
  #brakeCount = 0
  isOver = false

  constructor(source: IncomingMessage) {
    this.#source = source
  }

  brake(): void {
    this.#brakeCount += 1
    if (!this.isOver) this.#source.pause()
  }

  letGo(): void {
    this.#brakeCount -= 1
    if (this.#brakeCount === 0 && !this.isOver) this.#source.resume()
  }
}

const cutCodes = ['HPE_INVALID_EOF_STATE', 'ECONNRESET', 'EPIPE']
const lateCode = 'ERR_HTTP_REQUEST_TIMEOUT'
const tunnelCode = 'ERR_TUNNEL'
const tooLongReason = 'its URL and headers are too long'

function toRefusal(error: NodeJS.ErrnoException): ApiError {
  if (cutCodes.includes(error.code ?? '')) return errors.BODY_CUT({ cause: error })
  if (error.code === lateCode) return errors.REQUEST_TIMEOUT({ cause: error })
  return errors.REQUEST_INVALID({ reason: reasons[error.code ?? ''] ?? 'it is not HTTP/1.1', cause: error })
}

const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: tooLongReason,
  [tunnelCode]: tunnelReason,
}

/** Has an exchange, whose connection brings nothing more, answered by its own route: that knows how many rows came in before the end. */
function breakOff(exchange: OpenExchange, error: NodeJS.ErrnoException): void {
  exchange.isBroken = true
  exchange.stopLingering()
  // What is wrong behind a whole body is another request's fault.
  if (!exchange.request.complete) exchange.body?.fail(toRefusal(error))
  // One that is answered may wait for the answers before it.
  if (exchange.response.headersSent) closeBehind(exchange.response)
}

/** Node lets go of a connection with a request for a tunnel; this does for the answers before it what Node's listeners did. */
function keepAnswering(socket: Socket): void {
  // It is destroyed by itself then.
  socket.on('error', () => {})
  socket.on('drain', () => answerOf(socket)?.emit('drain'))
  dropRest(socket)
  socket.resume()
}

/** Answers on a connection that has no request, and closes it. */
function refuse(socket: Socket, error: NodeJS.ErrnoException, answers: RawAnswers): void {
  // Behind its last answer, the rest of what it has brought.
  if (!socket.writable) return
  // Who has not begun a request would take the answer for that to its next one.
  if (error.code === lateCode && socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  socket.write(answers.textOf(toRefusal(error)))
  socket.destroySoon()
}
