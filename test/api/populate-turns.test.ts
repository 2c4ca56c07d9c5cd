import t from 'tap'
import { endedJob, jobIdOf, jobOf } from '../support/api/job-calls.ts'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

t.test('populates whose source is never free leave their places to those of others', async (t) => {
  const options = { populateJobsWorkingMax: 1, views: 'strict', jobSliceMs: 50 } as const
  const service = await openTestService(t, options)
  const views = new ViewCalls(service)
  await service.create('stuck', 'word String')
  await service.create('free', 'n UInt32')
  await views.fill('good', 'SELECT word FROM stuck', { datasource: 'words' })
  await views.fill('failing', 'SELECT toUInt32(word) AS n FROM stuck', { datasource: 'numbers' })
  await views.send('free', [{ n: 1 }, { n: 2 }])
  await views.fill('healthy', 'SELECT n FROM free', { datasource: 'copies' })
  // Its events cannot be stored, so no moment comes in which its rows could be pinned.
  t.equal((await service.events('stuck', '{"word":"none"}', { wait: 'true' })).status, 422)
  const waiting: string[] = []
  for (const name of ['one', 'two']) {
    const { json } = await service.call('POST', `/v0/tokens?name=${name}&scope=ADMIN`)
    // The shape of the answer is what other tests check.
    const { token } = json as { readonly token: string }
    const asked = await service.call('POST', '/v0/pipes/good/nodes/good_view/population', { token })
    waiting.push(jobIdOf(asked))
  }
  for (const id of waiting) while ((await jobOf(service, id)).status !== 'working');
  const { json } = await service.call('POST', '/v0/tokens?name=three&scope=ADMIN')
  // As above.
  const { token } = json as { readonly token: string }
  const asked = await service.call('POST', '/v0/pipes/healthy/nodes/healthy_view/population', { token })
  t.match(await endedJob(service, jobIdOf(asked)), { status: 'done' })
  t.equal(await service.count('copies'), 2)
  for (const id of waiting) {
    t.equal((await jobOf(service, id)).status, 'working')
    t.equal((await service.call('POST', `/v0/jobs/${id}/cancel`)).status, 200)
    t.equal((await endedJob(service, id)).status, 'cancelled')
  }
})
