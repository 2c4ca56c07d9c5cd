import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { StaticToken, TokenEditor, ValuedToken } from '../../access/tokens/token.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import { giveWay } from '../../shared/time-slices.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { jsonContentType, sendJson } from '../json/answers.ts'
import { revisedShape, tokenShape } from '../json/token-shape.ts'
import { readChangeParameters } from '../request/change-parameters.ts'
import { partOf, readPage } from '../request/page.ts'
import { Parameters } from '../request/parameters.ts'
import { readTokenInput } from '../request/token-input.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, judgeAgain } from '../server/authorization.ts'
import { onWorkspace } from '../server/route-need.ts'
import { sendAccessProof } from './token-access.ts'
import { tokenListPieces } from './token-list.ts'

type Deps = Pick<
  HttpDeps,
  'access' | 'query' | 'tokens' | 'scopeBinder' | 'jwtIssuer' | 'dataSources' | 'pipes' | 'now'
>

const read = onWorkspace('token:read')
const change = onWorkspace('token:change')

/** `/v0/tokens`: who may do what. A caller without ADMIN sees and makes no token that is stronger than his own. */
export function addTokens(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const routes = new TokenRoutes(deps, limits)
  addPath(
    app,
    '/v0/tokens',
    {
      GET: (request, reply) => routes.list(request, reply),
      POST: (request, reply) => routes.create(request, reply),
    },
    { needs: { GET: read, POST: change }, mayTakeTokenFromBody: true },
  )
  addPath(
    app,
    '/v0/tokens/:token',
    {
      GET: (request, reply) => routes.show(request, reply),
      PUT: (request, reply) => routes.update(request, reply),
      DELETE: (request, reply) => routes.remove(request, reply),
    },
    { needs: { GET: read, PUT: change, DELETE: change }, mayTakeTokenFromBody: true },
  )
  addPath(
    app,
    '/v0/tokens/:token/refresh',
    { POST: (request, reply) => routes.refresh(request, reply) },
    { needs: { POST: change }, mayTakeTokenFromBody: true, olderTokenParameter: 'auth_token' },
  )
  addPath(
    app,
    '/v0/tokens/:token/access',
    { GET: (request, reply) => routes.prove(request, reply) },
    { needs: { GET: read } },
  )
}

class TokenRoutes {
  readonly #deps: Deps
  readonly #limits: FormLimits

  constructor(deps: Deps, limits: FormLimits) {
    this.#deps = deps
    this.#limits = limits
  }

  /** All of them, or with `page_size` one page, counted from 1 by `page`. */
  async list(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { tokens } = this.#deps
    const { permissions } = callerOf(request)
    const seen: StaticToken[] = []
    for (const token of tokens.list()) {
      if (this.#deps.access.mayManage(permissions, token)) seen.push(token)
      await giveWay()
    }
    const page = partOf(seen, readPage(new Parameters(request.query), pageLimits))
    const pieces = tokenListPieces(page, {
      valuesOf: (some) => tokens.valuesOf(some),
      // Whoever reads slowly is not told of what a token has become meanwhile.
      stillSeen: ({ id }) => {
        const token = tokens.findToken(id)
        return token !== undefined && this.#deps.access.mayManage(permissions, token) ? token : null
      },
      shape: (token) => this.#shape(token),
    })
    const body = Readable.from(pieces, { objectMode: false })
    return reply.code(200).header('content-type', jsonContentType).send(body)
  }

  async create(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { parameters, scopes, jwt } = await readTokenInput(request, this.#limits)
    judgeAgain(request)
    const { tokens, scopeBinder, jwtIssuer } = this.#deps
    const editor = callerOf(request)
    const name = parameters.text('name')
    if (jwt !== null) {
      return sendJson(reply, 200, { token: await jwtIssuer.issue({ ...jwt, name }, editor.permissions) })
    }
    const order = {
      name: parameters.requiredName(),
      description: parameters.get('description') ?? '',
      scopes: await scopeBinder.bind(scopes ?? [], editor.permissions),
      expiresAt: this.#readExpiry(parameters),
    }
    return sendJson(reply, 200, this.#shape(await tokens.create(order, editor)))
  }

  async show(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const token = this.#deps.tokens.findToken(tokenOf(request))
    const isSeen = token !== undefined && this.#deps.access.mayManage(callerOf(request).permissions, token)
    // One text for both: nobody learns which tokens there are.
    if (!isSeen) throw errors.TOKEN_HIDDEN()
    const [value = null] = await this.#deps.tokens.valuesOf([token])
    return sendJson(reply, 200, this.#shape({ token, value }))
  }

  async update(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { parameters, scopes, jwt } = await readTokenInput(request, this.#limits)
    judgeAgain(request)
    for (const [parameter, isSent] of [
      ['expiration_time', jwt !== null],
      ['expires_at', parameters.get('expires_at') !== undefined],
    ] as const) {
      const value = parameters.get(parameter) ?? ''
      const expected = 'absent: the end of a token is set when it is made'
      if (isSent) throw errors.PARAMETER_INVALID({ parameter, value, expected })
    }
    const editor = callerOf(request)
    const { id } = this.#found(request, editor)
    const revision = {
      // A name that is sent empty is a mistake, not the wish to keep it.
      name: parameters.get('name') === undefined ? undefined : parameters.requiredName(),
      description: parameters.get('description'),
      scopes: scopes === undefined ? undefined : await this.#deps.scopeBinder.bind(scopes, editor.permissions),
    }
    return sendJson(reply, 200, revisedShape(await this.#deps.tokens.update(id, revision, editor), this.#context()))
  }

  async refresh(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    await readChangeParameters(request, this.#limits)
    judgeAgain(request)
    const editor = callerOf(request)
    return sendJson(reply, 200, this.#shape(await this.#deps.tokens.refresh(this.#found(request, editor).id, editor)))
  }

  async remove(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    await readChangeParameters(request, this.#limits)
    judgeAgain(request)
    const editor = callerOf(request)
    await this.#deps.tokens.remove(this.#found(request, editor).id, editor)
    return sendJson(reply, 200, { ok: true })
  }

  async prove(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { access } = this.#deps
    const { permissions: asker } = callerOf(request)
    const { name, scopes, expiresAt } = this.#found(request, callerOf(request))
    const isExpired = expiresAt !== null && this.#deps.now() >= expiresAt
    // It does nothing any more, whatever its scopes are.
    const permissions = access.permissionsOf(isExpired ? [] : scopes)
    const token = { name, permissions, isExpired, asker }
    return await sendAccessProof(request, reply, { token, deps: this.#deps })
  }

  /** @throws TOKEN_HIDDEN (403), TOKEN_NOT_FOUND (404) */
  #found(request: FastifyRequest, { permissions }: TokenEditor): StaticToken {
    const token = this.#deps.tokens.findToken(tokenOf(request))
    if (token !== undefined && this.#deps.access.mayManage(permissions, token)) return token
    throw permissions.isAdmin ? errors.TOKEN_NOT_FOUND() : errors.TOKEN_HIDDEN()
  }

  #readExpiry(parameters: Parameters): number | null {
    // Empty is not absent: the token would never expire.
    const text = parameters.get('expires_at')
    if (text === undefined) return null
    const seconds = Number(text)
    const expected = 'a whole number of seconds since 1970, in the future'
    if (!/^\d{1,12}$/.test(text) || seconds * 1_000 <= this.#deps.now()) {
      throw errors.PARAMETER_INVALID({ parameter: 'expires_at', value: text, expected })
    }
    return seconds * 1_000
  }

  #shape({ token, value }: ValuedToken): object {
    return tokenShape(token, value, { ...this.#context(), lastUsedAt: this.#deps.tokens.lastUsedAt(token) })
  }

  #context() {
    const { dataSources, pipes } = this.#deps
    return { nameOf: (id: string) => (dataSources.find(id) ?? pipes.find(id))?.name }
  }
}

/** Name, id or value. */
function tokenOf(request: FastifyRequest): string {
  // The routes have this parameter, and Fastify gives texts.
  return (request.params as { readonly token: string }).token
}

const pageLimits = { pageSizeMax: 100_000, pageMax: 100_000 }
