import type { FastifyContextConfig, RouteOptions } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

interface Route {
  readonly method: Method
  /** As it was registered, with its parameters. */
  readonly pattern: string
  /** An address that leads to it. */
  readonly url: string
  readonly config: FastifyContextConfig
}

async function open(t: Test) {
  const registered: RouteOptions[] = []
  const app = createApp(createFakeDeps(), limits, (route) => registered.push(route))
  t.teardown(() => app.close())
  const met: (string | undefined)[] = []
  app.addHook('onSend', async (request) => void met.push(request.routeOptions.url))
  await app.ready()
  const routes = registered.flatMap(({ method, url, config }) =>
    // The service registers no other methods.
    [method]
      .flat()
      .map((one): Route => ({ method: one as Method, pattern: url, url: addressOf(url), config: config ?? {} })),
  )
  return { app, routes, met }
}

/** With `x` for each parameter; `x.y` where its pattern asks for a dot. */
function addressOf(pattern: string): string {
  return pattern.replaceAll(/:\w+(\((?:[^()]|\([^()]*\))*\))?/g, (_all, rule?: string) =>
    rule?.includes('[.][^.]+') ? 'x.y' : 'x',
  )
}

const places = ['path', 'query', 'body', 'job', 'sql', 'workspace']

t.test('each registered route says what it needs, and where its resource is named', async (t) => {
  const { routes } = await open(t)
  t.ok(routes.length > 150, `${routes.length} routes`)
  for (const { method, pattern, config } of routes) {
    const { needs } = config
    const route = `${method} ${pattern}`
    if (pattern.startsWith('/health/')) t.equal(needs, 'nothing', route)
    else if (typeof needs !== 'object') t.equal(needs, 'token', route)
    else {
      t.ok(places.includes(needs.resource.in), route)
      if (needs.resource.in === 'path') t.ok(pattern.includes(`:${needs.resource.parameter}`), route)
    }
  }
})

t.test('no registered route answers without a token or with a wrong one', async (t) => {
  const { app, routes, met } = await open(t)
  const wrong = { authorization: 'Bearer p.wrong' }
  for (const { method, pattern, url, config } of routes) {
    const route = `${method} ${pattern}`
    const statuses: number[] = []
    met.length = 0
    for (const { headers, query, code, payload } of [
      { headers: {}, query: '', code: 'TOKEN_MISSING', payload: undefined },
      { headers: wrong, query: '', code: 'TOKEN_INVALID', payload: undefined },
      { headers: {}, query: '?token=p.wrong', code: 'TOKEN_INVALID', payload: undefined },
      { headers: wrong, query: `?token=${token}`, code: 'TOKEN_INVALID', payload: undefined },
      { headers: wrong, query: '', code: 'TOKEN_INVALID', payload: `token=${token}` },
    ]) {
      const sent = payload === undefined || method === 'GET' || method === 'HEAD' ? {} : { payload }
      const answer = await ask(app, { method, url: `${url}${query}`, headers, ...sent })
      statuses.push(answer.statusCode)
      if (config.needs === 'nothing') continue
      t.equal(answer.statusCode, 403, `${route} ${JSON.stringify({ headers, query, payload })}`)
      if (method === 'HEAD') continue
      const { error, documentation } = answer.json()
      t.match(documentation, new RegExp(`#${code}$`, 'i'), route)
      t.type(error, 'string', route)
    }
    if (config.needs === 'nothing')
      t.notOk(
        statuses.some((status) => status === 403 || status === 500),
        route,
      )
    t.strictSame(new Set(met), new Set([pattern]), `${route}: ${url} leads to it`)
  }
})

t.test('what a route does not take is refused behind the token, and told with what it takes', async (t) => {
  const { app, routes } = await open(t)
  const headers = { authorization: `Bearer ${token}` }
  const isShown = ({ method, pattern }: Route): boolean => method === 'GET' && /\/(?:workspace|jobs)$/.test(pattern)
  const refusals = routes.filter((route) => route.config.needs === 'token' && !isShown(route))
  t.ok(refusals.length > 100, `${refusals.length} refusals`)
  for (const { method, pattern, url } of refusals) {
    const answer = await ask(app, { method, url, headers })
    t.equal(answer.statusCode, 405, `${method} ${pattern}`)
    t.match(answer.headers.allow, /OPTIONS/, `${method} ${pattern}`)
  }
})

t.test('paths without a route, and preflights, need no token and say so', async (t) => {
  const app = createApp(createFakeDeps(), limits)
  t.teardown(() => app.close())
  const needs: unknown[] = []
  app.addHook('onSend', async (request) => void needs.push(request.routeOptions.config.needs))
  for (const headers of [{}, { authorization: 'Bearer p.wrong' }, { authorization: `Bearer ${token}` }]) {
    for (const [method, url, status] of [
      ['GET', '/v0/nothing', 404],
      ['POST', '/nothing', 404],
      ['GET', '/v0/connectors', 404],
      ['OPTIONS', '/v0/datasources', 204],
      ['OPTIONS', '/v0/nothing', 204],
      ['OPTIONS', '/health/live', 404],
    ] as const) {
      t.equal((await ask(app, { method, url, headers })).statusCode, status, `${method} ${url}`)
    }
  }
  t.strictSame(new Set(needs), new Set(['nothing']))
})
