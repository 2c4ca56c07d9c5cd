import t from 'tap'
import type { Jobs } from '../../src/jobs/jobs.types.ts'
import { startTestJobs } from '../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../support/jobs/test-kind.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

const hourMs = 3_600_000

async function addDone(jobs: Jobs, maker = 'maker'): Promise<string> {
  const { id } = await jobs.add(newJob({ kind: 'query', owner: { tokenId: maker, tokenName: maker } }))
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
})

t.test(
  'jobs that have ended are put together on disk, a hundred in a record, and go with the last of them',
  async (t) => {
    const storage = new MemoryStorage()
    const options = { jobsKeptMax: 150 }
    const { jobs } = await startTestJobs(t, { kinds: [new QuickKind()], storage, options })
    const ids: string[] = []
    const untilKeys = async (keys: readonly RegExp[]): Promise<void> => {
      const isKey = (key: string) => keys.some((one) => one.test(key))
      for (;;) {
        const found = (await storage.list('jobs')).map(({ key }) => key)
        if (found.length === keys.length && found.every(isKey)) return
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    for (let count = 0; count < 99; count += 1) ids.push(await addDone(jobs))
    await untilKeys(Array.from({ length: 99 }, () => /^[^ ]+$/))
    ids.push(await addDone(jobs))
    await untilKeys([/^ended 1$/])
    for (let count = 0; count < 100; count += 1) ids.push(await addDone(jobs))
    // Of the first hundred 50 are forgotten, and its record stays.
    await untilKeys([/^ended 1$/, /^ended 101$/])
    await untilCount(jobs, 150)
    const before = jobs.list({})
    await jobs.close()
    const { jobs: again } = await startTestJobs(t, { kinds: [new QuickKind()], storage, options })
    await untilCount(again, 150)
    t.strictSame(again.list({}), before)
    for (let count = 0; count < 50; count += 1) await addDone(again)
    await untilKeys([/^ended 101$/, ...Array.from({ length: 50 }, () => /^[^ ]+$/)])
  },
)

t.test('large jobs are fewer in a record', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind({ workingMax: 100 })
  const { jobs } = await startTestJobs(t, { kinds: [kind], storage })
  for (let count = 0; count < 100; count += 1) await jobs.add(newJob())
  for (let count = 0; count < 100; count += 1) {
    const { job, succeed } = await kind.begun(count)
    job.tell({ text: 'x'.repeat(10_000) })
    succeed()
    await untilStatus(jobs, job.id, 'done')
  }
  await jobs.close()
  const found = await storage.list('jobs', 'ended ')
  t.equal(found.length, 1, 'what is left is less than a hundred')
  // 256 KiB, each of ten thousand characters and its other fields.
  t.match(found, [{ value: { ids: { length: 25 } } }])
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

t.test('beyond the most that are kept, whoever has most of a kind loses the oldest', async (t) => {
  const storage = new MemoryStorage()
  const options = { jobsKeptMax: 6 }
  const { jobs } = await startTestJobs(t, { kinds: [new QuickKind()], storage, options })
  const few = [await addDone(jobs, 'few'), await addDone(jobs, 'few')]
  const many: string[] = []
  for (let count = 0; count < 10; count += 1) many.push(await addDone(jobs, 'many'))
  await untilCount(jobs, 6)
  const idsOf = (of: Jobs) => of.list({}).map(({ id }) => id)
  t.same(idsOf(jobs), [...many.slice(-4).reverse(), few[1], few[0]])
  const other = await addDone(jobs, 'other')
  await untilCount(jobs, 6)
  t.same(idsOf(jobs), [other, ...many.slice(-3).reverse(), few[1], few[0]])
  await jobs.close()
  const { jobs: again } = await startTestJobs(t, { kinds: [new QuickKind()], storage, options: { jobsKeptMax: 4 } })
  await untilCount(again, 4)
  t.equal(idsOf(again)[0], other, 'a start knows whose they are')
  t.same(new Set(again.list({}).map(({ owner }) => owner.tokenId)), new Set(['few', 'many', 'other']))
})

t.test('a job of which more than its record is kept is not forgotten, and no other one is for it', async (t) => {
  let nowMs = 0
  const kind = new QuickKind()
  const options = { jobsKeptMax: 3 }
  const { jobs } = await startTestJobs(t, { kinds: [kind], options, now: () => nowMs })
  const held: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const id = await addDone(jobs, 'holder')
    held.push(id)
    kind.held.add(id)
  }
  const others: string[] = []
  for (let count = 0; count < 5; count += 1) others.push(await addDone(jobs, 'other'))
  await untilCount(jobs, 6)
  for (const id of held) t.ok(jobs.find(id))
  t.same(kind.forgotten, others.slice(0, 2))
  nowMs = 73 * hourMs
  const last = await addDone(jobs, 'other')
  await untilCount(jobs, 6)
  for (const id of [...held, last]) t.ok(jobs.find(id), 'nor when it is old')
  for (const id of held) kind.held.delete(id)
  await addDone(jobs, 'other')
  await untilCount(jobs, 3)
})

t.test('a record of many jobs is taken apart where few of them are left', async (t) => {
  const storage = new MemoryStorage()
  const options = { jobsKeptMax: 110 }
  const { jobs } = await startTestJobs(t, { kinds: [new QuickKind()], storage, options })
  for (let count = 0; count < 100; count += 1) await addDone(jobs, count % 10 === 0 ? 'few' : 'many')
  const few = jobs.list({}).filter(({ owner }) => owner.tokenId === 'few')
  const untilKeys = async (count: number): Promise<void> => {
    while ((await storage.list('jobs')).length !== count) await new Promise((resolve) => setImmediate(resolve))
  }
  await untilKeys(1)
  await jobs.close()
  const { jobs: again } = await startTestJobs(t, { kinds: [new QuickKind()], storage, options })
  for (let count = 0; count < 90; count += 1) await addDone(again, 'many')
  await untilCount(again, 110)
  for (let count = 0; count < 10; count += 1) await addDone(again, 'many')
  await untilCount(again, 110)
  t.strictSame(again.list({}).slice(-10), few)
  const groups = await storage.list('jobs', 'ended ')
  const grouped = groups.map(({ value }) => (value as { readonly ids: readonly string[] }).ids.length)
  t.ok(grouped.reduce((sum, count) => sum + count, 0) <= 4 * 110, `records have ${grouped} jobs`)
  await again.close()
  const { jobs: third } = await startTestJobs(t, { kinds: [new QuickKind()], storage, options })
  await untilCount(third, 110)
  t.strictSame(third.list({}).slice(-10), few)
})
