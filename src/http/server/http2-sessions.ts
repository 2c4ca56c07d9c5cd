// HTTP/2. What HTTP/1.1 has by its connection, HTTP/2 has by its session: one connection with many requests at once, each a
// stream. Node shows a stream's `socket` as an object of the stream's own, so what is kept by socket elsewhere is kept by
// stream here, and these limits move to the session:
//
// - requests at once: `http2StreamsMax`, in place of 64 requests ahead; queries of one session do not wait for each other;
// - idle time, and clients that read nothing of their answers;
// - the address's connections: one session is one connection. It is told to go (GOAWAY) where others get an answer.
//
// A stream that its client resets has cost its beginning. Who resets hundreds in seconds is sent away.

import { METHODS } from 'node:http'
import {
  constants,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Logger } from '../../observe/logger.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { CountedConnection } from './connection-limits.ts'
import { holdBody } from './held-bodies.ts'
import { closeBehindSession, closeSoon } from './http2-ends.ts'
import { endUnlessAnswered } from './http2-liveness.ts'
import { type ConnectionQueue, StreamReaders } from './http2-readers.ts'
import type { Pipelining } from './pipelining.ts'
import { type RawAnswers, tunnelReason } from './raw-answer.ts'
import { knownExpectation } from './request-head.ts'
import { SocketQueues } from './socket-queues.ts'

export interface Http2Options {
  /** Requests of one session at once. */
  readonly http2StreamsMax: number
  /** Time without a request after which a session is closed. */
  readonly keepAliveMs: number
  /** Time in which a client takes nothing of its answers, or its session brings no byte while a body is awaited; 0 for ever. */
  readonly connectionIdleMsMax: number
  readonly headersMax: number
  readonly headerBytesMax: number
}

export interface Http2Deps {
  readonly listener: (request: Http2ServerRequest, response: Http2ServerResponse) => void
  readonly answers: Pick<RawAnswers, 'partsOf'>
  /** Begins a request of a session, at once or in its turn. */
  readonly begin: Pipelining['beginStream']
  readonly logger: Pick<Logger, 'warn'>
  /** A clock in milliseconds that never goes back. */
  readonly clock: () => number
}

/** Streams that a client may reset within so much time; pages that draw anew reset dozens. */
const resetsMax = 400
const resetsWindowMs = 10_000

/** How long, and how much, a client may send on when it has its answer; how long one that is sent away may leave its end open. */
const restMsMax = 5_000
const restBytesMax = 1024 * 1024

/** Those that the parser of HTTP/1.1 knows. */
const methods: ReadonlySet<string> = new Set(METHODS)

/** What a client has at least for the answer to a ping, which comes behind all that it is sent before. */
const answerMsMin = 15_000

export class Http2Sessions {
  readonly #server: Http2Server
  readonly #options: Http2Options
  readonly #deps: Http2Deps
  readonly #open = new Set<ServerHttp2Session>()
  readonly #queues = new SocketQueues()

  constructor(options: Http2Options, deps: Http2Deps) {
    this.#options = options
    this.#deps = deps
    const { http2StreamsMax, headersMax, headerBytesMax } = options
    this.#server = createServer({
      // Twice what a request may have: between the two it is answered, beyond it is reset.
      settings: { maxConcurrentStreams: http2StreamsMax, maxHeaderListSize: 2 * headerBytesMax, enablePush: false },
      maxHeaderListPairs: 2 * headersMax,
      maxSessionRejectedStreams: http2StreamsMax,
    })
    const begin = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
      if (!methods.has(request.method)) {
        this.#refuse(response, 'HTTP has no such method')
        return
      }
      // One read brings hundreds of them, and the resets of as many.
      const { stream, socket } = request
      const session = { connection: stream.session ?? stream, remoteAddress: socket.remoteAddress ?? '' }
      deps.begin(session, () => {
        if (!stream.destroyed) this.#take(request, response)
      })
    }
    this.#server.on('request', begin)
    const beginHeld = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
      holdBody(request, () => {
        if (!request.stream.closed && !request.stream.destroyed) response.writeContinue()
      })
      begin(request, response)
    }
    this.#server.on('checkContinue', beginHeld)
    this.#server.on('checkExpectation', (request: Http2ServerRequest, response: Http2ServerResponse) => {
      // Of HTTP/2 Node knows one spelling alone.
      if (knownExpectation.test(request.headers.expect ?? '')) beginHeld(request, response)
      else begin(request, response)
    })
    // It has no path, and no route.
    this.#server.on('connect', (_request: Http2ServerRequest, response: Http2ServerResponse) => {
      this.#refuse(response, tunnelReason)
    })
    // A session that breaks is destroyed by Node; its streams are told.
    this.#server.on('sessionError', () => {})
  }

  /** Takes over a connection whose client chose HTTP/2, and tells who counts it when it is busy, and how it ends. */
  open(socket: TLSSocket, counted: CountedConnection): void {
    for (const session of this.#start(socket)) {
      const streams = this.#watch(session, socket)
      counted.isBusy = () => streams.size > 0
      // Streams that are open come to their end, and the client is told to take another connection for others.
      counted.end = () => {
        if (streams.size === 0) closeSoon(socket, restMsMax)
        session.close()
      }
    }
  }

  /** Tells a client, with the words of an error, that there are too many connections. */
  refuse(socket: TLSSocket, text: string): void {
    for (const session of this.#start(socket)) {
      session.on('error', () => {})
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from(text))
      closeSoon(socket, restMsMax)
      session.close()
    }
  }

  /** What the parser of HTTP/1.1 would not let through. */
  #refuse(response: Http2ServerResponse, reason: string): void {
    const error = errors.REQUEST_INVALID({ reason })
    const { headers, body } = this.#deps.answers.partsOf(error)
    const { connection: _closes, ...sent } = headers
    response.writeHead(error.status, sent)
    response.end(body)
  }

  /** The session of a connection; none when it broke at once. */
  #start(socket: TLSSocket): readonly ServerHttp2Session[] {
    const started: ServerHttp2Session[] = []
    const keep = (session: ServerHttp2Session): void => void started.push(session)
    // Told of it before `emit` returns.
    this.#server.once('session', keep)
    this.#server.emit('connection', socket)
    this.#server.off('session', keep)
    closeBehindSession(socket, { answerMsMax: this.#answerMsMax, queueOf: () => this.#queueOf(socket) })
    return started
  }

  /** What a client has for the answer to a ping, or to take more of what it is sent. */
  get #answerMsMax(): number {
    const { keepAliveMs, connectionIdleMsMax } = this.#options
    return Math.max(connectionIdleMsMax - keepAliveMs, answerMsMin)
  }

  async #queueOf(socket: TLSSocket): Promise<ConnectionQueue> {
    const { bytesWritten: handedBytes } = socket
    return { handedBytes, unsentBytes: await this.#queues.unsentBytesOf(socket) }
  }

  /** Lets all sessions come to their end. */
  close(): void {
    for (const session of this.#open) session.close()
  }

  #watch(session: ServerHttp2Session, socket: TLSSocket): ReadonlySet<ServerHttp2Stream> {
    const { keepAliveMs, connectionIdleMsMax } = this.#options
    const streams = new Set<ServerHttp2Stream>()
    this.#open.add(session)
    session.once('close', () => this.#open.delete(session))
    session.on('error', () => {})
    const { clock } = this.#deps
    const queueOf = (): Promise<ConnectionQueue> => this.#queueOf(socket)
    session.setTimeout(keepAliveMs)
    session.on('timeout', () => {
      if (streams.size === 0) {
        session.close()
        return
      }
      // Nothing has moved for so long, not even a part of an answer to a slow client. Node tells it once, unless it is set anew.
      session.setTimeout(keepAliveMs)
      if (connectionIdleMsMax === 0) return
      endUnlessAnswered(session, { answerMsMax: this.#answerMsMax, queueOf })
    })
    const readers =
      connectionIdleMsMax > 0 ? new StreamReaders({ idleMsMax: connectionIdleMsMax, clock, queueOf }) : null
    session.once('close', () => readers?.close())
    const resets = new ResetCount(clock)
    // In front of the server, which may answer at once.
    session.prependListener('stream', (stream: ServerHttp2Stream) => {
      streams.add(stream)
      readers?.add(stream)
      stream.once('close', () => {
        streams.delete(stream)
        // Some clients leave with NO_ERROR, which is also how a stream ends by itself.
        const isReset = stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR
        if (!isReset || !resets.add() || session.destroyed) return
        this.#deps.logger.warn(
          { resetsMax, resetsWindowMs },
          'An HTTP/2 session is closed: it reset too many requests.',
        )
        session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
        session.destroy()
      })
    })
    return streams
  }

  /** Makes a request look as one of HTTP/1.1 does where the rest of the service looks. */
  #take(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const { headers, stream } = request
    headers.host ??= headers[':authority']
    // Node has no such properties of it, and whoever comes when its client has left is told by them: 'close' has been by then. A route
    // waits for the end of its answer, by `closed`, before it gives back what it holds.
    const isOver = { get: () => stream.destroyed }
    Object.defineProperties(response, { destroyed: isOver, closed: isOver })
    // A body without a length, which is what this header says of one of HTTP/1.1.
    if (headers['content-length'] === undefined && !stream.endAfterHeaders) headers['transfer-encoding'] = 'chunked'
    stream.once('finish', () => {
      if (!stream.readableEnded) takeRest(request)
    })
    this.#deps.listener(request, response)
  }
}

/**
 * A client that has its answer before its body is whole goes on sending for a moment, and would else hold its stream for ever. A reset
 * without an error tells it that nobody wants the rest (RFC 9113, 8.1).
 */
function takeRest(request: Http2ServerRequest): void {
  const { stream } = request
  let restBytes = restBytesMax
  request.on('data', (chunk: Buffer) => {
    restBytes -= chunk.length
    if (restBytes < 0) stream.close(constants.NGHTTP2_NO_ERROR)
  })
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), restMsMax).unref()
  stream.once('close', () => clearTimeout(timer))
  request.resume()
}

/** Resets within a window. */
class ResetCount {
  readonly #clock: () => number
  #startedAtMs = Number.NEGATIVE_INFINITY
  #count = 0

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** True when there are too many with this one. */
  add(): boolean {
    const nowMs = this.#clock()
    if (nowMs - this.#startedAtMs >= resetsWindowMs) {
      this.#startedAtMs = nowMs
      this.#count = 0
    }
    this.#count += 1
    return this.#count > resetsMax
  }
}
