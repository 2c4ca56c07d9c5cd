// Events that wait because the views behind their data source change.

import t, { type Test } from 'tap'
import type { IngestViews } from '../../../src/ingest/events/events-ingest.ts'
import { AppendGate } from '../../../src/store/append-gate.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { TestLog } from '../../support/api/test-service.ts'
import { FakeStore, testDataSource } from '../../support/ingest/fake-store.ts'
import { eventsOf, openTestIngest } from '../../support/ingest/test-ingest.ts'

const source = testDataSource('n UInt32')
const slow = 'The events of a data source take long to store; those of others go on meanwhile.'

async function open(t: Test, beforeBlock: IngestViews['beforeBlock'] = () => null) {
  const store = new FakeStore({ isOpen: true })
  const logger = new TestLog()
  const gate = new AppendGate()
  const views = {
    gate,
    beforeBlock,
    setAside: async () => false,
    kept: [],
    beforeChange: async () => undefined,
    onKeptBeyond: () => undefined,
    withParked: (graph) => graph,
  } satisfies IngestViews
  const ingest = await openTestIngest({ store, logger, dataSources: [source], views })
  t.teardown(() => ingest.close())
  ingest.start()
  const send = (text: string) => ingest.appendEvents(eventsOf(source, text, { isWaiting: true }))
  /** Sends while the views change, and goes on when that has taken too long for memory. */
  const sendWhileClosed = async (text: string) => {
    let sent: ReturnType<typeof send> | undefined
    await gate.whileClosed([source.id], 1_000, async () => {
      sent = send(text)
      await logger.until(slow)
    })
    return await sent
  }
  return { store, send, sendWhileClosed }
}

t.test('what left memory meanwhile is stored afterwards, and so is what comes then', async (t) => {
  const { store, send, sendWhileClosed } = await open(t)
  t.match(await sendWhileClosed('{"n":1}\n{"n":2}'), { successfulRows: 2, isStored: true })
  t.match(await send('{"n":3}'), { isStored: true })
  t.equal(store.rowsOf(source.id), 3)
  t.equal(store.stored.length, 2, 'no block is empty')
})

t.test('a block that must not be stored yet is tried again, also where it waited for long', async (t) => {
  let refusals = 1
  const { store, send, sendWhileClosed } = await open(t, () => {
    refusals -= 1
    return refusals < 0 ? null : Promise.reject(new StoreError({ kind: 'engine', message: 'Not yet' }))
  })
  t.match(await sendWhileClosed('{"n":1}'), { isStored: true })
  t.match(await send('{"n":2}'), { isStored: true })
  t.equal(store.rowsOf(source.id), 2)
})
