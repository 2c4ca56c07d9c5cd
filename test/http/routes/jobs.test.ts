import t, { type Test } from 'tap'
import type { NewJob } from '../../../src/jobs/jobs.types.ts'
import { errors } from '../../../src/shared/errors/errors.ts'
import { ask } from '../../support/http/fake-deps.ts'
import { openJobsApp, type TestScope } from '../../support/jobs/jobs-app.ts'
import { startTestJobs } from '../../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../../support/jobs/test-kind.ts'

const admin: Readonly<Record<string, readonly TestScope[]>> = { admin: [['ADMIN']] }

async function open(t: Test, kind: TestKind, { tokens = admin, now = () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) } = {}) {
  const { jobs } = await startTestJobs(t, { kinds: [kind], now })
  const opened = openJobsApp(t, jobs, tokens)
  const get = async (path: string, token = 'admin') => {
    const answer = await ask(opened.app, { url: path, headers: { authorization: `Bearer ${token}`, host: 'api.test' } })
    return { status: answer.statusCode, json: answer.json(), headers: answer.headers }
  }
  const cancel = async (id: string, token = 'admin') => {
    const answer = await ask(opened.app, {
      method: 'POST',
      url: `/v0/jobs/${id}/cancel`,
      headers: { authorization: `Bearer ${token}`, host: 'api.test' },
    })
    return { status: answer.statusCode, json: answer.json() }
  }
  return { jobs, get, cancel, ...opened }
}

t.test('a job is told with all of its fields, while it works and when it has failed', async (t) => {
  const kind = new TestKind()
  const { jobs, get, createDataSource } = await open(t, kind)
  const id = await createDataSource('events')
  const made = await jobs.add(newJob({ subject: { kind: 'datasource', id, name: 'events' } }))
  const held = await kind.begun(0)
  held.job.tell({ quarantinedRows: 2, invalidLines: 1, progressPercentage: 40.5 })
  const { status, json } = await get(`/v0/jobs/${made.id}`)
  t.equal(status, 200)
  const { datasource, ...rest } = json
  t.strictSame(rest, {
    kind: 'import',
    id: made.id,
    job_id: made.id,
    status: 'working',
    created_at: '2026-01-02 03:04:05.678000',
    updated_at: '2026-01-02 03:04:05.678000',
    started_at: '2026-01-02 03:04:05.678000',
    is_cancellable: true,
    job_url: `http://api.test/v0/jobs/${made.id}`,
    import_id: made.id,
    statistics: { bytes: 100, row_count: 2 },
    quarantine_rows: 2,
    invalid_lines: 1,
    progress_percentage: 40.5,
  })
  t.match(datasource, { id, name: 'events', engine: { engine: 'MergeTree' }, statistics: { row_count: 2 } })
  held.fail(errors.BODY_CUT())
  await untilStatus(jobs, made.id, 'error')
  const { message } = errors.BODY_CUT()
  t.match((await get(`/v0/jobs/${made.id}`)).json, {
    status: 'error',
    is_cancellable: false,
    quarantine_rows: 2,
    error: message,
    errors: [message],
  })
})

t.test('a data source that is gone is told by its id and the name that it had', async (t) => {
  const kind = new TestKind()
  const { jobs, get, createDataSource, dropDataSource } = await open(t, kind)
  const id = await createDataSource('events')
  const made = await jobs.add(newJob({ subject: { kind: 'datasource', id, name: 'events' } }))
  await dropDataSource('events')
  const { json } = await get(`/v0/jobs/${made.id}`)
  t.strictSame(json.datasource, { id, name: 'events' })
  t.equal(json.statistics, null)
})

t.test('blocks of a job that nobody remembers are none, and other details are refused', async (t) => {
  const kind = new TestKind()
  const { jobs, get } = await open(t, kind)
  const { id } = await jobs.add(newJob())
  t.notOk('blocks' in (await get(`/v0/jobs/${id}`)).json)
  t.match((await get(`/v0/jobs/${id}?debug=blocks,block_log`)).json, { blocks: [], block_log: [] })
  t.match(await get(`/v0/jobs/${id}?debug=rows`), { status: 400, json: { error: /blocks, block_log/ } })
})

t.test('the list has an item a job, newest first, with and without a slash', async (t) => {
  const kind = new TestKind()
  const { jobs, get } = await open(t, kind)
  t.strictSame((await get('/v0/jobs')).json, { jobs: [], total: 0, page: 1, page_size: 1_000 })
  const first = await jobs.add(newJob({ subject: { kind: 'datasource', id: 't_1', name: 'events' } }))
  const second = await jobs.add(newJob({ subject: { kind: 'pipe', id: 't_2', name: 'top' } }))
  const { json } = await get('/v0/jobs/')
  const times = { created_at: '2026-01-02 03:04:05.678000', updated_at: '2026-01-02 03:04:05.678000' }
  const urlOf = (id: string) => `http://api.test/v0/jobs/${id}`
  t.strictSame(json.jobs, [
    {
      ...{ id: second.id, kind: 'import', status: 'waiting', ...times, job_url: urlOf(second.id) },
      ...{ pipe_id: 't_2', pipe_name: 'top' },
    },
    {
      ...{ id: first.id, kind: 'import', status: 'working', ...times, job_url: urlOf(first.id) },
      datasource: { id: 't_1', name: 'events' },
    },
  ])
})

t.test('the list is filtered by kind, status, pipe and time', async (t) => {
  let nowMs = Date.UTC(2026, 0, 2)
  const kind = new TestKind({ name: 'populateview' })
  const { jobs, get } = await open(t, kind, { now: () => nowMs })
  const made: string[] = []
  for (const [index, name] of ['top', 'top', 'daily'].entries()) {
    const job = newJob({ kind: 'populateview', subject: { kind: 'pipe', id: `t_${name}`, name } })
    made.push((await jobs.add(job)).id)
    nowMs += 60_000 * (index + 1)
  }
  await kind.begun(0)
  const [first = '', second = '', third = ''] = made
  const idsOf = async (query: string): Promise<readonly string[]> => {
    const { status, json } = await get(`/v0/jobs?${query}`)
    t.equal(status, 200, query)
    return json.jobs.map(({ id }: { readonly id: string }) => id)
  }
  t.same(await idsOf('kind=populateview'), [third, second, first])
  t.same(await idsOf('kind=populate'), [third, second, first])
  t.same(await idsOf('kind=import'), [])
  t.same(await idsOf('kind=import,populateview&status=working'), [first])
  t.same(await idsOf('status=waiting&status=done'), [third, second])
  t.same(await idsOf('pipe_name=top'), [second, first])
  t.same(await idsOf('pipe_id=t_daily'), [third])
  t.same(await idsOf('pipe_id=t_daily&pipe_name=top'), [])
  // Made at 00:00:00, 00:01:00 and 00:03:00; both bounds are left out themselves.
  t.same(await idsOf(`created_after=${Date.UTC(2026, 0, 2) / 1_000}`), [third, second])
  t.same(await idsOf('created_after=2026-01-02+00:01:00'), [third])
  t.same(await idsOf('created_before=2026-01-02T00:03:00Z'), [second, first])
  t.same(await idsOf('created_before=2026-01-02T02:01:00%2B02:00'), [first])
  t.same(await idsOf('created_after=2026-01-01&created_before=2026-01-02%2000:00:30.5'), [first])
  for (const query of ['status=finished', 'created_after=yesterday', 'page=0', 'page_size=1001', 'page_size=x']) {
    t.match(await get(`/v0/jobs?${query}`), { status: 400, json: { error: /must be/ } }, query)
  }
  t.match((await get('/v0/jobs?state=done')).headers, { 'x-warning': /Parameter 'state' is not known/ })
})

t.test('the list is paged', async (t) => {
  const kind = new TestKind()
  const { jobs, get } = await open(t, kind)
  const made: string[] = []
  for (let count = 0; count < 5; count += 1) made.unshift((await jobs.add(newJob())).id)
  const pages = [1, 2, 3, 4].map(async (page) => {
    const { json } = await get(`/v0/jobs?page_size=2&page=${page}`)
    t.match(json, { total: 5, page, page_size: 2 })
    return json.jobs.map(({ id }: { readonly id: string }) => id)
  })
  t.same(await Promise.all(pages), [made.slice(0, 2), made.slice(2, 4), made.slice(4), []])
})

t.test('a job is cancelled in each state as the specification says', async (t) => {
  const kind = new TestKind()
  kind.obeys = false
  const { jobs, cancel } = await open(t, kind)
  const working = await jobs.add(newJob())
  const waiting = await jobs.add(newJob())
  const held = await kind.begun(0)
  t.match(await cancel(waiting.id), { status: 200, json: { job_id: waiting.id, status: 'cancelled' } })
  t.match(await cancel(waiting.id), { status: 400, json: { error: /it has ended/ } })
  t.match(await cancel(working.id), { status: 200, json: { status: 'cancelling', is_cancellable: false } })
  t.match(await cancel(working.id), { status: 400, json: { error: /being cancelled already/ } })
  held.fail(held.job.signal.reason)
  await untilStatus(jobs, working.id, 'cancelled')
  const done = await jobs.add(newJob())
  ;(await kind.begun(1)).succeed()
  await untilStatus(jobs, done.id, 'done')
  t.match(await cancel(done.id), { status: 400, json: { error: /its status is "done"/ } })
  t.match(await cancel('none'), { status: 404, json: { error: /There is no job "none"/ } })
})

t.test('a job whose kind cannot be stopped is cancelled as long as it waits', async (t) => {
  const kind = new TestKind({ name: 'query', isCancellableWhileWorking: false })
  const { jobs, get, cancel } = await open(t, kind)
  const working = await jobs.add(newJob({ kind: 'query' }))
  const waiting = await jobs.add(newJob({ kind: 'query' }))
  await kind.begun(0)
  t.match((await get(`/v0/jobs/${working.id}`)).json, { is_cancellable: false })
  t.match(await cancel(working.id), { status: 400, json: { error: /kind "query" cannot be stopped/ } })
  t.match((await get(`/v0/jobs/${waiting.id}`)).json, { is_cancellable: true })
  t.match(await cancel(waiting.id), { status: 200 })
})

const scopes: Readonly<Record<string, readonly TestScope[]>> = {
  admin: [['ADMIN']],
  maker: [],
  stranger: [],
  appender: [['DATASOURCES:APPEND', 't_own']],
  creator: [['DATASOURCES:CREATE', 't_own']],
  'creator-of-all': [['DATASOURCES:CREATE']],
  'creator-elsewhere': [['DATASOURCES:CREATE', 't_other']],
  reader: [['DATASOURCES:READ', 't_own']],
  'reader-of-some-rows': [['DATASOURCES:READ', 't_own', 'a = 1']],
  'creator-who-reads-some-rows': [
    ['DATASOURCES:CREATE', 't_own'],
    ['DATASOURCES:READ', 't_own', 'a = 1'],
  ],
  'reader-of-all': [['WORKSPACE:READ_ALL']],
  'creator-of-the-name': [['DATASOURCES:CREATE', 'own']],
  'editor-of-pipes': [['PIPES:CREATE', 't_pipe']],
  jwt: [['DATASOURCES:APPEND', 't_own']],
  'jwt-of-nothing': [],
}

/** Who may read and cancel a job of a kind, in front of `admin` and `maker`. */
const allowed: readonly (readonly [kind: string, subject: NewJob['subject'], read: string, cancel: string])[] = [
  [
    'import',
    { kind: 'datasource', id: 't_own', name: 'own' },
    'appender, creator, creator-of-all, reader, reader-of-all, jwt',
    'appender, creator, creator-of-all, jwt',
  ],
  [
    'delete_data',
    { kind: 'datasource', id: 't_own', name: 'own' },
    'creator, creator-of-all',
    'creator, creator-of-all',
  ],
  [
    'populateview',
    { kind: 'datasource', id: 't_own', name: 'own' },
    'creator, creator-of-all',
    'creator, creator-of-all',
  ],
  ['populateview', { kind: 'pipe', id: 't_pipe', name: 'own' }, 'editor-of-pipes', 'editor-of-pipes'],
  ['query', { kind: 'datasource', id: 't_own', name: 'own' }, '', ''],
  ['query', null, '', ''],
  ['import', null, '', ''],
]

for (const [kindName, subject, read, cancel] of allowed) {
  t.test(
    `a job of the kind ${kindName} on ${subject?.kind ?? 'nothing'} is for those who may do the same`,
    async (t) => {
      const kind = new TestKind({ name: kindName, isCancellableWhileWorking: true })
      kind.obeys = false
      const opened = await open(t, kind, { tokens: scopes })
      opened.putResource('t_own', 'datasource', 'own')
      opened.putResource('t_other', 'datasource', 'other')
      opened.putResource('t_pipe', 'pipe', 'own')
      const readers = ['admin', 'maker', ...read.split(', ')]
      const cancellers = ['admin', 'maker', ...cancel.split(', ')]
      for (const token of Object.keys(scopes)) {
        const owner = { tokenId: 'maker', tokenName: 'maker' }
        const { id } = await opened.jobs.add(newJob({ kind: kindName, subject, owner }))
        const seen = await opened.get(`/v0/jobs/${id}`, token)
        const list = await opened.get('/v0/jobs', token)
        const absent = await opened.get('/v0/jobs/none', token)
        if (readers.includes(token)) {
          t.match(seen, { status: 200, json: { job_id: id } }, `${token} reads it`)
          t.ok(list.json.total > 0, `${token} is shown it`)
        } else {
          t.equal(seen.status, 403, `${token} does not read it`)
          t.strictSame(seen.json, absent.json, `${token} is not told whether there is such a job`)
          t.strictSame(list.json.jobs, [], `${token} is not shown it`)
          t.equal(list.json.total, 0)
        }
        t.equal(absent.status, token === 'admin' ? 404 : 403, `${token} asks for what there is not`)
        const cancelled = await opened.cancel(id, token)
        t.equal(cancelled.status, cancellers.includes(token) ? 200 : 403, `${token} cancels`)
        t.equal((await opened.cancel('none', token)).status, token === 'admin' ? 404 : 403)
      }
    },
  )
}

t.test(
  'a job that a token without a record has made is for ADMIN alone, where its work is for nobody else',
  async (t) => {
    const kind = new TestKind({ name: 'query' })
    const { jobs, get } = await open(t, kind, { tokens: scopes })
    const { id } = await jobs.add(newJob({ kind: 'query', owner: { tokenId: null, tokenName: 'jwt' } }))
    t.equal((await get(`/v0/jobs/${id}`, 'jwt')).status, 403)
    t.equal((await get(`/v0/jobs/${id}`, 'jwt-of-nothing')).status, 403)
    t.equal((await get(`/v0/jobs/${id}`)).status, 200)
  },
)

t.test('who may tell of a job is not told of a pipe or a data source that it may not see', async (t) => {
  const kind = new TestKind({ name: 'populateview' })
  const opened = await open(t, kind, { tokens: scopes })
  const subject = { kind: 'datasource', id: 't_own', name: 'own' } as const
  const details = { pipeId: 't_pipe', pipeName: 'hidden' }
  const { id } = await opened.jobs.add(newJob({ kind: 'populateview', subject, details }))
  t.match((await opened.get(`/v0/jobs/${id}`)).json, { pipe_id: 't_pipe', pipe_name: 'hidden' })
  t.match((await opened.get(`/v0/jobs/${id}`, 'maker')).json, { pipe_name: 'hidden' })
  const { json } = await opened.get(`/v0/jobs/${id}`, 'creator')
  t.notMatch(JSON.stringify(json), /hidden/)
  t.same((await opened.get('/v0/jobs?pipe_name=hidden', 'creator')).json.jobs, [])
  t.equal((await opened.get('/v0/jobs?pipe_name=hidden')).json.total, 1)
})

t.test('the maker of a job is not told the name that its data source has by now', async (t) => {
  const kind = new TestKind()
  const opened = await open(t, kind, { tokens: scopes })
  const own = await opened.createDataSource('renamed')
  const { id } = await opened.jobs.add(newJob({ subject: { kind: 'datasource', id: own, name: 'before' } }))
  t.strictSame((await opened.get(`/v0/jobs/${id}`, 'maker')).json.datasource, { id: own, name: 'before' })
  t.match((await opened.get(`/v0/jobs/${id}`)).json.datasource, { id: own, name: 'renamed' })
})
