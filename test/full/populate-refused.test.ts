// A view that is to be populated and cannot: nothing is left of it.

import t from 'tap'
import { jobIdOf, jobOf } from '../support/api/job-calls.ts'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

t.test('where no more jobs may wait neither the view nor its data source is made', async (t) => {
  const { service, call } = await openPipeService(t, { jobsWaitingMax: 1, populateJobsWorkingMax: 1, views: 'strict' })
  const views = new ViewCalls(service)
  await service.create('stuck', 'word String')
  await views.fill('good', 'SELECT word FROM stuck', { datasource: 'words' })
  await views.fill('failing', 'SELECT toUInt32(word) AS n FROM stuck', { datasource: 'numbers' })
  // Its events cannot be stored, so no moment comes in which its rows could be pinned.
  t.equal((await service.events('stuck', '{"word":"none"}', { wait: 'true' })).status, 422)
  const population = '/v0/pipes/good/nodes/good_view/population'
  const working = jobIdOf(await call('POST', population))
  while ((await jobOf(service, working)).status !== 'working');
  const waiting = jobIdOf(await call('POST', population))
  await views.send('events', [{ day: '2026-01-01', user: 'a', n: 1 }])
  const nodes = [
    { name: 'late_view', sql: 'SELECT n FROM events', type: 'materialized', datasource: 'late_rows', populate: 'true' },
  ]
  const answers = [
    await views.tryFill('late', 'SELECT n FROM events', { datasource: 'late_rows', populate: 'true' }),
    await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'late_pipe', nodes }) }),
  ]
  for (const answer of answers) {
    t.equal(answer.status, 429, answer.text)
    t.match(errorOf(answer), /wait/)
  }
  t.equal((await call('GET', '/v0/datasources/late_rows')).status, 404)
  t.equal((await call('GET', '/v0/pipes/late_pipe')).status, 404)
  t.notMatch((await call('GET', '/v0/pipes/late')).text, /"materialized":true/)
  for (const id of [waiting, working]) t.equal((await call('POST', `/v0/jobs/${id}/cancel`)).status, 200)
  t.equal((await call('DELETE', '/v0/pipes/failing?force=true')).status, 204)
  await service.untilStored('stuck')
  const made = await views.tryFill('late', 'SELECT n FROM events', { datasource: 'late_rows', populate: 'true' })
  t.equal(made.status, 200, made.text)
})
