// What is done with other views on the source and on the target of one that is parked: it goes on lacking what it lacked, and no more.

import t, { type Test } from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { ParkedViews } from '../support/api/parked-views.ts'
import { errorOf } from '../support/api/pipe-service.ts'
import { liveOn, openTestService } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const keptBlock = [{ state: 'parked', takes_new_rows: false, blocks: 1 }]

t.test('beside one that is parked', async (t) => {
  const service = await openTestService(t, { populateChunkRowsMax: 1_000 })

  /** A source with a view that is parked by the row 13, and one that is sound; another source fills the target of the first too. */
  async function parkedBeside(name: string): Promise<ParkedViews> {
    const parked = await new ParkedViews(service, `${name}_switch`).createSources(name, `${name}_2`)
    const { views } = parked
    await parked.fillFailing(`${name}_p`, name, { engine: 'MergeTree', engine_sorting_key: 'id' })
    await views.fill(`${name}_n`, `SELECT id, n FROM ${name}`, {
      ...{ datasource: `${name}_n_rows`, engine: 'MergeTree', engine_sorting_key: 'id' },
    })
    await views.fill(`${name}_also`, `SELECT toUInt32(id + 1000) AS id, toUInt64(n) AS n FROM ${name}_2`, {
      datasource: `${name}_p_rows`,
    })
    await parked.send(name, [1])
    await parked.send(`${name}_2`, [2])
    await parked.park(`${name}_p`, name, 13)
    return parked
  }

  async function caughtUp(t: Test, parked: ParkedViews, name: string): Promise<void> {
    t.match(await parked.behind(name), keptBlock)
    await parked.mend()
    t.same((await parked.catchUp(`${name}_p`)).json, { behind: null })
    t.same(await parked.counts(`${name}_p_rows`), [3, 3])
  }

  await t.test('populates and repairs of a neighbour, done and failed, take nothing from it', async (t) => {
    const parked = await parkedBeside('one')
    for (const path of ['/population?truncate=true', '/population', '/repair?force=true', '/repair?dry_run=true']) {
      t.equal((await endedJob(service, jobIdOf(await parked.node('one_n', path)))).status, 'done', path)
      t.match(await parked.behind('one'), keptBlock, path)
    }
    t.equal((await parked.node('one_n', '/population?populate_condition=nothing%3D1')).status, 400)
    // It fails at the row that the other one did not take.
    const failing = await parked.views.tryFill('one_x', `SELECT id, ${parked.failing} FROM one`, {
      ...{ datasource: 'one_x_rows', populate: 'true' },
    })
    const { job } = failing.json as { readonly job: { readonly id: string } }
    t.match(await endedJob(service, job.id), { status: 'error', error: /unlucky/ })
    t.match((await parked.node('one_n', '/verify', 'GET')).json, { comparable: true })
    await caughtUp(t, parked, 'one')
  })

  await t.test('neither do edits, making and removing, done or refused', async (t) => {
    const parked = await parkedBeside('two')
    const edit = (body: string) => parked.node('two_n', '', 'PUT', { body })
    t.equal((await edit('SELECT id, toUInt32(n + 1) AS n FROM two')).status, 200)
    t.equal((await edit('SELECT id, upper(n) AS n FROM two')).status, 400)
    t.equal((await edit("SELECT id, 'x' AS n FROM two")).status, 400)
    t.match(await parked.behind('two'), keptBlock)
    t.equal((await edit('SELECT id, n FROM two UNION ALL SELECT id, n FROM two_2')).status, 200)
    t.match(await parked.behind('two'), keptBlock)
    const refused = await parked.node('two_p', '', 'PUT', { body: "SELECT id, 'x' AS n FROM two" })
    t.equal(refused.status, 400)
    t.equal((await parked.node('two_n', '/materialization', 'DELETE')).status, 200)
    await parked.views.fill('two_y', 'SELECT id FROM two', { datasource: 'two_y_rows' })
    await caughtUp(t, parked, 'two')
  })

  await t.test('a replace that is refused takes nothing from it either', async (t) => {
    const parked = await parkedBeside('three')
    const replace = (name: string, body: string) =>
      service.call('POST', `/v0/datasources?mode=replace&name=${name}&format=ndjson`, { body })
    const refused = await replace('three', '{"id":5,"n":13}')
    t.match([refused.status, errorOf(refused)], [422, /unlucky/])
    t.equal((await replace('three', '{"id":"x","n":13}')).status, 400)
    await caughtUp(t, parked, 'three')
  })

  await t.test('a replace of another source of its target computes its rows anew too', async (t) => {
    const parked = await parkedBeside('four')
    const body = '{"id":3,"n":1}\n{"id":4,"n":1}'
    const replace = () => service.call('POST', '/v0/datasources?mode=replace&name=four_2&format=ndjson', { body })
    const refused = await replace()
    t.match([refused.status, errorOf(refused)], [422, /four_p\.four_p_view.*unlucky|unlucky.*four_p\.four_p_view/])
    t.match(await parked.behind('four'), keptBlock)
    t.same(await parked.counts('four_p_rows'), [2, 2], 'what it made before is there')
    await parked.mend()
    t.match((await replace()).json, { imported_rows: 2 })
    t.same(await parked.behind('four'), [])
    t.same(await parked.counts('four_p_rows'), [4, 4])
    await parked.send('four', [14], 13)
    t.same(await parked.counts('four_p_rows'), [5, 5])
  })

  await t.test('what would take its rows away, or repeat them, is refused', async (t) => {
    const parked = await parkedBeside('five')
    await parked.views.fill('five_d', 'SELECT id, n FROM five_n_rows', { datasource: 'five_d_rows' })
    const truncating = await parked.node('five_also', '/population?truncate=true')
    t.match([truncating.status, errorOf(truncating)], [409, /other Materialized Views fill it too/])
    t.match((await parked.node('five_also', '/verify', 'GET')).json, { comparable: false, reason: /other .*fill/ })
    const repair = await parked.node('five_also', '/repair?force=true')
    t.match([repair.status, errorOf(repair)], [409, /other Materialized Views fill/])
    t.same(await parked.counts('five_p_rows'), [2, 2])
    await caughtUp(t, parked, 'five')
    await parked.unmend()
    await parked.views.fill('five_e', 'SELECT id, n FROM five_p_rows', {
      ...{ datasource: 'five_e_rows', engine: 'MergeTree', engine_sorting_key: 'id' },
    })
    await parked.send('five', [14], 13)
    await service.untilStored('five')
    for (const path of ['/population', '/population?truncate=true', '/repair?force=true']) {
      const refused = await parked.node('five_e', path)
      t.match([refused.status, errorOf(refused)], [409, /five_p\.five_p_view lacks blocks/], path)
    }
    const edited = await parked.node('five_e', '', 'PUT', { body: 'SELECT id, n AS n FROM five_p_rows WHERE n > 0' })
    t.match([edited.status, errorOf(edited)], [409, /five_p\.five_p_view lacks blocks/])
    t.match(await parked.behind('five'), keptBlock)
  })
})

t.test('over a restart what is kept from before a change of a neighbour is there', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await new ParkedViews(await liveOn(t, directory.path), 'switch').createSources('ev')
  await first.fillFailing('p', 'ev')
  await first.views.fill('n', 'SELECT id, n FROM ev', { datasource: 'n_rows' })
  await first.park('p', 'ev', 1)
  await first.send('ev', [2])
  t.equal((await first.node('n', '', 'PUT', { body: 'SELECT id, toUInt32(n + 1) AS n FROM ev' })).status, 200)
  await first.send('ev', [3])
  await first.service.close()

  const second = new ParkedViews(await liveOn(t, directory.path), 'switch')
  t.match(await second.behind('ev'), [{ state: 'parked', blocks: 3 }])
  await second.mend()
  t.same((await second.catchUp('p')).json, { behind: null })
  t.same(await second.counts('p_rows'), [3, 3])
  t.same(await second.counts('n_rows'), [3, 3])
})
