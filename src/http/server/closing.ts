import type { FastifyInstance } from 'fastify'
import { closeBehind } from './pipelining.ts'

export interface Closing {
  /** Whether the server has begun to close. */
  readonly isClosing: () => boolean
  /** Has `end` called when what still runs has had its time: it ends what may take long. */
  readonly onClosing: (end: () => void) => void
  /** Has `cut` called when that was of no use: it cuts the connections that are left. */
  readonly onCutting: (cut: () => void) => void
}

/** What runs when a close begins has a tenth of the time that it may take, to end by itself. */
const graceShare = 0.1
/** Answers that are read have this share. The rest is for events, which are brought to rest behind the last answer. */
const answersShare = 0.5

/**
 * Tells whether the server has begun to close, and lets it end: an answer given from then on closes its connection, which
 * would else be kept alive, and the server with it.
 */
export function addClosing(app: FastifyInstance, closeTimeoutMs: number): Closing {
  const ends: (() => void)[] = []
  const cuts: (() => void)[] = []
  let isClosing = false
  const timers: NodeJS.Timeout[] = []
  app.addHook('preClose', async () => {
    isClosing = true
    const later = (share: number, calls: readonly (() => void)[]): void => {
      const callAll = (): void => {
        for (const call of calls) call()
      }
      timers.push(setTimeout(callAll, closeTimeoutMs * share))
    }
    later(graceShare, ends)
    later(answersShare, cuts)
  })
  app.addHook('onClose', async () => timers.forEach(clearTimeout))
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    // HTTP/2 has no such header: its sessions are closed.
    if (isClosing && raw.httpVersionMajor !== 2) closeBehind(reply.raw)
    done(null, payload)
  })
  return {
    isClosing: () => isClosing,
    onClosing: (end) => void ends.push(end),
    onCutting: (cut) => void cuts.push(cut),
  }
}
