import t, { type Test } from 'tap'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import { EventsGatherer, type EventsOptions } from '../../src/ingest/events-gatherer.ts'
import type { EventsOutcome } from '../../src/ingest/ingest.types.ts'
import { ParsePool } from '../../src/ingest/parse-pool.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { FakeStore, testDataSource } from './fake-store.ts'

const pool = new ParsePool({ workers: 1, framesInFlightMax: 4, frameBytes: 4096 })
t.teardown(() => pool.close())
const dataSource = testDataSource('n UInt32')

function open(t: Test, given: Partial<EventsOptions> = {}) {
  const store = new FakeStore({ isOpen: false })
  const gatherer = new EventsGatherer(pool, store, { pendingBytesMax: 10_000, blockBytesMax: 4096, ...given })
  t.teardown(async () => {
    store.open()
    await gatherer.close()
  })
  const send = (text: string, more: Partial<{ dataSource: DataSource; framing: 'lines' | 'document' }> = {}) =>
    gatherer.append({ dataSource, body: Buffer.from(text), framing: 'lines', ...more })
  return { store, gatherer, send }
}

const rowCounts = (store: FakeStore): readonly number[] => store.held.map(({ request }) => request.rowCount)

t.test('who finds the table idle is stored at once, who comes meanwhile becomes the next block', async (t) => {
  const { store, send } = open(t)
  const first = send('{"n":1}')
  await store.untilBegun(1)
  const others = ['{"n":2}\n{"n":3}', '{"n":"x"}', 'no object', '{"n":4}\n'].map((text) => send(text))
  const elsewhere = send('{"n":9}', { dataSource: testDataSource('n UInt32') })
  await store.untilBegun(2)
  t.same(rowCounts(store), [1, 1], 'another data source has a line of its own')
  store.open()
  t.strictSame(await first, counts(1, 0))
  t.strictSame(await elsewhere, counts(1, 0))
  t.strictSame(await Promise.all(others), [counts(2, 0), counts(0, 1), counts(0, 1), counts(1, 0)])
  const blocks = store.stored.filter(({ table }) => table === dataSource.id).map(({ rowCount }) => rowCount)
  t.same(blocks, [1, 3])
  t.equal(store.rowsOf(`${dataSource.id}_quarantine`), 2)
})

t.test('a block has bodies of one framing and one version, up to its size, and at least one', async (t) => {
  const { store, send } = open(t, { blockBytesMax: 30 })
  const sent = [
    send('{"n":1}'),
    send('{"n":2}'),
    send('{"n":3}', { framing: 'document' }),
    send('{"n":4}'),
    send('{"n":5}', { dataSource: { ...dataSource, version: 2 } }),
    send('{"n":6}'),
    send('{"n":7}\n{"n":8}'),
    send('{"n":9}'),
    send('{"n":10}\n{"n":11}\n{"n":12}\n{"n":13}\n{"n":14}'),
  ]
  store.open()
  await Promise.all(sent)
  t.same(
    store.stored.map(({ rowCount }) => rowCount),
    [2, 1, 1, 1, 4, 5],
  )
})

t.test('bodies that wait are bounded to the byte, and room comes back with each answer', async (t) => {
  const body = '{"n":1}'
  const { store, send } = open(t, { pendingBytesMax: 3 * body.length })
  const full = { code: 'BACKLOG_FULL', status: 503, retryAfterSeconds: 1 }
  const taken = [send(body), send(body)]
  t.throws(() => send(`${body} `), full, 'one byte more than there is room for')
  taken.push(send(body))
  t.throws(() => send(' '), full)
  await store.untilBegun(1)
  store.open()
  await Promise.all(taken)
  t.strictSame(await send(`${body}${' '.repeat(100)}`), counts(1, 0), 'a body that finds nothing waiting is taken')
  t.equal(store.rowsOf(dataSource.id), 4)
})

t.test('a block that is not stored is told to each of its senders, and the next one is tried', async (t) => {
  const cases = [
    [new StoreError({ kind: 'engine', message: 'Memory limit', clickhouseCode: 241 }), { code: 'ENGINE_FAILED' }],
    [new StoreError({ kind: 'busy', message: 'busy' }), { code: 'BACKLOG_FULL', retryAfterSeconds: 1 }],
    [new StoreError({ kind: 'closed', message: 'closed' }), { code: 'SHUTTING_DOWN' }],
    [new Error('a fault of ours'), { message: 'a fault of ours' }],
  ] as const
  for (const [failure, told] of cases) {
    const { store, send } = open(t)
    const failing = [send('{"n":1}'), send('{"n":2}')]
    await store.untilBegun(1)
    const next = send('{"n":3}')
    store.endOne(failure)
    for (const { status, reason } of (await Promise.allSettled(failing)).map(asRejected)) {
      t.equal(status, 'rejected')
      t.match(reason, told)
    }
    store.open()
    t.strictSame(await next, counts(1, 0))
    t.equal(store.rowsOf(dataSource.id), 1)
  }
})

t.test('once its rows are stored no answer says that nothing was', async (t) => {
  const { store, send } = open(t)
  const sent = send('{"n":1}\n{"n":"x"}')
  await store.untilBegun(1)
  store.endOne()
  await store.untilBegun(2)
  store.endOne(new StoreError({ kind: 'busy', message: 'busy' }))
  await t.rejects(sent, { code: 'ENGINE_FAILED' })
  const alone = send('{"n":"x"}')
  await store.untilBegun(3)
  store.endOne(new StoreError({ kind: 'busy', message: 'busy' }))
  await t.rejects(alone, { code: 'BACKLOG_FULL' })
})

t.test('a close waits until every body has its answer', async (t) => {
  const { store, gatherer, send } = open(t)
  const order: string[] = []
  const first = send('{"n":1}').finally(() => order.push('first'))
  await store.untilBegun(1)
  const second = send('{"n":2}').finally(() => order.push('second'))
  const closed = gatherer.close().finally(() => order.push('close'))
  store.open()
  await Promise.all([first, second, closed])
  t.same(order, ['first', 'second', 'close'])
})

function counts(successfulRows: number, quarantinedRows: number): EventsOutcome {
  return { successfulRows, quarantinedRows }
}

function asRejected(result: PromiseSettledResult<unknown>) {
  return { status: result.status, reason: result.status === 'rejected' ? result.reason : undefined }
}
