// Who may do what is decided here, before a handler runs and before more of a body is read than its first bytes. A route
// says what it needs when it is registered; one that says nothing is a mistake of ours, and ends the start.
//
// What the head of a request names is judged before the handler. What stands in a body or in SQL is known to the handler alone:
// it judges that itself before its first effect, and an answer of a handler that has not is never sent.

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Access, Caller } from '../../access/access.ts'
import type { JobOperation, JudgedJob } from '../../access/job-rights.ts'
import type { Operation } from '../../access/operations.ts'
import type { Refusal } from '../../access/token-source.types.ts'
import { assert } from '../../shared/assert.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { readBodyToken } from '../request/body-token.ts'
import { announcesBody } from '../request/request-body.ts'
import type { OperationNeed, ResourcePlace, RouteNeed } from './route-need.ts'

/** Puts the decision in front of every route of `app` that is registered after it, and refuses routes without a need. */
export function addAuthorization(app: FastifyInstance, access: Access): void {
  app.decorate('access', access)
  app.decorateRequest('caller', null)
  app.decorateRequest('isJudged', false)
  app.decorateRequest('judgedName', null)
  app.decorateRequest('judged', null)
  app.addHook('onRoute', (route) => {
    const needs = route.config?.needs
    assert(needs !== undefined, `the route ${String(route.method)} ${route.url} does not say what it needs`)
    if (needs !== 'nothing') guard(route, needs, access)
  })
}

/** Who asks. Precondition: the route needs a token, and it has been judged. */
export function callerOf({ caller }: FastifyRequest): Caller {
  assert(caller !== null, 'nobody has decided who asks')
  return caller
}

/**
 * Judges the head of a request again where names or tokens have changed since: a body may take its time. To be called behind the
 * body, before the first effect.
 *
 * @throws TOKEN_INVALID, TOKEN_EXPIRED (403); what `Access.refusalOf` gives (403).
 */
export function judgeAgain(request: FastifyRequest): void {
  judgeTokenAgain(request)
  const { judged } = request
  const { needs } = request.routeOptions.config
  if (judged === null || judged.headVersion === judged.version || typeof needs !== 'object') return
  judgeHead(request, callerOf(request), needs)
  request.judged = { ...judged, headVersion: judged.version }
}

/** The same of its token alone; false where nothing has changed. @throws TOKEN_INVALID, TOKEN_EXPIRED (403) */
export function judgeTokenAgain(request: FastifyRequest): boolean {
  const { judged } = request
  const { access } = request.server
  const { version } = access
  if (judged === null || judged.version === version) return false
  const verdict = access.verifyAgain(judged.token)
  if (!verdict.isAllowed) throw verdict.refusal.error
  request.caller = verdict.caller
  request.judged = { ...judged, version }
  return true
}

/** What the queries of whoever asks may read. For a route whose resources stand in SQL this judges them. */
export function readScopeOf(request: FastifyRequest): ReturnType<Access['readScopeOf']> {
  judgeAgain(request)
  const scope = request.server.access.readScopeOf(callerOf(request))
  if (declaredNeed(request).resource.in === 'sql') request.isJudged = true
  return scope
}

/** Refuses to go on behind a wait where the caller may read something else by now. @throws TOKEN_INVALID, TOKEN_EXPIRED (403) */
export function requireSameReads(request: FastifyRequest, { signature }: { readonly signature: string }): void {
  if (readScopeOf(request).signature === signature) return
  throw errors.TOKEN_INVALID({ hint: 'Its rights have changed while the request waited: send it again' })
}

/**
 * Judges what only the handler knows: what a body names, or what more a request turns out to do. To be called before the first
 * effect; `resource` is a name or an id, null for none.
 *
 * @throws what `Access.refusalOf` gives (403).
 */
export function requireAccess(request: FastifyRequest, operation: Operation, resource: string | null): void {
  const { operations } = declaredNeed(request)
  assert(operations.includes(operation), `the route ${request.routeOptions.url} does not declare ${operation}`)
  judgeTokenAgain(request)
  const refusal = request.server.access.refusalOf(callerOf(request), operation, resource)
  if (refusal !== null) throw refusal
  request.isJudged = true
  request.judgedName = resource
}

/** Judges what was found by a name that was judged before: the name may have stood for something else then. Raises what `requireAccess` does. */
export function requireFound(request: FastifyRequest, operation: Operation, id: string): void {
  judgeTokenAgain(request)
  const refusal = request.server.access.refusalOf(callerOf(request), operation, id)
  if (refusal !== null) throw refusal
}

/**
 * The name or id that a parameter of the path has, to be read where it is used: it was judged before the body had come, and may
 * stand for something else since then. It is judged again where it may.
 *
 * @throws what `judgeAgain` does (403).
 */
export function inPath(request: FastifyRequest, parameter: string): string {
  judgeAgain(request)
  // Fastify's router gives a text for each parameter of the route.
  return (request.params as Readonly<Record<string, string>>)[parameter] ?? ''
}

/** The pipe and the node that the path names, as `inPath` reads them. */
export function nodeInPath(request: FastifyRequest): { readonly pipe: string; readonly node: string } {
  return { pipe: inPath(request, 'pipe'), node: inPath(request, 'node') }
}

/** Whether whoever asks reads all rows of a data source, by its name or id. */
export function mayReadAll(request: FastifyRequest, dataSource: string): boolean {
  judgeTokenAgain(request)
  return request.server.access.refusalOf(callerOf(request), 'quarantine:read', dataSource) === null
}

/** Whether the token in the head of a request gives a right to something of the whole workspace; for a route that needs no token. */
export function mayDo(request: FastifyRequest, operation: Operation): boolean {
  const { access } = request.server
  const verdict = access.verify(headToken(request))
  return verdict.isAllowed && access.refusalOf(verdict.caller, operation, null) === null
}

/** Name or id of the resource that the request has been judged for; null where it is about no single one. */
export function judgedNameOf(request: FastifyRequest): string | null {
  const { needs } = request.routeOptions.config
  return request.judgedName ?? (typeof needs === 'object' ? resourceOf(request, needs.resource) : null)
}

/**
 * Judges the job that the path names; undefined for one that there is not.
 *
 * @throws JOB_HIDDEN (403).
 */
export function requireJob(request: FastifyRequest, operation: JobOperation, job: JudgedJob | undefined): void {
  assert(
    declaredNeed(request).operations.includes(operation),
    `the route ${request.routeOptions.url} does not declare ${operation}`,
  )
  judgeTokenAgain(request)
  const refusal = request.server.access.jobRefusalOf(callerOf(request), operation, job)
  if (refusal !== null) throw refusal
  request.isJudged = true
}

function declaredNeed({ routeOptions: { config, url } }: FastifyRequest): OperationNeed {
  const { needs } = config
  assert(typeof needs === 'object', `the route ${url} does not declare what it does`)
  return needs
}

/** The hooks of a route that needs a token: the first judges what the head of the request has, the second the rest. */
function guard(route: RouteOptions, need: Exclude<RouteNeed, 'nothing'>, access: Access): void {
  const mayHaveBodyToken = route.config?.mayTakeTokenFromBody === true
  const admit = (request: FastifyRequest, reply: FastifyReply, token: string | undefined): void => {
    const verdict = access.verify(token)
    if (!verdict.isAllowed) throw answeredRefusal(verdict.refusal, reply)
    if (need !== 'token') judgeHead(request, verdict.caller, need)
    request.caller = verdict.caller
    const { version } = access
    if (token !== undefined) request.judged = { token, version, headVersion: version }
  }
  const isOpenTo = route.config?.isOpenTo
  const onRequest: RouteOptions['onRequest'] = (request, reply, done) => {
    if (isOpenTo?.(request) === true) return done()
    const token = headToken(request)
    if (token !== undefined || !(mayHaveBodyToken && mayCarryToken(request))) admit(request, reply, token)
    done()
  }
  route.onRequest = [...listOf(route.onRequest), onRequest]
  if (isJudgedByHandler(need)) route.onSend = [...listOf(route.onSend), refuseUnjudged]
  if (!mayHaveBodyToken) return
  const preHandler: RouteOptions['preHandler'] = (request, reply, done) => {
    if (request.caller !== null) return done()
    const { olderTokenParameter } = request.routeOptions.config
    readBodyToken(request, ['token', ...(olderTokenParameter === undefined ? [] : [olderTokenParameter])])
      .then((found) => {
        if (found.token === undefined && found.isLater) throw errors.TOKEN_LATE()
        admit(request, reply, found.token)
      })
      .then(() => done(), done)
  }
  route.preHandler = [preHandler, ...listOf(route.preHandler)]
}

/** The error to be thrown. */
function answeredRefusal({ error, isOfOtherWorkspace }: Refusal, reply: FastifyReply): ApiError {
  const { isSentToAWorkspace } = reply.routeOptions.config
  return isOfOtherWorkspace === true && isSentToAWorkspace === true ? errors.WORKSPACE_NOT_FOUND() : error
}

function isJudgedByHandler(need: RouteNeed): boolean {
  return typeof need === 'object' && ['body', 'job', 'sql'].includes(need.resource.in)
}

/** Judges what the head of the request names. @throws what `Access.refusalOf` gives (403). */
function judgeHead(
  request: FastifyRequest,
  caller: Caller,
  { resource, operations: [operation] }: OperationNeed,
): void {
  if (resource.in === 'body' || resource.in === 'job') return
  const refusal = request.server.access.refusalOf(caller, operation, resourceOf(request, resource))
  if (refusal !== null) throw refusal
}

/** As the handler reads it; null where the head names none. */
function resourceOf(request: FastifyRequest, place: ResourcePlace): string | null {
  switch (place.in) {
    case 'path': {
      // Fastify's router gives a text for each parameter of the route.
      const name = (request.params as Readonly<Record<string, string>>)[place.parameter] ?? ''
      const { suffix } = place
      return suffix !== '' && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name
    }
    case 'query':
      return queryText(request, place.parameter)?.trim() || null
    case 'body':
    case 'job':
    case 'sql':
    case 'workspace':
      return null
  }
}

/** Nothing is told of what nobody has judged: the error is a fault of ours (500). */
function refuseUnjudged(
  request: FastifyRequest,
  reply: FastifyReply,
  _payload: unknown,
  done: (error?: Error) => void,
): void {
  assert(
    request.isJudged || reply.statusCode >= 400,
    `the route ${request.routeOptions.url} has answered without a judgement of what it names`,
  )
  done()
}

function listOf<Hook>(hooks: Hook | readonly Hook[] | undefined): readonly Hook[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? hooks : [hooks as Hook]
}

/** What only reads looks at no body, whatever comes with it. */
function mayCarryToken({ method, headers }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD' && announcesBody(headers)
}

/** The token of the header Authorization, else of the query. An Authorization of another scheme is not ours. */
function headToken(request: FastifyRequest): string | undefined {
  const { olderTokenParameter } = request.routeOptions.config
  const bearer = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (bearer !== undefined) return bearer
  const older = olderTokenParameter === undefined ? undefined : queryText(request, olderTokenParameter)
  return older || queryText(request, 'token') || undefined
}

/** Fastify's parser gives a text, or a list when the parameter is repeated: the last one counts. */
function queryText(request: FastifyRequest, parameter: string): string | undefined {
  const value = (request.query as Readonly<Record<string, string | readonly string[]>>)[parameter]
  return typeof value === 'string' ? value : value?.at(-1)
}
