// INSERTs that the engine cannot stop, in as many data sources as there are places for slow ones: whether the engine is started
// again for them or they end before, every row is stored or set aside once.

import t from 'tap'
import { openTestService } from '../api/test-service.ts'

/** Within it the engine cannot stop: a tenth of a second times `n`, or half of that on a machine that is fast. */
const schema =
  "id UInt32 `json:$.id`, n UInt64 `json:$.n`, d UInt64 DEFAULT arraySum(i -> length(replaceRegexpAll(repeat('abc', 300000), '(a|b|c)*?(b)', concat('x', toString(i)))), range(n))"
const slow = ['a', 'b', 'c', 'd']

t.test('INSERTs that cannot be stopped leave nobody without a place, and lose and double no row', async (t) => {
  const service = await openTestService(t, { insertTimeMaxMs: 1_000, eventsFlushIdleMs: 5 })
  for (const name of slow) t.match(await service.create(name, schema), { status: 200 })
  await service.create('quick', 'id UInt32 `json:$.id`')
  const rows = [0, 60, 0].map((n, id) => JSON.stringify({ id, n })).join('\n')
  for (const name of slow) t.match(await service.events(name, rows), { status: 202 })
  let quickRows = 0
  const isWaiting = async (name: string): Promise<boolean> => {
    const { json } = await service.call('GET', `/v0/datasources/${name}`)
    // The shape of the answer is what other tests check.
    return (json as { readonly events: { readonly waiting_rows: number } }).events.waiting_rows > 0
  }
  for (const name of slow) {
    while (await isWaiting(name)) {
      t.match(await service.events('quick', '{"id":1}', { wait: 'true' }), { status: 200 })
      quickRows += 1
    }
  }
  t.ok(quickRows > 0)
  t.equal(await service.count('quick'), quickRows)
  for (const name of slow) {
    t.same(await service.rows(`SELECT id, d > 0 FROM ${name} ORDER BY id`), [
      ['0', '0'],
      ['2', '0'],
    ])
    t.same(await service.rows(`SELECT id FROM ${name}_quarantine`), [['1']])
  }
})
