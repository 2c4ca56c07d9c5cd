import type { ServerHttp2Session } from 'node:http2'

/**
 * Destroys a session on which nothing moves any more, unless its client answers a ping in this time.
 *
 * Node 20 has its parser tell a client of some errors, such as a bad padding or headers that are too long. It stops to read the connection
 * then and emits no event, so the client's end is not seen, and its requests would keep their places.
 */
export function endUnlessAnswered(session: ServerHttp2Session, answerMsMax: number): void {
  const late = setTimeout(() => session.destroy(), answerMsMax)
  const keep = (): void => clearTimeout(late)
  session.once('close', keep)
  session.ping(() => {
    keep()
    session.off('close', keep)
  })
}
