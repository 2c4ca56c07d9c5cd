// Nodes with UNION ALL of which one SELECT does not take a block: it is parked by itself.

import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { ParkedViews } from '../support/api/parked-views.ts'
import { errorOf } from '../support/api/pipe-service.ts'
import { liveOn, openTestService } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

t.test('a SELECT that fails never holds events up', async (t) => {
  const service = await openTestService(t)

  await t.test('it is parked, the other SELECTs go on, and it catches up with each block once', async (t) => {
    const parked = await new ParkedViews(service, 'one_switch').createSources('one_a', 'one_b')
    const sql = `SELECT id, n FROM one_a UNION ALL SELECT id, ${parked.failing} FROM one_b`
    await parked.views.fill('one', sql, { datasource: 'one_rows' })
    await parked.send('one_b', [100])
    const refused = await parked.send('one_b', [101], 13)
    t.equal(refused.status, 422, refused.text)
    t.match(errorOf(refused), /one\.one_view/)
    await service.untilStored('one_b')
    const taken = await parked.send('one_b', [102, 103])
    t.match([taken.status, taken.json], [200, { views_behind: { count: 1, views: ['one.one_view'] } }], taken.text)
    t.same((await parked.send('one_a', [1, 2], 14)).json, { successful_rows: 2, quarantined_rows: 0 })
    t.match(await parked.behind('one_b'), [
      { view: 'one.one_view', select: 2, state: 'parked', takes_new_rows: false, blocks: 2 },
    ])
    t.same(await parked.behind('one_a'), [])
    t.match(await parked.lacking('one_rows'), [{ view: 'one.one_view', select: 2, state: 'parked' }])
    t.same(await parked.counts('one_rows'), [3, 3])
    await parked.mend()
    t.same((await parked.catchUp('one')).json, { behind: null })
    t.same(await parked.counts('one_rows'), [6, 6])
    t.same(await parked.lacking('one_rows'), [])
    t.same((await parked.send('one_b', [104], 15)).json, { successful_rows: 1, quarantined_rows: 0 })
    t.same(await parked.counts('one_rows'), [7, 7])
  })

  await t.test('two SELECTs of one data source fail at one block, and are told as one view', async (t) => {
    const parked = await new ParkedViews(service, 'two_switch').createSources('two_a')
    const sql = `SELECT id, ${parked.failing} FROM two_a UNION ALL SELECT id + 1000 AS id, ${parked.failing} FROM two_a UNION ALL SELECT id + 2000 AS id, n FROM two_a`
    await parked.views.fill('two', sql, { datasource: 'two_rows' })
    await parked.send('two_a', [1])
    await parked.park('two', 'two_a', 2)
    const taken = await parked.send('two_a', [3])
    t.match(taken.json, { successful_rows: 1, views_behind: { count: 1, views: ['two.two_view'] } }, taken.text)
    t.match(await parked.behind('two_a'), [{ select: 1 }, { select: 2 }])
    t.same(await parked.counts('two_rows'), [5, 5])
    t.match((await parked.catchUp('two')).json, { behind: { select: 1, state: 'parked' } })
    await parked.mend()
    t.same((await parked.catchUp('two')).json, { behind: null })
    t.same(await parked.counts('two_rows'), [9, 9])
  })

  await t.test('one that is incomplete is mended by a populate of the node, and told until then', async (t) => {
    const parked = await new ParkedViews(service, 'three_switch').createSources('three_a', 'three_b')
    const sql = `SELECT id, n FROM three_a UNION ALL SELECT id, ${parked.failing} FROM three_b`
    await parked.views.fill('three', sql, { datasource: 'three_rows' })
    await parked.park('three', 'three_b', 1)
    const refused = await parked.node('three', '/population?truncate=true')
    t.match([refused.status, errorOf(refused)], [409, /three\.three_view/])
    t.equal((await service.call('POST', '/v0/datasources/three_rows/truncate')).status, 205)
    t.match(await parked.lacking('three_rows'), [{ select: 2, state: 'incomplete' }])
    await parked.send('three_a', [2])
    await parked.mend()
    t.match((await parked.catchUp('three')).json, { behind: { state: 'incomplete', takes_new_rows: true } })
    await parked.send('three_b', [3])
    const job = jobIdOf(await parked.node('three', '/population?truncate=true'))
    t.equal((await endedJob(service, job)).status, 'done')
    t.same(await parked.lacking('three_rows'), [])
    t.same(await parked.counts('three_rows'), [3, 3])
  })

  await t.test('other SQL of the node says of the new view what the old one lacked', async (t) => {
    const parked = await new ParkedViews(service, 'four_switch').createSources('four_a', 'four_b')
    const sql = `SELECT id, n FROM four_a UNION ALL SELECT id, ${parked.failing} FROM four_b`
    await parked.views.fill('four', sql, { datasource: 'four_rows' })
    await parked.park('four', 'four_b', 1)
    const body = 'SELECT id, n FROM four_b UNION ALL SELECT id, n FROM four_a'
    t.equal((await parked.node('four', '', 'PUT', { body })).status, 200)
    t.match(await parked.behind('four_b'), [{ select: 1, state: 'incomplete', takes_new_rows: true }])
    t.same(await parked.behind('four_a'), [])
    t.same((await parked.send('four_b', [2], 13)).status, 200)
    t.same(await parked.counts('four_rows'), [1, 1])
    t.equal((await parked.node('four', '/materialization', 'DELETE')).status, 200)
    t.same(await parked.behind('four_b'), [])
  })
})

t.test('over a restart a SELECT stays parked, and its blocks are kept', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await new ParkedViews(await liveOn(t, directory.path), 'switch').createSources('a', 'b')
  const sql = `SELECT id, n FROM a UNION ALL SELECT id, ${first.failing} FROM b`
  await first.views.fill('both', sql, { datasource: 'rows' })
  await first.park('both', 'b', 1)
  await first.send('b', [2])
  await first.service.close()

  const second = new ParkedViews(await liveOn(t, directory.path), 'switch')
  t.match(await second.behind('b'), [{ select: 2, state: 'parked', blocks: 2 }])
  await second.send('b', [3])
  await second.send('a', [4])
  t.same(await second.counts('rows'), [1, 1])
  await second.mend()
  t.same((await second.catchUp('both')).json, { behind: null })
  t.same(await second.counts('rows'), [4, 4])
})
