// Who may do what is decided here, before a handler runs and before more of a body is read than its first bytes. A route
// says what it needs when it is registered; one that says nothing is a mistake of ours, and ends the start.

import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { Access, Caller } from '../../access/access.ts'
import { assert } from '../../shared/assert.ts'
import { errors } from '../../shared/errors/errors.ts'
import { readBodyToken } from '../request/body-token.ts'
import { announcesBody } from '../request/request-body.ts'

/** Puts the decision in front of every route of `app` that is registered after it, and refuses routes without a need. */
export function addAuthorization(app: FastifyInstance, access: Access): void {
  app.decorate('access', access)
  app.decorateRequest('caller', null)
  app.addHook('onRoute', (route) => {
    const needs = route.config?.needs
    assert(needs !== undefined, `the route ${String(route.method)} ${route.url} does not say what it needs`)
    if (needs === 'admin') guard(route, access)
  })
}

/** Who asks. Precondition: the route needs a token, and it has been judged. */
export function callerOf({ caller }: FastifyRequest): Caller {
  assert(caller !== null, 'nobody has decided who asks')
  return caller
}

/** What the queries of whoever asks may read. The same precondition. */
export function readScopeOf(request: FastifyRequest): ReturnType<Access['readScopeOf']> {
  return request.server.access.readScopeOf(callerOf(request))
}

/** The hooks of a route that needs a token: the first judges what the head of the request has, the second the rest. */
function guard(route: RouteOptions, access: Access): void {
  const mayHaveBodyToken = route.config?.mayTakeTokenFromBody === true
  const onRequest: RouteOptions['onRequest'] = (request, _reply, done) => {
    const token = headToken(request)
    if (token !== undefined || !(mayHaveBodyToken && mayCarryToken(request))) admit(request, access, token)
    done()
  }
  route.onRequest = [...listOf(route.onRequest), onRequest]
  if (!mayHaveBodyToken) return
  const preHandler: RouteOptions['preHandler'] = (request, _reply, done) => {
    if (request.caller !== null) return done()
    readBodyToken(request)
      .then((found) => {
        if (found.token === undefined && found.isLater) throw errors.TOKEN_LATE()
        admit(request, access, found.token)
      })
      .then(() => done(), done)
  }
  route.preHandler = [preHandler, ...listOf(route.preHandler)]
}

function listOf<Hook>(hooks: Hook | readonly Hook[] | undefined): readonly Hook[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? hooks : [hooks as Hook]
}

/** @throws TOKEN_MISSING, TOKEN_INVALID (403). */
function admit(request: FastifyRequest, access: Access, token: string | undefined): void {
  const verdict = access.verify(token)
  if (!verdict.isAllowed) throw verdict.error
  request.caller = verdict.caller
}

/** What only reads looks at no body, whatever comes with it. */
function mayCarryToken({ method, headers }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD' && announcesBody(headers)
}

/** The token of the header Authorization, else of the query. An Authorization of another scheme is not ours. */
function headToken(request: FastifyRequest): string | undefined {
  const bearer = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (bearer !== undefined) return bearer
  // Fastify's parser gives a text, or a list when the parameter is repeated.
  const { token } = request.query as { readonly token?: string | readonly string[] }
  const text = typeof token === 'string' ? token : token?.at(-1)
  return text === '' ? undefined : text
}
