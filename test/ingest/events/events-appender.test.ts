import t from 'tap'
import { EventsAppender } from '../../../src/ingest/events/events-appender.ts'
import { IdempotencyIndex } from '../../../src/ingest/events/idempotency-index.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'
import { inlinePool, memoryLog } from '../../support/ingest/inline-pool.ts'
import { eventsOf } from '../../support/ingest/test-ingest.ts'

const source = testDataSource('n UInt32')
const now = () => 1_000

function openAppender({ bytesMax = 1_000, isBarred = false } = {}) {
  const log = memoryLog()
  let bytesLeft = bytesMax
  const events = { stream: source.id, name: 'rows', isBarred, status: { failure: null }, add: () => undefined }
  const appender = new EventsAppender(
    {
      pool: inlinePool(),
      log,
      keys: new IdempotencyIndex(10),
      // Nothing else of the budget and of the events is used.
      budget: {
        tryTake: (byteCount: number) => {
          if (byteCount > bytesLeft) return false
          bytesLeft -= byteCount
          return true
        },
        give: (byteCount: number) => {
          bytesLeft += byteCount
        },
      } as never,
      backlog: { isReached: () => false },
      eventsOf: () => events as never,
    },
    {
      frameBytes: 1024,
      recordBytesMax: 1024,
      eventsWaitMaxMs: 1_000,
      eventsIdempotency: 'key',
      now,
      retryAfterSeconds: () => 1,
    },
  )
  return { appender, log, bytesLeft: () => bytesLeft, setRoom: (byteCount: number) => (bytesLeft = byteCount) }
}

t.test('a body with a key that is known is answered as the first one was, and is not logged again', async (t) => {
  const { appender, log } = openAppender()
  const send = (text: string) => appender.append(eventsOf(source, text, { idempotencyKey: 'k' }))
  const [first, second] = await Promise.all([send('{"n":1}'), send('{"n":1}')])
  t.match(first, { successfulRows: 1, quarantinedRows: 0 })
  t.match(second, { successfulRows: 1, quarantinedRows: 0 })
  t.equal(log.batches.length, 1)
  await t.rejects(send('{"n":2}'), { code: 'IDEMPOTENCY_KEY_REUSED' })
})

t.test('a body that finds no room is refused whole, and may come again under its key', async (t) => {
  const { appender, log, setRoom } = openAppender({ bytesMax: 3 })
  const request = eventsOf(source, '{"n":1}', { idempotencyKey: 'k' })
  await t.rejects(appender.append(request), { code: 'BACKLOG_FULL', status: 503 })
  t.same(log.batches, [])
  setRoom(100)
  t.match(await appender.append(request), { successfulRows: 1 })
})

t.test('a body without rows gives its room back at once', async (t) => {
  const { appender, bytesLeft } = openAppender({ bytesMax: 50 })
  t.match(await appender.append(eventsOf(source, '\n\n')), { successfulRows: 0, isStored: true })
  t.equal(bytesLeft(), 50)
  await appender.settle()
})

t.test('nothing is taken for a data source that is being changed', async (t) => {
  const { appender, log } = openAppender({ isBarred: true })
  await t.rejects(appender.append(eventsOf(source, '{"n":1}')), { code: 'DATASOURCE_CHANGING', status: 503 })
  t.same(log.batches, [])
})
