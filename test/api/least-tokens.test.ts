// The clients that applications use, as they are published, each with the least token that it needs for each of its calls, and
// with every other token of one scope, which it must be refused in a way that it understands.

import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Tinybird as ZodBird } from '@chronark/zod-bird'
import { TinybirdGenerator } from '@tinybirdco/mockingbird'
import { createClient, TinybirdError } from '@tinybirdco/sdk'
import t from 'tap'
import { z } from 'zod'
import { type ScopeType, scopeTypes } from '../../src/access/scopes/scope-types.ts'
import { signedText } from '../support/access/jwt-text.ts'
import { trackEvent } from '../support/api/browser-script.ts'
import { openTestService } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const adminToken = 'p.least.0123456789abcdef0123456789abcdef'
const service = await openTestService(t, { adminToken })
const directory = await createTestDirectory()
t.teardown(() => directory.remove())
const file = join(directory.path, 'rows.csv')
await writeFile(file, 'action,n\nread,1\n')

async function admin(method: string, path: string, body?: string): Promise<unknown> {
  const answer = await service.call(method, path, { token: adminToken, ...(body === undefined ? {} : { body }) })
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  return answer.json
}

const schema = encodeURIComponent('action String `json:$.action`, n Int64 `json:$.n` DEFAULT 1')
for (const name of ['visits', 'others']) {
  await admin('POST', `/v0/datasources?name=${name}&schema=${schema}`)
  const nodes = [{ name: 'all', sql: `SELECT action, n FROM ${name}`, type: 'endpoint' }]
  await admin('POST', '/v0/pipes', JSON.stringify({ name: `top_${name}`, nodes }))
}

/** What a client makes of a refusal; undefined where it was let in. Whatever else goes wrong is thrown. */
type Refusal = string | undefined

interface ClientCall {
  readonly name: string
  /** Each of these types, for the resource that is asked for, suffices alone. ADMIN does for all. */
  readonly scopes: readonly ScopeType[]
  readonly call: (token: string) => Promise<Refusal>
}

const baseUrl = service.address

async function bySdk(run: () => Promise<unknown>): Promise<Refusal> {
  try {
    await run()
    return undefined
  } catch (error) {
    if (error instanceof TinybirdError && error.statusCode === 403 && error.isAuthError()) return error.message
    throw error
  }
}

async function byMessage(run: () => Promise<unknown>, refusal: RegExp): Promise<Refusal> {
  try {
    await run()
    return undefined
  } catch (error) {
    if (error instanceof Error && refusal.test(error.message)) return error.message
    throw error
  }
}

const event = { action: 'click', n: 2 }
const readers: readonly ScopeType[] = ['PIPES:READ', 'WORKSPACE:READ_ALL']
const appenders: readonly ScopeType[] = ['DATASOURCES:APPEND', 'DATASOURCES:CREATE']
const { chartQueryFetcher, buildEndpointUrl }: ChartParts = {
  ...createRequire(import.meta.url)('@tinybirdco/charts/dist/lib/fetcher.cjs'),
  ...createRequire(import.meta.url)('@tinybirdco/charts/dist/lib/utils.cjs'),
}

/** The package has no types for these. */
interface ChartParts {
  readonly chartQueryFetcher: (resource: string) => Promise<unknown>
  readonly buildEndpointUrl: (endpoint: string, token: string, parameters: object) => URL
}

/** Its answers go to its log, errors among them. */
async function byMockingbird(token: string): Promise<Refusal> {
  const generator = new TinybirdGenerator({
    endpoint: baseUrl,
    datasource: 'visits',
    token,
    eps: 1,
    limit: 1,
    schema: { action: { type: 'lorem.word' }, n: { type: 'number.int' } },
  })
  const lines: string[] = []
  Object.assign(generator, { log: (_level: string, message: string) => lines.push(message) })
  await generator.generate()
  const [answer = ''] = lines
  if (/^Tinybird Response: \{"successful_rows":1,"quarantined_rows":0\}$/.test(answer)) return undefined
  if (/^Tinybird Response: \{"error":/.test(answer)) return answer
  throw new Error(lines.join('\n'))
}

async function byFlock(token: string): Promise<Refusal> {
  const attributes = { 'data-host': `${baseUrl}/`, 'data-token': token, 'data-datasource': 'visits' }
  const { status, text } = await trackEvent(attributes, ['page_hit', { path: '/' }])
  if (status === 202) return undefined
  if (status === 403) return text
  throw new Error(`${status} ${text}`)
}

const sdk = (token: string) => createClient({ baseUrl, token })
const bird = (token: string) => new ZodBird({ token, baseUrl })
const calls: readonly ClientCall[] = [
  { name: 'the SDK reads an endpoint', scopes: readers, call: (token) => bySdk(() => sdk(token).query('top_visits')) },
  {
    name: 'the SDK queries a pipe',
    scopes: readers,
    call: (token) => bySdk(() => sdk(token).sql('SELECT count() AS n FROM top_visits')),
  },
  {
    name: 'the SDK queries a data source',
    scopes: ['DATASOURCES:READ', 'WORKSPACE:READ_ALL'],
    call: (token) => bySdk(() => sdk(token).sql('SELECT count() AS n FROM visits')),
  },
  { name: 'the SDK ingests', scopes: appenders, call: (token) => bySdk(() => sdk(token).ingest('visits', event)) },
  {
    name: 'the SDK ingests a batch',
    scopes: appenders,
    call: (token) => bySdk(() => sdk(token).ingestBatch('visits', [event, event])),
  },
  {
    name: 'the SDK appends a file',
    scopes: appenders,
    call: (token) => bySdk(() => sdk(token).datasources.append('visits', { file })),
  },
  {
    name: 'the SDK replaces',
    scopes: ['DATASOURCES:CREATE'],
    call: (token) => bySdk(() => sdk(token).datasources.replace('visits', { file })),
  },
  {
    name: 'the SDK truncates',
    scopes: ['DATASOURCES:CREATE'],
    call: (token) => bySdk(() => sdk(token).datasources.truncate('visits')),
  },
  {
    name: 'zod-bird ingests',
    scopes: appenders,
    call: (token) => {
      const shape = z.object({ action: z.string(), n: z.number() })
      const ingest = bird(token).buildIngestEndpoint({ datasource: 'visits', event: shape })
      return byMessage(() => ingest(event), /: Unauthorized$/)
    },
  },
  {
    name: 'zod-bird reads an endpoint',
    scopes: readers,
    call: (token) =>
      byMessage(() => bird(token).buildPipe({ pipe: 'top_visits', data: z.any() })(undefined), /^Unauthorized$/),
  },
  {
    name: 'a chart reads an endpoint',
    scopes: readers,
    call: (token) => {
      const url = buildEndpointUrl(`${baseUrl}/v0/pipes/top_visits.json`, token, {}).toString()
      return byMessage(() => chartQueryFetcher(url), /^Error: \{.*"error":/)
    },
  },
  { name: 'mockingbird sends', scopes: appenders, call: byMockingbird },
  { name: 'flock.js tracks', scopes: appenders, call: byFlock },
]

interface LeastToken {
  readonly type: ScopeType
  readonly label: string
  readonly isForTarget: boolean
  readonly value: string
}

const targets = { datasource: 'visits', pipe: 'top_visits' } as const
const strangers = { datasource: 'others', pipe: 'top_others' } as const

async function createToken(...scopes: readonly string[]): Promise<string> {
  const body = new URLSearchParams([['name', `least ${scopes.join()}`]])
  for (const scope of scopes) body.append('scope', scope)
  // The shape is what the tests of tokens check.
  return ((await admin('POST', '/v0/tokens', body.toString())) as { readonly token: string }).token
}

async function allTokens(): Promise<readonly LeastToken[]> {
  const made: LeastToken[] = []
  const { id } = (await admin('GET', '/v0/workspace')) as { readonly id: string }
  const exp = Math.floor(Date.now() / 1_000) + 3_600
  // Object.keys gives plain strings; the table has these keys and no others.
  for (const type of Object.keys(scopeTypes) as ScopeType[]) {
    const { kinds } = scopeTypes[type]
    if (kinds.length === 0) made.push({ type, label: type, isForTarget: true, value: await createToken(type) })
    for (const kind of kinds) {
      for (const [isForTarget, { [kind]: resource }] of [
        [true, targets],
        [false, strangers],
      ] as const) {
        const label = `${type}:${resource}`
        made.push({ type, label, isForTarget, value: await createToken(label) })
        if (!['PIPES:READ', 'DATASOURCES:READ', 'DATASOURCES:APPEND'].includes(type)) continue
        const claims = { workspace_id: id, name: 'least', exp, scopes: [{ type, resource }] }
        made.push({ type, label: `a JWT, ${label}`, isForTarget, value: signedText(claims, undefined, adminToken) })
      }
    }
  }
  return made
}

const tokens = await allTokens()
for (const { name, scopes, call } of calls) {
  t.test(`${name} with the least token, and with no other of one scope`, async (t) => {
    for (const { type, label, isForTarget, value } of tokens) {
      const isEnough = type === 'ADMIN' || (isForTarget && scopes.includes(type))
      const refusal = await call(value)
      t.equal(refusal === undefined, isEnough, `${label}: ${refusal ?? 'let in'}`)
      if (refusal !== undefined) t.notMatch(refusal, value)
    }
  })
}

t.test('a JWT is made by the SDK with a token that manages tokens and may do what it gives', async (t) => {
  const scopes = [{ type: 'PIPES:READ' as const, resource: 'top_visits' }]
  const create = async (token: string): Promise<Refusal> => {
    const asked = { name: 'visitor', expiresAt: new Date(Date.now() + 600_000), scopes }
    try {
      const made = await sdk(token).tokens.createJWT(asked)
      t.equal((await sdk(made.token).query('top_visits')).data.length >= 0, true)
      return undefined
    } catch (error) {
      if (error instanceof TinybirdError && error.statusCode === 403) return error.message
      throw error
    }
  }
  t.equal(await create(await createToken('TOKENS', 'PIPES:READ:top_visits')), undefined)
  for (const { type, label, value } of tokens) {
    const refusal = await create(value)
    t.equal(refusal === undefined, type === 'ADMIN', `${label}: ${refusal ?? 'let in'}`)
  }
})
t.comment(`${calls.length} calls of clients, ${tokens.length} tokens`)
