import t from 'tap'
import { createApp } from '../../../src/app.ts'
import type { RequestSpan } from '../../../src/observe/traces/span.types.ts'
import { ask, createFakeDeps, limits } from '../../support/http/fake-deps.ts'

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

t.test('so many requests begin a trace in a second, and those of others are sent beside them', async (t) => {
  let nowMs = 1_000_000
  const sent: RequestSpan[] = []
  const deps = { ...createFakeDeps(), spans: { add: (span: RequestSpan) => void sent.push(span) }, now: () => nowMs }
  const app = createApp(deps, { ...limits, tracesPerSecondMax: 4 })
  t.teardown(() => app.close())
  /** How many of `count` requests in one moment are answered with a trace. */
  const tracedOf = async (count: number, headers: Record<string, string> = {}): Promise<number> => {
    const answers = await Promise.all(
      Array.from({ length: count }, () => ask(app, { method: 'GET', url: '/health/live', headers })),
    )
    return answers.filter((answer) => answer.headers['traceparent'] !== undefined).length
  }
  t.equal(await tracedOf(3), 3)
  t.equal(await tracedOf(3), 1)
  t.equal(await tracedOf(2, { traceparent }), 2)
  t.equal(sent.length, 6)
  nowMs += 500
  t.equal(await tracedOf(9), 2, 'half a second gives half of them')
  nowMs += 60_000
  t.equal(await tracedOf(9), 4, 'a minute no more than a second')
})
