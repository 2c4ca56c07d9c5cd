import type { FastifyReply } from 'fastify'
import type { RateLimit } from '../../limits/rate-limit.ts'
import { sendPassedRate } from '../json/rate-headers.ts'

/**
 * Counts a request, and tells its client how many more may come. To be called when its token has been judged, before its
 * first effect; whatever becomes of it, it was one.
 *
 * @param rate null where there is no limit.
 * @throws RATE_EXCEEDED (429) when it may not go on.
 */
export function countRequest(reply: FastifyReply, rate: RateLimit | null): void {
  if (rate === null) return
  const refusal = rate.take()
  if (refusal !== null) throw refusal
  const facts = rate.facts()
  if (facts !== null) sendPassedRate(reply, facts, rate.policy)
}
