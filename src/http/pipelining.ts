// Requests that a client sends ahead, without waiting for the answers before them. Node starts all that one read brings, two
// thousand of them in 64 KiB, before anybody else has a turn.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../observe/logger.ts'
import { errors } from '../shared/errors.ts'
import { createRequestId } from '../shared/ids.ts'
import { jsonContentType } from './answers.ts'
import { dropBody } from './chunk-gate.ts'

/** Clients that send ahead at all do so with ten or twenty. */
export const openRequestsMax = 64

/** The end of the query that came last on each connection. */
const queryEnds = new WeakMap<Socket, Promise<void>>()

/**
 * Runs a query when those before it on its connection have ended. Their answers go out in this order anyway; together they
 * would hold the engine's sessions, and the line for these, for one caller.
 */
export function inTurn<Result>(socket: Socket, run: () => Promise<Result>): Promise<Result> {
  const before = queryEnds.get(socket)
  const result = before === undefined ? run() : before.then(run)
  // Its own caller is told of a failure.
  const end = result.then(noFurther, noFurther)
  queryEnds.set(socket, end)
  return result
}

const noFurther = (): void => {}

interface Connection {
  /** Answers that are not out. */
  readonly open: Set<ServerResponse>
  /** Requests that came when there were too many. */
  refusedCount: number
}

/** What one read may bring of requests, each of which Node makes an object of before anybody is asked. */
export const refusedRequestsMax = 2_048

/**
 * Puts a bound on the requests of one connection that wait for their answers. The first one above it is told so when its turn
 * has come, with all before it answered, and its answer closes the connection: those behind it are not looked at, as reading
 * cannot be stopped in the middle of what is read. A client that goes on sending is cut.
 *
 * When a connection ends, Node closes the one answer that has its turn. Those behind it are closed here: what waits for their
 * end (queries, results, files) would wait for ever.
 */
export function boundPipelining(listener: RequestListener, { logger, now }: Surroundings): RequestListener {
  const connections = new WeakMap<Socket, Connection>()
  function onAnswered(this: ServerResponse): void {
    connections.get(this.req.socket)?.open.delete(this)
  }
  const connectionOf = (socket: Socket): Connection => {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const connection: Connection = { open: new Set(), refusedCount: 0 }
    connections.set(socket, connection)
    socket.once('close', () => closeQueued(connection.open))
    return connection
  }
  const refuse = (connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    connection.refusedCount += 1
    dropBody(request)
    if (connection.refusedCount === 1) {
      logger.warn({ openRequestsMax }, 'A connection is closed: too many of its requests waited for their answers.')
      answerRefused(response, now())
    }
    if (connection.refusedCount > refusedRequestsMax) request.socket.destroy()
  }
  return (request, response) => {
    const { socket } = request
    // What came in one read with a request too many.
    if (socket.destroyed) return
    const connection = connectionOf(socket)
    const { open } = connection
    // What comes behind a request that was refused could be done before it is known to be.
    if (open.size >= openRequestsMax || connection.refusedCount > 0) {
      refuse(connection, request, response)
      return
    }
    open.add(response)
    response.once('close', onAnswered)
    listener(request, response)
  }
}

interface Surroundings {
  readonly logger: Logger
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Node sends it behind the answers before it, and closes the connection then. */
function answerRefused(response: ServerResponse, nowMs: number): void {
  const error = errors.REQUESTS_AHEAD_TOO_MANY({ openRequestsMax, retryAfterSeconds: 1 })
  response.shouldKeepAlive = false
  response.writeHead(error.status, {
    'content-type': jsonContentType,
    'retry-after': '1',
    'x-request-id': createRequestId(nowMs),
    'access-control-allow-origin': '*',
    connection: 'close',
  })
  response.end(JSON.stringify(error.body()))
}

/** Does to answers that have no connection yet what Node does to the one that has. */
function closeQueued(open: Connection['open']): void {
  for (const response of [...open]) {
    if (response.socket !== null) continue
    Object.assign(response, { destroyed: true, _closed: true })
    response.emit('close')
  }
}
