// The cells of the matrix of routes and tokens: what is sent, and whether it may be answered.

import { createHmac } from 'node:crypto'
import type { FastifyContextConfig, RouteOptions } from 'fastify'
import { type Operation, ruleOf } from '../../../src/access/operations.ts'
import { type ResourceKind, type ScopeType, scopeTypes } from '../../../src/access/scopes/scope-types.ts'
import type { TestService } from './test-service.ts'

/** What is asked about: one of each kind, another one, and one that is dropped before anybody asks. */
export const resources = {
  datasource: { named: 'one', other: 'two', dropped: 'gone' },
  pipe: { named: 'pipe_one', other: 'pipe_two', dropped: 'pipe_gone' },
} as const

export interface MatrixRequest {
  readonly method: string
  readonly url: string
  readonly body?: string
  /** Null for what needs any token. */
  readonly operation: Operation | null
}

/** What requests of one route look like, each with the operation that it comes to. */
export function requestsOf({ method, url, config }: RouteOptions): readonly MatrixRequest[] {
  const { needs } = (config ?? {}) as FastifyContextConfig
  if (needs === undefined || needs === 'nothing') return []
  // The service registers one method or several, and no others.
  const methods = [method].flat()
  return methods.flatMap((one): readonly MatrixRequest[] => {
    if (needs === 'token') return [{ method: one, url: addressOf(url, null), operation: null }]
    const [operation] = needs.operations
    const kind = ruleOf(operation).of
    const at = addressOf(url, kind)
    switch (needs.resource.in) {
      case 'path':
      case 'job':
      case 'workspace':
        return [{ method: one, url: at, operation }]
      case 'query':
        return [{ method: one, url: `${at}?${needs.resource.parameter}=${namedOf(kind)}`, operation }]
      case 'sql':
        return [{ method: one, url: `${at}?q=SELECT%201`, operation }]
      case 'body':
        return needs.operations.flatMap((each) => bodyRequest(one, at, each))
      default:
        return []
    }
  })
}

function bodyRequest(method: string, url: string, operation: Operation): readonly MatrixRequest[] {
  switch (operation) {
    case 'datasource:create':
    case 'datasource:append':
    case 'datasource:replace':
      return [{ method, url: `${url}?mode=${operation.split(':')[1]}&name=${resources.datasource.named}`, operation }]
    case 'datasource:analyze':
      return [{ method, url: `${url}?dry=true&name=${resources.datasource.named}`, operation }]
    case 'pipe:create':
      return [{ method, url, body: `name=${resources.pipe.named}&sql=SELECT+1`, operation }]
    default:
      // What more the handler asks is behind the first.
      return []
  }
}

function namedOf(kind: ResourceKind | null): string {
  return kind === null ? 'nothing' : resources[kind].named
}

function addressOf(pattern: string, kind: ResourceKind | null): string {
  return pattern.replaceAll(/:(\w+)(\((?:[^()]|\([^()]*\))*\))?/g, (_all, name: string, rule?: string) => {
    if (name === 'node') return 'last'
    if (name === 'format') return 'json'
    return rule?.includes('[.][^.]+') ? `${namedOf(kind)}.json` : namedOf(kind)
  })
}

const variants = [
  'none',
  'right',
  'unrestricted',
  'other resource',
  'dropped resource',
  'filtered',
  'expired',
  'refreshed',
  'deleted',
  'jwt',
  'jwt of another key',
] as const
export type Variant = (typeof variants)[number]

export interface MatrixToken {
  readonly type: ScopeType
  readonly variant: Variant
  /** What the scope names, where it names anything. */
  readonly kind: ResourceKind | null
  readonly value: string
}

const jwtTypes: readonly ScopeType[] = ['PIPES:READ', 'DATASOURCES:READ', 'DATASOURCES:APPEND']

/** Whether the token may do it: from the one table. */
export function isExpected({ operation }: MatrixRequest, { type, variant, kind }: MatrixToken): boolean {
  const isInForce = !['expired', 'refreshed', 'deleted', 'jwt of another key'].includes(variant)
  if (operation === null || !isInForce) return isInForce
  if (variant === 'none' || variant === 'dropped resource') return false
  const { scopes, of, reach, mayBeFiltered } = ruleOf(operation)
  if (type === 'ADMIN') return true
  if (!scopes.includes(type)) return false
  if (kind === null) return true
  if (variant === 'other resource') return reach === 'some'
  if (variant === 'filtered') return mayBeFiltered
  return reach === 'some' || of === kind
}

/** Makes the tokens of one type; what `dropped` names must exist, and be dropped afterwards. */
export class MatrixTokens {
  readonly #service: TestService
  readonly #adminToken: string
  readonly #workspaceId: string
  #count = 0

  constructor(
    service: TestService,
    { adminToken, workspaceId }: { readonly adminToken: string; readonly workspaceId: string },
  ) {
    this.#service = service
    this.#adminToken = adminToken
    this.#workspaceId = workspaceId
  }

  async make(type: ScopeType): Promise<readonly MatrixToken[]> {
    const { kinds } = scopeTypes[type]
    const made: MatrixToken[] = [{ type, variant: 'none', kind: null, value: await this.#create([]) }]
    for (const kind of kinds.length === 0 ? [null] : kinds) {
      for (const variant of variants) {
        const value = await this.#value(type, variant, kind)
        if (value !== null) made.push({ type, variant, kind: variant === 'unrestricted' ? null : kind, value })
      }
    }
    return made
  }

  async #value(type: ScopeType, variant: Variant, kind: ResourceKind | null): Promise<string | null> {
    const scope = kind === null ? type : `${type}:${resources[kind].named}`
    switch (variant) {
      case 'none':
        return null
      case 'right':
        return await this.#create([scope])
      case 'unrestricted':
        return kind === null ? null : await this.#create([type])
      case 'other resource':
      case 'dropped resource': {
        if (kind === null) return null
        const { other, dropped } = resources[kind]
        return await this.#create([`${type}:${variant === 'other resource' ? other : dropped}`])
      }
      case 'filtered':
        return scopeTypes[type].mayFilter ? await this.#create([`${scope}:a = 1`]) : null
      case 'expired':
        return await this.#create([scope], { expires_at: String(Math.floor(Date.now() / 1_000) + 2) })
      case 'refreshed':
      case 'deleted': {
        const value = await this.#create([scope])
        const path = `/v0/tokens/${encodeURIComponent(value)}`
        await (variant === 'deleted' ? this.#admin('DELETE', path) : this.#admin('POST', `${path}/refresh`))
        return value
      }
      case 'jwt':
      case 'jwt of another key': {
        if (kind === null || !jwtTypes.includes(type)) return null
        const key = variant === 'jwt' ? this.#adminToken : `${this.#adminToken.slice(0, -1)}x`
        return signedJwt({ workspaceId: this.#workspaceId, type, resource: resources[kind].named }, key)
      }
    }
  }

  async #create(scopes: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> {
    this.#count += 1
    const body = new URLSearchParams({ name: `matrix ${this.#count}`, ...more })
    for (const scope of scopes) body.append('scope', scope)
    const { token } = (await this.#admin('POST', '/v0/tokens', body.toString())) as { readonly token: string }
    return token
  }

  async #admin(method: string, path: string, body?: string): Promise<unknown> {
    const sent = body === undefined ? {} : { body }
    const { status, text, json } = await this.#service.call(method, path, { token: this.#adminToken, ...sent })
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`)
    return json
  }
}

function signedJwt(
  { workspaceId, type, resource }: { readonly workspaceId: string; readonly type: string; readonly resource: string },
  key: string,
): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1_000) + 3_600
  const payload = { workspace_id: workspaceId, name: 'matrix', exp, scopes: [{ type, resource }] }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}
