// Views that are parked while they are populated or repaired.

import t from 'tap'
import { endedJob, jobIdOf, jobOf } from '../support/api/job-calls.ts'
import { ParkedViews } from '../support/api/parked-views.ts'
import { openTestService } from '../support/api/test-service.ts'

const rowCount = 60_000
const rows = Array.from({ length: rowCount }, (_, id) => `{"id":${id},"n":1}`).join('\n')

t.test('a view that is parked meanwhile', async (t) => {
  const service = await openTestService(t, { populateChunkRowsMax: 1_000, jobSliceMs: 60_000 })

  async function filledSource(name: string): Promise<ParkedViews> {
    const parked = await new ParkedViews(service, `${name}_switch`).createSources(name)
    await service.append(name, 'ndjson', rows)
    return parked
  }

  /** Resolves when what there is was pinned, and some of it is filled. */
  async function begun(id: string): Promise<void> {
    for (;;) {
      const job = (await jobOf(service, id)) as { readonly status: string; readonly progress_percentage?: number }
      if ((job.progress_percentage ?? 0) > 0 || !['waiting', 'working'].includes(job.status)) return
    }
  }

  const target = (name: string) => ({ datasource: `${name}_rows`, engine: 'MergeTree', engine_sorting_key: 'id' })
  const isLinked = async (name: string): Promise<boolean> => {
    const { json } = await service.call('GET', `/v0/datasources/${name}_rows`)
    return (json as { readonly materialized_from?: unknown }).materialized_from !== undefined
  }

  await t.test('stays linked in its first populate, and has each row once', async (t) => {
    const parked = await filledSource('first')
    const sql = `SELECT id, ${parked.failing} FROM first`
    const made = await parked.views.tryFill('first_p', sql, { ...target('first'), populate: 'true' })
    const { job } = made.json as { readonly job: { readonly id: string } }
    await parked.park('first_p', 'first', rowCount)
    t.equal((await endedJob(service, job.id)).status, 'done', 'what it fills takes no part in what comes meanwhile')
    t.ok(await isLinked('first'))
    t.match(await parked.lacking('first_rows'), [{ state: 'parked', blocks: 1 }])
    await parked.mend()
    t.same((await parked.catchUp('first_p')).json, { behind: null })
    t.same(await parked.counts('first_rows'), [rowCount + 1, rowCount + 1])
  })

  await t.test('stays linked when that puts its rows in the place of others, and catches up', async (t) => {
    const parked = await filledSource('second')
    await parked.fillFailing('second_p', 'second', target('second'))
    const id = jobIdOf(await parked.node('second_p', '/population?truncate=true'))
    await begun(id)
    await parked.park('second_p', 'second', rowCount)
    const { status, errors = [] } = await endedJob(service, id)
    if (status === 'error') {
      t.match(errors.join(' '), /second_p_view (?:cannot be populated: it did not take rows|lacks blocks)/)
      t.notMatch(errors.join(' '), /is unlinked/)
      t.same(await parked.counts('second_rows'), [0, 0], 'all is as it was')
    }
    t.ok(await isLinked('second'))
    await parked.mend()
    t.same((await parked.catchUp('second_p')).json, { behind: null })
    t.equal(
      (await endedJob(service, jobIdOf(await parked.node('second_p', '/population?truncate=true')))).status,
      'done',
    )
    t.same(await parked.counts('second_rows'), [rowCount + 1, rowCount + 1])
  })

  await t.test('is unlinked where whoever asked for it said so', async (t) => {
    const parked = await filledSource('third')
    await parked.fillFailing('third_p', 'third', target('third'))
    const asked = '/population?truncate=true&unlink_on_populate_error=true'
    const id = jobIdOf(await parked.node('third_p', asked))
    await begun(id)
    await parked.park('third_p', 'third', rowCount)
    const { status } = await endedJob(service, id)
    t.equal(await isLinked('third'), status === 'done')
  })

  await t.test('still lacks, behind a repair, what it did not take since that began', async (t) => {
    const parked = await new ParkedViews(service, 'fourth_switch').createSources('fourth')
    await parked.fillFailing('fourth_p', 'fourth', target('fourth'))
    await parked.park('fourth_p', 'fourth', rowCount)
    // It takes rows again, and is told as incomplete, though both are empty by now.
    for (const name of ['fourth', 'fourth_rows']) await service.call('POST', `/v0/datasources/${name}/truncate`)
    await parked.mend()
    await parked.catchUp('fourth_p')
    // It takes long enough for what happens meanwhile.
    const many = 200_000
    const manyRows = Array.from({ length: many }, (_, id) => `{"id":${id},"n":1}`).join('\n')
    await service.append('fourth', 'ndjson', manyRows)
    await parked.unmend()
    const id = jobIdOf(await parked.node('fourth_p', '/repair?force=true'))
    await begun(id)
    await parked.send('fourth', [many], 13)
    await service.untilStored('fourth')
    await parked.mend()
    await parked.catchUp('fourth_p')
    t.match(await endedJob(service, id), { status: /^(?:done|error)$/ })
    const [count = 0] = await parked.counts('fourth_rows')
    const lacking = await parked.lacking('fourth_rows')
    t.equal(lacking.length === 0, count === many + 1, `${count} rows, and it is told of ${lacking.length} views`)
  })
})
