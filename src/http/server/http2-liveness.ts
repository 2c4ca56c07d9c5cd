import type { ServerHttp2Session } from 'node:http2'

export interface LivenessRules {
  /** How often a session with open streams is asked for an answer. */
  readonly lookMs: number
  /** How long its client may take for one. */
  readonly answerMsMax: number
}

/**
 * Destroys a session with open streams whose client answers no ping. Node 20 reads a connection no more once its parser has told the client of
 * an error by itself, a bad padding or headers that are too long, and tells nobody: neither the end of the client is seen then, nor
 * that of its requests, which would keep their places.
 *
 * @param isBusy whether streams are open.
 */
export function endWhenDead(session: ServerHttp2Session, isBusy: () => boolean, rules: LivenessRules): void {
  let answer: NodeJS.Timeout | undefined
  const looks = setInterval(() => {
    if (answer !== undefined || session.destroyed || !isBusy()) return
    answer = setTimeout(() => session.destroy(), rules.answerMsMax)
    session.ping(() => {
      clearTimeout(answer)
      answer = undefined
    })
  }, rules.lookMs).unref()
  session.once('close', () => {
    clearInterval(looks)
    clearTimeout(answer)
  })
}
