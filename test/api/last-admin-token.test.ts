import t from 'tap'
import { type Caller, openTokenService, shownIn } from '../support/api/token-service.ts'

const workspaceAdmin = 'workspace admin token'
/** Those that a workspace starts with, which are ADMIN too. */
const otherAdmins = ['admin local_testing@tinybird.co', 'user token']

const pathOf = (key: string): string => `/v0/tokens/${encodeURIComponent(key)}`

async function adminNames(caller: Caller): Promise<readonly string[]> {
  const { json } = await caller('GET', '/v0/tokens')
  // Other tests look at the shape.
  const { tokens } = json as {
    readonly tokens: readonly { readonly name: string; readonly scopes: readonly object[] }[]
  }
  return tokens.flatMap(({ name, scopes }) =>
    scopes.some((scope) => 'type' in scope && scope.type === 'ADMIN') ? name : [],
  )
}

t.test('the last admin token is neither deleted nor weakened, however it is named and whoever asks', async (t) => {
  const { admin, as } = await openTokenService(t)
  t.same((await adminNames(admin)).toSorted(), [...otherAdmins, workspaceAdmin].toSorted())
  const shown = shownIn(await admin('GET', pathOf(workspaceAdmin)))
  const other = as(shownIn(await admin('GET', pathOf('user token'))).token)
  const expectRefused = async (by: Caller, statuses: readonly number[]): Promise<void> => {
    for (const key of [workspaceAdmin, shown.id, shown.token]) {
      for (const answer of [
        await by('DELETE', pathOf(key)),
        await by('PUT', `${pathOf(key)}?scope=TOKENS`),
        await by('PUT', `${pathOf(key)}?scope=`),
        await by('PUT', pathOf(key), JSON.stringify({ scopes: [] })),
      ]) {
        t.ok(statuses.includes(answer.status), answer.text)
      }
    }
    t.equal((await by('GET', pathOf(workspaceAdmin))).status, 200)
  }
  // By itself 403, by another 409; a scope that is empty is 400.
  await expectRefused(admin, [403, 400])
  await expectRefused(other, [409, 400])
  for (const name of otherAdmins) t.equal((await admin('DELETE', pathOf(name))).status, 200, name)
  t.same(await adminNames(admin), [workspaceAdmin])
  await expectRefused(admin, [403, 400])
  const late = as((await other('GET', '/v0/tokens')).status === 403 ? shown.token : '')
  t.equal(
    (await late('PUT', `${pathOf(workspaceAdmin)}?scope=ADMIN&name=root`)).status,
    200,
    'what leaves it ADMIN passes',
  )
  const keeper = as(shownIn(await admin('POST', '/v0/tokens', 'name=keeper&scope=TOKENS')).token)
  for (const [method, path] of [
    ['DELETE', pathOf('root')],
    ['PUT', `${pathOf(shown.id)}?scope=TOKENS`],
    ['POST', `${pathOf(shown.token)}/refresh`],
  ] as const) {
    t.equal((await keeper(method, path)).status, 403, 'without ADMIN nobody is told of it')
  }
})

t.test('of two admin tokens that delete or weaken each other at once one is left', async (t) => {
  const { admin, as } = await openTokenService(t)
  for (const name of otherAdmins) await admin('DELETE', pathOf(name))
  const rounds = ['DELETE', 'PUT'] as const
  for (const [first, second] of rounds.flatMap((one) => rounds.map((two) => [one, two] as const))) {
    const [a, b] = [`a ${first} ${second}`, `b ${first} ${second}`]
    const callers = new Map<string, Caller>()
    for (const name of [a, b]) {
      callers.set(
        name,
        as(shownIn(await admin('POST', '/v0/tokens', new URLSearchParams({ name, scope: 'ADMIN' }).toString())).token),
      )
    }
    const attack = (method: 'DELETE' | 'PUT', by: string, on: string) =>
      callers.get(by)?.(method, `${pathOf(on)}${method === 'PUT' ? '?scope=TOKENS' : ''}`)
    const answers = await Promise.all([attack(first, a, b), attack(second, b, a)])
    const statuses = answers.map((answer) => answer?.status)
    t.same(
      statuses.toSorted(),
      [200, 403],
      `${first} and ${second}: one acts, and the other is not what it was any more`,
    )
    const left = (await adminNames(admin)).filter((name) => name === a || name === b)
    t.equal(left.length, 1)
    for (const name of [a, b]) await admin('DELETE', pathOf(name))
  }
  const twice = await Promise.all([1, 2].map(() => admin('POST', '/v0/tokens', 'name=once')))
  t.same(twice.map(({ status }) => status).toSorted(), [200, 409])
  const both = await Promise.all([1, 2].map(() => admin('DELETE', pathOf('once'))))
  t.same(both.map(({ status }) => status).toSorted(), [200, 404], 'of two deletes at once one has nothing left')
})
