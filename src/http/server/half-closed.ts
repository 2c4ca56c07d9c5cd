// Clients that close their sending side of a connection behind a whole request, as `nc -N` does, and wait for the answer. One
// that has left closes it in the same way: only what is sent to it tells the two apart, as the system of one that has left
// answers it with a reset, which the next write meets.

import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** From the end of the requests to the first look: most answers are out by then, and nothing is asked. */
const firstLookMs = 500
/** The second look meets what the first one brought about. */
const secondLookMs = 250
const laterLookMs = 1_000
/**
 * Where nothing can be sent to ask: to HTTP/1.0, and in the middle of an answer. A client is taken for one that has left when
 * there was nothing to send to it for so long.
 */
const silentMsMax = 2_000

/** Answers that may be silent in their middle, for as long as they like. */
const quietAnswers = new WeakSet<ServerResponse>()

/** Says that an answer is silent while work goes on that does not end with its client. */
export function mayBeQuiet(response: ServerResponse): void {
  quietAnswers.add(response)
}

/**
 * Has the server answer clients that close their sending side, and cut those that have left.
 *
 * @param answerOf gives the answer that has its turn on a connection.
 */
export function serveHalfClosed(
  server: Server,
  answerOf: (socket: Socket) => ServerResponse | undefined,
  event: 'connection' | 'secureConnection' = 'connection',
): void {
  // Node ends the connection else. Not among its types, and the same in Node 20, 22 and 24.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on(event, (socket: Socket) => {
    socket.once('end', () => {
      if (socket.writable) watchHalfClosed(socket, answerOf)
    })
  })
}

function watchHalfClosed(socket: Socket, answerOf: (socket: Socket) => ServerResponse | undefined): void {
  let lookCount = 0
  let silence = { sinceMs: performance.now(), writtenBytes: socket.bytesWritten }
  const look = (): void => {
    lookCount += 1
    timer = setTimeout(look, lookCount === 1 ? secondLookMs : laterLookMs).unref()
    // A client that does not read is another matter, as is an answer that has its end.
    const answer = socket.writableLength === 0 ? answerOf(socket) : undefined
    const isAsked = answer === undefined || ask(answer)
    const isSilent = !isAsked && socket.bytesWritten === silence.writtenBytes
    if (!isSilent) silence = { sinceMs: performance.now(), writtenBytes: socket.bytesWritten }
    else if (performance.now() - silence.sinceMs >= silentMsMax) socket.destroy()
  }
  let timer = setTimeout(look, firstLookMs).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Sends what every client of HTTP/1.1 passes by in front of an answer (RFC 9110, 15.2); false where it cannot. */
function ask(answer: ServerResponse): boolean {
  if (answer.headersSent) return quietAnswers.has(answer)
  if (answer.req.httpVersion !== '1.1') return false
  answer.writeContinue()
  return true
}
