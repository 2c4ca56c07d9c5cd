import t from 'tap'
import { BlockWriter, type BlockWriterOptions } from '../../../src/ingest/insert/block-writer.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { FakeStore } from '../../support/ingest/fake-store.ts'

const plan = { table: 't', layout: { fields: [], targets: [] }, isPlain: true }
const limits = { rowsMax: 100, bytesMax: 1000, insertsInFlightMax: 2, partitionsPerBodyMax: 1000 }

function open(options: Partial<BlockWriterOptions> = {}, isOpen = false) {
  const store = new FakeStore({ isOpen })
  return { store, writer: new BlockWriter(store, plan, { ...limits, ...options }) }
}

/** A part whose first byte is its name. */
function part(name: number, byteCount = 10): Uint8Array {
  const bytes = new Uint8Array(byteCount)
  bytes[0] = name
  return bytes
}

/** Whether a promise is settled once all work that is ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(
    () => {
      settled = true
    },
    () => {
      settled = true
    },
  )
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

t.test('half of what may gather goes at once while the engine has room, and gathers while it is busy', async (t) => {
  const { store, writer } = open()
  for (const name of [1, 2, 3]) await writer.add(part(name, 500), 10)
  t.equal(store.held.length, 2)
  await writer.add(part(4), 10)
  store.endOne()
  await store.untilBegun(3)
  t.same(
    store.held.map(({ request }) => request.rowCount),
    [10, 20],
    'what gathered goes by one insert',
  )
  store.open()
  await writer.finish()
  t.equal(writer.storedRows, 40)
  t.equal(store.rowsOf('t'), 40)
  t.equal(new Set(store.stored.map(({ blockId }) => blockId)).size, 3, 'each block has an id of its own')
  t.equal(store.stored.flatMap(({ parts }) => parts).length, 4, 'each part is in one insert')
})

t.test('no more than insertsInFlightMax inserts run, however many parts come', async (t) => {
  for (const insertsInFlightMax of [1, 2, 3]) {
    const { store, writer } = open({ insertsInFlightMax, rowsMax: 1 }, true)
    for (let name = 0; name < 20; name += 1) await writer.add(part(name), 1)
    await writer.finish()
    t.equal(store.runningMax, insertsInFlightMax)
    t.equal(writer.storedRows, 20)
  }
})

t.test('who adds beyond the rows or bytes that may gather waits for room', async (t) => {
  for (const [rowCount, byteCount] of [
    [50, 1],
    [1, 500],
  ] as const) {
    const { store, writer } = open({ insertsInFlightMax: 1 })
    await writer.add(part(1, byteCount), rowCount)
    await writer.add(part(2, byteCount), rowCount)
    const full = writer.add(part(3, byteCount), rowCount)
    t.notOk(await isSettled(full), 'the maximum is gathered')
    store.endOne()
    await full
    t.equal(store.held[0]?.request.rowCount, 2 * rowCount)
    store.open()
    await writer.finish()
    t.equal(writer.storedRows, 3 * rowCount)
  }
})

t.test('small parts wait for the end or for half of a limit', async (t) => {
  const { store, writer } = open({}, true)
  for (let name = 0; name < 4; name += 1) await writer.add(part(name), 10)
  t.equal(store.begun, 0)
  await writer.add(part(4), 10)
  t.equal(store.begun, 1, 'fifty rows are half of a hundred')
  await writer.add(part(5), 10)
  await writer.finish()
  t.same(
    store.stored.map(({ rowCount }) => rowCount),
    [50, 10],
  )
  const empty = open()
  await empty.writer.finish()
  t.equal(empty.store.begun, 0, 'nothing gathered is no insert')
})

t.test('the last parts of a body are shared out among the free inserts', async (t) => {
  const large = 3 * 1024 * 1024
  const { store, writer } = open({ rowsMax: 1000, bytesMax: 20 * large })
  for (const name of [1, 2, 3]) await writer.add(part(name, large), 10)
  const finished = writer.finish()
  await store.untilBegun(2)
  t.same(
    store.held.map(({ request }) => request.rowCount),
    [20, 10],
  )
  store.open()
  await finished
  t.equal(writer.storedRows, 30)
})

t.test('a failure is told to whoever adds or finishes next, and the count has what the engine took', async (t) => {
  const { store, writer } = open({ insertsInFlightMax: 1, rowsMax: 20 })
  await writer.add(part(1), 10)
  store.endOne()
  await store.untilBegun(1)
  await writer.add(part(2), 10)
  await store.untilBegun(2)
  const waiting = [writer.add(part(3), 10), writer.add(part(4), 10)]
  store.endOne(new StoreError({ kind: 'engine', message: 'No space left', clickhouseCode: 243 }))
  const refusal = { code: 'ENGINE_FAILED', status: 500, cause: { message: 'No space left' } }
  await t.rejects(Promise.all(waiting), refusal)
  await Promise.allSettled(waiting)
  await t.rejects(writer.add(part(5), 10), refusal)
  await t.rejects(writer.finish(), refusal)
  t.equal(writer.storedRows, 10)
  t.equal(store.begun, 2, 'nothing is sent behind a failure')
})

t.test('inserts under way at a failure still count, and finish waits for them', async (t) => {
  const { store, writer } = open()
  await writer.add(part(1, 500), 10)
  await writer.add(part(2, 500), 10)
  await writer.add(part(3), 10)
  store.endOne(new Error('the first fails'))
  const finish = writer.finish()
  t.notOk(await isSettled(finish), 'the second still runs')
  store.open()
  await t.rejects(finish, { message: 'the first fails' })
  t.equal(writer.storedRows, 10)
  t.equal(store.begun, 2, 'what had gathered stays behind')
})
