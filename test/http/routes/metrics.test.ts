import t from 'tap'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'

t.test('the metrics are for a token, or for addresses that were named', async (t) => {
  const deps = { ...createFakeDeps(), metrics: { contentType: 'text/plain', text: async () => 'up 1\n' } }
  for (const [metricsAddresses, headers, status] of [
    ['', {}, 403],
    ['', { authorization: `Bearer ${token}` }, 200],
    ['10.0.0.0/8', {}, 403],
    ['10.0.0.0/8,127.0.0.1', {}, 200],
    ['127.0.0.1', { authorization: 'Bearer p.wrong' }, 200],
    ['127.0.0.1', { 'x-forwarded-for': '10.1.2.3' }, 403],
    ['10.0.0.0/8', { 'x-forwarded-for': '10.1.2.3' }, 200],
  ] as const) {
    const app = createApp(deps, { ...limits, metricsAddresses })
    t.teardown(() => app.close())
    const answer = await ask(app, { url: '/metrics', headers })
    t.equal(answer.statusCode, status, `${metricsAddresses} ${JSON.stringify(headers)}`)
    if (status === 200) t.equal(answer.body, 'up 1\n')
  }
})

t.test('there is no such path where nothing is counted', async (t) => {
  const app = createApp({ ...createFakeDeps(), metrics: null }, limits)
  t.teardown(() => app.close())
  const answer = await ask(app, { url: '/metrics', headers: { authorization: `Bearer ${token}` } })
  t.equal(answer.statusCode, 404)
})
