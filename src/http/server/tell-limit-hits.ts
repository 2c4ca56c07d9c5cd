import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ApiError } from '../../shared/errors/errors.ts'
import type { LimitName } from '../../shared/limit-names.ts'
import type { HttpDeps } from '../http.types.ts'
import { judgedNameOf } from './authorization.ts'

/** Has those who want to know told of each refusal by a limit, once, as it is answered. */
export function addLimitHits(app: FastifyInstance, { limitHits, now }: Pick<HttpDeps, 'limitHits' | 'now'>): void {
  app.decorate('tellLimitHit', (request: FastifyRequest, error: ApiError) => {
    const limit = limitOf(error, request)
    if (limit === undefined) return
    limitHits.tell({
      limit,
      code: error.code,
      status: error.status,
      atMs: now(),
      requestId: request.id,
      tokenId: request.caller?.tokenId ?? null,
      tokenName: request.caller?.tokenName ?? null,
      resource: judgedNameOf(request),
    })
  })
}

/** Bodies of all routes are read by the same functions, which know only how much they may take. */
function limitOf({ limit }: ApiError, { routeOptions }: FastifyRequest): LimitName | undefined {
  const isOfBody = limit === 'form_size' || limit === 'uncompressed_file_size'
  return isOfBody ? (routeOptions.config.bodyLimit ?? limit) : limit
}
