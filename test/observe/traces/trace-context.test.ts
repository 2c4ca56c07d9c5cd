import t from 'tap'
import { continuedTrace, newTrace, traceparentOf } from '../../../src/observe/traces/trace-context.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentSpanId = '00f067aa0ba902b7'

t.test('a traceparent is continued under an id of our own', async (t) => {
  const context = continuedTrace(`00-${traceId}-${parentSpanId}-01`)
  t.match(context, { traceId, parentSpanId, isSampled: true, spanId: /^[\da-f]{16}$/ })
  t.not(context?.spanId, parentSpanId)
  t.equal(continuedTrace(`00-${traceId}-${parentSpanId}-00`)?.isSampled, false)
  t.equal(continuedTrace(`00-${traceId}-${parentSpanId}-03`)?.isSampled, true, 'other flags are left aside')
  t.equal(continuedTrace(`cc-${traceId}-${parentSpanId}-01-more`)?.traceId, traceId, 'a later version may have more')
  t.equal(continuedTrace(`cc-${traceId}-${parentSpanId}-01`)?.traceId, traceId)
})

t.test('what is no traceparent begins nothing', async (t) => {
  for (const header of [
    '',
    `ff-${traceId}-${parentSpanId}-01`,
    `00-${'0'.repeat(32)}-${parentSpanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${parentSpanId}-01`,
    `00-${traceId}-${parentSpanId}-01-more`,
    `00-${traceId}-${parentSpanId}-01, 00-${traceId}-${parentSpanId}-01`,
    `00-${traceId}-${parentSpanId}`,
    `00-${traceId}-${parentSpanId}-0x`,
    `cc-${traceId}-${parentSpanId}-01.more`,
    `cc-${traceId}-${parentSpanId}-01-${'x'.repeat(256)}`,
  ]) {
    t.equal(continuedTrace(header), null, header.slice(0, 80))
  }
})

t.test('ids of new traces are all different, and of the form that is sent on', async (t) => {
  const sent = Array.from({ length: 2_000 }, () => traceparentOf(newTrace()))
  for (const header of sent) if (!/^00-[\da-f]{32}-[\da-f]{16}-01$/.test(header)) t.fail(header)
  t.equal(new Set(sent.flatMap((header) => header.split('-').slice(1, 3))).size, 4_000)
})
