import type { Socket } from 'node:net'
import { type LivenessRules, takenBytes } from './http2-liveness.ts'

interface EndRules extends LivenessRules {
  /** How long a client that has all may leave its end open. */
  readonly restMsMax: number
}

/**
 * Has a connection go behind its session. Node ends the sending side alone then, and waits for the client: one that stands still, or never
 * closes, would keep its socket for ever, and is counted by nobody.
 */
export function closeBehindSession(socket: Socket, rules: EndRules): void {
  const { end } = socket
  // What Node calls when the session has come to its end.
  socket.end = (...given: readonly unknown[]): Socket => {
    watchEnd(socket, rules)
    return Reflect.apply(end, socket, given)
  }
}

/** A slow client may still take the end of its last answers: the connection goes when nothing of it has moved between two looks. */
function watchEnd(socket: Socket, { restMsMax, answerMsMax, queueOf }: EndRules): void {
  let timer: NodeJS.Timeout | undefined
  const look = async (lastBytes: number | null): Promise<void> => {
    const queue = await queueOf()
    if (socket.destroyed) return
    const bytes = takenBytes(queue)
    if (bytes === null || bytes === lastBytes || queue.unsentBytes === 0) socket.destroy()
    else lookLater(answerMsMax, bytes)
  }
  const lookLater = (ms: number, lastBytes: number | null): void => {
    timer = setTimeout(() => void look(lastBytes), ms).unref()
  }
  socket.once('close', () => clearTimeout(timer))
  lookLater(restMsMax, null)
}
