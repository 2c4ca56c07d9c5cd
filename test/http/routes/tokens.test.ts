import t from 'tap'
import type { StaticToken } from '../../../src/access/tokens/token.types.ts'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'

const tokens = Array.from({ length: 2_001 }, (_, index): StaticToken => {
  const fields = {
    name: `token ${index}`,
    description: '',
    scopes: [],
    origin: 'created',
    isWorkspaceAdmin: false,
  } as const
  return { id: `id ${index}`, ...fields, createdAt: 0, updatedAt: 0, expiresAt: null }
})

interface ListedToken {
  readonly name: string
  readonly token: string
}

t.test('a list of any length is one JSON, and others have their turn while it is made', async (t) => {
  const fake = createFakeDeps()
  for (const [path, expected] of [
    ['', tokens],
    ['?page_size=1000', tokens.slice(0, 1_000)],
    ['?page_size=1001&page=2', tokens.slice(1_001)],
    ['?page_size=5&page=900', []],
  ] as const) {
    let turns = 0
    const deps = {
      ...fake,
      tokens: {
        ...fake.tokens,
        list: () => tokens,
        findToken: (id: string) => tokens[Number(id.slice('id '.length))],
        valuesOf: async (page: readonly StaticToken[]) => page.map(({ id }) => `value of ${id}`),
        lastUsedAt: () => {
          // Each takes a part of a millisecond.
          for (const end = performance.now() + 0.05; performance.now() < end; );
          return null
        },
      },
    }
    const app = createApp(deps, limits)
    t.teardown(() => app.close())
    const timer = setInterval(() => {
      turns += 1
    }, 1)
    const answer = await ask(app, {
      method: 'GET',
      url: `/v0/tokens${path}`,
      headers: { authorization: `Bearer ${token}` },
    })
    clearInterval(timer)
    const { tokens: listed } = answer.json() as { readonly tokens: readonly ListedToken[] }
    t.same(
      listed.map(({ name, token: value }) => [name, value]),
      expected.map(({ name, id }) => [name, `value of ${id}`]),
    )
    if (expected.length > 1_000) t.ok(turns >= 3, `${turns} turns of others`)
  }
})

t.test('the proof of access of a token that has expired allows nothing, and says so', async (t) => {
  const fake = createFakeDeps()
  const [one] = tokens
  if (one === undefined) throw new Error('there is a token')
  const scopes = [{ type: 'PIPES:READ', spelling: 'PIPES:READ', resource: null, filter: null }] as const
  for (const [now, isExpired] of [
    [1_999, false],
    [2_000, true],
  ] as const) {
    const deps = {
      ...fake,
      now: () => now,
      tokens: { ...fake.tokens, findToken: () => ({ ...one, scopes, expiresAt: 2_000 }) },
    }
    const app = createApp(deps, limits)
    t.teardown(() => app.close())
    const url = '/v0/tokens/one/access?resource=anything'
    const answer = await ask(app, { method: 'GET', url, headers: { authorization: `Bearer ${token}` } })
    const { expired, operations } = answer.json() as {
      readonly expired?: true
      readonly operations: readonly { readonly allowed: boolean }[]
    }
    t.same([expired, operations.some(({ allowed }) => allowed)], [isExpired ? true : undefined, !isExpired])
  }
})
