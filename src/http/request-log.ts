import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Logger, withoutToken } from '../observe/logger.ts'

const urlCharsMax = 2_000

/** Gives each answer its `X-Request-Id` and each request one entry in the log: no headers, no tokens, no rows. */
export function addRequestLog(app: FastifyInstance, logger: Logger): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    logger.info(
      {
        requestId: request.id,
        method: request.method,
        url: loggedUrl(request).slice(0, urlCharsMax),
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      },
      'A request was answered.',
    )
    done()
  })
  app.addHook('onRequestAbort', async (request) => {
    logger.warn({ requestId: request.id, method: request.method, url: pathOf(request.url) }, 'A client went away.')
  })
}

function loggedUrl({ url, routeOptions }: FastifyRequest): string {
  return routeOptions.config.hasSecretsInQuery === true ? pathOf(url) : withoutToken(url)
}

/** The path of a URL, which never carries a token. */
export function pathOf(url: string): string {
  const queryOffset = url.indexOf('?')
  return (queryOffset < 0 ? url : url.slice(0, queryOffset)).slice(0, urlCharsMax)
}
