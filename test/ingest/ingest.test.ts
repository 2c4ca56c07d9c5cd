import { Readable } from 'node:stream'
import t from 'tap'
import type { ImportRequest } from '../../src/ingest/ingest.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { FakeStore, testDataSource } from '../support/ingest/fake-store.ts'
import { eventsOf, openTestIngest } from '../support/ingest/test-ingest.ts'

const options = { framesInFlightMax: 2, insertsInFlightMax: 1 }
const dataSource = testDataSource('n UInt32, word String')
const eventsSource = testDataSource('n UInt32')
const quarantine = `${dataSource.id}_quarantine`

function requestOf(body: Readable): ImportRequest {
  const csv = { delimiter: undefined, escapeCharacter: undefined }
  return { dataSource, body, format: 'ndjson', contentEncoding: undefined, importId: 'import', csv }
}

/** A body whose every tenth row does not fit; `pulled` counts the bytes that were asked for. */
function bodyOf(rowCount: number) {
  const counter = { pulled: 0 }
  const rows = function* (): Generator<Buffer> {
    for (let n = 0; n < rowCount; n += 1) {
      const row = Buffer.from(`{"n":${n % 10 === 9 ? -n : n},"word":"${'x'.repeat(80)}"}\n`)
      counter.pulled += row.length
      yield row
    }
  }
  return { body: Readable.from(rows(), { objectMode: false }), counter }
}

t.test('rows go to the table in parts, and those set aside by one insert at the end', async (t) => {
  const store = new FakeStore({ isOpen: true })
  const ingest = await openTestIngest({ store, dataSources: [dataSource] }, { ...options, insertBytesMax: 1_000_000 })
  t.teardown(() => ingest.close())
  const outcome = await ingest.importBody(requestOf(bodyOf(2000).body))
  t.match(outcome, { storedRows: 1800, quarantinedRows: 200, invalidLines: 0, shortLines: 0, failure: null })
  t.equal(store.rowsOf(dataSource.id), 1800)
  t.equal(store.rowsOf(quarantine), 200)
  t.ok(store.stored.filter(({ table }) => table === dataSource.id).length > 5, 'many inserts of rows')
  t.ok(store.stored.filter(({ table }) => table === quarantine).length <= 2, 'few of what is set aside')
  t.ok(store.runningMax <= 2, 'one for each table at most')
})

t.test('an insert that fails ends the import, and the counts are what the engine took', async (t) => {
  for (const failing of [1, 3, 5]) {
    const store = new FakeStore({ isOpen: true })
    store.failures.set(failing, new StoreError({ kind: 'engine', message: 'Disk is full', clickhouseCode: 243 }))
    const ingest = await openTestIngest({ store, dataSources: [dataSource, eventsSource] }, options)
    const { body, counter } = bodyOf(100_000)
    const outcome = await ingest.importBody(requestOf(body))
    t.match(outcome.failure, { code: 'ENGINE_FAILED', cause: { message: 'Disk is full' } }, `insert ${failing}`)
    t.equal(outcome.storedRows, store.rowsOf(dataSource.id))
    t.equal(outcome.quarantinedRows, store.rowsOf(quarantine))
    t.ok(outcome.storedRows < 20_000)
    t.ok(counter.pulled < 3_000_000, 'the rest of the body is not read')
    t.ok(body.destroyed)
    await ingest.close()
  }
})

t.test(
  'an import whose data source is dropped meanwhile ends as one into a data source that does not exist',
  async (t) => {
    const store = new FakeStore({ isOpen: true })
    store.failures.set(2, new StoreError({ kind: 'engine', message: 'Unknown table', clickhouseCode: 60 }))
    const ingest = await openTestIngest({ store, dataSources: [dataSource] }, options)
    t.teardown(() => ingest.close())
    const outcome = await ingest.importBody(requestOf(bodyOf(20_000).body))
    t.match(outcome.failure, { code: 'DATASOURCE_NOT_FOUND', status: 404, message: /"rows" does not exist/ })
  },
)

t.test('a body is not read faster than the engine takes it', async (t) => {
  const store = new FakeStore({ isOpen: false })
  const ingest = await openTestIngest({ store, dataSources: [dataSource, eventsSource] }, options)
  t.teardown(() => ingest.close())
  const { body, counter } = bodyOf(20_000)
  const running = ingest.importBody(requestOf(body))
  await store.untilBegun(1)
  let before = -1
  while (before !== counter.pulled) {
    before = counter.pulled
    for (let round = 0; round < 300; round += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  // Frames in flight and under way to it, what gathers, and the stream's own buffer of 64 KiB.
  t.ok(counter.pulled < 150_000, `${counter.pulled} bytes of 2 MB are read while the engine stands still`)
  const tables = store.held.map(({ request }) => request.table)
  t.equal(new Set(tables).size, tables.length, 'one insert for each table')
  store.open()
  t.match(await running, { storedRows: 18_000, quarantinedRows: 2000, failure: null })
})

t.test('a body that fails ends with its rows so far, and its own error', async (t) => {
  const store = new FakeStore({ isOpen: true })
  const ingest = await openTestIngest({ store, dataSources: [dataSource, eventsSource] }, options)
  t.teardown(() => ingest.close())
  const body = Readable.from(
    (function* () {
      yield Buffer.from('{"n":1,"word":"a"}\n{"n":2,"word":"b"}\n{"n":3,"wo')
      throw new Error('the line is dead')
    })(),
    { objectMode: false },
  )
  const outcome = await ingest.importBody(requestOf(body))
  t.match(outcome, { storedRows: 2, quarantinedRows: 0, failure: { message: 'the line is dead' } })
  t.equal(store.rowsOf(dataSource.id), 2)
})

t.test('a close refuses what is new, and waits for imports and events under way', async (t) => {
  const store = new FakeStore({ isOpen: false })
  const ingest = await openTestIngest({ store, dataSources: [dataSource, eventsSource] }, options)
  const order: string[] = []
  const importing = ingest.importBody(requestOf(bodyOf(500).body)).finally(() => order.push('import'))
  const event = eventsOf(eventsSource, '{"n":1}', { isWaiting: true })
  const sending = ingest.appendEvents(event).finally(() => order.push('event'))
  await store.untilBegun(2)
  const closing = ingest.close().finally(() => order.push('close'))
  const late = requestOf(bodyOf(1).body)
  await t.rejects(ingest.importBody(late), { code: 'SHUTTING_DOWN', status: 503 })
  await t.rejects(ingest.appendEvents(event), { code: 'SHUTTING_DOWN' })
  t.same(order, [])
  store.open()
  t.match(await importing, { storedRows: 450, quarantinedRows: 50, failure: null })
  t.match(await sending, { successfulRows: 1 })
  await closing
  t.equal(order.at(-1), 'close')
})
