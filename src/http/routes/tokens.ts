import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { StaticToken, TokenEditor, ValuedToken } from '../../access/tokens/token.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { revisedShape, tokenShape } from '../json/token-shape.ts'
import { readChangeParameters } from '../request/change-parameters.ts'
import { Parameters } from '../request/parameters.ts'
import { readTokenInput } from '../request/token-input.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf } from '../server/authorization.ts'
import { onWorkspace } from '../server/route-need.ts'
import { sendAccessProof } from './token-access.ts'

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
    const seen = tokens.list().filter((token) => this.#deps.access.mayManage(permissions, token))
    const page = pageOf(seen, new Parameters(request.query))
    const values = await tokens.valuesOf(page)
    return sendJson(reply, 200, {
      tokens: page.map((token, index) => this.#shape({ token, value: values[index] ?? null })),
    })
  }

  async create(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { parameters, scopes, jwt } = await readTokenInput(request, this.#limits)
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
    const editor = callerOf(request)
    return sendJson(reply, 200, this.#shape(await this.#deps.tokens.refresh(this.#found(request, editor).id, editor)))
  }

  async remove(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    await readChangeParameters(request, this.#limits)
    const editor = callerOf(request)
    await this.#deps.tokens.remove(this.#found(request, editor).id, editor)
    return sendJson(reply, 200, { ok: true })
  }

  async prove(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { access } = this.#deps
    const { permissions: asker } = callerOf(request)
    const { name, scopes } = this.#found(request, callerOf(request))
    const permissions = access.permissionsOf(scopes)
    return await sendAccessProof(request, reply, { token: { name, permissions, asker }, deps: this.#deps })
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

const pageSizeMax = 100_000

/** @throws PARAMETER_INVALID (400) */
function pageOf<One>(all: readonly One[], parameters: Parameters): readonly One[] {
  const size = readCount(parameters, 'page_size') ?? pageSizeMax
  const page = readCount(parameters, 'page') ?? 1
  return all.slice((page - 1) * size, page * size)
}

function readCount(parameters: Parameters, name: string): number | undefined {
  const text = parameters.text(name)
  if (text === undefined) return undefined
  const count = Number(text)
  if (/^\d{1,6}$/.test(text) && count >= 1 && count <= pageSizeMax) return count
  throw errors.PARAMETER_INVALID({ parameter: name, value: text, expected: `a whole number from 1 to ${pageSizeMax}` })
}
