import t from 'tap'
import { createApp } from '../../../src/app.ts'
import { errors } from '../../../src/shared/errors/errors.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'

t.test('events that are refused while their data source changes are no error of the log', async (t) => {
  const deps = createFakeDeps()
  let refusal: Error = errors.DATASOURCE_CHANGING({ name: 'e', retryAfterSeconds: 1 })
  const appendEvents = () => Promise.reject(refusal)
  const app = createApp({ ...deps, ingest: { ...deps.ingest, appendEvents } }, limits)
  await deps.dataSources.create({ name: 'e', description: '', schema: 'id UInt32', engine: null, type: 'ndjson' })
  const send = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await ask(app, { method: 'POST', url: '/v0/events?name=e', headers, payload: '{"id":1}' })).statusCode
  }
  t.same([await send(), await send()], [503, 503])
  refusal = errors.BACKLOG_FULL({ retryAfterSeconds: 1 })
  t.equal(await send(), 503)
  await app.close()
  const message = 'A request was refused for the state of the service.'
  t.match(
    deps.entries.filter(({ level }) => level === 'warn' || level === 'error'),
    [
      { level: 'warn', fields: { code: 'DATASOURCE_CHANGING' }, message },
      { level: 'error', fields: { code: 'BACKLOG_FULL' }, message },
      { level: 'warn', fields: { code: 'DATASOURCE_CHANGING', requestCount: 1 } },
    ],
  )
})
