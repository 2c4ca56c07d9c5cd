import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { Access, type Caller } from '../../../src/access/access.ts'
import type { Operation } from '../../../src/access/operations.ts'
import { addPath } from '../../../src/http/server/add-path.ts'
import { AnswerHeaders } from '../../../src/http/server/answer-headers.ts'
import { addAuthorization, callerOf, readScopeOf, requireAccess } from '../../../src/http/server/authorization.ts'
import { createConnections } from '../../../src/http/server/connections.ts'
import { addErrorAnswers } from '../../../src/http/server/error-answers.ts'
import { RawAnswers } from '../../../src/http/server/raw-answer.ts'
import { inBody, inSql, onPath, onQuery, onWorkspace } from '../../../src/http/server/route-need.ts'
import { type ApiError, errors } from '../../../src/shared/errors/errors.ts'
import { adminDeps } from '../../support/access/admin-access.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'

const admin = new Access(adminDeps(token))

function openBare(t: Test, access: Access = admin): FastifyInstance {
  const deps = createFakeDeps()
  const app = Fastify({ exposeHeadRoutes: false })
  t.teardown(() => app.close())
  const answers = new RawAnswers(new AnswerHeaders(limits), deps.now)
  createConnections({ ...limits, answers }).addTo(app)
  addErrorAnswers(app)
  addAuthorization(app, access)
  return app
}

/** Lets through what is in the list, as `operation resource`, and notes what it was asked. */
class ListedAccess extends Access {
  readonly asked: string[] = []
  readonly #allowed: readonly string[]

  constructor(allowed: readonly string[]) {
    super(adminDeps(token))
    this.#allowed = allowed
  }

  override refusalOf(_caller: Caller, operation: Operation, resource: string | null): ApiError | null {
    this.asked.push(`${operation} ${resource}`)
    return this.#allowed.includes(`${operation} ${resource}`) ? null : errors.TOKEN_INVALID()
  }
}

const headers = { authorization: `Bearer ${token}` }

t.test('a route that does not say what it needs is refused when it is registered', async (t) => {
  const app = openBare(t)
  const handler = async () => 'x'
  t.throws(() => app.get('/a', handler), /the route GET \/a does not say what it needs/)
  t.throws(() => app.route({ method: 'POST', url: '/b', handler, config: {} }), /the route POST \/b/)
  t.throws(() => app.route({ method: 'POST', url: '/c', handler, config: { mayTakeTokenFromBody: true } }), /\/c/)
  app.register((inner, _options, done) => {
    t.throws(() => inner.get('/d', handler), /the route GET \/d/)
    done()
  })
  await app.ready()
})

t.test('a route is judged by what it needs, before its handler and before its own hooks', async (t) => {
  const app = openBare(t)
  const calls: string[] = []
  addPath(app, '/open', { GET: async () => 'open' }, { needs: { GET: 'nothing' } })
  app.register((inner, _options, done) => {
    addPath(inner, '/closed', { GET: async () => 'closed' }, { needs: { GET: onWorkspace('project:read') } })
    inner.route({
      method: 'GET',
      url: '/hooked',
      config: { needs: 'token' },
      preValidation: async () => void calls.push('hook'),
      handler: async () => void calls.push('handler'),
    })
    done()
  })
  t.equal((await ask(app, '/open')).statusCode, 200)
  t.equal((await ask(app, '/closed')).statusCode, 403)
  t.equal((await ask(app, `/closed?token=${token}`)).statusCode, 200)
  t.equal((await ask(app, '/hooked')).statusCode, 403)
  t.strictSame(calls, [])
  t.equal((await ask(app, { method: 'PUT', url: '/open' })).statusCode, 405, 'other methods need no more')
  t.equal((await ask(app, { method: 'PUT', url: '/closed' })).statusCode, 403)
  t.equal((await ask(app, { method: 'PUT', url: `/closed?token=${token}` })).statusCode, 405)
})

t.test('what the path or the query names is judged before the handler, as the handler reads it', async (t) => {
  const access = new ListedAccess(['datasource:describe mine', 'datasource:append mine', 'project:read null'])
  const app = openBare(t, access)
  const calls: string[] = []
  const answer = async () => void calls.push('handler')
  const path = onPath('datasource:describe', 'name', { suffix: '.datasource' })
  addPath(app, '/of/:name', { GET: answer }, { needs: { GET: path } })
  addPath(app, '/append', { POST: answer }, { needs: { POST: onQuery('datasource:append', 'name') } })
  addPath(app, '/all', { GET: answer }, { needs: { GET: onWorkspace('project:read') } })
  const cases = [
    { url: '/of/mine', asked: 'datasource:describe mine', status: 200 },
    { url: '/of/mine.datasource', asked: 'datasource:describe mine', status: 200 },
    { url: '/of/m%69ne', asked: 'datasource:describe mine', status: 200 },
    { url: '/of/other', asked: 'datasource:describe other', status: 403 },
    { url: '/of/.datasource', asked: 'datasource:describe ', status: 403 },
    { url: '/append?name=mine', method: 'POST' as const, asked: 'datasource:append mine', status: 200 },
    { url: '/append?name=%20mine%20', method: 'POST' as const, asked: 'datasource:append mine', status: 200 },
    { url: '/append?name=mine&name=other', method: 'POST' as const, asked: 'datasource:append other', status: 403 },
    { url: '/append?name=%20', method: 'POST' as const, asked: 'datasource:append null', status: 403 },
    { url: '/append', method: 'POST' as const, asked: 'datasource:append null', status: 403 },
    { url: '/all', asked: 'project:read null', status: 200 },
  ]
  for (const { asked, status, ...request } of cases) {
    access.asked.length = 0
    calls.length = 0
    t.equal((await ask(app, { ...request, headers })).statusCode, status, request.url)
    t.strictSame(access.asked, [asked], request.url)
    t.strictSame(calls, status === 200 ? ['handler'] : [], request.url)
  }
})

t.test('a token in the body is judged for what the path names, too', async (t) => {
  const access = new ListedAccess(['pipe:change mine'])
  const app = openBare(t, access)
  const calls: string[] = []
  const change = async () => void calls.push('handler')
  const config = { needs: { POST: onPath('pipe:change', 'pipe') }, mayTakeTokenFromBody: true }
  addPath(app, '/of/:pipe', { POST: change }, config)
  const send = (url: string, payload: string) => ask(app, { method: 'POST', url, payload })
  t.equal((await send('/of/other', `token=${token}`)).statusCode, 403)
  t.equal((await send('/of/mine', 'token=wrong')).statusCode, 403)
  t.strictSame(calls, [])
  t.equal((await send('/of/mine', `token=${token}`)).statusCode, 200)
})

t.test('an answer that nobody has judged is never sent', async (t) => {
  const app = openBare(t)
  const addHandler = (url: string, need: ReturnType<typeof inBody>, judge: (request: never) => void): void => {
    // `never` fits every request: the cases below say what they do with theirs.
    const handler = async (request: unknown) => {
      judge(request as never)
      return 'the secret answer'
    }
    addPath(app, url, { POST: handler }, { needs: { POST: need } })
  }
  const body = inBody('pipe:create', 'pipe:change')
  addHandler('/body/forgotten', body, () => undefined)
  addHandler('/body/scope', body, (request) => void readScopeOf(request))
  addHandler('/body/judged', body, (request) => requireAccess(request, 'pipe:change', 'mine'))
  addHandler('/body/undeclared', body, (request) => requireAccess(request, 'pipe:drop', 'mine'))
  addHandler('/sql/forgotten', inSql('sql:read'), () => undefined)
  addHandler('/sql/judged', inSql('sql:read'), (request) => void readScopeOf(request))
  addHandler('/body/refused', body, () => {
    throw errors.NAME_MISSING()
  })
  const expected = {
    '/body/forgotten': 500,
    '/body/scope': 500,
    '/body/judged': 200,
    '/body/undeclared': 500,
    '/sql/forgotten': 500,
    '/sql/judged': 200,
    '/body/refused': 400,
  }
  for (const [url, status] of Object.entries(expected)) {
    const answer = await ask(app, { method: 'POST', url, headers })
    t.equal(answer.statusCode, status, url)
    t.equal(answer.body.includes('the secret answer'), status === 200, url)
  }
})

t.test('a resource that the handler judges is refused there', async (t) => {
  const app = openBare(t, new ListedAccess(['pipe:create mine']))
  const effects: string[] = []
  const create = async (request: Parameters<typeof requireAccess>[0]) => {
    const { name } = request.query as { readonly name: string }
    requireAccess(request, 'pipe:create', name)
    effects.push(name)
    return 'made'
  }
  addPath(app, '/make', { POST: create }, { needs: { POST: inBody('pipe:create') } })
  t.equal((await ask(app, { method: 'POST', url: '/make?name=other', headers })).statusCode, 403)
  t.equal((await ask(app, { method: 'POST', url: '/make?name=mine', headers })).statusCode, 200)
  t.strictSame(effects, ['mine'])
})

t.test('nobody asks where no token is needed', async (t) => {
  const app = openBare(t)
  addPath(app, '/open', { GET: async (request) => callerOf(request).tokenName }, { needs: { GET: 'nothing' } })
  addPath(app, '/closed', { GET: async (request) => callerOf(request).tokenName }, { needs: { GET: 'token' } })
  t.equal((await ask(app, { url: '/open', headers })).statusCode, 500)
  t.equal((await ask(app, { url: '/closed', headers })).body, 'admin')
})
