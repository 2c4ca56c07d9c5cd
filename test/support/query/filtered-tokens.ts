// Readers of the copies of `hidden-rows.ts`: static tokens and JWTs whose filters let the visible rows through, and no others.

import { signedText } from '../access/jwt-text.ts'
import type { TestService } from '../api/test-service.ts'
import type { Suffix } from './hidden-rows.ts'

export const readerKinds = ['static', 'static outputs', 'jwt', 'signed jwt', 'signed outputs'] as const
export type ReaderKind = (typeof readerKinds)[number]

interface ScopeShape {
  readonly type: 'DATASOURCES:READ' | 'PIPES:READ'
  readonly resource: string
  readonly filter?: string
  readonly fixed_params?: Readonly<Record<string, string>>
}

/** What a reader's scopes are. Where nothing is hidden its filters let all through, so that all else is the same. */
function scopesOf(kind: ReaderKind, suffix: Suffix): readonly ScopeShape[] {
  const ofRows = suffix === '_r' ? "tenant NOT IN ('y', 'z')" : "tenant IN ('a', 'b')"
  const ofWho = suffix === '_r' ? "who NOT IN ('y', 'z')" : "who IN ('a', 'b')"
  const source = (base: string, more: object = {}): ScopeShape => ({
    type: 'DATASOURCES:READ',
    resource: `${base}${suffix}`,
    ...more,
  })
  const pipe = (base: string, more: object = {}): ScopeShape => ({
    type: 'PIPES:READ',
    resource: `${base}${suffix}`,
    ...more,
  })
  // Static tokens have no fixed parameters, so they may ask these pipes for other tenants, and are given none of them.
  const narrowing = kind.startsWith('static') ? { filter: ofRows } : { fixed_params: { tenant: 'a' } }
  const fixed = [pipe('fixed', narrowing), pipe('under', narrowing)]
  const rows = pipe('rows', { filter: ofWho })
  if (kind.endsWith('outputs')) {
    return [rows, pipe('over', { filter: ofRows }), pipe('inner', { filter: ofRows }), ...fixed]
  }
  const sources = ['ev', 'rep', 'joined'].map((base) => source(base, { filter: ofRows }))
  return [...sources, source('open'), rows, pipe('over'), pipe('inner'), ...fixed]
}

/** Makes the token of a reader; `adminToken` must be long enough to sign JWTs. */
export async function tokenOf(
  { service, adminToken }: { readonly service: TestService; readonly adminToken: string },
  kind: ReaderKind,
  suffix: Suffix,
): Promise<string> {
  const scopes = scopesOf(kind, suffix)
  const name = `${kind} ${suffix}`
  const expiresAtSeconds = Math.floor(Date.now() / 1_000) + 36_000
  const admin = async (method: string, path: string, body?: string): Promise<unknown> => {
    const answer = await service.call(method, path, { token: adminToken, ...(body === undefined ? {} : { body }) })
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
    return answer.json
  }
  if (kind.startsWith('signed')) {
    const { id } = (await admin('GET', '/v0/workspace')) as { readonly id: string }
    return signedText({ workspace_id: id, name, exp: expiresAtSeconds, scopes }, undefined, adminToken)
  }
  const made =
    kind === 'jwt'
      ? await admin('POST', `/v0/tokens?expiration_time=${expiresAtSeconds}`, JSON.stringify({ name, scopes }))
      : await admin('POST', '/v0/tokens', new URLSearchParams([['name', name], ...scopes.map(textOf)]).toString())
  // The shape is what the tests of tokens check.
  return (made as { readonly token: string }).token
}

function textOf({ type, resource, filter }: ScopeShape): [string, string] {
  return ['scope', `${type}:${resource}${filter === undefined ? '' : `:${filter}`}`]
}
