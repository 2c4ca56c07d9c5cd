import t from 'tap'
import { deleteRows, endedJob, jobIdOf, jobOf } from '../support/api/job-calls.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const schema = 'id UInt32, user String, plan String'
const rows = Array.from({ length: 100 }, (_, id) =>
  JSON.stringify({ id, user: `u${id % 10}`, plan: id < 50 ? 'a' : 'b' }),
)

async function fill(service: TestService, name: string): Promise<void> {
  await service.create(name, schema)
  const { status } = await service.append(name, 'ndjson', rows.join('\n'))
  if (status !== 200) throw new Error(`${name} took no rows`)
}

t.test('a delete answers with a job, which tells what was deleted', async (t) => {
  const service = await openTestService(t)
  await fill(service, 'visits')
  // As a client sends it: not encoded.
  const body = "delete_condition=user='u3' and plan='a'"
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await service.call('POST', '/v0/datasources/visits/delete', { body, headers })
  t.equal(answer.status, 200, answer.text)
  const id = jobIdOf(answer)
  const datasource = { id: await service.idOf('visits'), name: 'visits' }
  t.match(answer.json, {
    id,
    job_id: id,
    delete_id: id,
    job_url: `${service.address}/v0/jobs/${id}`,
    status: 'waiting',
    job: {
      kind: 'delete_data',
      id,
      job_id: id,
      status: 'waiting',
      started_at: null,
      datasource,
      delete_condition: "user='u3' and plan='a'",
    },
  })
  t.notOk(Object.hasOwn(answer.json as object, 'views_not_updated'))
  const job = await endedJob(service, id)
  t.match(job, { status: 'done', rows_deleted: 5, is_cancellable: false })
  t.equal(await service.count('visits'), 95)
  t.equal(await service.sql("SELECT count() FROM visits WHERE user = 'u3' FORMAT TSV"), '5\n')
  t.equal((await service.call('POST', `/v0/jobs/${id}/cancel`)).status, 400, 'of a job that is done')
})

t.test('a condition comes in the query, in a form, in multipart and in JSON', async (t) => {
  const service = await openTestService(t)
  await fill(service, 'visits')
  const form = new FormData()
  form.set('delete_condition', 'id = 3')
  const calls = [
    [`?${new URLSearchParams({ delete_condition: 'id = 1' })}`, {}],
    ['', { body: new URLSearchParams({ delete_condition: 'id = 2' }).toString() }],
    ['', { body: form }],
    ['', { body: JSON.stringify({ delete_condition: 'id = 4' }) }],
  ] as const
  for (const [query, call] of calls) {
    const job = await endedJob(
      service,
      jobIdOf(await service.call('POST', `/v0/datasources/visits/delete${query}`, call)),
    )
    t.match(job, { status: 'done', rows_deleted: 1 })
  }
  t.equal(await service.count('visits'), 96)
})

t.test('a dry run counts, and runs no job', async (t) => {
  const service = await openTestService(t)
  await fill(service, 'visits')
  const body = new URLSearchParams({ delete_condition: "plan = 'b'", dry_run: 'true' }).toString()
  const { status, json } = await service.call('POST', '/v0/datasources/visits/delete', { body })
  t.equal(status, 200)
  t.same(json, {
    rows_to_be_deleted: 50,
    delete_condition: "plan = 'b'",
    datasource: { id: await service.idOf('visits'), name: 'visits' },
  })
  t.match((await service.call('GET', '/v0/jobs')).json, { jobs: [] })
  t.equal(await service.count('visits'), 100)
})

t.test('what cannot be deleted is told before there is a job', async (t) => {
  const service = await openTestService(t)
  await fill(service, 'visits')
  await service.create('nothing', 'id UInt32', { engine: 'Null' })
  await service.create('joined', 'id UInt32, n UInt32', {
    engine: 'Join',
    engine_join_strictness: 'ANY',
    engine_join_type: 'LEFT',
    engine_key_columns: 'id',
  })
  const wrong: readonly (readonly [path: string, condition: string, status: number, said: RegExp])[] = [
    ['visits', '', 400, /"delete_condition" cannot be used: it is empty/],
    ['visits', 'WHERE id = 1', 400, /it is the condition alone, without the word WHERE/],
    ['visits', 'plan = "a"', 400, /a text stands in single quotes/],
    ['visits', 'usr = 1', 400, /"delete_condition" cannot be used: .*usr/],
    ['visits', 'id IN (SELECT id FROM visits)', 400, /"delete_condition" cannot be used/],
    ['visits', 'now64() > 0', 400, /it must not call now64\(\), which gives another value each time/],
    ['visits_quarantine', 'id = 1', 400, /Rows of "visits_quarantine" cannot be deleted.*it is a quarantine/],
    ['nothing', 'id = 1', 400, /its engine Null keeps no rows/],
    ['joined', 'id = 1', 400, /its engine Join deletes no single rows; replace it/],
    ['absent', 'id = 1', 404, /does not exist/],
  ]
  for (const [name, condition, expected, said] of wrong) {
    const body = new URLSearchParams({ delete_condition: condition }).toString()
    const { status, text } = await service.call('POST', `/v0/datasources/${name}/delete`, { body })
    t.equal(status, expected, `${name} ${condition}`)
    t.match(JSON.parse(text), { error: said })
  }
  t.match((await service.call('GET', '/v0/jobs')).json, { jobs: [] })
})

t.test('a value for which the condition fails ends the job, and nothing is deleted', async (t) => {
  const service = await openTestService(t)
  await fill(service, 'visits')
  const job = await deleteRows(service, 'visits', 'toUInt32(user) = 3 OR id = 1')
  t.match(job, { status: 'error', error: /"delete_condition" cannot be used: .*parse/ })
  t.equal(await service.count('visits'), 100)
})

t.test(
  'a delete beside a replace waits for it, and a replace beside a delete is refused or comes behind',
  async (t) => {
    const service = await openTestService(t)
    await fill(service, 'visits')
    const replacing = service.call(
      'POST',
      `/v0/datasources?${new URLSearchParams({ mode: 'replace', name: 'visits', format: 'ndjson' })}`,
      {
        body: rows.slice(0, 30).join('\n'),
      },
    )
    const job = await deleteRows(service, 'visits', 'id < 20')
    t.equal(job.status, 'done')
    const { status } = await replacing
    t.ok(status === 200 || status === 409)
    const count = await service.count('visits')
    const expected = job.rows_deleted === 20 && status === 200 ? [10, 30] : [80]
    t.ok(expected.includes(count), `${status} ${count}`)
  },
)

t.test('rows acknowledged before are deleted although they wait in the log, and later ones stay', async (t) => {
  const service = await openTestService(t, { eventsFlushIdleMs: 1_000, eventsFlushAgeMs: 1_000 })
  await service.create('visits', schema)
  for (let n = 0; n < 20; n += 1) await service.events('visits', JSON.stringify({ id: n, user: 'early', plan: 'a' }))
  const job = await deleteRows(service, 'visits', "user = 'early'")
  t.match(job, { status: 'done', rows_deleted: 20 })
  await service.events('visits', JSON.stringify({ id: 1, user: 'early', plan: 'late' }), { wait: 'true' })
  t.equal(await service.count('visits'), 1)
})

t.test('random deletes beside events agree with a model', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const service = await openTestService(t)
  await service.create('visits', schema)
  await service.create('twice', schema)
  const kept = new Map<number, { readonly user: string; isSure: boolean }>()
  let next = 0
  const send = async (): Promise<void> => {
    const id = next
    next += 1
    const user = `u${random.below(5)}`
    const { status } = await service.events('visits', JSON.stringify({ id, user, plan: 'a' }))
    if (status === 202) kept.set(id, { user, isSure: true })
  }
  for (let round = 0; round < byTier({ quick: 4, full: 5, soak: 200 }); round += 1) {
    for (let n = 0; n < 20; n += 1) await send()
    const user = `u${random.below(5)}`
    const before = [...kept].filter(([, row]) => row.user === user)
    let isOver = false
    const deleting = deleteRows(service, 'visits', `user = '${user}'`).finally(() => {
      isOver = true
    })
    const firstBeside = next
    while (!isOver) await send()
    const job = await deleting
    t.equal(job.status, 'done')
    await service.untilStored('visits')
    const stored = new Set((await service.rows('SELECT id FROM visits ORDER BY id')).map(([id]) => Number(id)))
    t.equal((await service.rows('SELECT id FROM visits')).length, stored.size, 'no row is there twice')
    for (const [id] of before) {
      t.notOk(stored.has(id), `${id} was acknowledged before and is deleted`)
      kept.delete(id)
    }
    // Of those that came beside, the first ones may be of before the barrier: a beginning of them is deleted, and no other.
    const beside = [...kept].filter(([id, row]) => id >= firstBeside && row.user === user)
    const gone = beside.filter(([id]) => !stored.has(id))
    t.same(gone, beside.slice(0, gone.length), 'those that are gone came before those that are not')
    t.equal(job.rows_deleted, before.length + gone.length)
    for (const [id] of gone) kept.delete(id)
    t.same(
      [...stored].sort((a, b) => a - b),
      [...kept.keys()].sort((a, b) => a - b),
      'all others are there',
    )
  }
})

t.test('a delete needs the right to create, and its job is told to those who have it', async (t) => {
  const service = await openTestService(t)
  await fill(service, 'visits')
  const tokenOf = async (name: string, scope: string): Promise<string> => {
    const { json } = await service.call('POST', `/v0/tokens?${new URLSearchParams({ name, scope })}`)
    return (json as { readonly token: string }).token
  }
  const reader = await tokenOf('reader', 'DATASOURCES:READ:visits')
  const creator = await tokenOf('creator', 'DATASOURCES:CREATE')
  const body = 'delete_condition=id = 1'
  t.equal((await service.call('POST', '/v0/datasources/visits/delete', { body, token: reader })).status, 403)
  const answer = await service.call('POST', '/v0/datasources/visits/delete', { body, token: creator })
  const id = jobIdOf(answer)
  const ended = await endedJob(service, id, { token: creator })
  t.match(ended, { status: 'done' })
  // How many rows a condition chooses tells of their values.
  t.notOk('rows_deleted' in (ended as object), 'whoever may not read is not told how many')
  t.match((await service.call('GET', `/v0/jobs/${id}`)).json, { status: 'done', rows_deleted: 1 })
  const dry = { body: `${body}&dry_run=true`, token: creator }
  t.equal((await service.call('POST', '/v0/datasources/visits/delete', dry)).status, 403)
  t.equal((await service.call('GET', `/v0/jobs/${id}`, { token: reader })).status, 403)
})

t.test('deletes of one data source come one after the other, and waiting ones can be cancelled', async (t) => {
  const service = await openTestService(t, { deleteJobsWorkingMax: 1 })
  await fill(service, 'visits')
  const ids: string[] = []
  for (let n = 0; n < 8; n += 1) {
    const body = `delete_condition=id = ${n}`
    ids.push(jobIdOf(await service.call('POST', '/v0/datasources/visits/delete', { body })))
  }
  const last = ids.at(-1) ?? ''
  const cancelled = await service.call('POST', `/v0/jobs/${last}/cancel`)
  t.equal(cancelled.status, 200)
  t.match(cancelled.json, { status: 'cancelled' })
  for (const id of ids.slice(0, -1)) t.match(await endedJob(service, id), { status: 'done', rows_deleted: 1 })
  t.equal((await jobOf(service, last)).status, 'cancelled')
  t.equal(await service.count('visits'), 93)
})

t.test('two conditions, and parameters that are none, are told', async (t) => {
  const service = await openTestService(t)
  await fill(service, 'visits')
  const twice = { body: 'delete_condition=id = 1&delete_condition=id = 2' }
  const refused = await service.call('POST', '/v0/datasources/visits/delete', twice)
  t.match(refused, { status: 400, json: { error: /"delete_condition" .*must be sent once/ } })
  const misspelt = await service.call('POST', '/v0/datasources/visits/delete', { body: 'condition=id = 1' })
  t.match(misspelt, { status: 400, json: { error: /there is none; name the rows/ } })
  t.match(misspelt.headers.get('x-warning'), /did you mean 'delete_condition'/)
  t.equal(await service.count('visits'), 100)
})

t.test('a condition that needs more memory than a query may have is refused as a query is', async (t) => {
  const service = await openTestService(t)
  await fill(service, 'visits')
  const delete_condition =
    'length(repeat(plan, 1000000)) > 1 AND length(arrayMap(x -> repeat(plan, 1000000), range(20000))) > 0'
  for (const more of [{ dry_run: 'true' }, {}]) {
    const body = new URLSearchParams({ delete_condition, ...more }).toString()
    const answer = await service.call('POST', '/v0/datasources/visits/delete', { body })
    if (answer.status === 200) {
      t.match(await endedJob(service, jobIdOf(answer)), { status: 'error', error: /memory limit exceeded/ })
    } else t.match(answer, { status: 400, json: { error: /memory limit exceeded/ } })
  }
  t.equal(await service.count('visits'), 100)
  t.notOk(service.log.entries.some(({ level }) => level === 'error'))
})
