import t from 'tap'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { type Exposition, parseExposition } from '../support/metrics/exposition.ts'

async function metricsOf(service: TestService): Promise<Exposition> {
  const { status, headers, text } = await service.call('GET', '/metrics')
  if (status !== 200) throw new Error(text)
  if (headers.get('content-type') !== 'text/plain; version=0.0.4; charset=utf-8') throw new Error('another type')
  return parseExposition(text)
}

t.test('what comes in, what is asked, and what is refused is counted', async (t) => {
  const service = await openTestService(t, { metricsLabelsMax: 2 })
  const schema = 'a Int32 `json:$.a`'
  for (const name of ['one', 'two', 'three']) await service.create(name, schema)
  await service.events('one', '{"a":1}\n{"a":2}\n{"a":"no"}\n', { wait: 'true' })
  await service.append('one', 'ndjson', '{"a":3}\n{"a":"no"}\nno line\n')
  for (const name of ['two', 'three']) await service.events(name, '{"a":1}', { wait: 'true' })
  const body = JSON.stringify({ name: 'top', nodes: [{ name: 'n', sql: 'SELECT 1 AS x', type: 'endpoint' }] })
  await service.call('POST', '/v0/pipes', { body })
  for (const path of ['top.json', 'top.csv', 'nothing.json']) await service.call('GET', `/v0/pipes/${path}`)
  await service.call('GET', '/v0/pipes/top.json', { token: null })
  await service.call('GET', '/nowhere')
  const { values, types } = await metricsOf(service)
  const counted = {
    'millrace_http_requests_total{method="POST",route="/v0/events",code="200"}': 3,
    'millrace_http_requests_total{method="GET",route="/v0/pipes/:pipe.json",code="200"}': 1,
    'millrace_http_requests_total{method="GET",route="/v0/pipes/:pipe.json",code="403"}': 1,
    'millrace_http_requests_total{method="GET",route="/v0/pipes/:pipe.json",code="404"}': 1,
    'millrace_http_requests_total{method="other",route="(none)",code="404"}': 1,
    'millrace_http_errors_total{error="TOKEN_MISSING"}': 1,
    'millrace_http_errors_total{error="PIPE_UNKNOWN"}': 1,
    'millrace_endpoint_request_duration_seconds_count{pipe="top"}': 2,
    'millrace_endpoint_errors_total{pipe="top",code="403"}': 1,
    'millrace_datasource_rows_total{datasource="one",way="events"}': 2,
    'millrace_datasource_quarantined_rows_total{datasource="one",way="events"}': 1,
    'millrace_datasource_rows_total{datasource="one",way="import"}': 1,
    'millrace_datasource_quarantined_rows_total{datasource="one",way="import"}': 2,
    'millrace_datasource_received_bytes_total{datasource="one",way="import"}': 27,
    'millrace_datasource_rows_total{datasource="two",way="events"}': 1,
    'millrace_datasource_rows_total{datasource="(other)",way="events"}': 1,
    'millrace_datasource_queryable_lag_seconds_count{datasource="one"}': 1,
    millrace_datasources: 3,
    millrace_pipes: 1,
    millrace_ready: 1,
    millrace_log_up: 1,
    millrace_engine_up: 1,
    millrace_engine_restarts_total: 0,
    'millrace_engine_sessions{purpose="query"}': 8,
    'millrace_engine_sessions_lost{purpose="query"}': 0,
  }
  for (const [name, value] of Object.entries(counted)) t.equal(values.get(name), value, name)
  for (const name of ['log_bytes', 'log_syncs_total', 'engine_resident_memory_bytes', 'engine_parts', 'engine_rows']) {
    t.ok((values.get(`millrace_${name}`) ?? 0) > 0, name)
  }
  t.ok((values.get('nodejs_heap_size_used_bytes') ?? 0) > 0)
  for (const [name, type] of types) t.equal(name.endsWith('_total'), type === 'counter', name)
  const label = [...values.keys()].find((name) => /"(?:nothing|three)"/.test(name))
  t.equal(label, undefined, 'no series of a name that there is not, or beyond the bound')
})

t.test('what is dropped has no series any more', async (t) => {
  const service = await openTestService(t)
  await service.create('gone', 'a Int32 `json:$.a`')
  await service.events('gone', '{"a":1}', { wait: 'true' })
  const isShown = async (): Promise<boolean> => {
    const { values } = await metricsOf(service)
    return [...values.keys()].some((name) => name.includes('"gone"'))
  }
  t.equal(await isShown(), true)
  await service.call('DELETE', '/v0/datasources/gone')
  t.equal(await isShown(), false)
})

t.test('a job that ended, and a limit that refused something, are counted', async (t) => {
  const service = await openTestService(t, { eventsBodyBytesMax: 1_024 })
  await service.create('one', 'a Int32 `json:$.a`')
  t.equal((await service.events('one', 'x'.repeat(1_025))).status, 413)
  const { json } = await service.call('POST', '/v0/sql?job=true&q=SELECT+1')
  // The shape of the answer is what other tests check.
  const { id } = json as { readonly id: string }
  await service.log.until('A job has another status.', ({ jobId, status }) => jobId === id && status === 'done')
  const { values } = await metricsOf(service)
  t.equal(values.get('millrace_jobs_ended_total{kind="query",status="done"}'), 1)
  t.equal(values.get('millrace_job_duration_seconds_count{kind="query"}'), 1)
  t.equal(values.get('millrace_limit_hits_total{limit="events_request_size"}'), 1)
})

t.test('who may read everything may read the metrics, and no other token', async (t) => {
  const service = await openTestService(t)
  await service.create('one', 'a Int32')
  for (const [scope, status] of [
    ['WORKSPACE:READ_ALL', 200],
    ['DATASOURCES:READ:one', 403],
    ['TOKENS', 403],
  ] as const) {
    const { json } = await service.call('POST', `/v0/tokens?name=${encodeURIComponent(scope)}&scope=${scope}`)
    const { token } = json as { readonly token: string }
    t.equal((await service.call('GET', '/metrics', { token })).status, status, scope)
  }
  t.equal((await service.call('POST', '/metrics')).status, 405)
})

t.test('nothing is counted where the metrics are off', async (t) => {
  const service = await openTestService(t, { metrics: 'off' })
  await service.events('one', '{"a":1}', { wait: 'true' })
  t.equal((await service.call('GET', '/metrics')).status, 404)
})
