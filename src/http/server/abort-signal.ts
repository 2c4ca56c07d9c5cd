import type { FastifyReply } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'

/** Aborted when the client goes away before it has the whole answer. */
export function abortSignal(reply: FastifyReply): AbortSignal {
  return signalOf(reply, undefined)
}

/** The same, with CLIENT_LEFT for its reason. */
export function leftSignal(reply: FastifyReply): AbortSignal {
  return signalOf(reply, errors.CLIENT_LEFT())
}

function signalOf({ raw }: FastifyReply, reason: unknown): AbortSignal {
  const controller = new AbortController()
  if (raw.destroyed) controller.abort(reason)
  raw.once('close', () => {
    // Node ends an HTTP/2 stream that its client resets, which is then as if all of it were written: that the service has ended
    // its answer, `writableEnded` alone tells.
    if (!raw.writableEnded || !raw.writableFinished) controller.abort(reason)
  })
  return controller.signal
}
