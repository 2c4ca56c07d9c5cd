// More rows for which a DEFAULT takes more time or memory than an INSERT may: blocks in pieces, and definitions that are too
// costly for any row.

import t from 'tap'
import {
  engineMemoryBytesMax,
  insertTimeMaxMs,
  linesOf,
  much,
  sendUntilStored,
  slowCount,
  slowSchema,
  stand,
  tooMuch,
  untilInTime,
} from '../api/costly-service.ts'
import { openTestService } from '../api/test-service.ts'

t.test('of equal keys the last row is kept when a block is inserted in pieces', async (t) => {
  const service = await openTestService(t, { engineMemoryBytesMax, eventsFlushIdleMs: 5 })
  const engine = { engine: 'ReplacingMergeTree', engine_sorting_key: 'k' }
  const schema = 'k UInt8 `json:$.k`, n UInt64 `json:$.n`, d UInt64 DEFAULT length(range(n))'
  t.match(await service.create('last', schema, engine), { status: 200 })
  const lines = Array.from({ length: 30 }, (_, index) => JSON.stringify({ k: index % 3, n: much + index }))
  t.match(await service.events('last', lines.join('\n'), { wait: 'true' }), { status: 200 })
  t.same(await service.rows('SELECT k, d FROM last FINAL ORDER BY k'), [
    ['0', String(much + 27)],
    ['1', String(much + 28)],
    ['2', String(much + 29)],
  ])
})

t.test(
  'good rows are stored beside many that are refused and one that takes too much, each with its own reason',
  async (t) => {
    const service = await openTestService(t, { engineMemoryBytesMax, eventsFlushIdleMs: 5 })
    const schema = 'id UInt32 `json:$.id`, n UInt64 `json:$.n`, d UInt64 DEFAULT length(range(n))'
    t.match(await service.create('mixed', schema), { status: 200 })
    const refusedAt = 1e12
    const counts = Array.from({ length: 500 }, (_, id) => (id === 400 ? tooMuch : id % 30 === 7 ? refusedAt : 100))
    t.match(await service.events('mixed', linesOf(counts)), { status: 202 })
    await service.untilStored('mixed')
    t.same(await stand(service, 'mixed'), [482, 18])
    t.same(await service.rows('SELECT n, c__error, count() FROM mixed_quarantine GROUP BY ALL ORDER BY n'), [
      [String(tooMuch), "['the database took too much time or memory for the row']", '1'],
      [String(refusedAt), "['the database refused the row']", '17'],
    ])
  },
)

t.test(
  'a definition that takes too much time for any row sets its rows aside, and others are stored meanwhile',
  async (t) => {
    const service = await openTestService(t, { insertTimeMaxMs, eventsFlushIdleMs: 5 })
    for (const name of ['slow_a', 'slow_b']) t.match(await service.create(name, slowSchema), { status: 200 })
    await service.create('quick', 'id UInt32 `json:$.id`')
    const costlyCount = await slowCount(service)
    for (const name of ['slow_a', 'slow_b']) {
      t.match(await service.events(name, linesOf([costlyCount])), { status: 202 })
    }
    for (let count = 1; count <= 3; count += 1) {
      await sendUntilStored(service, 'quick', 2 * count - 1)
      t.match(await untilInTime(() => service.append('quick', 'ndjson', linesOf([1]))), { status: 200 })
      t.equal(await service.count('quick'), 2 * count)
    }
    const { json } = await service.call('GET', '/v0/datasources/slow_a')
    t.match(json, { events: { waiting_rows: 1 } }, 'the slow ones are still under way')
    for (const name of ['slow_a', 'slow_b']) {
      await service.untilStored(name)
      t.same(await stand(service, name), [0, 1])
    }
  },
)
