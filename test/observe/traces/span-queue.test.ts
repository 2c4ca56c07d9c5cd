import t from 'tap'
import type { RequestSpan, SpanExporter } from '../../../src/observe/traces/span.types.ts'
import { SpanQueue } from '../../../src/observe/traces/span-queue.ts'
import { newTrace } from '../../../src/observe/traces/trace-context.ts'

const span: RequestSpan = {
  context: newTrace(),
  method: 'GET',
  route: '/v0/sql',
  requestId: 'r',
  status: 200,
  errorCode: null,
  startMs: 0,
  durationMs: 1,
  inner: [],
}

/** Keeps batches, and answers each when it is told to. */
function openQueue(traceSpansMax: number) {
  const batches: number[] = []
  const answers: ((hasArrived: boolean) => void)[] = []
  const exporter: SpanExporter = {
    send: (spans) => {
      batches.push(spans.length)
      return new Promise((resolve) => answers.push(resolve))
    },
    close: async () => undefined,
  }
  const entries: string[] = []
  const told = (_fields: object, message: string): void => void entries.push(message)
  const logger = { debug: told, info: told, warn: told, error: told }
  const queue = new SpanQueue({ traceSpansMax, pauseMs: 1 }, { exporter, logger })
  const answer = async (hasArrived: boolean): Promise<void> => {
    answers.shift()?.(hasArrived)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const add = (count: number): void => {
    for (let added = 0; added < count; added += 1) queue.add(span)
  }
  return { queue, batches, answer, add, entries }
}

t.test('spans are sent in batches, one at a time', async (t) => {
  const { queue, batches, answer, add } = openQueue(10_000)
  add(511)
  t.strictSame(batches, [])
  add(1_000)
  t.strictSame(batches, [512])
  await answer(true)
  t.strictSame(batches, [512, 512])
  t.strictSame(queue.counts, { sentCount: 512, droppedCount: 0, waitingCount: 999 })
  await answer(true)
  const closed = queue.close()
  await answer(true)
  await closed
  t.strictSame(batches, [512, 512, 487])
  t.strictSame(queue.counts, { sentCount: 1_511, droppedCount: 0, waitingCount: 0 })
})

t.test('a few wait for others for a moment', async (t) => {
  const { batches, add } = openQueue(10)
  add(2)
  while (batches.length === 0) await new Promise<void>((resolve) => setImmediate(resolve))
  t.strictSame(batches, [2])
})

t.test('what is beyond the queue is dropped and counted, what is on its way included', async (t) => {
  for (const [count, dropped] of [
    [599, 0],
    [600, 0],
    [601, 1],
  ] as const) {
    const { queue, add } = openQueue(600)
    add(count)
    t.strictSame(queue.counts, { sentCount: 0, droppedCount: dropped, waitingCount: count - dropped })
  }
})

t.test('what cannot be sent is dropped and counted, and the log says so once', async (t) => {
  const { queue, answer, add, entries } = openQueue(10_000)
  add(1_536)
  for (const hasArrived of [false, false, true]) await answer(hasArrived)
  t.strictSame(queue.counts, { sentCount: 512, droppedCount: 1_024, waitingCount: 0 })
  t.strictSame(entries, ['Traces cannot be sent, and are dropped.', 'Traces are sent again.'])
})
