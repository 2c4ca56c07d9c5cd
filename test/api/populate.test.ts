// Populates through a whole service: how they are asked for, what they tell, and that no row is lost or there twice.

import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { untilRows, writingRows } from '../support/api/service-rows.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const { service, call } = await openPipeService(t, writingRows)
const views = new ViewCalls(service)
const sql = 'SELECT day, count() AS n, sum(v) AS total FROM flows GROUP BY day'
const engine = { engine: 'SummingMergeTree', engine_sorting_key: 'day' }
const flows = 'day Date, user String, v UInt64'
await call(
  'POST',
  `/v0/datasources?${new URLSearchParams({ name: 'flows', schema: flows, engine: 'MergeTree', engine_sorting_key: 'day', engine_partition_key: 'toYYYYMM(day)' })}`,
)

interface JobShape {
  readonly id: string
  readonly status: string
  readonly kind: string
  readonly queries: readonly { readonly query_id: string; readonly status: string }[]
  readonly error?: string
  readonly errors?: readonly string[]
}

async function send(from: number, count: number): Promise<void> {
  await views.send(
    'flows',
    Array.from({ length: count }, (_, row) => {
      return { day: `2026-0${1 + (row % 3)}-01`, user: `u${row}`, v: from + row }
    }),
  )
}

/** A job once it has ended. */
async function ended(id: string): Promise<JobShape> {
  for (;;) {
    const { json } = await call('GET', `/v0/jobs/${id}`)
    // The shape of an answer is what its tests check.
    const job = json as JobShape
    if (['done', 'error', 'cancelled'].includes(job.status)) return job
    await delay(20)
  }
}

function jobIdIn({ status, text, json }: Awaited<ReturnType<typeof call>>): string {
  if (status !== 200) throw new Error(`answered ${status}: ${text}`)
  const found = json as { readonly job?: { readonly id?: string; readonly job_id?: string }; readonly job_id?: string }
  return found.job_id ?? found.job?.id ?? found.job?.job_id ?? ''
}

const sums = (table: string) => service.rows(`SELECT sum(n), sum(total) FROM ${table}`)
const expected = (where = '1') => service.rows(`SELECT count(), sum(v) FROM flows WHERE ${where}`)

t.test('a node that is made with populate=true has each row once, whatever comes meanwhile', async (t) => {
  await send(0, 3_000)
  let isOver = false
  const flowing = (async () => {
    for (let from = 3_000; !isOver; from += 50) await send(from, 50)
  })()
  for (const round of [0, 1, 2]) {
    const target = { datasource: `made_${round}`, ...engine, populate: 'true' }
    const answer = await views.tryFill(`made_pipe_${round}`, sql, target)
    const job = await ended(jobIdIn(answer))
    t.match(job, {
      kind: 'populateview',
      status: 'done',
      pipe_name: `made_pipe_${round}`,
      progress_percentage: 100,
      datasource: { name: `made_${round}` },
    })
    t.ok(job.queries.every(({ status }) => status === 'done'))
  }
  isOver = true
  await flowing
  for (const round of [0, 1, 2]) t.same(await sums(`made_${round}`), await expected())
})

t.test(
  'a populate is asked for again: told first, added with a warning, or put in the place of what is there',
  async (t) => {
    const path = '/v0/pipes/made_pipe_0/nodes/made_pipe_0_view/population'
    const [[count] = ['0']] = await expected()
    const dry = await call('POST', `${path}?dry_run=true`)
    t.match(dry.json, { rows: Number(count), partitions: 3, warnings: [{ text: /has rows already/ }] })
    const again = await call('POST', `${path}?truncate=true`)
    t.match(again.json, { status: 'waiting', job: { kind: 'populateview' } })
    t.equal((await ended(jobIdIn(again))).status, 'done')
    t.same(await sums('made_0'), await expected())
    await send(1, 10)
    t.same(await sums('made_0'), await expected())
    const condition = new URLSearchParams({ populate_condition: "day = '2026-01-01'", truncate: 'true' })
    t.equal((await ended(jobIdIn(await call('POST', `${path}?${condition}`)))).status, 'done')
    t.same(await sums('made_0'), await expected("day = '2026-01-01'"))
    const added = await call('POST', `${path}?populate_condition=v%20%3C%2010`)
    t.match(added.json, { warnings: [{ text: /has rows already/ }] })
    await ended(jobIdIn(added))
    await service.create('refilled', flows)
    await views.fill('of_refilled', sql.replace('flows', 'refilled'), { datasource: 'refilled_days', ...engine })
    const whole = '/v0/pipes/of_refilled/nodes/of_refilled_view/population'
    t.equal((await ended(jobIdIn(await call('POST', whole)))).status, 'done')
    const replace = '/v0/datasources?name=refilled&mode=replace&format=ndjson'
    const replaced = await call('POST', replace, { body: '{"day":"2026-01-01","user":"a","v":1}' })
    t.equal(replaced.status, 200, 'a replace is refused while a populate runs, and no longer')
  },
)

t.test('a failure is told in the job, and unlinks a view that was never populated', async (t) => {
  const failing = "SELECT day, throwIf(v = 7, 'seven')::UInt64 AS n, 0::UInt64 AS total FROM flows"
  const answer = await views.tryFill('failing', failing, { datasource: 'failed', ...engine, populate: 'true' })
  const job = await ended(jobIdIn(answer))
  t.equal(job.status, 'error')
  t.match(job.errors, [/seven/, /is unlinked, because no populate of it ever succeeded/])
  const pipe = await call('GET', '/v0/pipes/failing')
  t.notMatch(pipe.text, /"materialized":true/)
  await send(7, 1)
})

t.test('what cannot be populated is refused', async (t) => {
  const path = '/v0/pipes/made_pipe_1/nodes/made_pipe_1_view/population'
  t.match(
    errorOf(await call('POST', `${path}?populate_condition=nothing%3D1`)),
    /"populate_condition" cannot be used: Unknown .*nothing/,
  )
  t.match(errorOf(await call('POST', `${path}?populate_subset=0.5`)), /lower than 0.1/)
  await views.fill('other', sql, { datasource: 'made_1' })
  const both = await call('POST', `${path}?truncate=true`)
  t.equal(both.status, 409)
  t.match(errorOf(both), /other Materialized Views fill it too/)
  await call('POST', `/v0/datasources?${new URLSearchParams({ name: 'nowhere', schema: flows, engine: 'Null' })}`)
  const nothing = await views.tryFill('of_null', sql.replace('flows', 'nowhere'), {
    datasource: 'null_days',
    populate: 'true',
  })
  t.equal(nothing.status, 400)
  t.match(errorOf(nothing), /engine Null, which keeps no rows/)
  t.equal((await call('GET', '/v0/datasources/null_days')).status, 404)
})

t.test('a replace of the source is refused for no longer than a populate works', async (t) => {
  await views.fill('replaced', sql, { datasource: 'replaced_days', ...engine })
  const path = '/v0/pipes/replaced/nodes/replaced_view/population'
  t.equal((await ended(jobIdIn(await call('POST', path)))).status, 'done')
  const body = 'day,user,v\n2026-01-01,a,5\n2026-02-01,b,6\n'
  const replaced = await call('POST', '/v0/datasources?mode=replace&name=flows&format=csv', { body })
  t.equal(replaced.status, 200, replaced.text)
  t.same(await sums('replaced_days'), [['2', '11']])
})

t.test(
  'what a request with nodes says of populates holds for each materialized node, and the job is told as clients read it',
  async (t) => {
    const nodes = [{ name: 'asked_n', sql, type: 'materialized', datasource: 'asked', ...engine }]
    const url = '/v0/pipes?populate=true&unlink_on_populate_error=true&cli_version=5'
    const made = await call('POST', url, {
      body: JSON.stringify({ name: 'asks', nodes }),
      headers: { 'content-type': 'application/json' },
    })
    t.match(made, { status: 200, json: { datasource: { name: 'asked' }, job: { job_id: String, job_url: String } } })
    t.equal((await ended(jobIdIn(made))).status, 'done')
    t.same(await sums('asked'), await expected())
  },
)

t.test('a name that is near to dry_run does nothing, and another unknown one is told', async (t) => {
  const before = await sums('asked')
  for (const name of ['dryrun', 'dry-run', 'dry', 'DRY_RUN']) {
    for (const path of ['population', 'repair']) {
      const refused = await call('POST', `/v0/pipes/asks/nodes/asked_n/${path}?${name}=true`)
      t.match(refused, { status: 400, json: { error: /"dry_run" tells alone/ } }, `${path} ${name}`)
    }
  }
  t.same(await sums('asked'), before)
  const told = await call('POST', '/v0/pipes/asks/nodes/asked_n/population?truncat=true&populate_subset=0.01')
  t.match(told.headers.get('x-warning'), /'truncat' is not known; did you mean 'truncate'/)
  t.equal((await ended(jobIdIn(told))).status, 'done')
})

t.test('the analysis of a materialized node says once what it is', async (t) => {
  const { json } = await call('GET', '/v0/pipes/asks/nodes/asked_n/analysis?datasource=asked')
  const { datafile } = (json as { readonly analysis: { readonly pipe: { readonly datafile: string } } }).analysis.pipe
  t.equal(datafile.match(/TYPE/g)?.length, 1, datafile)
  t.match(datafile, /TYPE materialized\nDATASOURCE asked\n/)
})

t.test('a populate and its job name their pipe in the service data sources', async (t) => {
  const jobs = "SELECT DISTINCT pipe_name, status FROM tinybird.jobs_log WHERE pipe_name = 'asks' AND status = 'done'"
  t.same(await untilRows(service, jobs, (rows) => rows.length > 0), [['asks', 'done']])
  const operations = "SELECT DISTINCT pipe_name, event_type FROM tinybird.datasources_ops_log WHERE pipe_name = 'asks'"
  const told = await untilRows(service, operations, (rows) => rows.some(([, type]) => type === 'populateview'))
  t.ok(told.some(([, type]) => type === 'populateview-queued'))
})

t.test('of a data source whose rows are deleted a dry run tells nothing', async (t) => {
  await service.create('emptied', flows)
  await views.fill('of_emptied', sql.replace('flows', 'emptied'), { datasource: 'emptied_days', ...engine })
  await service.append('emptied', 'csv', 'day,user,v\n2026-01-01,a,5\n')
  const dry = '/v0/pipes/of_emptied/nodes/of_emptied_view/population?dry_run=true'
  t.match((await call('POST', dry)).json, { rows: 1, bytes: Number })
  t.equal(
    (await ended(jobIdIn(await call('POST', '/v0/datasources/emptied/delete?delete_condition=v%3D5')))).status,
    'done',
  )
  t.match((await call('POST', dry)).json, { rows: 0, bytes: 0 })
})
