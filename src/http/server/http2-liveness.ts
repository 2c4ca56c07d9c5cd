import type { ServerHttp2Session } from 'node:http2'
import type { ConnectionQueue } from './http2-readers.ts'

export interface LivenessRules {
  /** How long a client may give no sign of life. */
  readonly answerMsMax: number
  /** Never fails. */
  readonly queueOf: () => Promise<ConnectionQueue>
}

/**
 * Destroys a session on which nothing moves any more, unless its client answers a ping in this time, or takes some of what the system has to
 * send: the answer comes behind all of that, which may be megabytes.
 *
 * Node 20 has its parser tell a client of some errors, such as a bad padding or headers that are too long. It stops to read the connection
 * then and emits no event, so the client's end is not seen, and its requests would keep their places.
 */
export function endUnlessAnswered(session: ServerHttp2Session, { answerMsMax, queueOf }: LivenessRules): void {
  let isOver = false
  let late: NodeJS.Timeout | undefined
  const keep = (): void => {
    isOver = true
    clearTimeout(late)
  }
  const look = async (lastBytes: number | null): Promise<void> => {
    const bytes = takenBytes(await queueOf())
    if (isOver) return
    if (bytes === null || bytes === lastBytes) session.destroy()
    else late = setTimeout(() => void look(bytes), answerMsMax)
  }
  session.once('close', keep)
  session.ping(() => {
    keep()
    session.off('close', keep)
  })
  void queueOf().then((queue) => {
    if (!isOver) late = setTimeout(() => void look(takenBytes(queue)), answerMsMax)
  })
}

/** The queue alone may be as long as before though its client has taken megabytes; null where it is not known. */
export function takenBytes({ handedBytes, unsentBytes }: ConnectionQueue): number | null {
  return unsentBytes === null ? null : handedBytes - unsentBytes
}
