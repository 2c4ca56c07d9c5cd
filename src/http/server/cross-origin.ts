import type { FastifyInstance, FastifyReply } from 'fastify'
import { isApiPath } from '../json/answers.ts'
import type { AllowedOrigins } from './allowed-origins.ts'

const allowedHeaders =
  'authorization, content-type, content-encoding, idempotency-key, accept, x-requested-with, x-request-id, traceparent, x-millrace-receipt'
const exposedHeaders =
  'x-request-id, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, ratelimit, ratelimit-policy, server-timing, traceparent, x-datasource-created, x-warning, x-millrace-receipt'
const preflightAgeSeconds = 86_400

/**
 * Lets browsers use the API from pages of the allowed origins (tokens, not cookies, tell who asks), and answers their preflights.
 * Pages of others hear nothing of it, and their browsers refuse.
 */
export function addCrossOrigin(app: FastifyInstance, origins: AllowedOrigins): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isApiPath(request.url)) return done()
    const isAllowed = allow(reply, origins, request.headers.origin)
    if (isAllowed) reply.header('access-control-expose-headers', exposedHeaders)
    if (request.method !== 'OPTIONS') return done()
    if (isAllowed) {
      reply.header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS')
      // What a page sends beside these harms nobody: a token alone tells who asks.
      reply.header('access-control-allow-headers', request.headers['access-control-request-headers'] ?? allowedHeaders)
      reply.header('access-control-max-age', preflightAgeSeconds)
    }
    reply.code(204).send()
  })
}

function allow(reply: FastifyReply, origins: AllowedOrigins, origin: string | undefined): boolean {
  if (origins.areAll) {
    reply.header('access-control-allow-origin', '*')
    return true
  }
  // What is kept of an answer must not be given to a page of another origin.
  reply.header('vary', 'origin')
  if (origin === undefined || !origins.has(origin.toLowerCase())) return false
  reply.header('access-control-allow-origin', origin)
  return true
}
