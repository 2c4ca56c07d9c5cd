import t from 'tap'
import type { Job } from '../../../src/jobs/jobs.types.ts'
import type { PopulatedView } from '../../../src/materialize/populate/populate.types.ts'
import type { PopulateRequest } from '../../../src/materialize/populate/populate-request.types.ts'
import { untilStatus } from '../../support/jobs/test-kind.ts'
import { type Life, maker, PopulateWorld, wholePopulate } from '../../support/materialize/populate-world.ts'

const world = await PopulateWorld.open()
t.teardown(() => world.close())
const plain = { name: 'MergeTree', options: { partition_key: 'toYYYYMM(d)', sorting_key: 'id' } }
const summing = { name: 'SummingMergeTree', options: { sorting_key: 'd' } }
const schema = 'id UInt64, d Date, v UInt32'
const rowsSql = (from: number, count: number): string =>
  `SELECT number + ${from}, toDate('2026-01-01') + number % 59, number % 7 FROM numbers(${count})`
const byDay = 'SELECT d, count() AS n, sum(v) AS v FROM {from} GROUP BY d'
const daySchema = 'd Date, n UInt64, v UInt64'

async function days(name: string) {
  return await world.source(name, daySchema, summing)
}

async function populate(life: Life, view: PopulatedView, request: Partial<PopulateRequest> = {}): Promise<Job> {
  const plan = await life.populates.plan(view, { ...wholePopulate, ...request })
  return await life.populates.add(plan, { ...maker, isPinned: false })
}

function totals(table: string) {
  return world.row<{ readonly n: number; readonly v: number }>(`SELECT sum(n) AS n, sum(v) AS v FROM ws_0001.${table}`)
}

async function expected(table: string, where = '1') {
  return await world.row(`SELECT count() AS n, sum(v) AS v FROM ws_0001.${table} WHERE ${where}`)
}

t.test('a populate fills what a view gives of the rows that are there, and what is behind it', async (t) => {
  const source = await world.source('events', schema, plain)
  const near = await days('near')
  const far = await world.source('far', 'n UInt64, v UInt64', {
    name: 'SummingMergeTree',
    options: { sorting_key: 'tuple()' },
  })
  for (let block = 0; block < 5; block += 1) await world.insert(source, rowsSql(block * 2_000, 2_000))
  const view = world.view(source, near, byDay, ['d', 'n', 'v'])
  await world.link(view)
  await world.link(world.view(near, far, 'SELECT sum(n) AS n, sum(v) AS v FROM {from}', ['n', 'v']))
  const life = await world.live(60)
  const plan = await life.populates.plan(view, wholePopulate)
  t.match(plan.reads, { rowCount: 10_000, partitionCount: 2 })
  t.same(plan.warnings, [])
  const { id } = await populate(life, view)
  const job = await untilStatus(life.jobs, id, 'done')
  t.match(job.details, {
    progressPercentage: 100,
    rowsRead: 10_000,
    rowsTotal: 10_000,
    pipeId: 't_pipe',
    pipeName: 'pipe',
  })
  const { queries } = job.details as {
    readonly queries: readonly { readonly query_id: string; readonly status: string }[]
  }
  t.ok(queries.length > 10)
  t.ok(queries.every(({ status }) => status === 'done'))
  t.same(await totals(near.id), await expected(source.id))
  t.same(await totals(far.id), await expected(source.id))
  t.ok(world.succeeded.has(view.id))
  t.notOk(life.populates.isBusy(new Set([near.id])), 'a replace is taken again')
  t.match((await life.populates.plan(view, wholePopulate)).warnings, [/has rows already/])
  await life.jobs.close()
  t.same(await world.pins(), [])
})

t.test('what is pinned is filled, and what comes later passes the view, each row once', async (t) => {
  const source = await world.source('flowing', schema, plain)
  const target = await days('flowing_days')
  await world.insert(source, rowsSql(0, 5_000))
  const view = world.view(source, target, byDay, ['d', 'n', 'v'])
  const life = await world.live(500)
  const plan = await life.populates.plan(view, wholePopulate)
  await life.populates.pin(plan)
  await world.link(view)
  t.ok(life.populates.isBusy(new Set([target.id])))
  await world.insert(source, rowsSql(5_000, 3_000))
  const { id } = await life.populates.add(plan, { ...maker, isPinned: true })
  t.ok(life.populates.isBusy(new Set([target.id])))
  await world.insert(source, rowsSql(8_000, 3_000))
  // Merges of the source are not those of the pin.
  await world.store.command(`OPTIMIZE TABLE ws_0001.${source.id} FINAL`)
  await untilStatus(life.jobs, id, 'done')
  t.same(await totals(target.id), await expected(source.id))
  t.match(await totals(target.id), { n: 11_000 })
  t.notOk(life.populates.isBusy(new Set([target.id])))
  await life.jobs.close()
  t.same(await world.pins(), [])
})

t.test('sources of every engine are pinned as their rows are, and expire no more', async (t) => {
  const life = await world.live(300)
  const kinds = {
    ReplacingMergeTree: { ver: 'v' },
    SummingMergeTree: {},
    AggregatingMergeTree: {},
    CollapsingMergeTree: { sign: 'sign' },
    MergeTree: { ttl: 'd + INTERVAL 10 YEAR', primary_key: 'id' },
  }
  for (const [name, options] of Object.entries(kinds)) {
    const engine = { name, options: { partition_key: 'toYYYYMM(d)', sorting_key: 'id, d', ...options } }
    const columns = `${schema}, sign Int8 DEFAULT 1, tags Array(String), \`n.a\` Array(UInt8), \`n.b\` Array(UInt8), maybe Nullable(String)`
    const source = await world.source(`source_${name}`, columns, engine)
    const target = await days(`days_${name}`)
    await world.insert(source, `(id, d, v) ${rowsSql(0, 2_000)}`)
    await world.insert(source, `(id, d, v) ${rowsSql(2_000, 1_000)}`)
    const view = world.view(source, target, byDay, ['d', 'n', 'v'])
    await world.link(view)
    await world.store.tables.alter(source.id, [{ kind: 'add-text-column', name: 'late', after: 'v' }])
    const { id } = await populate(life, view)
    await untilStatus(life.jobs, id, 'done')
    t.same(await totals(target.id), await expected(source.id), name)
  }
  await life.jobs.close()
})

t.test('a subset is a part of the rows by number, a condition those that match, and the subset wins', async (t) => {
  const source = await world.source('parted', schema, plain)
  for (let block = 0; block < 10; block += 1) await world.insert(source, rowsSql(block * 1_000, 1_000))
  for (let single = 0; single < 30; single += 1) await world.insert(source, rowsSql(10_000 + single, 1))
  const life = await world.live(800)
  const countOf = async (request: Partial<PopulateRequest>): Promise<number> => {
    const target = await days('part_days')
    const view = world.view(source, target, byDay, ['d', 'n', 'v'])
    await world.link(view)
    const plan = await life.populates.plan(view, { ...wholePopulate, ...request })
    const { id } = await life.populates.add(plan, { ...maker, isPinned: false })
    await untilStatus(life.jobs, id, 'done')
    const { n } = await totals(target.id)
    t.equal(plan.reads.rowCount, n, 'the plan told as many')
    return n
  }
  t.equal(await countOf({ subset: 0.05 }), Math.ceil(10_030 / 20))
  t.equal(await countOf({ subset: 0.05, condition: 'id < 0' }), Math.ceil(10_030 / 20))
  const { n } = await world.row<{ readonly n: number }>(`SELECT count() AS n FROM ws_0001.${source.id} WHERE v = 3`)
  t.equal(await countOf({ condition: 'v = 3' }), n)
  await life.jobs.close()
})

t.test('with truncate the rows change at once at the end, and rows that come meanwhile are there once', async (t) => {
  const source = await world.source('anew', schema, plain)
  const target = await days('anew_days')
  const view = world.view(source, target, byDay, ['d', 'n', 'v'])
  await world.insert(source, rowsSql(0, 4_000))
  await world.link(view)
  await world.insert(target, "SELECT toDate('2026-01-01'), 7, 7")
  const life = await world.live(500)
  const plan = await life.populates.plan(view, { ...wholePopulate, truncates: true })
  t.same(plan.warnings, [])
  await life.populates.pin(plan)
  await world.insert(source, rowsSql(4_000, 1_000))
  t.match(await totals(target.id), { n: 1_007 }, 'readers see the old rows')
  const { id } = await life.populates.add(plan, { ...maker, isPinned: true })
  await untilStatus(life.jobs, id, 'done')
  t.same(await totals(target.id), await expected(source.id))
  await world.insert(source, rowsSql(5_000, 1_000))
  t.match(await totals(target.id), { n: 6_000 })
  await life.jobs.close()
  t.same(await world.pins(), [])
})

t.test('what cannot be populated is refused with the reason', async (t) => {
  const life = await world.live()
  const target = await days('refused_days')
  const request = { ...wholePopulate, truncates: true }
  for (const name of ['Null', 'Join']) {
    const options = name === 'Join' ? { join_strictness: 'ANY', join_type: 'LEFT', key_columns: 'id' } : {}
    const source = await world.source(`of_${name}`, schema, { name, options })
    const view = world.view(source, target, byDay, ['d', 'n', 'v'])
    await t.rejects(life.populates.plan(view, wholePopulate), { code: 'POPULATE_INVALID', status: 400 })
  }
  const source = await world.source('one', schema, plain)
  const view = world.view(source, target, byDay, ['d', 'n', 'v'])
  const other = world.view(source, target, byDay, ['d', 'n', 'v'])
  await world.link(other)
  await t.rejects(life.populates.plan(view, request), {
    code: 'POPULATE_REFUSED',
    status: 409,
    message: /other Materialized/,
  })
  await world.store.views.drop(other.id)
  const behind = world.view(target, await days('behind_days'), 'SELECT * FROM {from}', ['d', 'n', 'v'])
  await world.link(behind)
  await t.rejects(life.populates.plan(view, request), { code: 'POPULATE_REFUSED', status: 409, message: /read it/ })
  world.forget(source)
  await t.rejects(life.populates.plan(view, wholePopulate), { code: 'DATASOURCE_NOT_FOUND', status: 404 })
  await life.jobs.close()
})

t.test('a failure unlinks the view when no populate of it ever succeeded, or when that was asked for', async (t) => {
  const life = await world.live(100)
  const source = await world.source('failing', schema, plain)
  await world.insert(source, rowsSql(0, 1_000))
  const failing = "SELECT d, count() AS n, throwIf(max(id) > 900, 'a row is wrong')::UInt64 AS v FROM {from} GROUP BY d"
  for (const [hasSucceeded, unlinksOnError, isUnlinked] of [
    [false, false, true],
    [true, false, false],
    [true, true, true],
  ] as const) {
    const view = world.view(source, await days('failing_days'), failing, ['d', 'n', 'v'])
    await world.link(view)
    if (hasSucceeded) world.succeeded.add(view.id)
    const { id } = await populate(life, view, { unlinksOnError })
    const job = await untilStatus(life.jobs, id, 'error')
    t.match(job.errors[0], /cannot be populated: .*a row is wrong/)
    t.equal(job.errors.length, isUnlinked ? 2 : 1)
    if (isUnlinked) t.match(job.errors[1], /is unlinked/)
    t.equal(world.unlinked.has(view.id), isUnlinked)
    t.ok(JSON.stringify(job.details).includes('"error"'))
    t.same(await world.pins(), [])
  }
  await life.jobs.close()
})

t.test('a populate is cancelled while it works, and leaves what it has filled', async (t) => {
  const life = await world.live(10)
  const source = await world.source('cancelled', schema, plain)
  const target = await days('cancelled_days')
  await world.insert(source, rowsSql(0, 20_000))
  const view = world.view(source, target, byDay, ['d', 'n', 'v'])
  await world.link(view)
  const { id } = await populate(life, view)
  await untilStatus(life.jobs, id, 'working')
  while ((await totals(target.id)).n === 0);
  t.equal((await life.jobs.cancel(id)).status, 'cancelling')
  const job = await untilStatus(life.jobs, id, 'cancelled')
  const { rowsRead } = job.details
  t.equal((await totals(target.id)).n, rowsRead, 'the details tell what is filled')
  t.notOk(world.unlinked.has(view.id))
  await life.jobs.close()
  t.same(await world.pins(), [])
})

t.test('a job that was cancelled while it waited leaves its pin to the next one', async (t) => {
  const life = await world.live(10)
  const source = await world.source('waiting', schema, plain)
  await world.insert(source, rowsSql(0, 3_000))
  const views = await Promise.all(
    ['a', 'b'].map(async (name) => world.view(source, await days(name), byDay, ['d', 'n', 'v'])),
  )
  for (const view of views) await world.link(view)
  const [first, second] = views
  if (first === undefined || second === undefined) throw new Error('there are two views')
  const working = await populate(life, first)
  const plan = await life.populates.plan(second, wholePopulate)
  await life.populates.pin(plan)
  const waiting = await life.populates.add(plan, { ...maker, isPinned: true })
  t.equal((await life.jobs.cancel(waiting.id)).status, 'cancelled')
  await untilStatus(life.jobs, working.id, 'done')
  await untilStatus(life.jobs, (await populate(life, second)).id, 'done')
  await life.jobs.close()
  t.same(await world.pins(), [])
})

t.test('a job whose view the catalog does not hear of is cancelled, or ends when a kill came between', async (t) => {
  const first = await world.live()
  const source = await world.source('unheard', schema, plain)
  await world.insert(source, rowsSql(0, 100))
  const view = world.view(source, await days('unheard_days'), byDay, ['d', 'n', 'v'])
  await world.link(view)
  const pinnedPlan = async (life: Life) => {
    const plan = await life.populates.plan(view, wholePopulate)
    await life.populates.pin(plan)
    return { plan, maker }
  }
  const refused = await pinnedPlan(first)
  const before = new Set(first.jobs.list({}).map(({ id }) => id))
  await t.rejects(
    first.populates.withPinned([refused], () => Promise.reject(new Error('the catalog refuses it'))),
    /the catalog refuses it/,
  )
  const [job] = first.jobs.list({}).filter(({ id }) => !before.has(id))
  await untilStatus(first.jobs, job?.id ?? '', 'cancelled')
  await first.populates.unpin(refused.plan)
  t.same(await world.pins(), [])
  const cutOff = await pinnedPlan(first)
  let isAdded = (): void => undefined
  const added = new Promise<void>((resolve) => {
    isAdded = resolve
  })
  void first.populates.withPinned([cutOff], () => {
    isAdded()
    return new Promise<never>(() => undefined)
  })
  await added
  const [left] = first.jobs.list({}).filter(({ id }) => !before.has(id) && id !== job?.id)
  first.kill()
  world.unlinked.add(view.id)
  const second = await world.live()
  const ended = await untilStatus(second.jobs, left?.id ?? '', 'error')
  t.match(ended.errors, [/it was removed meanwhile/])
  t.same(await world.pins(), [])
  t.same(await totals(view.targetId), { n: 0, v: 0 })
  await second.jobs.close()
})
