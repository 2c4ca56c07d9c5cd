import type { FastifyInstance } from 'fastify'
import { isApiPath } from '../json/answers.ts'

const allowedHeaders =
  'authorization, content-type, content-encoding, idempotency-key, accept, x-requested-with, x-request-id'
const exposedHeaders =
  'x-request-id, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, server-timing, x-datasource-created, x-warning'
const preflightAgeSeconds = 86_400

/** Lets browsers of any origin use the API (tokens, not cookies, tell who asks), and answers their preflights. */
export function addCrossOrigin(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isApiPath(request.url)) return done()
    reply.header('access-control-allow-origin', '*')
    reply.header('access-control-expose-headers', exposedHeaders)
    if (request.method !== 'OPTIONS') return done()
    reply.header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS')
    // What a page sends beside these harms nobody: a token alone tells who asks.
    reply.header('access-control-allow-headers', request.headers['access-control-request-headers'] ?? allowedHeaders)
    reply.header('access-control-max-age', preflightAgeSeconds)
    reply.code(204).send()
  })
}
