// Clients that take nothing of their answers. What they leave unread is held for them: a file, or memory.

import { IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from '../../observe/logger.ts'
import { kibibyte } from '../../shared/bytes.ts'
import { SocketQueues } from './socket-queues.ts'

export interface ReaderRules {
  /** How long a client may take nothing of what waits for it. */
  readonly idleMsMax: number
  /** Another text when the system has sent something; null where it does not say. */
  readonly markOf: (socket: Socket) => Promise<string | null>
  readonly giveUp: (waitingBytes: number) => void
}

/** Looks within the time that a client may take nothing; all of them must see the same. */
const looksMin = 4
/** A smaller answer is in the system's buffers at once. */
const watchedBytesMin = 64 * kibibyte

/** Has clients cut that take nothing of their answers for `idleMsMax`; 0 cuts none. */
export function addReaderWatch(app: FastifyInstance, idleMsMax: number, logger: Logger): void {
  if (idleMsMax === 0) return
  const queues = new SocketQueues()
  app.addHook('onSend', (request, reply, payload, done) => {
    // An injected request of a test has no connection.
    if (isLarge(payload) && request.raw instanceof IncomingMessage) {
      const giveUp = (waitingBytes: number): void => {
        const fields = { requestId: request.id, waitingBytes, idleMsMax }
        logger.warn(fields, 'A client that does not read its answer is disconnected.')
      }
      watchReader(reply.raw, { idleMsMax, giveUp, markOf: (socket) => queues.markOf(socket) })
    }
    done(null, payload)
  })
}

function isLarge(payload: unknown): boolean {
  if (typeof payload === 'string' || payload instanceof Uint8Array) return payload.length >= watchedBytesMin
  return typeof payload === 'object' && payload !== null
}

/** Watches the client of one answer until the answer is out, and cuts the connection when it takes nothing. */
export function watchReader(response: ServerResponse, { idleMsMax, markOf, giveUp }: ReaderRules): void {
  let last = ''
  let sameCount = 0
  let isLooking = false
  const look = async (): Promise<void> => {
    const { socket, writableLength } = response
    // Behind an earlier answer of the connection it has no socket yet, and the client of that one is watched.
    const isWaiting = socket !== null && !socket.destroyed && writableLength > 0
    const seen = isWaiting ? `${socket.bytesWritten - socket.writableLength} ${await markOf(socket)}` : ''
    sameCount = isWaiting && seen === last ? sameCount + 1 : 0
    last = seen
    if (sameCount < looksMin || socket === null || socket.destroyed) return
    giveUp(response.writableLength)
    socket.destroy()
  }
  const timer = setInterval(() => {
    // One look at a time: two of the same moment say nothing.
    if (isLooking) return
    isLooking = true
    void look().finally(() => {
      isLooking = false
    })
  }, idleMsMax / looksMin)
  timer.unref()
  response.once('close', () => clearInterval(timer))
}
