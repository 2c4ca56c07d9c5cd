import type { Socket } from 'node:net'
import { type LivenessRules, takenBytes } from './http2-liveness.ts'

/**
 * Has a connection go behind its session. Node ends the sending side alone then, and waits for the client: one that stands still, or never
 * closes, would keep its socket for ever.
 */
export function closeBehindSession(socket: Socket, rules: LivenessRules): void {
  const { end } = socket
  // What Node calls when the session has come to its end.
  socket.end = (...given: readonly unknown[]): Socket => {
    watchEnd(socket, rules)
    return Reflect.apply(end, socket, given)
  }
}

/** For a client that nobody waits for: the place of its connection is another's already. */
export function closeSoon(socket: Socket, timeMs: number): void {
  const timer = setTimeout(() => socket.destroy(), timeMs).unref()
  socket.once('close', () => clearTimeout(timer))
}

/**
 * A slow client may still read the end of its last answers, and says so by what it takes or sends. A connection that is gone would reset it
 * then, over what it has not read. So this one goes when nothing has moved between two looks.
 */
function watchEnd(socket: Socket, { answerMsMax, queueOf }: LivenessRules): void {
  let timer: NodeJS.Timeout | undefined
  const look = async (last: string): Promise<void> => {
    const mark = `${takenBytes(await queueOf())} ${socket.bytesRead}`
    if (socket.destroyed) return
    if (mark === last) socket.destroy()
    else lookLater(mark)
  }
  const lookLater = (mark: string): void => {
    timer = setTimeout(() => void look(mark), answerMsMax).unref()
  }
  socket.once('close', () => clearTimeout(timer))
  void look('')
}
