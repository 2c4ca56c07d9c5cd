// Connections that close behind an answer while their client still sends. One that is closed over unread bytes is reset, and a reset
// overtakes answers that the client has not read, those of requests before the last one too.

import type { Socket } from 'node:net'
import { mebibyte } from '../../shared/bytes.ts'

/** How long, and for how many bytes, a client may send on behind the end of its answers, and still read them. */
const restMsMax = 5_000
const restBytesMax = 16 * mebibyte

/**
 * Has the answer that closes a connection close the sending side alone, and the rest of it when the client has ended, within bounds. For
 * each connection when it begins: of those that close, Node finds many by itself.
 */
export function closeGently(socket: Socket): void {
  // What Node calls behind the last answer.
  socket.destroySoon = endGently
}

function endGently(this: Socket): void {
  if (this.destroyed || this.writableEnded) return
  dropRest(this)
  // What it brought while it waited for its answers counts no more.
  rests.set(this, restBytesMax)
  const timer = setTimeout(() => this.destroy(), restMsMax).unref()
  this.once('close', () => clearTimeout(timer))
  this.end()
  this.resume()
}

/** Connections whose rest is dropped, and how many bytes they may bring still. */
const rests = new WeakMap<Socket, number>()

/** Takes what a connection brings from now on at the cost of its bytes. */
export function dropRest(socket: Socket): void {
  if (rests.has(socket)) return
  rests.set(socket, restBytesMax)
  // Node's parser lets go of a connection that somebody else reads; what it has in hand it goes through to its end.
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    const restBytes = (rests.get(socket) ?? 0) - chunk.length
    rests.set(socket, restBytes)
    if (restBytes >= 0) return
    if (socket.writableEnded) socket.destroy()
    else socket.pause()
  })
}
