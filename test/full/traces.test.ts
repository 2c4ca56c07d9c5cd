import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { attributeOf, OtlpReceiver } from '../support/observe/otlp-receiver.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentSpanId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${parentSpanId}-01`

t.test('a trace goes through: the answer and the log name it', async (t) => {
  const service = await openTestService(t)
  const answer = await service.call('GET', '/v0/datasources', { headers: { traceparent, 'x-request-id': 'mine-1' } })
  t.match(answer.headers.get('traceparent'), new RegExp(`^00-${traceId}-[\\da-f]{16}-01$`))
  t.match(answer.headers.get('access-control-expose-headers'), /\btraceparent\b/)
  const requestId = answer.headers.get('x-request-id')
  const { fields } = await service.log.until('A request was answered.', (entry) => entry['requestId'] === requestId)
  t.match(fields, { traceId, callerRequestId: 'mine-1' })
  const refused = await service.call('GET', '/v0/datasources', { token: null, headers: { traceparent } })
  t.match(refused.headers.get('traceparent'), new RegExp(`^00-${traceId}-`), 'a refusal too')
  const plain = await service.call('GET', '/v0/datasources', { headers: { 'x-request-id': 'not a name' } })
  t.equal(plain.headers.get('traceparent'), null)
  const { fields: others } = await service.log.until(
    'A request was answered.',
    (entry) => entry['requestId'] === plain.headers.get('x-request-id'),
  )
  t.notOk('traceId' in others || 'callerRequestId' in others)
})

t.test('requests are sent to who collects traces, with what the service did for them', async (t) => {
  const receiver = await OtlpReceiver.open(t)
  const service = await openTestService(t, {
    tracesUrl: receiver.url,
    traceSamplePercent: 100,
    tracesHeaders: 'x-key=k1, x-other=a=b',
  })
  await service.events('one', '{"a":1}', { wait: 'true' }, { headers: { traceparent } })
  await service.call('GET', '/v0/sql?q=SELECT+1', { headers: { traceparent } })
  const nobody = await service.call('GET', '/v0/pipes/nobody.json')
  const events = await receiver.untilSpan(({ name }) => name === 'POST /v0/events')
  t.match(events, { traceId, parentSpanId, kind: 2 })
  t.equal(attributeOf(events, 'http.response.status_code'), 200)
  t.equal(attributeOf(events, 'http.route'), '/v0/events')
  const append = await receiver.untilSpan(({ name }) => name === 'events.append')
  t.match(append, { traceId, parentSpanId: events.spanId, kind: 1 })
  t.ok(BigInt(append.startTimeUnixNano) >= BigInt(events.startTimeUnixNano))
  t.ok(BigInt(append.endTimeUnixNano) <= BigInt(events.endTimeUnixNano))
  const sql = await receiver.untilSpan(({ name }) => name === 'GET /v0/sql')
  for (const name of ['query.resolve', 'query.engine']) {
    t.match(await receiver.untilSpan((span) => span.name === name), { traceId, parentSpanId: sql.spanId })
  }
  const unknown = await receiver.untilSpan(({ name }) => name === 'GET /v0/pipes/:pipe.json')
  t.equal(unknown.parentSpanId, undefined, 'it begins a trace')
  t.match(nobody.headers.get('traceparent'), `00-${unknown.traceId}-${unknown.spanId}-01`)
  t.equal(attributeOf(unknown, 'error.type'), 'PIPE_UNKNOWN')
  t.equal(attributeOf(unknown, 'millrace.request_id'), nobody.headers.get('x-request-id'))
  const [resource = []] = receiver.resources
  t.equal(attributeOf({ attributes: resource }, 'service.name'), 'millrace')
  t.match(receiver.headers[0], { 'x-key': 'k1', 'x-other': 'a=b' })
})

t.test('who began a trace says whether it is kept, and the share of the others is an option', async (t) => {
  const receiver = await OtlpReceiver.open(t)
  const service = await openTestService(t, { tracesUrl: receiver.url, traceSamplePercent: 0 })
  await service.call('GET', '/health/live', { headers: { traceparent: `00-${traceId}-${parentSpanId}-00` } })
  const plain = await service.call('GET', '/health/live')
  t.equal(plain.headers.get('traceparent'), null)
  await service.call('GET', '/v0/workspace', { headers: { traceparent } })
  await receiver.untilSpan(({ name }) => name === 'GET /v0/workspace')
  t.equal(receiver.spans.length, 1)
})

t.test('a collector that refuses costs no request, and what is lost is counted', async (t) => {
  const receiver = await OtlpReceiver.open(t)
  receiver.status = 400
  const service = await openTestService(t, { tracesUrl: receiver.url, traceSamplePercent: 100 })
  t.equal((await service.call('GET', '/v0/workspace')).status, 200)
  await service.log.until('Traces cannot be sent, and are dropped.')
  const { text } = await service.call('GET', '/metrics')
  t.match(text, /^millrace_traces_dropped_total 1$/m)
  t.match(text, /^millrace_traces_sent_total 0$/m)
})

t.test('a close sends what waits', async (t) => {
  const receiver = await OtlpReceiver.open(t)
  const service = await openTestService(t, { tracesUrl: receiver.url, traceSamplePercent: 100 })
  await service.call('GET', '/v0/workspace')
  await service.close()
  t.match(receiver.spans, [{ name: 'GET /v0/workspace' }])
})
