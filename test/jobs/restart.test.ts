import { deflateRawSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { JobKind, Jobs, WorkingJob } from '../../src/jobs/jobs.types.ts'
import { type JobRecord, noRecorder } from '../../src/observe/work-recorder.types.ts'
import { errors } from '../../src/shared/errors/errors.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { openTestJobs, startTestJobs } from '../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../support/jobs/test-kind.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

const subject = { kind: 'datasource', id: 't_1', name: 'events' } as const

/** The jobs of another process over the same records; the first is as after a kill, or closed. */
async function restart(t: Test, storage: MemoryStorage, kinds: readonly JobKind[]): Promise<Jobs> {
  return (await startTestJobs(t, { kinds, storage })).jobs
}

t.test('after a kill, what waited runs in its order', async (t) => {
  const storage = new MemoryStorage()
  const { jobs } = await openTestJobs(t, { kinds: [new TestKind()], storage })
  const ids: string[] = []
  for (const order of ['a', 'b', 'c']) {
    const { id } = await jobs.add(newJob({ order, subject, logFields: { requestId: 'r' }, details: { n: 1 } }))
    ids.push(id)
  }
  const kind = new TestKind()
  const again = await restart(t, storage, [kind])
  for (const [index, id] of ids.entries()) {
    const { job, succeed } = await kind.begun(index)
    t.equal(job.id, id)
    t.equal(job.order, ['a', 'b', 'c'][index])
    t.same(job.subject, subject)
    t.same(job.details, { n: 1 })
    succeed()
    await untilStatus(again, id, 'done')
  }
})

t.test('after a kill, what worked goes on from its checkpoint, before what waited', async (t) => {
  const storage = new MemoryStorage()
  const first = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [first], storage, now: () => 1_000 })
  const working = await jobs.add(newJob({ order: { url: 'x' } }))
  const held = await first.begun(0)
  const waiting = await jobs.add(newJob())
  held.job.tell({ rows: 5 })
  await held.job.saveCheckpoint({ block: 5 })
  await held.job.nameSubject(subject)
  held.job.tell({ rows: 9 })
  const second = new TestKind()
  const { jobs: again, log } = await startTestJobs(t, { kinds: [second], storage, now: () => 9_000 })
  const { job, succeed } = await second.begun(0)
  t.equal(job.id, working.id)
  t.same(job.checkpoint, { block: 5 })
  t.same(job.order, { url: 'x' })
  t.same(job.subject, subject)
  t.same(job.details, { rows: 5 }, 'as they were when the checkpoint was kept')
  t.match(again.find(working.id), { status: 'working', startedAtMs: 1_000, updatedAtMs: 1_000 })
  t.match(again.find(waiting.id), { status: 'waiting' })
  succeed()
  t.match(await untilStatus(again, working.id, 'done'), { updatedAtMs: 9_000 })
  t.equal((await second.begun(1)).job.id, waiting.id)
  t.notOk(log.entries.some(({ level }) => level === 'error'))
})

t.test('after a kill, what may begin anew and has saved nothing does so, else it goes on', async (t) => {
  const storage = new MemoryStorage()
  const open = async (atMs: number) => {
    const kind = new TestKind({ beginsAnew: true })
    return { kind, ...(await startTestJobs(t, { kinds: [kind], storage, now: () => atMs })) }
  }
  const first = await open(1_000)
  const { id } = await first.jobs.add(newJob({ order: 'all', details: { n: 1 } }))
  const { job } = await first.kind.begun(0)
  t.match(first.jobs.find(id), { status: 'working', startedAtMs: 1_000 })
  t.same(storage.writtenKeys, [id, `${id} order`], 'nothing more was written')
  job.tell({ n: 2 })

  const second = await open(9_000)
  const again = await second.kind.begun(0)
  t.match(again.job, { id, order: 'all', checkpoint: null, details: { n: 1 } })
  await again.job.saveCheckpoint(5)

  const third = await open(12_000)
  const held = await third.kind.begun(0)
  t.match(held.job, { id, checkpoint: 5 })
  t.match(third.jobs.find(id), { status: 'working', startedAtMs: 9_000 })
  held.succeed()
  await untilStatus(third.jobs, id, 'done')
})

t.test('a start tells the recorder of the last statuses once more, without what errors quote', async (t) => {
  const storage = new MemoryStorage()
  const first = new TestKind()
  const told: JobRecord[] = []
  const workRecorder = { ...noRecorder, isOn: true, job: (record: JobRecord) => told.push(record) }
  const { jobs } = await startTestJobs(t, { kinds: [first], storage, now: () => 1_000 })
  const ids: string[] = []
  for (const order of ['fails', 'works', 'waits']) ids.push((await jobs.add(newJob({ order }))).id)
  const [failed = '', working = '', waiting = ''] = ids
  const ended = untilStatus(jobs, failed, 'error')
  ;(await first.begun(0)).fail(errors.JOB_KIND_UNKNOWN({ kind: "of 'hidden'" }))
  await ended
  await first.begun(1)

  const { jobs: again } = await openTestJobs(t, { kinds: [new TestKind()], storage, now: () => 2_000, workRecorder })
  await again.start()
  const before = told.slice(0, 3)
  t.match(
    before.map(({ id, status }) => [id, status]),
    [
      [failed, 'error'],
      [working, 'working'],
      [waiting, 'waiting'],
    ],
  )
  t.notMatch(before[0]?.error, /hidden/)
  t.match(before[0]?.error, /kind/)

  told.length = 0
  const later = 1_000 + 25 * 3_600_000
  await (await openTestJobs(t, { storage, now: () => later, workRecorder })).jobs.start()
  t.notOk(
    told.some(({ updatedAtMs }) => updatedAtMs === 1_000),
    'not of jobs that changed long ago',
  )
})

t.test('after a kill, what worked and cannot go on ends in an error with the reason', async (t) => {
  const storage = new MemoryStorage()
  const first = new TestKind({ canResume: false })
  const { jobs } = await startTestJobs(t, { kinds: [first], storage })
  const { id } = await jobs.add(newJob())
  const held = await first.begun(0)
  held.job.tell({ rows: 3 })
  await held.job.saveCheckpoint(null)
  const second = new TestKind({ canResume: false })
  const again = await restart(t, storage, [second])
  t.match(again.find(id), { status: 'error', errors: [errors.JOB_INTERRUPTED().message], details: { rows: 3 } })
  t.equal(second.begunCount, 0)
})

t.test('after a kill, what was being cancelled is cancelled', async (t) => {
  const storage = new MemoryStorage()
  const first = new TestKind()
  first.obeys = false
  const { jobs } = await startTestJobs(t, { kinds: [first], storage })
  const { id } = await jobs.add(newJob())
  await first.begun(0)
  t.match(await jobs.cancel(id), { status: 'cancelling' })
  const second = new TestKind()
  const again = await restart(t, storage, [second])
  t.match(again.find(id), { status: 'cancelled', errors: [] })
  t.equal(second.begunCount, 0)
})

t.test('a job of a kind that nobody knows any more ends in an error that says so', async (t) => {
  const storage = new MemoryStorage()
  const { jobs } = await openTestJobs(t, { kinds: [new TestKind({ name: 'copy' })], storage })
  const { id } = await jobs.add(newJob({ kind: 'copy' }))
  const again = await restart(t, storage, [new TestKind()])
  t.match(again.find(id), { status: 'error', errors: [errors.JOB_KIND_UNKNOWN({ kind: 'copy' }).message] })
})

t.test('a close ends what works: what can go on does so, and nothing else begins', async (t) => {
  const storage = new MemoryStorage()
  const resuming = new TestKind()
  const other = new TestKind({ name: 'query', canResume: false })
  const { jobs } = await startTestJobs(t, { kinds: [resuming, other], storage })
  const working = await jobs.add(newJob())
  const waiting = await jobs.add(newJob())
  const query = await jobs.add(newJob({ kind: 'query' }))
  const held = await resuming.begun(0)
  await other.begun(0)
  await held.job.saveCheckpoint(7)
  await jobs.close()
  t.match(held.job.signal.reason, { code: 'SHUTTING_DOWN' })
  t.equal(resuming.begunCount, 1)
  await t.rejects(jobs.add(newJob()), { code: 'SHUTTING_DOWN', status: 503 })
  await t.rejects(jobs.cancel(waiting.id), { code: 'SHUTTING_DOWN' })
  const second = new TestKind()
  const again = await restart(t, storage, [second, new TestKind({ name: 'query', canResume: false })])
  t.match(again.find(query.id), { status: 'error', errors: [errors.JOB_INTERRUPTED().message] })
  const next = await second.begun(0)
  t.equal(next.job.id, working.id)
  t.equal(next.job.checkpoint, 7)
  next.succeed()
  t.equal((await second.begun(1)).job.id, waiting.id)
})

t.test('a close waits for work that ends late, and no longer than it may', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind()
  kind.obeys = false
  const { jobs, log } = await startTestJobs(t, { kinds: [kind], storage })
  const { id } = await jobs.add(newJob())
  const held = await kind.begun(0)
  await jobs.close(1)
  t.ok(log.entries.some(({ level, message }) => level === 'warn' && message.startsWith('Jobs still work')))
  await t.rejects(held.job.saveCheckpoint(1), { code: 'SHUTTING_DOWN' })
  const second = new TestKind()
  const again = await restart(t, storage, [second])
  t.match(again.find(id), { status: 'working' })
})

t.test('work that succeeds while the service closes is done', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind({ canResume: false })
  kind.obeys = false
  const { jobs } = await startTestJobs(t, { kinds: [kind], storage })
  const { id } = await jobs.add(newJob())
  const held = await kind.begun(0)
  const closing = jobs.close()
  held.succeed()
  await closing
  t.match((await restart(t, storage, [new TestKind()])).find(id), { status: 'done' })
})

t.test('more jobs that worked than may work now take their turns, and can be cancelled meanwhile', async (t) => {
  const storage = new MemoryStorage()
  const first = new TestKind({ workingMax: 3 })
  const { jobs } = await startTestJobs(t, { kinds: [first], storage })
  const ids = [await jobs.add(newJob()), await jobs.add(newJob()), await jobs.add(newJob())].map(({ id }) => id)
  await first.begun(2)
  const second = new TestKind({ workingMax: 1 })
  const again = await restart(t, storage, [second])
  await second.begun(0)
  const [, next = '', last = ''] = ids
  await again.cancel(next)
  await untilStatus(again, next, 'cancelled')
  ;(await second.begun(0)).succeed()
  t.equal((await second.begun(1)).job.id, last)
  t.equal(second.begunCount, 2)
})

t.test('of a job that has ended, order and checkpoint are gone from the disk', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind], storage })
  const { id } = await jobs.add(newJob({ order: 'large' }))
  const held = await kind.begun(0)
  await held.job.saveCheckpoint(1)
  const keys = async () => (await storage.list('jobs')).map(({ key }) => key)
  t.same(await keys(), [id, `${id} checkpoint`, `${id} order`])
  held.succeed()
  await untilStatus(jobs, id, 'done')
  t.same(await keys(), [id])
})

t.test('jobs are kept in the file of the catalog', async (t) => {
  const path = `${t.testdir()}/catalog.lmdb`
  const storage = await openLmdbStorage(path)
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind], storage })
  const done = await jobs.add(newJob({ subject, order: { url: 'x' } }))
  ;(await kind.begun(0)).succeed()
  const ended = await untilStatus(jobs, done.id, 'done')
  const working = await jobs.add(newJob())
  await (await kind.begun(1)).job.saveCheckpoint([1, 2])
  await jobs.close()
  await storage.close()
  const reopened = await openLmdbStorage(path)
  t.teardown(() => reopened.close())
  const second = new TestKind()
  const { jobs: again } = await startTestJobs(t, { kinds: [second], storage: reopened })
  t.strictSame(again.find(done.id), ended)
  t.same(
    again.list({}).map(({ id }) => id),
    [working.id, done.id],
  )
  t.same((await second.begun(0)).job.checkpoint, [1, 2])
  await again.close()
})

t.test('a record that cannot be read is an error that names it', async (t) => {
  const storage = new MemoryStorage()
  await storage.commit([{ kind: 'jobs', key: 'j-1', value: { format: 99 }, version: null }])
  await t.rejects(openTestJobs(t, { storage }), { name: 'CatalogRecordError', message: /j-1.*format is 99/ })
})

t.test('jobs that were put together and cannot be read are told in the log, and by who asks for them', async (t) => {
  const storage = new MemoryStorage()
  const value = {
    format: 1,
    ids: ['j-1'],
    numbers: [1],
    endedAtMs: [0],
    packed: deflateRawSync('[]').toString('base64'),
  }
  await storage.commit([{ kind: 'jobs', key: 'ended 1', value, version: null }])
  const { jobs, log } = await startTestJobs(t, { storage })
  const { fields } = await log.until('Jobs that have ended cannot be read.')
  t.match(fields['err'], { name: 'CatalogRecordError', message: /from j-1 on.*other jobs than it says/ })
  t.throws(() => jobs.find('j-1'), { name: 'CatalogRecordError' })
})

t.test('jobs that were put together are listed with the others after a restart', async (t) => {
  const storage = new MemoryStorage()
  const kind = new TestKind({ workingMax: 200 })
  const { jobs } = await startTestJobs(t, { kinds: [kind], storage })
  for (let count = 0; count < 102; count += 1) await jobs.add(newJob({ subject, details: { n: count } }))
  for (let count = 0; count < 101; count += 1) {
    const { job, succeed, fail } = await kind.begun(count)
    if (count % 2 === 0) succeed()
    else fail(errors.BODY_CUT())
    await untilStatus(jobs, job.id, count % 2 === 0 ? 'done' : 'error')
  }
  await jobs.close()
  t.equal((await storage.list('jobs', 'ended ')).length, 1)
  const { jobs: again } = await startTestJobs(t, { kinds: [new TestKind()], storage })
  t.strictSame(again.list({}), jobs.list({}))
  const [last] = again.list({ statuses: ['error'] })
  t.match(last, { status: 'error', isCancellable: false, details: { n: 99 }, errors: [errors.BODY_CUT().message] })
  await t.rejects(again.cancel(last?.id ?? ''), { code: 'JOB_NOT_CANCELLABLE' })
})

t.test('a job that is cancelled over a restart tells at its end what its kind finds of it', async (t) => {
  const storage = new MemoryStorage()
  const first = new TestKind({ workingMax: 3 })
  first.obeys = false
  const { jobs } = await startTestJobs(t, { kinds: [first], storage })
  const ids: string[] = []
  for (let index = 0; index < 3; index += 1) {
    ids.push((await jobs.add(newJob())).id)
    const { job } = await first.begun(index)
    job.tell({ rows: 1, bytes: 7 })
    await job.saveCheckpoint({ block: index })
  }
  const [cancelling = '', working = '', later = ''] = ids
  await jobs.cancel(cancelling)
  const settle = async (job: WorkingJob): Promise<void> => {
    if (job.id === later) throw new Error('the engine is away')
    job.tell({ rows: 5, checkpoint: job.checkpoint })
  }
  const second = new TestKind({ workingMax: 1, settle })
  const { jobs: again, log } = await startTestJobs(t, { kinds: [second], storage })
  const ended = await untilStatus(again, cancelling, 'cancelled')
  t.same(ended.details, { rows: 5, bytes: 7, checkpoint: { block: 0 } })
  // One works on, and the other has no place yet.
  t.equal((await second.begun(0)).job.id, working)
  t.match(await again.cancel(later), { status: 'cancelling' })
  t.same((await untilStatus(again, later, 'cancelled')).details, { rows: 1, bytes: 7 }, 'as they were kept')
  await log.until('What a cancelled job has left could not be told.', ({ jobId }) => jobId === later)
})

t.test('a list of jobs that have not ended reads none of those that have', async (t) => {
  const storage = new MemoryStorage()
  const value = {
    ...{ format: 1, ids: ['gone'], numbers: [1], endedAtMs: [1_000], shares: ['import '] },
    packed: deflateRawSync('[]').toString('base64'),
  }
  await storage.commit([{ kind: 'jobs', key: 'ended 1', value, version: null }])
  const { jobs } = await openTestJobs(t, { kinds: [new TestKind()], storage })
  const { id } = await jobs.add(newJob())
  const unended = jobs.list({ kinds: ['import'], statuses: ['waiting', 'working', 'cancelling'] })
  t.same(
    unended.map((job) => job.id),
    [id],
  )
  t.throws(() => jobs.list({ statuses: ['waiting', 'done'] }), 'what has ended cannot be read')
})
