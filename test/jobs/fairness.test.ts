import t from 'tap'
import type { NewJob } from '../../src/jobs/jobs.types.ts'
import { startTestJobs } from '../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../support/jobs/test-kind.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

function jobOf(maker: string, given: Partial<NewJob> = {}): NewJob {
  return newJob({ owner: { tokenId: maker, tokenName: maker }, ...given })
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
