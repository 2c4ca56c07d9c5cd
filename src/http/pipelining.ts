// Requests that a client sends ahead, without waiting for the answers before them. Node starts all that one read brings, two
// thousand of them in 64 KiB, before anybody else has a turn.

import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../observe/logger.ts'

/** Clients that send ahead at all do so with ten or twenty. */
export const openRequestsMax = 64

interface Connection {
  /** Requests whose answers are not out. */
  openCount: number
}

/**
 * Puts a bound on the requests of one connection that wait for their answers. Above it the connection is cut: an answer
 * would have to wait for those before it, and reading cannot be stopped in the middle of what is read.
 */
export function boundPipelining(listener: RequestListener, logger: Logger): RequestListener {
  const connections = new WeakMap<Socket, Connection>()
  function onAnswered(this: ServerResponse): void {
    const connection = connections.get(this.req.socket)
    if (connection !== undefined) connection.openCount -= 1
  }
  return (request, response) => {
    const { socket } = request
    // What came in one read with a request too many.
    if (socket.destroyed) return
    const connection = connections.get(socket)
    if (connection === undefined) connections.set(socket, { openCount: 1 })
    else connection.openCount += 1
    if (connection !== undefined && connection.openCount > openRequestsMax) {
      logger.warn({ openRequestsMax }, 'A connection was cut: too many of its requests waited for their answers.')
      socket.destroy()
      return
    }
    response.once('close', onAnswered)
    listener(request, response)
  }
}
