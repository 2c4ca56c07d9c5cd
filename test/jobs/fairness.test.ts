import t, { type Test } from 'tap'
import type { NewJob } from '../../src/jobs/jobs.types.ts'
import { startTestJobs } from '../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../support/jobs/test-kind.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

function jobOf(maker: string, given: Partial<NewJob> = {}): NewJob {
  return newJob({ owner: { tokenId: maker, tokenName: maker }, ...given })
}

/** The timers of jobs keep no process alive. */
function keepAlive(t: Test): void {
  const timer = setInterval(() => undefined, 60_000)
  t.teardown(() => clearInterval(timer))
}

t.test('owners have their turns, whoever has sent how many jobs before', async (t) => {
  const kind = new TestKind({ hasGuestPlace: false })
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  const names = new Map<string, string>()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) {
    names.set((await jobs.add(jobOf(name.charAt(0)))).id, name)
  }
  const order: (string | undefined)[] = []
  for (let index = 0; index < names.size; index += 1) {
    const { job, succeed } = await kind.begun(index)
    order.push(names.get(job.id))
    succeed()
  }
  t.same(order, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
})

t.test('where one owner holds all places, one more is for the others', async (t) => {
  const kind = new TestKind({ workingMax: 2 })
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  for (let count = 0; count < 3; count += 1) await jobs.add(jobOf('a'))
  const first = await kind.begun(0)
  await kind.begun(1)
  const guest = await jobs.add(jobOf('b'))
  t.equal((await kind.begun(2)).job.id, guest.id)
  const later = await jobs.add(jobOf('c'))
  t.equal(jobs.find(later.id)?.status, 'waiting', 'there is one such place')
  first.succeed()
  await untilStatus(jobs, first.job.id, 'done')
  t.equal(jobs.find(later.id)?.status, 'waiting', 'two work, as many as may')
  ;(await kind.begun(2)).succeed()
  await untilStatus(jobs, guest.id, 'done')
  await kind.begun(3)
  t.equal(kind.begunCount, 4)
})

t.test('a kind of one place has a place for others too, unless it says that it has none', async (t) => {
  const kind = new TestKind()
  const strict = new TestKind({ name: 'query', hasGuestPlace: false })
  const { jobs } = await startTestJobs(t, { kinds: [kind, strict] })
  await jobs.add(jobOf('a'))
  const own = await jobs.add(jobOf('a'))
  const guest = await jobs.add(jobOf('b'))
  t.equal((await kind.begun(1)).job.id, guest.id)
  t.equal(jobs.find(own.id)?.status, 'waiting')
  await jobs.add(jobOf('a', { kind: 'query' }))
  await strict.begun(0)
  const other = await jobs.add(jobOf('b', { kind: 'query' }))
  t.equal(jobs.find(other.id)?.status, 'waiting')
})

t.test('jobs that worked before a start go on before those that waited', async (t) => {
  const storage = new MemoryStorage()
  const first = new TestKind({ workingMax: 2 })
  const { jobs } = await startTestJobs(t, { kinds: [first], storage })
  const working = [await jobs.add(jobOf('a')), await jobs.add(jobOf('a'))]
  await first.begun(1)
  const guest = await jobs.add(jobOf('b'))
  await first.begun(2)
  const waiting = [await jobs.add(jobOf('c')), await jobs.add(jobOf('a'))]
  await jobs.close()
  const second = new TestKind({ workingMax: 2 })
  const { jobs: again } = await startTestJobs(t, { kinds: [second], storage })
  const begun = [await second.begun(0), await second.begun(1), await second.begun(2)]
  t.same(
    begun.map(({ job }) => job.id),
    [...working, guest].map(({ id }) => id),
  )
  for (const { id } of waiting) t.equal(again.find(id)?.status, 'waiting')
})

t.test('an owner has a part of those that may wait, of each kind', async (t) => {
  const kind = new TestKind({ hasGuestPlace: false })
  const other = new TestKind({ name: 'query', hasGuestPlace: false })
  const options = { jobsWaitingMax: 3, jobsWaitingPerTokenMax: 2 }
  const { jobs } = await startTestJobs(t, { kinds: [kind, other], options })
  await jobs.add(jobOf('a'))
  await kind.begun(0)
  const waiting = await jobs.add(jobOf('a'))
  await jobs.add(jobOf('a'))
  const refused = { code: 'JOBS_OF_TOKEN_TOO_MANY', status: 429, message: /^2 jobs of the kind "import"/ }
  await t.rejects(jobs.add(jobOf('a')), refused)
  await jobs.add(jobOf('a', { kind: 'query' }))
  await jobs.add(jobOf('b'))
  await t.rejects(jobs.add(jobOf('c')), { code: 'JOBS_TOO_MANY' })
  await jobs.cancel(waiting.id)
  await jobs.add(jobOf('a'))
  await t.rejects(jobs.add(jobOf('a')), { code: 'JOBS_TOO_MANY' })
})

t.test('where two owners hold all places with endless jobs, those of all others have their turns', async (t) => {
  keepAlive(t)
  const kind = new TestKind({ workingMax: 2, mayYield: () => true })
  const { jobs, log } = await startTestJobs(t, { kinds: [kind], options: { jobSliceMs: 1 } })
  const owners = ['a', 'b', 'c', 'd', 'e']
  const ids = new Map<string, string>()
  for (const owner of owners) ids.set((await jobs.add(jobOf(owner))).id, owner)
  const seen: string[] = []
  for (let index = 0; index < 12; index += 1) {
    const { job } = await kind.begun(index)
    seen.push(ids.get(job.id) ?? '')
    t.equal(jobs.find(job.id)?.status, 'working')
    await job.saveCheckpoint({ begun: index })
  }
  t.same([...new Set(seen)].sort(), owners, `in turn: ${seen.join(' ')}`)
  await log.until('A job stops for others, and goes on in its turn.')
  const working = jobs.list({ statuses: ['working'] }).length
  t.ok(working >= 2)
  for (const id of ids.keys()) await jobs.cancel(id)
  for (const id of ids.keys()) await untilStatus(jobs, id, 'cancelled')
})

t.test('a job that may not yield, or whose time is not over, works on', async (t) => {
  keepAlive(t)
  const kind = new TestKind({ mayYield: ({ order }) => order === 'long' })
  const { jobs } = await startTestJobs(t, { kinds: [kind], options: { jobSliceMs: 1 } })
  await jobs.add(jobOf('a'))
  await jobs.add(jobOf('b', { order: 'long' }))
  await kind.begun(1)
  const { id } = await jobs.add(jobOf('c'))
  // The guest yields, but its place is none for another guest; what holds the place does not.
  const first = await kind.begun(0)
  t.equal(first.job.signal.aborted, false)
  first.succeed()
  while (jobs.find(id)?.status !== 'working') await new Promise(setImmediate)
  t.equal(jobs.find(id)?.status, 'working')
})

t.test('however many owners wait with as many jobs as they may, there is room for one more', async (t) => {
  const kind = new TestKind({ hasGuestPlace: false })
  const options = { jobsWaitingMax: 100, jobsWaitingPerTokenMax: 50 }
  const { jobs } = await startTestJobs(t, { kinds: [kind], options })
  await jobs.add(jobOf('first'))
  await kind.begun(0)
  const counts: number[] = []
  for (let owner = 0; owner < 20; owner += 1) {
    let count = 0
    const refused = await (async () => {
      for (;;) {
        try {
          await jobs.add(jobOf(`owner ${owner}`))
          count += 1
        } catch (error) {
          return error
        }
      }
    })()
    t.match(refused, { code: 'JOBS_OF_TOKEN_TOO_MANY', status: 429 })
    counts.push(count)
  }
  t.ok(
    counts.every((count) => count > 0),
    `${counts}`,
  )
  t.ok(jobs.list({ statuses: ['waiting'] }).length < 100)
})
