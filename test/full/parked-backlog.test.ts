// What is kept for a view that is parked takes nothing of the log from others, and outlives what is cut out between, and a restart.

import t, { type Test } from 'tap'
import { mebibyte } from '../../src/shared/bytes.ts'
import { liveOn, type TestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { createTestDirectory } from '../support/store/test-store.ts'
import { byTier } from '../support/tier.ts'

const bodyRows = 9_000

function liveWithSmallLog(t: Test, dataDir: string): Promise<TestService> {
  return liveOn(t, dataDir, { eventsLogBytesMax: 64 * mebibyte })
}

t.test('a view is parked while others send more than the log holds', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await liveWithSmallLog(t, directory.path)
  await first.create('stream', 'id UInt32, n UInt32')
  await first.create('mended', 'n UInt32')
  await first.create('other', 'id UInt32, text String')
  const sql = 'SELECT id, n + throwIf(n >= 13 AND (SELECT count() FROM mended) = 0) AS n FROM stream'
  await new ViewCalls(first).fill('risky', sql, { datasource: 'risky_rows' })
  await first.events('stream', '{"id":0,"n":13}')
  await first.log.until('A Materialized View does not take a block: it is parked, and the others go on.')
  await first.untilStored('stream')

  const bodies = byTier({ quick: 24, full: 40, soak: 200 })
  const line = (id: number): string => JSON.stringify({ id, text: 'x'.repeat(200) })
  const body = Array.from({ length: bodyRows }, (_, id) => line(id)).join('\n')
  for (let count = 1; count <= bodies; count += 1) {
    const sent = await first.events('other', body, { wait: 'true' })
    t.equal(sent.status, 200, sent.text)
    t.equal((await first.events('stream', JSON.stringify({ id: count, n: 1 }), { wait: 'true' })).status, 200)
  }
  const cut = 'What is stored was cut out of the log from between events that are not.'
  t.ok(first.log.entries.some(({ message }) => message === cut))
  await first.close()

  const second = await liveWithSmallLog(t, directory.path)
  t.match((await second.call('GET', '/v0/datasources/stream')).json, {
    views_behind: [{ state: 'parked', blocks: bodies + 1 }],
  })
  await second.events('mended', '{"n":1}', { wait: 'true' })
  const caughtUp = await second.call('POST', '/v0/pipes/risky/nodes/risky_view/catch_up')
  t.same(caughtUp.json, { behind: null }, caughtUp.text)
  const all = [[String(bodies + 1), String(bodies + 1)]]
  t.same(await second.rows('SELECT count(), uniqExact(id) FROM stream'), all)
  t.same(await second.rows('SELECT count(), uniqExact(id) FROM risky_rows'), all)
  t.equal(await second.count('other'), bodies * bodyRows)
})
