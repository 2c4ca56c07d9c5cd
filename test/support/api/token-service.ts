import type { Test } from 'tap'
import type { Options } from '../../../src/config.ts'
import { type Answer, openTestService, type TestService } from './test-service.ts'

const adminToken = 'p.tokens.0123456789abcdef0123456789abcdef'

/** A token as the API shows it. */
export interface ShownToken {
  readonly id: string
  readonly name: string
  readonly token: string
  readonly scopes: readonly object[]
}

/** Calls of one token. */
export type Caller = (method: string, path: string, body?: string) => Promise<Answer>

/** A service with the data source `ev`, whose rows of tenant b are for whoever reads all, and pipes that read it. */
export interface TokenService {
  readonly service: TestService
  readonly admin: Caller
  readonly as: (token: string) => Caller
  /** Makes a token with these scopes; its maker is the admin if none is told. */
  readonly make: (name: string, scopes: readonly string[], maker?: Caller) => Promise<Answer>
  /** Its value. */
  readonly valueWith: (name: string, ...scopes: readonly string[]) => Promise<string>
}

export const filterOfA = "DATASOURCES:READ:ev:tenant = 'a'"

export async function openTokenService(t: Test, given: Partial<Options> = {}): Promise<TokenService> {
  const service = await openTestService(t, { adminToken, ...given })
  const as =
    (token: string): Caller =>
    (method, path, body) =>
      service.call(method, path, { token, ...(body === undefined ? {} : { body }) })
  const admin = as(adminToken)
  const make: TokenService['make'] = (name, scopes, maker = admin) => {
    const body = new URLSearchParams({ name })
    for (const scope of scopes) body.append('scope', scope)
    return maker('POST', '/v0/tokens', body.toString())
  }
  const schema = encodeURIComponent(
    'id UInt32 `json:$.id`, tenant String `json:$.tenant`, secret String `json:$.secret`',
  )
  await admin('POST', `/v0/datasources?name=ev&schema=${schema}`)
  const rows = '{"id":1,"tenant":"a","secret":"1"}\n{"id":2,"tenant":"b","secret":"HIDDENCANARY"}'
  await admin('POST', '/v0/events?name=ev&wait=true', rows)
  for (const [name, sql] of [
    ['p1', 'SELECT id, tenant, secret FROM ev'],
    ['p2', 'SELECT * FROM p1'],
    ['pagg', 'SELECT tenant, count() AS n FROM ev GROUP BY tenant'],
  ] as const) {
    await admin('POST', '/v0/pipes', JSON.stringify({ name, nodes: [{ name: `${name}_0`, sql, type: 'endpoint' }] }))
  }
  const valueWith: TokenService['valueWith'] = async (name, ...scopes) => shownIn(await make(name, scopes)).token
  return { service, admin, as, make, valueWith }
}

/** The token in an answer; other tests look at its shape. */
export function shownIn({ status, text, json }: Answer): ShownToken {
  if (status !== 200) throw new Error(`answered ${status}: ${text}`)
  // As above.
  return json as ShownToken
}
