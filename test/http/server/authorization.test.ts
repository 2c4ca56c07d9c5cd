import Fastify from 'fastify'
import t from 'tap'
import { createAccess } from '../../../src/access/access.ts'
import { addPath } from '../../../src/http/server/add-path.ts'
import { addAuthorization } from '../../../src/http/server/authorization.ts'
import { createConnections } from '../../../src/http/server/connections.ts'
import { addErrorAnswers } from '../../../src/http/server/error-answers.ts'
import { ask, createFakeRooms, token } from '../fake-rooms.ts'

function openBare() {
  const rooms = createFakeRooms()
  const app = Fastify({ exposeHeadRoutes: false })
  createConnections({ connectionIdleMsMax: 0, now: rooms.now }).addTo(app)
  addErrorAnswers(app)
  addAuthorization(app, createAccess({ adminToken: token }))
  return app
}

t.test('a route that does not say what it needs is refused when it is registered', async (t) => {
  const app = openBare()
  t.teardown(() => app.close())
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
  const app = openBare()
  t.teardown(() => app.close())
  const calls: string[] = []
  addPath(app, '/open', { GET: async () => 'open' }, { needs: 'nothing' })
  app.register((inner, _options, done) => {
    addPath(inner, '/closed', { GET: async () => 'closed' }, { needs: 'admin' })
    inner.route({
      method: 'GET',
      url: '/hooked',
      config: { needs: 'admin' },
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
