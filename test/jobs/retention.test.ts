import t from 'tap'
import type { Jobs } from '../../src/jobs/jobs.types.ts'
import { startTestJobs } from '../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../support/jobs/test-kind.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

const hourMs = 3_600_000

async function addDone(jobs: Jobs): Promise<string> {
  const { id } = await jobs.add(newJob({ kind: 'query' }))
  await untilStatus(jobs, id, 'done')
  return id
}

/** A kind whose jobs end at once. */
class QuickKind extends TestKind {
  constructor() {
    super({ name: 'query', workingMax: 10 })
  }

  override async run(): Promise<void> {}
}

/** Jobs are forgotten behind the end of another: what is asked for comes a few turns of the loop later. */
async function untilCount(jobs: Jobs, count: number): Promise<void> {
  while (jobs.list({}).length !== count) await new Promise((resolve) => setImmediate(resolve))
}

t.test('the last 100 jobs are kept, however old, and those of the last 72 hours, however many', async (t) => {
  let nowMs = 0
  const storage = new MemoryStorage()
  const kind = new QuickKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind], storage, now: () => nowMs })
  const ids: string[] = []
  for (let count = 0; count < 105; count += 1) ids.push(await addDone(jobs))
  nowMs = 72 * hourMs
  ids.push(await addDone(jobs))
  t.equal(jobs.list({}).length, 106, 'as long as they are not older than 72 hours')
  nowMs += 1
  ids.push(await addDone(jobs))
  await untilCount(jobs, 100)
  t.same(
    jobs.list({}).map(({ id }) => id),
    ids.slice(-100).reverse(),
  )
  t.same(kind.forgotten, ids.slice(0, 7), 'their kind gives back what it keeps of them')
  t.equal((await storage.list('jobs')).length, 100)
})

t.test('more than may be kept never are', async (t) => {
  const { jobs } = await startTestJobs(t, { kinds: [new QuickKind()], options: { jobsKeptMax: 3 } })
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1) ids.push(await addDone(jobs))
  t.equal(jobs.list({}).length, 3)
  ids.push(await addDone(jobs))
  await untilCount(jobs, 3)
  t.same(
    jobs.list({}).map(({ id }) => id),
    ids.slice(1).reverse(),
  )
})

t.test('those that wait or work are kept always', async (t) => {
  let nowMs = 0
  const held = new TestKind()
  const options = { jobsKeptMax: 1 }
  const { jobs } = await startTestJobs(t, { kinds: [held, new QuickKind()], options, now: () => nowMs })
  const working = await jobs.add(newJob())
  const waiting = await jobs.add(newJob())
  nowMs = 1_000 * hourMs
  await addDone(jobs)
  const last = await addDone(jobs)
  await untilCount(jobs, 3)
  t.same(
    jobs.list({}).map(({ id }) => id),
    [last, waiting.id, working.id],
  )
})

t.test('the time counts from the end of a job', async (t) => {
  let nowMs = 0
  const held = new TestKind()
  const options = { jobsKeptMax: 2 }
  const { jobs } = await startTestJobs(t, { kinds: [held, new QuickKind()], options, now: () => nowMs })
  const long = await jobs.add(newJob())
  const { succeed } = await held.begun(0)
  nowMs = 1
  await addDone(jobs)
  nowMs = 2
  succeed()
  await untilStatus(jobs, long.id, 'done')
  const last = await addDone(jobs)
  await untilCount(jobs, 2)
  t.same(
    jobs.list({}).map(({ id }) => id),
    [last, long.id],
  )
})

t.test('a start forgets what became too old meanwhile', async (t) => {
  const storage = new MemoryStorage()
  const { jobs } = await startTestJobs(t, { kinds: [new QuickKind()], storage, now: () => 0 })
  for (let count = 0; count < 103; count += 1) await addDone(jobs)
  await jobs.close()
  const { jobs: again } = await startTestJobs(t, { kinds: [new QuickKind()], storage, now: () => 73 * hourMs })
  await untilCount(again, 100)
})

t.test('what cannot be given back is told, and the next is given back all the same', async (t) => {
  let nowMs = 0
  class ClingingKind extends QuickKind {
    override async forget(id: string): Promise<void> {
      await super.forget(id)
      throw new Error('its file cannot be removed')
    }
  }
  const kind = new ClingingKind()
  const { jobs, log } = await startTestJobs(t, { kinds: [kind], options: { jobsKeptMax: 1 }, now: () => nowMs })
  for (let count = 0; count < 3; count += 1) {
    nowMs += 1
    await addDone(jobs)
  }
  await untilCount(jobs, 1)
  await jobs.close()
  t.equal(kind.forgotten.length, 2)
  t.equal(log.entries.filter(({ level }) => level === 'warn').length, 2)
})
