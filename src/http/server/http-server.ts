import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../../observe/logger.ts'
import { SharedChunks } from '../request/chunk-budget.ts'
import { guardChunks } from './chunk-gate.ts'
import { type ConnectionLimitOptions, ConnectionLimits } from './connection-limits.ts'
import { serveHalfClosed } from './half-closed.ts'
import { boundPipelining } from './pipelining.ts'
import type { Proxies } from './proxies.ts'
import type { RawAnswers } from './raw-answer.ts'

export interface HttpServerOptions extends ConnectionLimitOptions {
  /** Time in which a whole request must have arrived; 0 sets no limit. */
  readonly requestTimeoutMs: number
}

export interface HttpServerDeps {
  readonly logger: Logger
  readonly proxies: Proxies
  readonly answers: RawAnswers
}

// Clients put whole queries into the URL.
export const headerBytesMax = 64 * 1024

/** How long a connection without requests stays open. */
const keepAliveMs = 72_000

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** The server before the framework: what bounds connections, and what comes over them, before a request is one. */
export function createHttpServer(listener: Listener, deps: HttpServerDeps, options: HttpServerOptions): Server {
  const clock = () => performance.now()
  const { listener: bounded, answerOf } = boundPipelining(listener, deps)
  const rules = {
    maxHeaderSize: headerBytesMax,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    // Refused in our words.
    requireHostHeader: false,
  }
  const server = createServer(rules, guardChunks(bounded, new SharedChunks(clock)))
  const limits = new ConnectionLimits(options, { ...deps, clock })
  admitConnections(server, (socket) => limits.admit(socket, (one) => answerOf(one) !== undefined) !== null)
  serveHalfClosed(server, answerOf)
  return server
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
