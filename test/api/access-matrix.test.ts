import type { RouteOptions } from 'fastify'
import t, { type Test } from 'tap'
import { type ScopeType, scopeTypes } from '../../src/access/scopes/scope-types.ts'
import { createApp } from '../../src/app.ts'
import {
  isExpected,
  type MatrixRequest,
  type MatrixToken,
  MatrixTokens,
  requestsOf,
  resources,
} from '../support/api/access-matrix.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { createFakeDeps, limits } from '../support/http/fake-deps.ts'
import { byTier } from '../support/tier.ts'

const adminToken = 'p.matrix.0123456789abcdef0123456789abcdef'

async function registeredRequests(t: Test): Promise<readonly MatrixRequest[]> {
  const routes: RouteOptions[] = []
  const app = createApp(createFakeDeps(), limits, (route) => routes.push(route))
  t.teardown(() => app.close())
  await app.ready()
  return routes.flatMap(requestsOf)
}

async function fill(service: TestService): Promise<void> {
  const call = async (method: string, path: string, body?: string): Promise<void> => {
    const answer = await service.call(method, path, { token: adminToken, ...(body === undefined ? {} : { body }) })
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  }
  const { datasource, pipe } = resources
  const schema = encodeURIComponent('a Int32 `json:$.a`')
  for (const name of Object.values(datasource)) await call('POST', `/v0/datasources?name=${name}&schema=${schema}`)
  for (const name of Object.values(pipe)) {
    const from = name === pipe.other ? pipe.named : datasource.named
    const nodes = [
      { name: 'first', sql: `SELECT a FROM ${from}` },
      // What stands on the published node keeps it: no request of the matrix takes anything away.
      { name: 'last', sql: 'SELECT a FROM first', type: 'endpoint' },
    ]
    await call('POST', '/v0/pipes', JSON.stringify({ name, nodes }))
  }
}

t.test('each route lets in those tokens that the table of operations lets in', { timeout: 1_200_000 }, async (t) => {
  const service = await openTestService(t, { adminToken, eventsCreatesPerMinuteMax: 0 })
  await fill(service)
  const { json } = await service.call('GET', '/v0/workspace', { token: adminToken })
  const maker = new MatrixTokens(service, { adminToken, workspaceId: (json as { readonly id: string }).id })
  const tokens: MatrixToken[] = []
  // Object.keys gives plain strings; the table has these keys and no others.
  for (const type of Object.keys(scopeTypes) as ScopeType[]) tokens.push(...(await maker.make(type)))
  for (const path of [`datasources/${resources.datasource.dropped}`, `pipes/${resources.pipe.dropped}`]) {
    await service.call('DELETE', `/v0/${path}?force=true`, { token: adminToken })
  }
  const expired = tokens.findLast(({ variant }) => variant === 'expired')
  while (
    expired !== undefined &&
    (await isLetIn(service, { method: 'GET', url: '/v0/workspace', operation: null }, expired))
  );
  const requests = await registeredRequests(t)
  const cells = requests.flatMap((request) => tokens.map((token) => ({ request, token })))
  const step = byTier({ quick: 14, full: 5, soak: 1 })
  let wrongCount = 0
  let cellCount = 0
  for (const [index, { request, token }] of cells.entries()) {
    if (index % step !== 0) continue
    cellCount += 1
    const isRight = (await isLetIn(service, request, token)) === isExpected(request, token)
    if (isRight) continue
    wrongCount += 1
    const { method, url, operation } = request
    t.fail(`${method} ${url} (${operation}) with ${token.type} ${token.kind}, ${token.variant}`)
  }
  t.comment(
    `${cellCount} of ${cells.length} cells, ${requests.length} requests, ${tokens.length} tokens, ${wrongCount} wrong`,
  )
  t.equal(wrongCount, 0)
  t.ok(cellCount > 1_000, `${cellCount} cells`)
})

const refusals = /#(?:scope_missing|filter_forbids|job_hidden|token_invalid|token_expired|token_missing)$/

async function isLetIn(
  service: TestService,
  { method, url, body }: MatrixRequest,
  { value }: MatrixToken,
): Promise<boolean> {
  const answer = await service.call(method, url, { token: value, ...(body === undefined ? {} : { body }) })
  if (answer.status !== 403) return true
  // An answer to HEAD has no body: no route that takes HEAD needs a scope.
  const told = answer.json as { readonly documentation?: string; readonly error?: string } | null
  if (told?.documentation === undefined) return false
  // An analysis that names no target is about one of this name, for which more rights are asked behind the first.
  if (url.endsWith('/analysis') && /"\w+_mv"/.test(told.error ?? '')) return true
  return !refusals.test(told.documentation)
}
