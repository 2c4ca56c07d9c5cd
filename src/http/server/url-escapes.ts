import type { FastifyInstance } from 'fastify'
import { beginningOf } from '../../shared/beginning-of.ts'
import { errors } from '../../shared/errors/errors.ts'

/**
 * Refuses URLs whose parameters have escapes that stand for nothing. The framework would leave the whole value as it came, so
 * that a query with one such `%` fails by what its blanks and quotes were written as.
 *
 * @throws REQUEST_INVALID (400) with the name of the parameter.
 */
export function addUrlEscapes(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const url = request.raw.url ?? ''
    const start = url.indexOf('?')
    if (start >= 0 && url.indexOf('%', start) >= 0) checkEscapes(url.slice(start + 1))
    done()
  })
}

function checkEscapes(query: string): void {
  if (isDecodable(query)) return
  const pair = query.split('&').find((part) => !isDecodable(part)) ?? ''
  const [name = ''] = pair.split('=')
  throw errors.REQUEST_INVALID({
    reason: `the parameter '${beginningOf(name, 60)}' has an escape in the URL that is not UTF-8: write %25 for a '%'`,
  })
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    // A URIError; nothing else is thrown.
    return false
  }
}
