import t from 'tap'
import type { WorkingJob } from '../../src/jobs/jobs.types.ts'
import { errors } from '../../src/shared/errors/errors.ts'
import { openTestJobs, startTestJobs } from '../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../support/jobs/test-kind.ts'

t.test('a job waits, works and is done, with its times', async (t) => {
  let nowMs = 1_000
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind], now: () => nowMs })
  const subject = { kind: 'datasource', id: 't_1', name: 'events' } as const
  const made = await jobs.add(newJob({ subject, order: { url: 'x' }, details: { mode: 'append' } }))
  t.match(made, {
    kind: 'import',
    status: 'waiting',
    createdAtMs: 1_000,
    updatedAtMs: 1_000,
    startedAtMs: null,
    isCancellable: true,
    subject,
    details: { mode: 'append' },
    errors: [],
  })
  const held = await kind.begun(0)
  t.same(held.job.order, { url: 'x' })
  t.equal(held.job.checkpoint, null)
  t.equal(held.job.id, made.id)
  t.match(jobs.find(made.id), { status: 'working', startedAtMs: 1_000 })
  nowMs = 5_000
  held.job.tell({ rows: 3 })
  held.succeed()
  const done = await untilStatus(jobs, made.id, 'done')
  t.match(done, { updatedAtMs: 5_000, startedAtMs: 1_000, isCancellable: false, errors: [] })
  t.same(done.details, { mode: 'append', rows: 3 })
})

t.test('jobs of a kind work in their order, as many at once as may', async (t) => {
  const kind = new TestKind({ workingMax: 2 })
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  const ids: string[] = []
  for (let count = 0; count < 4; count += 1) ids.push((await jobs.add(newJob())).id)
  const first = await kind.begun(0)
  const second = await kind.begun(1)
  const statuses = () => ids.map((id) => jobs.find(id)?.status)
  t.same(statuses(), ['working', 'working', 'waiting', 'waiting'])
  second.succeed()
  t.equal((await kind.begun(2)).job.id, ids[2])
  t.same(statuses(), ['working', 'done', 'working', 'waiting'])
  first.succeed()
  t.equal((await kind.begun(3)).job.id, ids[3])
})

t.test('a kind has as many jobs that wait and work as it may, and others have theirs', async (t) => {
  const kind = new TestKind({ name: 'delete_data', active: { max: 3, limit: 'delete_jobs' } })
  const { jobs } = await startTestJobs(t, { kinds: [kind, new TestKind()] })
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1) ids.push((await jobs.add(newJob({ kind: 'delete_data' }))).id)
  const first = await kind.begun(0)
  await t.rejects(jobs.add(newJob({ kind: 'delete_data' })), {
    code: 'JOBS_ACTIVE_TOO_MANY',
    status: 429,
    limit: 'delete_jobs',
    retryAfterSeconds: 10,
  })
  for (let count = 0; count < 4; count += 1) await jobs.add(newJob())
  first.succeed()
  await untilStatus(jobs, ids[0] ?? '', 'done')
  await jobs.add(newJob({ kind: 'delete_data' }))
  await t.rejects(jobs.add(newJob({ kind: 'delete_data' })), { code: 'JOBS_ACTIVE_TOO_MANY' })
})

t.test('kinds do not wait for each other', async (t) => {
  const imports = new TestKind()
  const queries = new TestKind({ name: 'query' })
  const { jobs } = await startTestJobs(t, { kinds: [imports, queries] })
  await jobs.add(newJob())
  await jobs.add(newJob())
  const query = await jobs.add(newJob({ kind: 'query' }))
  t.equal((await queries.begun(0)).job.id, query.id)
})

t.test('as many jobs wait as may, and one more is refused until one of them begins', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind], options: { jobsWaitingMax: 3 } })
  await jobs.add(newJob())
  const working = await kind.begun(0)
  await jobs.add(newJob())
  await jobs.add(newJob())
  await jobs.add(newJob())
  await t.rejects(jobs.add(newJob()), { code: 'JOBS_TOO_MANY', status: 429, retryAfterSeconds: 10 })
  working.succeed()
  await kind.begun(1)
  await jobs.add(newJob())
  await t.rejects(jobs.add(newJob()), { code: 'JOBS_TOO_MANY' })
})

t.test('jobs that are added at once are counted one after the other', async (t) => {
  const kind = new TestKind()
  const { jobs } = await openTestJobs(t, { kinds: [kind], options: { jobsWaitingMax: 3 } })
  const settled = await Promise.allSettled(Array.from({ length: 5 }, () => jobs.add(newJob())))
  t.same(
    settled.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
  )
})

t.test('an order of 256 KiB is kept, and a larger one is refused', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  // Two quotes belong to the text of JSON.
  const order = 'x'.repeat(256 * 1024 - 2)
  await jobs.add(newJob({ order }))
  t.equal((await kind.begun(0)).job.order, order)
  await t.rejects(jobs.add(newJob({ order: `${order}x` })), { code: 'JOB_TOO_LARGE', status: 413 })
})

t.test('an error of the table is told in its words, and so is each of several', async (t) => {
  const kind = new TestKind({ workingMax: 2 })
  const { jobs, log } = await startTestJobs(t, { kinds: [kind] })
  const { id } = await jobs.add(newJob())
  const other = await jobs.add(newJob())
  const wrong = errors.DATASOURCE_NOT_FOUND({ name: 'gone' })
  ;(await kind.begun(0)).fail(wrong)
  ;(await kind.begun(1)).fail(new AggregateError([wrong, errors.BODY_CUT()]))
  t.match(await untilStatus(jobs, id, 'error'), { errors: [wrong.message], isCancellable: false })
  t.same((await untilStatus(jobs, other.id, 'error')).errors, [wrong.message, errors.BODY_CUT().message])
  t.notOk(log.entries.some(({ level }) => level === 'error'))
})

t.test('a fault of ours is told as a sentence, and logged with its stack', async (t) => {
  const kind = new TestKind()
  const { jobs, log } = await startTestJobs(t, { kinds: [kind] })
  const { id } = await jobs.add(newJob({ logFields: { requestId: 'r1' } }))
  const fault = new Error('rows of somebody')
  ;(await kind.begun(0)).fail(fault)
  const { errors: told } = await untilStatus(jobs, id, 'error')
  t.same(told, [errors.JOB_FAILED().message])
  const { fields } = await log.until('A job has ended by a fault.')
  t.match(fields, { jobId: id, kind: 'import', status: 'error', requestId: 'r1', err: fault })
})

t.test('a kind that throws at once fails its job alone', async (t) => {
  const broken = {
    name: 'query',
    workingMax: 1,
    isCancellableWhileWorking: false,
    canResume: false,
    run: () => {
      throw new Error('broken')
    },
  }
  const { jobs } = await startTestJobs(t, { kinds: [broken] })
  const first = await jobs.add(newJob({ kind: 'query' }))
  const second = await jobs.add(newJob({ kind: 'query' }))
  await untilStatus(jobs, first.id, 'error')
  await untilStatus(jobs, second.id, 'error')
})

t.test('what is left to do behind the end of a job keeps no other waiting, but a close', async (t) => {
  const left: { readonly id: string; readonly finish: () => void; readonly fail: (error: unknown) => void }[] = []
  const tidy = {
    name: 'query',
    workingMax: 1,
    isCancellableWhileWorking: false,
    canResume: false,
    run: async () => {
      if (left.length === 1) throw new Error('broken')
    },
    ended: ({ id }: WorkingJob) =>
      new Promise<void>((finish, fail) => {
        left.push({ id, finish, fail })
      }),
  }
  const { jobs } = await startTestJobs(t, { kinds: [tidy] })
  const first = await jobs.add(newJob({ kind: 'query' }))
  await untilStatus(jobs, first.id, 'done')
  while (left.length < 1) await new Promise((resolve) => setImmediate(resolve))
  const second = await jobs.add(newJob({ kind: 'query' }))
  await untilStatus(jobs, second.id, 'error')
  while (left.length < 2) await new Promise((resolve) => setImmediate(resolve))
  t.same(
    left.map(({ id }) => id),
    [first.id, second.id],
  )
  let isClosed = false
  const closing = jobs.close().then(() => {
    isClosed = true
  })
  left[0]?.fail(new Error('broken'))
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isClosed)
  left[1]?.finish()
  await closing
})

t.test('work that goes on behind its end is refused', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  const { id } = await jobs.add(newJob())
  const { job, succeed } = await kind.begun(0)
  succeed()
  await untilStatus(jobs, id, 'done')
  t.throws(() => job.tell({ rows: 1 }), { name: 'InvariantError' })
  await t.rejects(job.saveCheckpoint(1), { name: 'InvariantError' })
})

t.test('checkpoints have 1 MiB at most, and details 64 KiB', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  await jobs.add(newJob())
  const { job } = await kind.begun(0)
  const largest = 'x'.repeat(1024 * 1024 - 2)
  await job.saveCheckpoint(largest)
  t.equal(job.checkpoint, largest)
  await t.rejects(job.saveCheckpoint(`${largest}x`), { name: 'InvariantError' })
  // As JSON, {"text":"…"} has eleven characters more.
  job.tell({ text: 'x'.repeat(64 * 1024 - 11) })
  t.throws(() => job.tell({ text: 'x'.repeat(64 * 1024 - 10) }), { name: 'InvariantError' })
})

t.test('each change of the status is one line of the log, with the fields of the job', async (t) => {
  const kind = new TestKind()
  const { jobs, log } = await startTestJobs(t, { kinds: [kind] })
  const subject = { kind: 'datasource', id: 't_1', name: 'events' } as const
  const { id } = await jobs.add(newJob({ subject, logFields: { url: 'https://example.com' } }))
  ;(await kind.begun(0)).succeed()
  await untilStatus(jobs, id, 'done')
  const lines = log.entries.filter(({ level }) => level === 'info')
  t.same(
    lines.map(({ fields }) => fields['status']),
    ['waiting', 'working', 'done'],
  )
  for (const { fields, message } of lines) {
    t.equal(message, 'A job has another status.')
    t.match(fields, { jobId: id, kind: 'import', datasource: 'events', url: 'https://example.com' })
  }
})

t.test('a subject that becomes known later is told and kept', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  const { id } = await jobs.add(newJob())
  const { job } = await kind.begun(0)
  const subject = { kind: 'datasource', id: 't_2', name: 'made' } as const
  await job.nameSubject(subject)
  t.same(job.subject, subject)
  t.same(jobs.find(id)?.subject, subject)
})
