// Rows for which a DEFAULT takes more time or memory than an INSERT may: what came in is what is stored and what is set
// aside, and nobody else waits. `test/full` has more of them.

import t from 'tap'
import {
  engineMemoryBytesMax,
  insertTimeMaxMs,
  linesOf,
  memorySchema,
  much,
  sendUntilStored,
  slowSchema,
  stand,
  tooMuch,
} from '../support/api/costly-service.ts'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t, { engineMemoryBytesMax, eventsFlushIdleMs: 5 })

t.test('events of which one takes too much memory are stored without it', async (t) => {
  await service.create('one', memorySchema)
  t.match(await service.events('one', linesOf([1, 2, tooMuch, 4, 5]), { wait: 'true' }), { status: 200 })
  t.same(await stand(service, 'one'), [4, 1])
  t.same(await service.rows('SELECT id, d FROM one ORDER BY id'), [
    ['0', '1'],
    ['1', '2'],
    ['3', '4'],
    ['4', '5'],
  ])
  t.same(await service.rows('SELECT id, n, c__error FROM one_quarantine'), [
    ['2', String(tooMuch), "['the database took too much time or memory for the row']"],
  ])
  t.match(await service.events('one', linesOf([tooMuch]), { wait: 'true' }), { status: 200 }, 'a row alone')
  t.same(await stand(service, 'one'), [4, 2])
  t.match(await service.events('one', linesOf([7]), { wait: 'true' }), { status: 200 }, 'what comes behind it')
  t.same(await stand(service, 'one'), [5, 2])
  t.match(await service.call('POST', '/v0/datasources/one/truncate'), { status: 205 })
})

t.test('a block with a row that is refused and one that takes too much is stored without both', async (t) => {
  const schema = 'id UInt32 `json:$.id`, n UInt64 `json:$.n`, d UInt64 DEFAULT length(range(n)) + intDiv(1, n)'
  t.match(await service.create('both', schema), { status: 200 })
  t.match(await service.events('both', linesOf([1, tooMuch, 2, 0, 3]), { wait: 'true' }), { status: 200 })
  t.same(await stand(service, 'both'), [3, 2])
})

t.test('an import that takes too much is told so, with what is stored, and one that does not is stored', async (t) => {
  await service.create('imported', 'id UInt32 `json:$.id`, n UInt64 `json:$.n`, d UInt64 DEFAULT length(range(n))')
  const refused = { status: 422, json: { error: /takes too much time or memory.*memory limit/ } }
  t.match(await service.append('imported', 'ndjson', linesOf([1, tooMuch])), refused)
  t.same(await stand(service, 'imported'), [0, 0])
  t.match(await service.append('imported', 'ndjson', linesOf([1, 2])), { status: 200 })
  t.same(await stand(service, 'imported'), [2, 0])
  const { text: counted } = await service.call('GET', '/metrics')
  t.match(counted, /^millrace_limit_hits_total\{limit="insert_cost"\} 1$/m)
})

t.test('a replay over rows that take too much, alone or together, stores the others', async (t) => {
  const engine = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'd % 20' }
  t.match(await service.create('again', `${memorySchema}, x UInt8 \`json:$.x\``, engine), { status: 200 })
  const counts = [...Array.from({ length: 40 }, (_, id) => much + id), tooMuch]
  const lines = counts.map((n, id) => JSON.stringify({ id, n, x: 'many' }))
  t.match(await service.events('again', lines.join('\n'), { wait: 'true' }), { status: 200 })
  t.same(await stand(service, 'again'), [0, 41])
  const fixes = new URLSearchParams({ 'fixes.x': "'1'" })
  const replayed = await service.call('POST', `/v0/datasources/again/quarantine/replay?${fixes}`)
  t.match(replayed, { status: 200, json: { replayed_rows: 40, failed_rows: 1 } }, replayed.text)
  t.same(await stand(service, 'again'), [40, 1])
  const expected = Array.from({ length: 40 }, (_, id) => [String(id), String(much + id)])
  t.same(await service.rows('SELECT id, d FROM again ORDER BY id'), expected)
})

t.test('a data source whose events take long can be dropped', async (t) => {
  // A process can have one service open at a time.
  await service.close()
  const quick = await openTestService(t, { insertTimeMaxMs, eventsFlushIdleMs: 5 })
  t.match(await quick.create('gone', slowSchema), { status: 200 })
  t.match(await quick.events('gone', linesOf([10])), { status: 202 })
  t.match(await quick.call('DELETE', '/v0/datasources/gone'), { status: 204 })
  t.match(await quick.create('gone', 'id UInt32 `json:$.id`'), { status: 200 })
  await sendUntilStored(quick, 'gone', 1)
  t.equal(await quick.count('gone'), 1)
})
