import t from 'tap'
import { errors } from '../../src/shared/errors/errors.ts'
import { openTestJobs, startTestJobs } from '../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../support/jobs/test-kind.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

const full = () => errors.DISK_UNAVAILABLE({ reason: 'it is full', retryAfterSeconds: 2 })

t.test('a job that the disk refuses is not there', async (t) => {
  const storage = new MemoryStorage()
  const { jobs } = await startTestJobs(t, { kinds: [new TestKind()], storage })
  storage.failure = full()
  await t.rejects(jobs.add(newJob()), { code: 'DISK_UNAVAILABLE' })
  t.same(jobs.list({}), [])
})

t.test('a job begins, and has ended, when the disk takes it again', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind()
  const { jobs, log } = await startTestJobs(t, { kinds: [kind], storage })
  const first = await jobs.add(newJob())
  const second = await jobs.add(newJob())
  const held = await kind.begun(0)
  storage.failure = full()
  held.succeed()
  await log.until('The status of a job could not be written; it is tried again.')
  t.match(jobs.find(first.id), { status: 'working' })
  await t.rejects(jobs.cancel(first.id), { code: 'JOB_NOT_CANCELLABLE' }, 'its work is over')
  storage.failure = null
  await untilStatus(jobs, first.id, 'done')
  t.equal((await kind.begun(1)).job.id, second.id)
})

t.test('one that may begin anew, and has waited, begins when the disk takes it too', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind({ beginsAnew: true })
  let nowMs = 1_000
  const { jobs, log } = await openTestJobs(t, { kinds: [kind], storage, now: () => nowMs })
  const { id } = await jobs.add(newJob())
  nowMs += 500
  storage.failure = full()
  await jobs.start()
  await log.until('The status of a job could not be written; it is tried again.')
  t.match(jobs.find(id), { status: 'waiting' })
  storage.failure = null
  t.equal((await kind.begun(0)).job.id, id)
})

t.test('a checkpoint that the disk refuses is an error of the work, which may try again', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind], storage })
  await jobs.add(newJob())
  const { job } = await kind.begun(0)
  storage.failure = full()
  await t.rejects(job.saveCheckpoint(1), { code: 'DISK_UNAVAILABLE' })
  t.equal(job.checkpoint, null)
  storage.failure = null
  await job.saveCheckpoint(1)
  t.equal(job.checkpoint, 1)
})

t.test('a close does not wait for a disk that takes nothing', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind()
  const { jobs, log } = await startTestJobs(t, { kinds: [kind], storage, options: { retryMs: 3_600_000 } })
  await jobs.add(newJob())
  const held = await kind.begun(0)
  storage.failure = full()
  held.succeed()
  await log.until('The status of a job could not be written; it is tried again.')
  await jobs.close()
  t.ok(log.entries.some(({ message }) => message === 'The end of a job could not be written.'))
})
