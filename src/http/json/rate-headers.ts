import type { FastifyReply } from 'fastify'
import type { RateFacts } from '../../shared/errors/definition.ts'

/** The headers of a refusal by a rate, in the spelling of older clients and in that of the IETF's draft. */
export function sendRefusedRate(reply: FastifyReply, facts: RateFacts): void {
  const { limit, max, windowSeconds } = facts
  const unit = windowSeconds === null ? 'qu="concurrent-requests"' : `w=${windowSeconds}`
  sendCounts(reply, facts)
  reply.headers({ ratelimit: rateLimitField(facts), 'ratelimit-policy': `"${limit}";q=${max};${unit}` })
}

/**
 * The same for a request that passed. Clients take `X-RateLimit-Remaining: 0` for a refusal and pause, so that the three
 * are left out with the last one.
 */
export function sendPassedRate(reply: FastifyReply, facts: RateFacts, policy: string): void {
  if (facts.remaining > 0) sendCounts(reply, facts)
  reply.headers({ ratelimit: rateLimitField(facts), 'ratelimit-policy': policy })
}

function sendCounts(reply: FastifyReply, { max, remaining, resetSeconds }: RateFacts): void {
  reply.headers({ 'x-ratelimit-limit': max, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': resetSeconds })
}

function rateLimitField({ limit, remaining, resetSeconds }: RateFacts): string {
  return `"${limit}";r=${remaining};t=${resetSeconds}`
}
