// INSERTs that the engine cannot stop, in as many data sources as there are places for slow ones: whether the engine is started
// again for them or they end before, every row is stored or set aside once.

import t from 'tap'
import { insertTimeMaxMs, linesOf, slowCount, slowSchema, stand } from '../support/api/costly-service.ts'
import { openTestService } from '../support/api/test-service.ts'

const slow = ['a', 'b', 'c', 'd']

t.test('INSERTs that cannot be stopped leave nobody without a place, and lose and double no row', async (t) => {
  const service = await openTestService(t, { insertTimeMaxMs, eventsFlushIdleMs: 5 })
  for (const name of slow) t.match(await service.create(name, slowSchema), { status: 200 })
  await service.create('quick', 'id UInt32 `json:$.id`')
  const rows = linesOf([0, await slowCount(service), 0])
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
  t.ok(quickRows > 1, 'others are stored while they run')
  const [storedRows, lateRows] = await stand(service, 'quick')
  t.equal(storedRows + lateRows, quickRows)
  let besideCount = 0
  for (const name of slow) {
    const stored = (await service.rows(`SELECT id FROM ${name}`)).flat()
    const setAside = (await service.rows(`SELECT id FROM ${name}_quarantine`)).flat()
    t.same([...stored, ...setAside].sort(), ['0', '1', '2'], name)
    t.notOk(stored.includes('1'), name)
    besideCount += stored.length
  }
  // On a machine that stops for a moment, those that are tried then take too long as well.
  t.ok(besideCount >= slow.length, `${besideCount} rows beside them are stored`)
})
