// Requests that a client sends ahead, without waiting for the answers before them. Node starts all that one read brings, two
// thousand of them in 64 KiB, before anybody else has a turn.

import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../observe/logger.ts'

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

/** Answers of a connection that are not out. */
type OpenAnswers = Set<ServerResponse>

/**
 * Puts a bound on the requests of one connection that wait for their answers. Above it the connection is cut: an answer
 * would have to wait for those before it, and reading cannot be stopped in the middle of what is read.
 *
 * When a connection ends, Node closes the one answer that has its turn. Those behind it are closed here: what waits for their
 * end (queries, results, files) would wait for ever.
 */
export function boundPipelining(listener: RequestListener, logger: Logger): RequestListener {
  const connections = new WeakMap<Socket, OpenAnswers>()
  function onAnswered(this: ServerResponse): void {
    connections.get(this.req.socket)?.delete(this)
  }
  const openOf = (socket: Socket): OpenAnswers => {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const open: OpenAnswers = new Set()
    connections.set(socket, open)
    socket.once('close', () => closeQueued(open))
    return open
  }
  return (request, response) => {
    const { socket } = request
    // What came in one read with a request too many.
    if (socket.destroyed) return
    const open = openOf(socket)
    if (open.size >= openRequestsMax) {
      logger.warn({ openRequestsMax }, 'A connection was cut: too many of its requests waited for their answers.')
      socket.destroy()
      return
    }
    open.add(response)
    response.once('close', onAnswered)
    listener(request, response)
  }
}

/** Does to answers that have no connection yet what Node does to the one that has. */
function closeQueued(open: OpenAnswers): void {
  for (const response of [...open]) {
    if (response.socket !== null) continue
    Object.assign(response, { destroyed: true, _closed: true })
    response.emit('close')
  }
}
