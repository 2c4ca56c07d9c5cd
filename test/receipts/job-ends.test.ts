import t from 'tap'
import type { Job } from '../../src/jobs/jobs.types.ts'
import { JobEnds } from '../../src/receipts/job-ends.ts'

const job: Job = {
  ...{ id: 'one', kind: 'import', status: 'working', subject: null, owner: { tokenId: null, tokenName: '' } },
  ...{
    createdAtMs: 0,
    updatedAtMs: 0,
    startedAtMs: null,
    isCancellable: true,
    details: {},
    errors: [],
    errorQuotes: [],
  },
}

/** Jobs that work until they are ended, and who watches them. */
function openJobs() {
  const statuses = new Map<string, Job['status']>()
  const watches = new Map<string, Set<(job: Job) => void>>()
  const of = (id: string): Job => ({ ...job, id, status: statuses.get(id) ?? 'working' })
  const jobs = {
    find: of,
    watch: (id: string, tell: (job: Job) => void) => {
      const all = watches.get(id) ?? new Set()
      watches.set(id, all.add(tell))
      tell(of(id))
      return () => void all.delete(tell)
    },
  }
  const end = (id: string): void => {
    statuses.set(id, 'done')
    for (const tell of watches.get(id) ?? []) tell(of(id))
  }
  return { jobs, end, watchCount: (id: string): number => watches.get(id)?.size ?? 0 }
}

const { signal } = new AbortController()
const timeMaxMs = 3_600_000

t.test('a job has one watch, however many wait for it, until nobody does', async (t) => {
  const { jobs, end, watchCount } = openJobs()
  const ends = new JobEnds(jobs)
  const controller = new AbortController()
  const stays = ends.until('one', { timeMaxMs, signal })
  const leaves = ends.until('one', { timeMaxMs, signal: controller.signal })
  const other = ends.until('two', { timeMaxMs, signal: controller.signal })
  t.same([watchCount('one'), watchCount('two')], [1, 1])
  controller.abort()
  t.same(await Promise.all([leaves, other]), [false, false])
  t.same([watchCount('one'), watchCount('two')], [1, 0])
  const again = ends.until('two', { timeMaxMs, signal })
  t.equal(watchCount('two'), 1)
  end('one')
  end('two')
  t.same(await Promise.all([stays, again]), [true, true])
  t.same([watchCount('one'), watchCount('two')], [0, 0])
  t.equal(await ends.until('one', { timeMaxMs, signal }), true)
  t.same([watchCount('one'), watchCount('two')], [0, 0], 'of a job that has ended')
})

t.test('whoever has left before does not wait, and one whose time is over is told so', async (t) => {
  const { jobs, watchCount } = openJobs()
  const ends = new JobEnds(jobs)
  t.equal(await ends.until('one', { timeMaxMs, signal: AbortSignal.abort() }), false)
  t.equal(watchCount('one'), 0)
  t.equal(await ends.until('one', { timeMaxMs: 1, signal }), false)
  t.equal(watchCount('one'), 0)
})

t.test('nothing is left behind of a wait whose watch is refused', async (t) => {
  const { jobs, end, watchCount } = openJobs()
  let isRefused = true
  const watch: typeof jobs.watch = (id, tell) => {
    if (isRefused) throw new Error('too many watches')
    return jobs.watch(id, tell)
  }
  const ends = new JobEnds({ ...jobs, watch })
  const controller = new AbortController()
  // A time that would be over before this test is, and a client that leaves afterwards.
  await t.rejects(ends.until('one', { timeMaxMs: 1, signal: controller.signal }), /too many watches/)
  controller.abort()
  isRefused = false
  t.equal(await ends.until('one', { timeMaxMs: 2, signal }), false)
  const waiting = ends.until('one', { timeMaxMs, signal })
  t.equal(watchCount('one'), 1)
  end('one')
  t.equal(await waiting, true)
})
