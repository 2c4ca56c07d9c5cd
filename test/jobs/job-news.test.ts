import t from 'tap'
import { JobNews } from '../../src/jobs/job-news.ts'
import type { Job, JobStatus } from '../../src/jobs/jobs.types.ts'
import { startTestJobs } from '../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../support/jobs/test-kind.ts'

function jobWith(status: JobStatus, rows: number): Job {
  return {
    ...{
      id: 'j',
      kind: 'import',
      owner: { tokenId: null, tokenName: 'x' },
      subject: null,
      errors: [],
      errorQuotes: [],
    },
    ...{ status, createdAtMs: 0, updatedAtMs: 0, startedAtMs: 0, isCancellable: true, details: { rows } },
  }
}

t.test('changes within the interval are told as one, and the end at once', async (t) => {
  const logged: unknown[] = []
  const news = new JobNews({ intervalMs: 3_600_000, watchesMax: 1, watchesPerCallerMax: 1 }, ({ details }) =>
    logged.push(details['rows']),
  )
  const told: unknown[] = []
  news.watch(jobWith('working', 0), ({ status, details }) => told.push([status, details['rows']]))
  news.changed(jobWith('working', 1))
  news.changed(jobWith('working', 2))
  news.changed(jobWith('done', 3))
  t.same(told, [
    ['working', 0],
    ['done', 3],
  ])
  t.same(logged, [3])
  news.close()
})

t.test('the last change of an interval is told when it is over', async (t) => {
  const news = new JobNews({ intervalMs: 20, watchesMax: 1, watchesPerCallerMax: 1 }, () => undefined)
  const told: unknown[] = []
  const begunMs = performance.now()
  await new Promise<void>((resolve) => {
    news.watch(jobWith('working', 0), ({ details }) => {
      told.push(details['rows'])
      if (details['rows'] === 2) resolve()
    })
    news.changed(jobWith('working', 1))
    news.changed(jobWith('working', 2))
    // What the news wait on keeps no process.
    const alive = setTimeout(() => undefined, 10_000)
    t.teardown(() => clearTimeout(alive))
  })
  t.same(told, [0, 2])
  t.ok(performance.now() - begunMs >= 19)
  news.close()
})

t.test('a watch that has ended is told nothing, and makes room for another', async (t) => {
  const news = new JobNews({ intervalMs: 0, watchesMax: 2, watchesPerCallerMax: 2 }, () => undefined)
  const told: unknown[] = []
  const watch = (tell = (_job: Job): void => undefined) => news.watch(jobWith('working', 0), tell, 'a')
  const unwatch = watch(({ details }) => told.push(details['rows']))
  watch()
  t.throws(() => watch(), { code: 'JOB_WATCHES_TOO_MANY', status: 429 })
  unwatch()
  unwatch()
  watch()
  t.throws(() => watch(), { code: 'JOB_WATCHES_TOO_MANY' })
  news.changed(jobWith('working', 1))
  t.same(told, [0])
  news.changed(jobWith('done', 2))
  watch()
  news.close()
})

t.test('a job that works is one line of the log whenever its details change, with its numbers alone', async (t) => {
  const kind = new TestKind()
  const { jobs, log } = await startTestJobs(t, { kinds: [kind] })
  const { id } = await jobs.add(newJob({ logFields: { requestId: 'r' } }))
  const held = await kind.begun(0)
  held.job.tell({ rows: 1, text: 'of a row' })
  await held.job.nameSubject({ kind: 'datasource', id: 't_1', name: 'events' })
  held.succeed()
  await untilStatus(jobs, id, 'done')
  const lines = log.entries.filter(({ level }) => level === 'debug')
  t.strictSame(lines, [
    { level: 'debug', fields: { requestId: 'r', jobId: id, kind: 'import', rows: 1 }, message: 'A job goes on.' },
  ])
})

t.test('a job that there is not cannot be watched', async (t) => {
  const { jobs } = await startTestJobs(t)
  t.throws(() => jobs.watch('none', () => undefined), { code: 'JOB_NOT_FOUND', status: 404 })
})

t.test('a caller has a share of the watches', async (t) => {
  const news = new JobNews({ intervalMs: 0, watchesMax: 4, watchesPerCallerMax: 2 }, () => undefined)
  const job = jobWith('working', 0)
  const unwatch = news.watch(job, () => undefined, 'a')
  news.watch(job, () => undefined, 'a')
  const refused = { code: 'JOB_WATCHES_OF_TOKEN_TOO_MANY', status: 429, message: /^2 requests of this token/ }
  t.throws(() => news.watch(job, () => undefined, 'a'), refused)
  news.watch(job, () => undefined, 'b')
  unwatch()
  news.watch(job, () => undefined, 'a')
  t.throws(() => news.watch(job, () => undefined, 'a'), refused)
  news.watch(job, () => undefined, 'c')
  t.throws(() => news.watch(job, () => undefined, 'c'), { code: 'JOB_WATCHES_TOO_MANY' })
  news.changed(jobWith('done', 1))
  news.watch(job, () => undefined, 'a')
  news.close()
})

t.test('watches of the service itself take none of those of callers, and are refused never', async (t) => {
  const news = new JobNews({ intervalMs: 0, watchesMax: 1, watchesPerCallerMax: 1 }, () => undefined)
  const told: unknown[] = []
  const own = [0, 1, 2].map((index) =>
    news.watch(jobWith('working', 0), ({ status }) => {
      told.push([index, status])
    }),
  )
  news.watch(jobWith('working', 0), () => undefined, 'a')
  news.watch(jobWith('working', 0), () => undefined)
  own[0]?.()
  t.throws(() => news.watch(jobWith('working', 0), () => undefined, 'b'), { code: 'JOB_WATCHES_TOO_MANY' })
  told.length = 0
  news.changed(jobWith('done', 1))
  t.same(told, [
    [1, 'done'],
    [2, 'done'],
  ])
  news.close()
})
