import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Logger } from '../../observe/logger.ts'
import { SharedChunks } from '../request/chunk-budget.ts'
import { guardChunks } from './chunk-gate.ts'
import {
  type ConnectionLimitDeps,
  type ConnectionLimitOptions,
  ConnectionLimits,
  type CountedConnection,
} from './connection-limits.ts'
import { closeGently } from './gentle-close.ts'
import { serveHalfClosed } from './half-closed.ts'
import { type Http2Deps, type Http2Options, Http2Sessions } from './http2-sessions.ts'
import { boundPipelining, type Pipelining } from './pipelining.ts'
import { readTlsFiles, type TlsOptions, TlsReload } from './tls-files.ts'

export interface HttpServerOptions extends ConnectionLimitOptions, TlsOptions, Omit<Http2Options, 'headerBytesMax'> {
  /** Time in which a whole request must have arrived; 0 sets no limit. */
  readonly requestTimeoutMs: number
  /** The same for the headers, and for the first byte of a connection. */
  readonly headersTimeoutMs: number
  /** Whether clients may choose HTTP/2, with TLS. */
  readonly http2: boolean
}

export interface HttpServerDeps extends Omit<ConnectionLimitDeps, 'clock'> {
  readonly logger: Logger
}

// Clients put whole queries into the URL.
export const headerBytesMax = 64 * 1024

/** How often the server looks for requests that are late; the share of what they may take, and its bounds. */
const looks = { share: 0.25, msMin: 50, msMax: 5_000 }
const handshakeMsMax = 60_000

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The server before the framework: what bounds connections, and what comes over them, before a request is one.
 *
 * @throws StartRefusal TLS_UNUSABLE.
 */
export function createHttpServer(listener: Listener, deps: HttpServerDeps, options: HttpServerOptions): Server {
  const clock = () => performance.now()
  const pipelining = boundPipelining(listener, { ...deps, clock })
  const guarded = guardChunks(pipelining.listener, new SharedChunks(clock))
  const limits = new ConnectionLimits(options, { ...deps, clock })
  const rules = rulesOf(options)
  const files = readTlsFiles(options)
  if (files === null) {
    const server = createServer(rules, guarded)
    admitConnections(server, limits, pipelining)
    return bounded(server, options)
  }
  const handshakeTimeout = options.headersTimeoutMs || handshakeMsMax
  const ALPNProtocols = options.http2 ? ['h2', 'http/1.1'] : ['http/1.1']
  const server = createTlsServer({ ...rules, ...files, handshakeTimeout, ALPNProtocols }, guarded)
  // A request of HTTP/2 has what the framework asks of one of HTTP/1.1.
  const streamListener = listener as unknown as Http2Deps['listener']
  const http2Deps = { ...deps, listener: streamListener, begin: pipelining.beginStream, clock }
  const sessions = new Http2Sessions({ ...options, headerBytesMax }, http2Deps)
  const endHandshakes = admitTlsConnections(server, { limits, pipelining, sessions })
  const reload = new TlsReload(server, options, deps.logger)
  const close = server.close.bind(server)
  server.close = (done) => {
    reload.close()
    // Node knows of none of these, and waits for them.
    sessions.close()
    endHandshakes()
    return close(done)
  }
  return bounded(server, options)
}

/** One header more than a request may have, so that it is seen that they are too many. */
function bounded(server: Server, { headersMax }: Pick<HttpServerOptions, 'headersMax'>): Server {
  server.maxHeadersCount = headersMax + 1
  return server
}

function rulesOf({ requestTimeoutMs, headersTimeoutMs, keepAliveMs }: HttpServerOptions): ServerOptions {
  // Node takes no longer time for the headers than for the whole, and 0 for none.
  const headersTimeout =
    requestTimeoutMs > 0 ? Math.min(headersTimeoutMs || requestTimeoutMs, requestTimeoutMs) : headersTimeoutMs
  const shortestMs = headersTimeout || requestTimeoutMs
  return {
    maxHeaderSize: headerBytesMax,
    requestTimeout: requestTimeoutMs,
    headersTimeout,
    connectionsCheckingInterval: Math.min(looks.msMax, Math.max(looks.msMin, shortestMs * looks.share)),
    keepAliveTimeout: keepAliveMs,
    // Refused in our words.
    requireHostHeader: false,
  }
}

/** Has `limits` judge each connection before anything of the server knows of it. */
function admitConnections(server: Server, limits: ConnectionLimits, { answerOf }: Pipelining): void {
  const begin = takeListeners(server, 'connection')
  server.on('connection', (socket: Socket) => {
    const counted = limits.admit(socket, tellRefused)
    if (counted === null) return
    counted.isBusy = () => answerOf(socket) !== undefined
    closeGently(socket)
    begin(socket)
  })
  serveHalfClosed(server, answerOf)
}

interface TlsParts {
  readonly limits: ConnectionLimits
  readonly pipelining: Pipelining
  readonly sessions: Http2Sessions
}

/** A connection whose client makes its handshake. */
interface Handshake {
  readonly socket: Socket
  /** The text of a refusal for one that is not counted. */
  judged: CountedConnection | string
}

/**
 * The same before the handshake, which costs more than a request. One that is refused may make its handshake, as it could not
 * read why else; `limits` bounds how many may.
 *
 * @returns what ends the connections whose handshake is not made.
 */
function admitTlsConnections(server: TlsServer, { limits, pipelining, sessions }: TlsParts): () => void {
  /** By the end of the client, as Node does not tell which connection is under one with TLS. */
  const handshakes = new Map<string, Handshake>()
  const beginTls = takeListeners(server, 'connection')
  const begin = takeListeners(server, 'secureConnection')
  server.on('connection', (socket: Socket) => {
    const end = clientEnd(socket)
    const keep = (judged: Handshake['judged']) => handshakes.set(end, { socket, judged })
    const counted = limits.admit(socket, (_socket, text) => keep(text))
    if (counted !== null) keep(counted)
    // One that is refused and cannot be told is closed already.
    if (socket.destroyed) return
    socket.once('close', () => handshakes.delete(end))
    beginTls(socket)
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    const end = clientEnd(socket)
    const judged = handshakes.get(end)?.judged
    handshakes.delete(end)
    const isHttp2 = socket.alpnProtocol === 'h2'
    if (judged === undefined) socket.destroy()
    else if (typeof judged === 'string') {
      if (isHttp2) sessions.refuse(socket, judged.slice(judged.indexOf('\r\n\r\n') + 4))
      else tellRefused(socket, judged)
    } else if (isHttp2) sessions.open(socket, judged)
    else {
      judged.isBusy = () => pipelining.answerOf(socket) !== undefined
      closeGently(socket)
      begin(socket)
    }
  })
  // What is no TLS, or of a version that is not taken: nothing can be said to it.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (_error, socket: TLSSocket) => socket.destroy())
  serveHalfClosed(server, pipelining.answerOf, 'secureConnection')
  return () => {
    for (const { socket } of handshakes.values()) socket.destroy()
  }
}

function clientEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** Takes the server's own listeners for an event away, and gives what calls them. */
function takeListeners(server: Server, event: 'connection' | 'secureConnection'): (socket: Socket) => void {
  const listeners = server.listeners(event)
  server.removeAllListeners(event)
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket)
  }
}

/** A connection that is closed over unread bytes is reset, and the reset overtakes the answer. */
function tellRefused(socket: Socket, text: string): void {
  socket.on('error', () => socket.destroy())
  socket.end(text)
  socket.resume()
}
