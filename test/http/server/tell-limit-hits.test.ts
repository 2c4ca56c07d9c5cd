import t from 'tap'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'

t.test(
  'a refusal by a limit is told once, with the limit, the token and what it is about; others are not',
  async (t) => {
    const deps = createFakeDeps()
    const app = createApp(deps, limits)
    t.teardown(() => app.close())
    const headers = { authorization: `Bearer ${token}` }
    const post = (url: string, payload: string) => ask(app, { method: 'POST', url, headers, payload })

    t.equal((await post('/v0/events?name=visits', 'x'.repeat(1_001))).statusCode, 413)
    t.match(deps.hits.splice(0), [
      { limit: 'events_request_size', code: 'PAYLOAD_TOO_LARGE', status: 413, resource: 'visits', atMs: deps.now() },
    ])
    t.equal((await post('/v0/pipes', 'x'.repeat(2_001))).statusCode, 413)
    t.match(deps.hits.splice(0), [{ limit: 'form_size', status: 413, resource: null }])

    t.equal((await post('/v0/events', '{}')).statusCode, 400)
    t.equal((await ask(app, { method: 'POST', url: '/v0/events?name=e' })).statusCode, 403)
    t.equal((await post('/v0/nothing', '{}')).statusCode, 404)
    t.same(deps.hits, [])
  },
)
