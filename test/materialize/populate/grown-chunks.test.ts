// Populates whose first chunk shows that the others may be larger, on an engine.

import t from 'tap'
import type { PopulatedView } from '../../../src/materialize/populate/populate.types.ts'
import type { FillRequest, Store } from '../../../src/store/store.types.ts'
import { untilStatus } from '../../support/jobs/test-kind.ts'
import { MortalCalls } from '../../support/materialize/mortal-calls.ts'
import { type Life, maker, PopulateWorld, wholePopulate } from '../../support/materialize/populate-world.ts'
import { byTier } from '../../support/tier.ts'

const world = await PopulateWorld.open()
t.teardown(() => world.close())
const chunkRows = 131_072
const rowCount = 6 * chunkRows
const source = await world.source('events', 'id UInt64, kind UInt16, v UInt32', {
  name: 'MergeTree',
  options: { sorting_key: 'tuple()' },
})
for (let part = 0; part < 2; part += 1) {
  const from = (part * rowCount) / 2
  await world.insert(source, `SELECT number + ${from}, number % 500, number % 7 FROM numbers(${rowCount / 2})`)
}
const byKind = 'SELECT kind, count() AS n, sum(v) AS v FROM {from} GROUP BY kind'

async function viewInto(name: string, select: string, engineName = 'SummingMergeTree'): Promise<PopulatedView> {
  const engine = { name: engineName, options: { sorting_key: 'kind' } }
  const target = await world.source(name, 'kind UInt16, n UInt64, v UInt64', engine)
  const view = world.view(source, target, select, ['kind', 'n', 'v'])
  await world.link(view)
  return view
}

/** @param ready is told when nothing but the job is left to begin. */
async function begun({ populates }: Life, view: PopulatedView, ready = (): void => undefined): Promise<string> {
  const plan = await populates.plan(view, wholePopulate)
  ready()
  return (await populates.add(plan, { ...maker, isPinned: false })).id
}

async function kinds({ targetId }: Pick<PopulatedView, 'targetId'>, count = 'sum(n)'): Promise<readonly unknown[]> {
  const sql = `SELECT kind, ${count} AS n, sum(v) AS v FROM ws_0001.${targetId} GROUP BY kind ORDER BY kind`
  return await world.store.rows(sql)
}

const expected = await kinds({ targetId: source.id }, 'count()')

/** The store, with what it is asked to fill. */
function watched(fills: FillRequest[]): (store: Store) => Store {
  return (store) =>
    new Proxy(store, {
      get: (real, name) => {
        const member: unknown = Reflect.get(real, name)
        if (typeof member !== 'function') return member
        return (...args: readonly unknown[]): unknown => {
          // The store's own type says so.
          if (name === 'fill') fills.push(args[0] as FillRequest)
          return Reflect.apply(member, real, args)
        }
      },
    })
}

const byRow = 'SELECT kind, count() AS n, sum(v) AS v FROM {from} GROUP BY id, kind'
for (const { name, select, engine, sizes } of [
  { name: 'few groups', select: byKind, engine: 'SummingMergeTree', sizes: [1, 5] },
  { name: 'as many groups as rows', select: byRow, engine: 'MergeTree', sizes: [1, 1, 1, 1, 1, 1] },
  { name: 'many that the target makes few', select: byRow, engine: 'SummingMergeTree', sizes: [1, 1, 1, 1, 1, 1] },
  { name: 'groups that no part shows', select: byKind, engine: 'Null', sizes: [1, 1, 1, 1, 1, 1] },
]) {
  t.test(`chunks with ${name}`, async (t) => {
    const fills: FillRequest[] = []
    const life = await world.live(chunkRows, watched(fills))
    const view = await viewInto(name.replaceAll(' ', '_'), select, engine)
    const job = await untilStatus(life.jobs, await begun(life, view), 'done')
    t.same(
      fills.map((fill) => fill.rowCount / chunkRows),
      sizes,
    )
    t.match(job.details, { rowsRead: rowCount, rowsTotal: rowCount, progressPercentage: 100 })
    t.same(await kinds(view), engine === 'Null' ? [] : expected)
    await life.jobs.close()
  })
}

t.test('a populate that is killed in front of any of its steps has each row once', async (t) => {
  const whole = new MortalCalls()
  const life = await world.live(chunkRows, whole.over)
  let before = 0
  const wholeId = await begun(life, await viewInto('whole', byKind), () => {
    before = whole.count
  })
  await untilStatus(life.jobs, wholeId, 'done')
  const steps = whole.count - before
  await life.jobs.close()
  for (let step = 1; step <= steps; step += byTier({ quick: 3, full: 1, soak: 1 })) {
    const calls = new MortalCalls()
    const killed = await world.live(chunkRows, calls.over)
    calls.kill = killed.kill
    const view = await viewInto(`killed_${step}`, byKind)
    const id = await begun(killed, view, () => {
      calls.killAt = calls.count + step
    })
    await calls.killed
    const later = await world.live(chunkRows)
    await untilStatus(later.jobs, id, 'done')
    t.same(await kinds(view), expected, `killed in front of step ${step} of ${steps}`)
    t.same(await world.pins(), [])
    await later.jobs.close()
  }
})
