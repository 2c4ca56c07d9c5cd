// A view that a populate has unlinked, and that is linked again.

import t from 'tap'
import { endedJob } from '../support/api/job-calls.ts'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const failing = "SELECT user, toUInt64(throwIf(n = 7, 'seven')) + n AS total FROM events"
const mended = 'SELECT user, toUInt64(n) AS total FROM events'
const row = (user: string, n: number): object => ({ day: '2026-01-01', user, n })

/** The id of the job that fills what was pinned. */
function jobIdIn({ status, json, text }: Answer): string {
  const { job } = json as { readonly job?: { readonly id: string } }
  if (status !== 200 || job === undefined) throw new Error(`no job was made: ${status} ${text}`)
  return job.id
}

t.test('a view that a populate has unlinked is linked again', async (t) => {
  const { service, call } = await openPipeService(t)
  const views = new ViewCalls(service)
  await views.send('events', [row('a', 7)])
  const made = await views.tryFill('late', failing, { datasource: 'totals', populate: 'true' })
  const job = await endedJob(service, jobIdIn(made))
  t.equal(job.status, 'error')
  t.match(job.errors?.join(), /POST \/v0\/pipes\/late\/nodes\/late_view\/relink links it again/)
  const relink = '/v0/pipes/late/nodes/late_view/relink'
  t.match(await service.log.until('A Materialized View is unlinked, as a populate of it failed.'), { level: 'warn' })
  for (const path of ['population', 'repair']) {
    const missing = await call('POST', `/v0/pipes/late/nodes/late_view/${path}`)
    t.match(
      missing,
      { status: 400, json: { error: /is not materialized/, hint: /late_view\/relink links it again/ } },
      path,
    )
  }
  await views.send('events', [row('b', 2)])
  t.match((await call('GET', '/v0/pipes/late/nodes/late_view')).json, {
    materialized: null,
    node_type: 'default',
    unlinked_at: /^20/,
  })

  await t.test('the node says what it is, and who may link it is who may materialize it', async (t) => {
    const { token } = (await call('POST', '/v0/tokens?name=reader&scope=PIPES:CREATE&scope=DATASOURCES:READ:events'))
      .json as { readonly token: string }
    t.equal((await call('POST', relink, { token })).status, 403)
    t.equal((await call('POST', '/v0/pipes/none/nodes/late_view/relink')).status, 404)
    t.equal((await call('POST', '/v0/pipes/late/nodes/none/relink')).status, 404)
    const never = await call('POST', '/v0/pipes/late/nodes/late_first/relink')
    t.equal(never.status, 400)
    t.match(errorOf(never), /Node 'late_first' of Pipe 'late' is not materialized/)
  })

  await t.test('the answer says what it missed, and how to have it', async (t) => {
    const answer = await call('POST', relink)
    t.match(answer, { status: 200 }, answer.text)
    t.match(answer.json, {
      name: 'late_view',
      materialized: true,
      datasource: 'totals',
      created_datasource: false,
      unlinked_at: /^20/,
      warnings: [{ text: /^Rows that came while .* unlinked, since 20.* are not in its Data Source; .*truncate=true/ }],
    })
    await views.send('events', [row('c', 3)])
    t.same(await service.rows('SELECT user, total FROM totals'), [['c', '3']])
    t.notMatch((await call('GET', '/v0/pipes/late')).text, /unlinked_at/)
    const again = await call('POST', relink)
    t.equal(again.status, 409)
    t.match(errorOf(again), /is materialized into Data Source "totals" already/)
  })

  await t.test(
    'a node whose SQL was mended meanwhile is linked with it, and populated in the same moment',
    async (t) => {
      const path = '/v0/pipes/late/nodes/late_view'
      const failed = await call('POST', `${path}/population?truncate=true`)
      const { job_id: id } = failed.json as { readonly job_id: string }
      t.equal((await endedJob(service, id)).status, 'error')
      t.equal((await call('PUT', path, { body: mended })).status, 200)
      const answer = await call('POST', `${relink}?populate=true&truncate=true`)
      t.match(answer.json, { warnings: [{ text: /come to its Data Source with the populate that begins now/ }] })
      t.equal((await endedJob(service, jobIdIn(answer))).status, 'done')
      t.same(await service.rows('SELECT user, total FROM totals ORDER BY user'), [
        ['a', '7'],
        ['b', '2'],
        ['c', '3'],
      ])
    },
  )

  await t.test('what it filled is gone, so there is nothing to link it to', async (t) => {
    await views.fill('gone', failing, { datasource: 'gone_totals' })
    const asked = await call('POST', '/v0/pipes/gone/nodes/gone_view/population')
    const { job_id: id } = asked.json as { readonly job_id: string }
    t.equal((await endedJob(service, id)).status, 'error')
    t.equal((await call('DELETE', '/v0/datasources/gone_totals')).status, 204)
    const answer = await call('POST', '/v0/pipes/gone/nodes/gone_view/relink')
    t.equal(answer.status, 404)
    t.match(answer.json, { hint: /materialize the node with another one/ })
    t.match((await call('DELETE', '/v0/pipes/gone/nodes/gone_view/materialization')).status, 200)
    t.equal((await call('POST', '/v0/pipes/gone/nodes/gone_view/relink')).status, 400)
    await call('POST', '/v0/pipes?name=copied&from=late')
    t.notMatch((await call('GET', '/v0/pipes/copied')).text, /unlinked_at/)
  })
})

t.test('a start knows which views were unlinked', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await openTestService(t, { dataDir: directory.path })
  await first.create('events', 'day Date, user String, n UInt32')
  const views = new ViewCalls(first)
  await views.send('events', [row('a', 7)])
  const made = await views.tryFill('late', failing, { datasource: 'totals', populate: 'true' })
  t.equal((await endedJob(first, jobIdIn(made))).status, 'error')
  await first.close()
  const second = await openTestService(t, { dataDir: directory.path })
  const answer = await second.call('POST', '/v0/pipes/late/nodes/late_view/relink')
  t.equal(answer.status, 200, answer.text)
  await new ViewCalls(second).send('events', [row('b', 1)])
  t.equal(await second.count('totals'), 1)
})
