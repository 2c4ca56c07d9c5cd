// What views that lack blocks are told to be mended by, done as it is told.

import t, { type Test } from 'tap'
import { endedJob } from '../support/api/job-calls.ts'
import { ParkedViews, type ShownBehind } from '../support/api/parked-views.ts'
import { errorOf } from '../support/api/pipe-service.ts'
import { openTestService } from '../support/api/test-service.ts'

t.test('a remedy works', async (t) => {
  // So no import is kept for a view that is parked.
  const service = await openTestService(t, { viewsBacklogImportBytesMax: 1_024 })
  const engine = { engine: 'MergeTree', engine_sorting_key: 'id' }

  /** Sends the requests of a remedy in their order; what stands behind "or" is another way. */
  async function follow(t: Test, { remedy = '' }: Pick<ShownBehind, 'remedy'>, body?: string): Promise<void> {
    const [sentences = ''] = remedy.split('; or ')
    for (const [, method = '', path = ''] of sentences.matchAll(/\b(POST|PUT) (\/v0\/[^\s,;.)]+)/g)) {
      const isReplace = path.includes('mode=replace')
      const full = isReplace ? `${path}&name=${t.name}&format=ndjson` : path
      // Only what takes rows or SQL has a body.
      const call = isReplace || method === 'PUT' ? { body: body ?? '' } : {}
      const answer = await service.call(method as 'POST' | 'PUT', full, call)
      t.equal(answer.status, 200, `${method} ${full}: ${answer.text}`)
      const { job } = answer.json as { readonly job?: { readonly id: string } | null }
      if (job) t.equal((await endedJob(service, job.id)).status, 'done', path)
    }
  }

  async function parkedSource(name: string, sourceEngine = {}): Promise<ParkedViews> {
    const parked = new ParkedViews(service, `${name}_switch`)
    await service.create(name, 'id UInt32, n UInt32', sourceEngine)
    await parked.createSources(`${name}_2`)
    await parked.fillFailing(`${name}_p`, name, engine)
    await parked.send(name, [1])
    await parked.park(`${name}_p`, name, 13)
    return parked
  }

  /** It lacks rows for good then. */
  async function lose(t: Test, name: string): Promise<void> {
    t.equal((await service.append(name, 'ndjson', '{"id":2,"n":1}')).status, 200)
  }

  await t.test('parked', async (t) => {
    const parked = await parkedSource('parked')
    const [told] = await parked.behind('parked')
    t.match(told, { state: 'parked', remedy: /POST \/v0\/pipes\/parked_p\/nodes\/parked_p_view\/catch_up\. If/ })
    await parked.mend()
    await follow(t, { remedy: told?.remedy?.split(' If ')[0] ?? '' })
    t.same(await parked.behind('parked'), [])
    t.same(await parked.counts('parked_p_rows'), [2, 2])
  })

  await t.test('never', async (t) => {
    const parked = await parkedSource('never')
    const [told] = await parked.behind('never')
    await follow(t, { remedy: told?.remedy?.split(' If ')[1] ?? '' }, 'SELECT id, n FROM never')
    t.same(await parked.behind('never'), [])
    t.same(await parked.counts('never_p_rows'), [2, 2])
  })

  await t.test('incomplete', async (t) => {
    const parked = await parkedSource('incomplete')
    await lose(t, 'incomplete')
    const [told] = await parked.behind('incomplete')
    t.match(told, {
      state: 'incomplete',
      takes_new_rows: false,
      remedy: /catch_up, then POST .*population\?truncate=true/,
    })
    await parked.mend()
    await follow(t, told ?? {})
    t.same(await parked.lacking('incomplete_p_rows'), [])
    t.same(await parked.counts('incomplete_p_rows'), [3, 3])
  })

  await t.test('passing', async (t) => {
    const parked = await parkedSource('passing')
    await lose(t, 'passing')
    await parked.mend()
    await parked.catchUp('passing_p')
    const [told] = await parked.lacking('passing_p_rows')
    t.match(told, { state: 'incomplete', takes_new_rows: true, remedy: /^POST [^ ]*population\?truncate=true\.$/ })
    await follow(t, told ?? {})
    t.same(await parked.counts('passing_p_rows'), [3, 3])
  })

  await t.test('shared', async (t) => {
    const parked = await parkedSource('shared')
    const sql = 'SELECT toUInt32(id + 1000) AS id, toUInt64(n) AS n FROM shared_2'
    await parked.views.fill('shared_also', sql, { datasource: 'shared_p_rows' })
    await parked.send('shared_2', [1])
    await lose(t, 'shared')
    const [told] = await parked.behind('shared')
    t.match(told, { remedy: /catch_up, then replace the content of what it reads/ })
    await parked.mend()
    await follow(t, told ?? {}, '{"id":5,"n":1}')
    t.same(await parked.behind('shared'), [])
    t.same(await parked.counts('shared_p_rows'), [2, 2])
  })

  await t.test('readers', async (t) => {
    const parked = await parkedSource('readers')
    await lose(t, 'readers')
    await parked.views.fill('readers_d', 'SELECT id FROM readers_p_rows', { datasource: 'readers_d_rows' })
    const [told] = await parked.behind('readers')
    t.match(told, { remedy: /catch_up, then POST .*repair\?force=true, which makes .*; or replace/ })
    await parked.mend()
    await follow(t, told ?? {})
    t.match(await parked.behind('readers'), [{ view: 'readers_d.readers_d_view' }])
    t.same(await parked.counts('readers_p_rows'), [3, 3])
    const [stale] = await parked.lacking('readers_d_rows')
    t.match(stale, { state: 'incomplete', remedy: /^POST .*readers_d.*population\?truncate=true\.$/ })
    await follow(t, stale ?? {})
    t.same(await parked.behind('readers'), [])
    t.same(await parked.counts('readers_d_rows'), [3, 3])
  })

  await t.test('null', async (t) => {
    const parked = await parkedSource('null', { engine: 'Null' })
    await lose(t, 'null')
    t.match(await parked.behind('null'), [{ remedy: /catch_up, then send the rows that it lacks again/ }])
  })

  await t.test('neither verified, repaired nor populated while no block passes it', async (t) => {
    const parked = await parkedSource('asked')
    const asked = [
      await parked.node('asked_p', '/verify', 'GET'),
      await parked.node('asked_p', '/repair'),
      await parked.node('asked_p', '/repair?force=true'),
      await parked.node('asked_p', '/repair?dry_run=true'),
      await parked.node('asked_p', '/population'),
    ]
    for (const answer of asked) {
      t.match([answer.status, errorOf(answer)], [409, /asked_p\.asked_p_view lacks blocks/], answer.text)
      t.match(answer.json, { hint: /`POST \/v0\/pipes\/<pipe>\/nodes\/<node>\/catch_up`/ })
    }
    t.match(await parked.behind('asked'), [{ state: 'parked', blocks: 1 }])
    await parked.mend()
    t.same((await parked.catchUp('asked_p')).json, { behind: null })
    t.equal((await parked.node('asked_p', '/verify', 'GET')).status, 200)
    t.equal((await parked.node('asked_p', '/repair?force=true')).status, 200)
  })

  await t.test('of a view that a populate has unlinked', async (t) => {
    const parked = await new ParkedViews(service, 'unlinked_switch').createSources('unlinked')
    await service.append('unlinked', 'ndjson', '{"id":1,"n":13}')
    const asked = { datasource: 'unlinked_rows', populate: 'true' }
    const made = await parked.views.tryFill('unlinked_p', `SELECT id, ${parked.failing} FROM unlinked`, asked)
    const { job } = made.json as { readonly job: { readonly id: string } }
    const { errors: told = [] } = await endedJob(service, job.id)
    const error = told.find((text) => text.includes('is unlinked'))
    t.match(error, /POST \/v0\/pipes\/unlinked_p\/nodes\/unlinked_p_view\/relink links it again/)
    await parked.mend()
    await follow(t, { remedy: error ?? '' })
    await parked.send('unlinked', [2])
    t.same(await parked.counts('unlinked_rows'), [1, 1])
  })
})
