// Views that do not take a block: they are parked, their source and the other views go on, and they catch up once they work again.

import t, { type Test } from 'tap'
import type { Options } from '../../src/config.ts'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { errorOf } from '../support/api/pipe-service.ts'
import { parked, RiskySource } from '../support/api/risky-source.ts'
import { type Answer, liveOn, openTestService } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

async function openRisky(t: Test, given: Partial<Options> = {}): Promise<RiskySource> {
  return await new RiskySource(await openTestService(t, given), 'ev').create()
}

t.test('views that fail beside others', async (t) => {
  const service = await openTestService(t)
  const open = (name: string): Promise<RiskySource> => new RiskySource(service, name).create()

  await t.test('one is parked, and catches up with each block once', async (t) => {
    const source = await open('one')
    await source.send([0])
    const refused = await source.send([1], 13)
    t.equal(refused.status, 422, refused.text)
    t.match(errorOf(refused), /one_risky\.one_risky_view/)
    await service.log.until(parked)
    await service.untilStored('one')
    for (let id = 2; id < 12; id += 1) {
      const taken = await source.send([id], id)
      t.match([taken.status, taken.json], [200, { successful_rows: 1, views_behind: { count: 1 } }], taken.text)
    }
    t.match(await source.faults(12), [['one_risky_rows', ['1', '1']]])
    const shown = await source.behind()
    t.match(shown, [{ view: 'one_risky.one_risky_view', state: 'parked', takes_new_rows: false, blocks: 11 }])
    t.match(shown[0]?.error, /unlucky/)
    t.notMatch(shown[0]?.error, /v_[0-9a-f]{32}|__table/)
    t.ok((shown[0]?.bytes ?? 0) > 0)
    t.match((await source.catchUp()).json, { behind: { state: 'parked' } })
    t.equal(await service.count('one_risky_rows'), 1)

    await source.mend()
    const caughtUp = await source.catchUp()
    t.same(caughtUp.json, { behind: null }, caughtUp.text)
    t.same(await source.faults(12), [])
    t.same(await source.behind(), [])
    t.same((await source.send([12], 14)).json, { successful_rows: 1, quarantined_rows: 0 })
    t.same(await source.faults(13), [])
  })

  await t.test('one for which a block waits is no less behind before it is parked', async (t) => {
    const source = await open('waiting')
    t.equal((await source.send([1], 13)).status, 422)
    t.match((await source.catchUp()).json, { behind: { state: 'parked' } })
    await source.mend()
    t.same((await source.catchUp()).json, { behind: null })
    t.same(await source.faults(1), [])
  })

  await t.test('replayed rows are kept for it', async (t) => {
    const source = await open('replayed')
    await source.park(1)
    const set = await service.append('replayed', 'ndjson', '{"id":"x","n":2}\n{"id":"y","n":3}')
    t.match(set.json, { imported_rows: 0, views_behind: { count: 1, views: ['replayed_risky.replayed_risky_view'] } })
    t.match(await source.behind(), [{ state: 'parked', blocks: 1 }])
    const replay = (fixes: string) =>
      service.call('POST', '/v0/datasources/replayed/quarantine/replay', { body: fixes })
    t.match((await replay('fixes.id=n')).json, { replayed_rows: 2 })
    t.match(await source.behind(), [{ state: 'parked', blocks: 2 }])
    await source.mend()
    t.same((await source.catchUp()).json, { behind: null })
    t.same(await source.faults(3), [])
  })

  await t.test('a replay that it fails at parks it with its rows', async (t) => {
    const source = await open('failing')
    await service.append('failing', 'ndjson', '{"id":"x","n":13}\n{"id":"y","n":14}')
    const body = "fixes.id=if(n='13','1','2')"
    const replayed = await service.call('POST', '/v0/datasources/failing/quarantine/replay', { body })
    t.match(replayed.json, { replayed_rows: 2, view_failure: /unlucky/ }, replayed.text)
    t.match(await source.behind(), [{ state: 'parked', blocks: 1 }])
    await source.mend()
    t.same((await source.catchUp()).json, { behind: null })
    t.same(await source.faults(2), [])
  })

  await t.test('rows that are not kept leave it incomplete; it takes new ones, and is filled anew', async (t) => {
    const source = await open('two')
    await source.park(1)
    t.equal((await service.call('POST', '/v0/datasources/two_risky_rows/truncate')).status, 205)
    t.match(await source.behind(), [{ state: 'incomplete', blocks: 0, bytes: 0 }])
    await source.mend()
    t.match((await source.catchUp()).json, { behind: { state: 'incomplete', takes_new_rows: true } })
    await source.send([2])
    t.equal(await service.count('two_risky_rows'), 1)
    const population = await service.call('POST', '/v0/pipes/two_risky/nodes/two_risky_view/population?truncate=true')
    await endedJob(service, jobIdOf(population))
    t.same(await source.behind(), [])
    t.same(await source.faults(2), [])
  })

  await t.test('two fail, and one behind another view', async (t) => {
    const source = await open('three')
    await source.addRisky('also')
    const deep = 'SELECT id, n + throwIf(n >= 20) AS n FROM three_sound_rows'
    await source.views.fill('deep', deep, { datasource: 'deep_rows' })
    await source.send([1])
    await source.park(2)
    await service.events('three', '{"id":3,"n":20}')
    await service.untilStored('three')
    const behind = await source.behind()
    t.same(
      behind.map(({ view, state }) => [view, state]),
      [
        ['three_risky.three_risky_view', 'parked'],
        ['also.also_view', 'parked'],
        ['deep.deep_view', 'parked'],
      ],
    )
    t.equal(await service.count('three_sound_rows'), 3)
    t.equal(await service.count('deep_rows'), 2)
    t.match(await source.behind('three_sound_rows'), [{ view: 'deep.deep_view' }])
    await source.mend()
    t.same((await source.catchUp()).json, { behind: null })
    t.same((await source.catchUp('also')).json, { behind: null })
    t.same(await source.faults(3), [])
    t.equal(await service.count('also_rows'), 3)
  })

  await t.test('what may be changed while one is parked', async (t) => {
    const source = await open('four')
    await source.park(1)
    const linked = [
      await source.views.tryFill('reading', 'SELECT id FROM four_risky_rows', { datasource: 'read_rows' }),
      await source.views.tryFill('filling', 'SELECT toUInt32(1) AS id, n FROM one', { datasource: 'four' }),
      await service.call('POST', '/v0/pipes/four_risky/nodes/four_risky_view/population?truncate=true'),
    ]
    for (const answer of linked) t.match([answer.status, errorOf(answer)], [409, /four_risky_view lacks blocks/])
    t.equal((await service.call('POST', '/v0/datasources/four_sound_rows/truncate')).status, 205)
    t.match(await source.behind(), [{ state: 'parked' }])
    t.equal((await service.call('POST', '/v0/datasources/four_risky_rows/truncate')).status, 205)
    t.match(await source.behind(), [{ state: 'incomplete' }])
    const unlinked = await service.call('DELETE', '/v0/pipes/four_risky/nodes/four_risky_view/materialization')
    t.equal(unlinked.status, 200, unlinked.text)
    t.same(await source.behind(), [])
    t.equal((await source.catchUp()).status, 400)
    t.same((await source.send([2], 13)).json, { successful_rows: 1, quarantined_rows: 0 })
  })

  await t.test('a replace of its source computes it anew, and lets it in', async (t) => {
    const parkedStill = await open('nine')
    await parkedStill.park(1)
    const body = '{"id":3,"n":1}'
    t.match((await service.call('POST', '/v0/datasources?mode=replace&name=nine&format=ndjson', { body })).json, {
      imported_rows: 1,
    })
    t.same(await parkedStill.behind(), [])
    await parkedStill.send([4])
    t.same(await parkedStill.faults(2), [])
    const source = await open('eight')
    await source.park(1)
    const replace = (body: string): Promise<Answer> =>
      service.call('POST', '/v0/datasources?mode=replace&name=eight&format=ndjson', { body })
    const refused = await replace('{"id":1,"n":13}')
    t.equal(refused.status, 422, refused.text)
    t.match(await source.behind(), [{ state: 'parked', takes_new_rows: false, blocks: 1 }])
    await source.send([2])
    const sql = 'SELECT id, n FROM eight'
    const edited = await service.call('PUT', '/v0/pipes/eight_risky/nodes/eight_risky_view', { body: sql })
    t.equal(edited.status, 200, edited.text)
    t.match(edited.json, { warnings: [{}, { text: /^Rows that were kept for the Materialized View .* are given up/ }] })
    t.match(await source.behind(), [{ state: 'incomplete', takes_new_rows: true }], 'other SQL has not what it lacked')
    t.match((await replace('{"id":3,"n":1}\n{"id":4,"n":1}')).json, { imported_rows: 2 })
    t.same(await source.behind(), [])
    await source.send([5])
    t.same(await source.faults(3), [])
  })

  await t.test('of a block that it has in part it takes the rest', async (t) => {
    const engine = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'id % 40' }
    const source = await new RiskySource(service, 'six').create(engine)
    // Twelve partitions are one INSERT, and the view takes those before the one that it fails at.
    const rows = Array.from({ length: 40 }, (_, id) => JSON.stringify({ id, n: id === 39 ? 13 : 1 }))
    await service.events('six', rows.join('\n'))
    await service.log.until(parked, ({ node }) => node === 'six_risky.six_risky_view')
    await service.untilStored('six')
    t.ok((await service.count('six_risky_rows')) > 0)
    await source.send([40, 41])
    await source.mend()
    t.same((await source.catchUp()).json, { behind: null })
    t.same(await source.faults(42), [])
  })

  await t.test('rows of a data source that keeps none are repeated too', async (t) => {
    const source = await new RiskySource(service, 'seven').create({ engine: 'Null' })
    await source.park(1)
    await source.send([2])
    await source.mend()
    t.same((await source.catchUp()).json, { behind: null })
    t.match(await source.faults(2), [['seven', ['0', '0']]])
  })

  await t.test('who may not know the view is told that there is one, and not what it says', async (t) => {
    const source = await open('five')
    await source.park(1)
    const scopes = ['DATASOURCES:APPEND:five', 'DATASOURCES:READ:five']
    const body = new URLSearchParams([['name', 'writer'], ...scopes.map((scope): [string, string] => ['scope', scope])])
    const made = await service.call('POST', '/v0/tokens', { body: body.toString() })
    const { token } = made.json as { readonly token: string }
    t.match((await source.send([2], 1, { token })).json, { views_behind: { count: 1, views: [] } })
    const shown = await service.call('GET', '/v0/datasources/five', { token })
    t.match(shown.json, { views_behind: [{ view: null, state: 'parked', error: /^[A-Z_]+$/ }] }, shown.text)
    t.notMatch(shown.text, /risky|unlucky/)
    t.equal((await source.catchUp('five_risky', { token })).status, 403)
    // Without anybody who asks for it, too.
    await source.mend()
    const caughtUp = 'A Materialized View has caught up: it has all blocks again.'
    const { view } = (await service.log.until(parked, ({ node }) => node === 'five_risky.five_risky_view')).fields
    await service.log.until(caughtUp, (fields) => fields['view'] === view)
    t.same(await source.faults(2), [])
  })
})

t.test('over a restart a view stays parked, and its blocks are kept', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await new RiskySource(await liveOn(t, directory.path), 'ev').create()
  await first.send([0, 1])
  await first.park(2)
  for (let id = 3; id < 8; id += 1) await first.send([id])
  await first.service.close()

  const second = new RiskySource(await liveOn(t, directory.path), 'ev')
  t.match(await second.behind(), [{ state: 'parked', takes_new_rows: false, blocks: 6 }])
  t.equal(await second.service.count('ev_risky_rows'), 2)
  await second.send([8], 20)
  await second.mend()
  t.same((await second.catchUp()).json, { behind: null })
  t.same(await second.faults(9), [])
})

t.test('more than may be kept leaves a view incomplete', async (t) => {
  const source = await openRisky(t, { viewsBacklogBytesMax: 1_024 })
  await source.park(1)
  for (let id = 2; id < 16; id += 1) await source.send([id])
  const message = 'A Materialized View is incomplete: what it lacks is not kept any more.'
  const { fields } = await source.service.log.until(message)
  t.match(fields, {
    node: 'ev_risky.ev_risky_view',
    reason: 'more waits for it than may be kept',
    remedy: /catch_up, then POST/,
  })
  t.match(await source.behind(), [{ state: 'incomplete' }])
  t.equal(await source.service.count('ev_sound_rows'), 15)
})

t.test('with views=strict a view that fails holds its events up', async (t) => {
  const source = await openRisky(t, { views: 'strict' })
  t.equal((await source.send([1], 13)).status, 422)
  await source.service.events('ev', '{"id":2,"n":1}')
  t.same(await source.behind(), [])
  t.equal(await source.service.count('ev_risky_rows'), 0)
  await source.mend()
  await source.service.untilStored('ev')
  t.same(await source.faults(2), [])
})

/** A service that the test may close, and open again on the same directory. */
