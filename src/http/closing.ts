import type { FastifyInstance } from 'fastify'

/**
 * Tells whether the server has begun to close, and lets it end: an answer given from then on closes its connection, which
 * would else be kept alive, and the server with it.
 */
export function addClosing(app: FastifyInstance): () => boolean {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing) reply.header('connection', 'close')
    done(null, payload)
  })
  return () => isClosing
}
