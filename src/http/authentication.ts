import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Access } from '../access/access.ts'
import { announcesBody } from './request-body.ts'

/** Puts the access check in front of every route of `app` that is registered after it. */
export function addAuthentication(app: FastifyInstance, access: Access): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const token = tokenOf(request)
    if (token !== undefined || !mayCarryToken(request)) admit(request, access, token)
    done()
  })
}

/** Whether the route reads a body that may have the token. What only reads looks at no body, whatever comes with it. */
function mayCarryToken({ method, routeOptions, headers }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return !isRead && routeOptions.config.mayTakeTokenFromBody === true && announcesBody(headers)
}

/**
 * Judges a token, unless one in the header or the query was judged already: those win over one in the body.
 *
 * @throws TOKEN_MISSING, TOKEN_INVALID (403).
 */
export function admit(request: FastifyRequest, access: Access, token: string | undefined): void {
  if (request.caller !== null) return
  const verdict = access.verify(token)
  if (!verdict.isAllowed) throw verdict.error
  request.caller = verdict.caller
}

/** The token of the header Authorization, else of the query. An Authorization of another scheme is not ours. */
function tokenOf(request: FastifyRequest): string | undefined {
  const bearer = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (bearer !== undefined) return bearer
  // Fastify's parser gives a text, or a list when the parameter is repeated.
  const { token } = request.query as { readonly token?: string | readonly string[] }
  const text = typeof token === 'string' ? token : token?.at(-1)
  return text === '' ? undefined : text
}
