import type { FastifyReply } from 'fastify'

/** Aborted when the client goes away before it has the whole answer. */
export function abortSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  if (raw.destroyed) controller.abort()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}
