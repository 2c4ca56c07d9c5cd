// More rows for which a DEFAULT takes more time or memory than an INSERT may: blocks in pieces, and definitions that are too
// costly for any row.

import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import {
  engineMemoryBytesMax,
  insertTimeMaxMs,
  linesOf,
  memorySchema,
  much,
  sendUntilStored,
  slowCount,
  slowSchema,
  stand,
  tooMuch,
  untilInTime,
} from '../support/api/costly-service.ts'
import { openTestService } from '../support/api/test-service.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

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

t.test('events that take too much memory together are all stored, once, with their views and partitions', async (t) => {
  const directory = await createTestDirectory()
  const options = { dataDir: directory.path, engineMemoryBytesMax, eventsFlushIdleMs: 5 }
  const first = await openTestService(t, options)
  const engine = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'd % 20' }
  t.match(await first.create('all', memorySchema, engine), { status: 200 })
  await first.create('seen', 'id UInt32, d UInt64')
  const [all, seen] = await Promise.all(['all', 'seen'].map((name) => first.idOf(name)))
  await first.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  await store.command(`CREATE MATERIALIZED VIEW ws_0001.v TO ws_0001.${seen} AS SELECT id, d FROM ws_0001.${all}`)
  await store.close()
  const service = await openTestService(t, options)
  t.teardown(() => directory.remove())
  const counts = Array.from({ length: 40 }, (_, id) => much + id)
  t.match(await service.events('all', linesOf(counts), { wait: 'true' }), { status: 200 })
  t.same(await stand(service, 'all'), [40, 0])
  const expected = counts.map((n, id) => [String(id), String(n)])
  t.same(await service.rows('SELECT id, d FROM all ORDER BY id'), expected)
  t.same(await service.rows('SELECT id, d FROM seen ORDER BY id'), expected)
})

t.test('an import that takes too long is told in time, and what follows it waits for its end', async (t) => {
  const service = await openTestService(t, { insertTimeMaxMs })
  t.match(await service.create('late', slowSchema), { status: 200 })
  t.match(await service.append('late', 'ndjson', linesOf([await slowCount(service)])), {
    status: 422,
    json: { error: /takes too much time or memory.*(?:did not end within 1000 ms|Timeout exceeded)/, imported_rows: 0 },
  })
  t.match(await service.call('POST', '/v0/datasources/late/truncate'), { status: 205 })
  t.same(await stand(service, 'late'), [0, 0])
  t.match(await untilInTime(() => service.append('late', 'ndjson', linesOf([0]))), { status: 200 })
  t.same(await stand(service, 'late'), [1, 0])
})
