// Who sends rows knows nothing of a populate, also where it ends in the middle of their insert.

import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'
import { writingRows } from '../support/api/service-rows.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

interface JobShape {
  readonly status: string
  readonly queries: readonly object[]
}

/** So that one insert or another is always under way. */
const slowSum = "arrayReduce('sum', arrayMap(x -> sipHash64(x, n), range(1500000)))"

t.test('events that are under way while a populate is cancelled are stored, once in each view', async (t) => {
  const { service, call } = await openPipeService(t, writingRows)
  const views = new ViewCalls(service)
  await service.create('flows', 'n UInt32')
  const target = { datasource: 'sums', engine: 'MergeTree', engine_sorting_key: 'n' }
  await views.fill('made', `SELECT n, ${slowSum} AS s FROM flows`, target)
  const jobOf = async (id: string): Promise<JobShape> => (await call('GET', `/v0/jobs/${id}`)).json as JobShape
  let count = 0
  let isOver = false
  const flowing = Promise.all(
    Array.from({ length: 2 }, async () => {
      while (!isOver) await views.send('flows', [{ n: count++ }])
    }),
  )
  const begun = await call('POST', '/v0/pipes/made/nodes/made_view/population?truncate=true')
  const { job_id: id = '' } = (begun.json as { readonly job?: { readonly job_id?: string } }).job ?? {}
  while ((await jobOf(id)).queries.length === 0);
  await call('POST', `/v0/jobs/${id}/cancel`)
  while (!['cancelled', 'done'].includes((await jobOf(id)).status));
  isOver = true
  await t.resolves(flowing, 'no event is refused')
  t.equal(service.log.entries.filter(({ level }) => level === 'error').length, 0)
  t.same(await service.rows('SELECT count(), uniqExact(n) FROM sums'), [[String(count), String(count)]])
})
