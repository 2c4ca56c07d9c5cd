import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../../observe/logger.ts'
import { SharedChunks } from '../request/chunk-budget.ts'
import { guardChunks } from './chunk-gate.ts'
import { type ConnectionLimitDeps, type ConnectionLimitOptions, ConnectionLimits } from './connection-limits.ts'
import { serveHalfClosed } from './half-closed.ts'
import { boundPipelining } from './pipelining.ts'

export interface HttpServerOptions extends ConnectionLimitOptions {
  /** Time in which a whole request must have arrived; 0 sets no limit. */
  readonly requestTimeoutMs: number
  /** The same for the headers, and for the first byte of a connection. */
  readonly headersTimeoutMs: number
  /** Time without a request after which a connection is closed. */
  readonly keepAliveMs: number
  /** Most headers of a request. */
  readonly headersMax: number
}

export interface HttpServerDeps extends Omit<ConnectionLimitDeps, 'clock'> {
  readonly logger: Logger
}

// Clients put whole queries into the URL.
export const headerBytesMax = 64 * 1024

/** How often the server looks for requests that are late; the share of what they may take, and its bounds. */
const looks = { share: 0.25, msMin: 50, msMax: 5_000 }

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** The server before the framework: what bounds connections, and what comes over them, before a request is one. */
export function createHttpServer(listener: Listener, deps: HttpServerDeps, options: HttpServerOptions): Server {
  const clock = () => performance.now()
  const { listener: bounded, answerOf } = boundPipelining(listener, deps)
  const server = createServer(rulesOf(options), guardChunks(bounded, new SharedChunks(clock)))
  // One more, so that it is seen that they are too many.
  server.maxHeadersCount = options.headersMax + 1
  const limits = new ConnectionLimits(options, { ...deps, clock })
  admitConnections(server, (socket) => limits.admit(socket, (one) => answerOf(one) !== undefined) !== null)
  serveHalfClosed(server, answerOf)
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

/** Has `admits` judge each connection before anything of the server knows of it. */
function admitConnections(server: Server, admits: (socket: Socket) => boolean): void {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (!admits(socket)) return
    for (const listener of listeners) listener.call(server, socket)
  })
}
