import type { ServerHttp2Session } from 'node:http2'

export interface LivenessRules {
  /** How long a client may give no sign of life. */
  readonly answerMsMax: number
  /** Another text when the system has sent something of the connection; null where it does not say. Never fails. */
  readonly markOf: () => Promise<string | null>
}

/**
 * Destroys a session on which nothing moves any more, unless its client answers a ping in this time, or takes some of what the system has to
 * send: the answer comes behind all of that, which may be megabytes.
 *
 * Node 20 has its parser tell a client of some errors, such as a bad padding or headers that are too long. It stops to read the connection
 * then and emits no event, so the client's end is not seen, and its requests would keep their places.
 */
export function endUnlessAnswered(session: ServerHttp2Session, { answerMsMax, markOf }: LivenessRules): void {
  let isOver = false
  let late: NodeJS.Timeout | undefined
  const keep = (): void => {
    isOver = true
    clearTimeout(late)
  }
  const look = async (last: string | null): Promise<void> => {
    const mark = await markOf()
    if (isOver) return
    if (mark === null || mark === last) session.destroy()
    else late = setTimeout(() => void look(mark), answerMsMax)
  }
  session.once('close', keep)
  session.ping(() => {
    keep()
    session.off('close', keep)
  })
  void markOf().then((mark) => {
    if (!isOver) late = setTimeout(() => void look(mark), answerMsMax)
  })
}
