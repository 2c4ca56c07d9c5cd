import t, { type Test } from 'tap'
import type { PopulatedView, PopulatePlan } from '../../../src/materialize/populate/populate.types.ts'
import { comparedRequest } from '../../../src/materialize/verify/compared-view.ts'
import { untilStatus } from '../../support/jobs/test-kind.ts'
import { MortalCalls } from '../../support/materialize/mortal-calls.ts'
import { type Life, maker, PopulateWorld } from '../../support/materialize/populate-world.ts'
import { byTier } from '../../support/tier.ts'

const world = await PopulateWorld.open()
t.teardown(() => world.close())
const schema = 'id UInt64, d Date, v UInt32'
const plain = { name: 'MergeTree', options: { partition_key: 'toYYYYMM(d)', sorting_key: 'id' } }
const summing = { name: 'SummingMergeTree', options: { partition_key: 'toYYYYMM(d)', sorting_key: 'd' } }
const byDay = 'SELECT d, count() AS n, sum(v) AS v FROM {from} GROUP BY d'
const rowsSql = (from: number, count: number): string =>
  `SELECT number + ${from}, toDate('2026-01-01') + number % 59, number % 7 FROM numbers(${count})`

/** What a repair would be of a view whose target is compared by what is left of each key. */
async function planOf(view: PopulatedView, [source, target]: Pair): Promise<PopulatePlan> {
  return {
    ...{ view, source, target, sourceName: source.name, seconds: 0, warnings: [], filled: [target.id] },
    request: comparedRequest,
    reads: { rowCount: 0, byteCount: 0, partitionCount: 0 },
    pinId: view.id.slice(2),
    compared: { staging: 'same', keepsArrivals: true },
    repair: {
      ...{ isForced: false, isDry: false, manner: { kind: 'merged' } },
      columns: ['d', 'n', 'v'].map((name) => ({ name, aggregate: null })),
    },
  }
}

type Pair = readonly [source: PopulatePlan['source'], target: PopulatePlan['target']]

/** A view over 600 rows, of which January is damaged. */
async function damaged(name: string): Promise<{ readonly pair: Pair; readonly plan: PopulatePlan }> {
  const source = await world.source(name, schema, plain)
  const target = await world.source(`${name}_days`, 'd Date, n UInt64, v UInt64', summing)
  const view = world.view(source, target, byDay, ['d', 'n', 'v'])
  await world.link(view)
  await world.insert(source, rowsSql(0, 300))
  await world.insert(source, rowsSql(300, 300))
  await world.insert(target, "SELECT toDate('2026-01-03'), 5, 5")
  const pair: Pair = [source, target]
  return { pair, plan: await planOf(view, pair) }
}

async function same(t: Test, [source, target]: Pair, what: string): Promise<void> {
  const days = (table: string, n: string): Promise<unknown> =>
    world.store.rows(`SELECT d, ${n} AS n, sum(v) AS s FROM ws_0001.${table} GROUP BY d ORDER BY d`)
  t.same(await days(target.id, 'sum(n)'), await days(source.id, 'count()'), what)
}

async function begun(life: Life, plan: PopulatePlan): Promise<string> {
  return (await life.populates.add(plan, { ...maker, isPinned: false })).id
}

t.test('a repair that is killed in front of any of its steps has each row once, and leaves nothing', async (t) => {
  const whole = new MortalCalls()
  const first = await damaged('whole')
  const life = await world.live(200, whole.over)
  const before = whole.count
  await untilStatus(life.jobs, await begun(life, first.plan), 'done')
  const steps = whole.count - before
  await life.jobs.close()
  await same(t, first.pair, 'nobody was killed')
  const every = byTier({ quick: 12, full: 2, soak: 1 })
  for (let step = 1; step <= steps; step += every) {
    const calls = new MortalCalls()
    const { pair, plan } = await damaged(`killed_${step}`)
    const killed = await world.live(200, calls.over)
    calls.kill = killed.kill
    calls.killAt = calls.count + step
    const id = await begun(killed, plan)
    await calls.killed
    // The service is away: what is stored now was in its log.
    await world.insert(pair[0], rowsSql(600, 100))
    const later = await world.live(200)
    const job = await untilStatus(later.jobs, id, 'done')
    t.match(job.details, { partitionsDiffering: 1, partitionsRepaired: 1, partitionsSkipped: 0 })
    await world.insert(pair[0], rowsSql(700, 10))
    await same(t, pair, `killed in front of step ${step} of ${steps}`)
    await later.jobs.close()
    t.same(await world.pins(), [])
  }
})

t.test('a target that gets another content meanwhile is left alone', async (t) => {
  const { pair, plan } = await damaged('exchanged')
  const [, target] = pair
  const calls = new MortalCalls()
  const killed = await world.live(200, calls.over)
  calls.kill = killed.kill
  const fills = 6
  calls.killAt = calls.count + fills * 4
  const id = await begun(killed, plan)
  await calls.killed
  await world.store.tables.recreateLike(`${target.id}_other`, { like: target.id, keeps: 'same' })
  await world.store.exchange([[target.id, `${target.id}_other`]])
  const later = await world.live(200)
  const job = await untilStatus(later.jobs, id, 'error')
  t.match(job.errors, [/cannot be repaired: its Data Source got another content meanwhile/])
  t.equal(await world.store.tables.countRows(target.id), 0)
  await later.jobs.close()
  t.same(await world.pins(), [])
})

t.test('a populate waits while a repair of the same target runs', async (t) => {
  const { plan } = await damaged('beside')
  const life = await world.live(200)
  await life.populates.pin(plan)
  const { compared: _, repair: __, ...populate } = plan
  await t.rejects(life.populates.pin({ ...populate, pinId: 'f'.repeat(32) }), { code: 'DATASOURCE_BUSY', status: 409 })
  await life.populates.unpin(plan)
  await life.populates.pin({ ...populate, pinId: 'f'.repeat(32) })
  await life.populates.unpin({ ...populate, pinId: 'f'.repeat(32) })
  await life.jobs.close()
})
