import t from 'tap'
import { BodyBatcher, type TakenBody } from '../../../src/ingest/events/body-batcher.ts'
import { IdempotencyIndex } from '../../../src/ingest/events/idempotency-index.ts'
import { recordsOf } from '../../../src/ingest/parse/record-body.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'
import { inlinePool, memoryLog } from '../../support/ingest/inline-pool.ts'
import { eventsOf } from '../../support/ingest/test-ingest.ts'

const source = testDataSource('n UInt32')

const now = () => 1_000

t.test('bodies that come together are one batch of the log, and each is told of its own rows', async (t) => {
  const log = memoryLog()
  const logged: number[] = []
  const batcher = new BodyBatcher(
    {
      pool: inlinePool(),
      log,
      keys: new IdempotencyIndex(10),
      onLogged: (_source, { rowCount }) => logged.push(rowCount),
    },
    { frameBytes: 1024, now },
  )
  const add = (text: string): Promise<TakenBody> =>
    new Promise((resolve, reject) => {
      const request = eventsOf(source, text)
      batcher.add({ request, records: recordsOf(request.body, 'lines'), key: null, resolve, reject })
    })
  const taken = await Promise.all([add('{"n":1}\n{"n":2}'), add('{"n":"x"}'), add('\n')])
  t.same(
    taken.map(({ counts: { rowCount, quarantinedRowCount }, sequence }) => [rowCount, quarantinedRowCount, sequence]),
    [
      [2, 0, 1],
      [0, 1, 2],
      [0, 0, null],
    ],
  )
  t.same(
    log.batches.map((entries) => entries.length),
    [2],
  )
  t.same(logged, [2])
})

t.test('what the log does not take is told to every body of the batch', async (t) => {
  const log = memoryLog({ isFull: true })
  const batcher = new BodyBatcher(
    { pool: inlinePool(), log, keys: new IdempotencyIndex(10), onLogged: () => t.fail('nothing is logged') },
    { frameBytes: 1024, now },
  )
  const outcomes = await Promise.allSettled(
    ['{"n":1}', '{"n":2}'].map(
      (text) =>
        new Promise<TakenBody>((resolve, reject) => {
          const request = eventsOf(source, text)
          batcher.add({ request, records: recordsOf(request.body, 'lines'), key: null, resolve, reject })
        }),
    ),
  )
  t.same(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
})
