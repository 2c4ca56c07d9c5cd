// Populates whose chunks are wide as long as they come to few groups, on an engine.

import t from 'tap'
import type { PopulatedView } from '../../../src/materialize/populate/populate.types.ts'
import type { FillRequest, Store } from '../../../src/store/store.types.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { untilStatus } from '../../support/jobs/test-kind.ts'
import { MortalCalls } from '../../support/materialize/mortal-calls.ts'
import { type Life, maker, PopulateWorld, wholePopulate } from '../../support/materialize/populate-world.ts'
import { byTier } from '../../support/tier.ts'

const world = await PopulateWorld.open()
t.teardown(() => world.close())
const chunkRows = 1_000
const partRows = 25_000
const source = await world.source('events', 'id UInt64, kind UInt16, v UInt32', {
  name: 'MergeTree',
  options: { sorting_key: 'tuple()' },
})
for (const from of [0, partRows])
  await world.insert(source, `SELECT number + ${from}, number % 500, number % 7 FROM numbers(${partRows})`)

const byKind = 'SELECT kind AS k, count() AS n, sum(v) AS v FROM {from} GROUP BY k'
const byRow = 'SELECT id AS k, count() AS n, sum(v) AS v FROM {from} GROUP BY k'
/** The rows of the second part are groups of their own. */
const misleading = `SELECT if(id < ${partRows}, kind, id) AS k, count() AS n, sum(v) AS v FROM {from} GROUP BY k`
/** An id is in one chunk alone, so that what chunks count adds up. */
const exactly = 'SELECT kind AS k, uniqExact(id) AS n, sum(v) AS v FROM {from} GROUP BY k'

const summing = { name: 'SummingMergeTree', options: { sorting_key: 'k' } }

async function viewInto(name: string, select: string): Promise<PopulatedView> {
  const target = await world.source(name, 'k UInt64, n UInt64, v UInt64', summing)
  const view = world.view(source, target, select, ['k', 'n', 'v'])
  await world.link(view)
  return view
}

/** @param ready is told when nothing but the job is left to begin. */
async function begun({ populates }: Life, view: PopulatedView, ready = (): void => undefined): Promise<string> {
  const plan = await populates.plan(view, wholePopulate)
  ready()
  return (await populates.add(plan, { ...maker, isPinned: false })).id
}

async function groups(table: string): Promise<readonly unknown[]> {
  return await world.store.rows(`SELECT k, sum(n) AS n, sum(v) AS v FROM ${table} GROUP BY k ORDER BY k`)
}

async function expected(select: string): Promise<readonly unknown[]> {
  return await groups(`(${select.replaceAll('{from}', `ws_0001.${source.id}`)})`)
}

/** The store, with what it is asked to fill. */
function watched(fills: FillRequest[], change = (request: FillRequest) => request): (store: Store) => Store {
  return (store) =>
    new Proxy(store, {
      get: (real, name) => {
        const member: unknown = Reflect.get(real, name)
        if (typeof member !== 'function') return member
        return (...args: readonly unknown[]): unknown => {
          if (name !== 'fill') return Reflect.apply(member, real, args)
          // The store's own type says so.
          const request = args[0] as FillRequest
          fills.push(request)
          return fillAs(real, change, request)
        }
      },
    })
}

async function fillAs(
  store: Store,
  change: (request: FillRequest) => FillRequest,
  request: FillRequest,
): Promise<void> {
  await store.fill(change(request))
}

/** Fails as one that has read its rows for too long. */
function refusingWide(request: FillRequest): FillRequest {
  if (request.bounds === undefined) return request
  t.equal(request.bounds.readTimeMaxMs, 10_000)
  throw new StoreError({ kind: 'engine', message: 'Timeout exceeded', clickhouseCode: 159, isOverFill: true })
}

const wide = [8_192, 8_192, 8_192, 424]
const common = Array.from({ length: 25 }, () => 1_000)
for (const { name, select, sizes } of [
  { name: 'few groups', select: byKind, sizes: [...wide, ...wide] },
  { name: 'as many groups as rows', select: byRow, sizes: [8_192, ...common, ...common] },
  { name: 'many groups in the second part', select: misleading, sizes: [...wide, 8_192, ...common] },
  { name: 'states that grow', select: exactly, sizes: [3_572, ...common, ...common] },
]) {
  t.test(`chunks with ${name}`, async (t) => {
    const fills: FillRequest[] = []
    const life = await world.live(chunkRows, watched(fills))
    const view = await viewInto(name.replaceAll(' ', '_'), select)
    const job = await untilStatus(life.jobs, await begun(life, view), 'done')
    t.same(
      fills.map(({ rowCount }) => rowCount),
      sizes,
    )
    t.match(job.details, { rowsRead: 2 * partRows, rowsTotal: 2 * partRows, progressPercentage: 100 })
    t.same(await groups(`ws_0001.${view.targetId}`), await expected(select))
    await life.jobs.close()
  })
}

t.test('one chunk has all rows of the pin, or those that a condition takes', async (t) => {
  const fills: FillRequest[] = []
  const life = await world.live(10 * partRows, watched(fills))
  const whole = await viewInto('all_rows', byKind)
  await untilStatus(life.jobs, await begun(life, whole), 'done')
  t.same(await groups(`ws_0001.${whole.targetId}`), await expected(byKind))
  const some = await viewInto('some_rows', byKind)
  const plan = await life.populates.plan(some, { ...wholePopulate, condition: 'kind < 3' })
  await untilStatus(life.jobs, (await life.populates.add(plan, { ...maker, isPinned: false })).id, 'done')
  t.same(await groups(`ws_0001.${some.targetId}`), (await expected(byKind)).slice(0, 3))
  t.equal(fills.length, 2)
  await life.jobs.close()
})

t.test('a view that takes long for its rows gets common chunks, which can be cancelled sooner', async (t) => {
  const fills: FillRequest[] = []
  const life = await world.live(chunkRows, watched(fills, refusingWide))
  const view = await viewInto('slow', byKind)
  await untilStatus(life.jobs, await begun(life, view), 'done')
  t.same(
    fills.map(({ rowCount }) => rowCount),
    [8_192, ...common, ...common],
  )
  t.same(await groups(`ws_0001.${view.targetId}`), await expected(byKind))
  await life.jobs.close()
})

t.test('a table behind the target may have more groups than a chunk of it', async (t) => {
  const fills: FillRequest[] = []
  const life = await world.live(chunkRows, watched(fills))
  const near = await world.source('near', 'k UInt64, n UInt64, v UInt64', summing)
  const far = await world.source('far', 'k UInt64, n UInt64', summing)
  const view = world.view(source, near, byKind, ['k', 'n', 'v'])
  await world.link(view)
  const unfolding = 'SELECT 10 * k + arrayJoin(range(5)) AS k, sum(n) AS n FROM {from} GROUP BY k'
  await world.link(world.view(near, far, unfolding, ['k', 'n']))
  await untilStatus(life.jobs, await begun(life, view), 'done')
  t.equal(fills.length, 8)
  t.same(await world.row(`SELECT uniqExact(k) AS k, sum(n) AS n FROM ws_0001.${far.id}`), { k: 2_500, n: 250_000 })
  t.same(await groups(`ws_0001.${view.targetId}`), await expected(byKind))
  await life.jobs.close()
})

for (const { name, select } of [
  { name: 'few groups', select: byKind },
  { name: 'many groups in the second part', select: misleading },
]) {
  t.test(`a populate with ${name} that is killed in front of any of its steps has each row once`, async (t) => {
    const calls = new MortalCalls()
    const whole = await world.live(chunkRows, calls.over)
    let before = 0
    const id = await begun(whole, await viewInto(`whole_${name}`.replaceAll(' ', '_'), select), () => {
      before = calls.count
    })
    await untilStatus(whole.jobs, id, 'done')
    const steps = calls.count - before
    await whole.jobs.close()
    const right = await expected(select)
    for (let step = 1; step <= steps; step += byTier({ quick: 9, full: 1, soak: 1 })) {
      const mortal = new MortalCalls()
      const killed = await world.live(chunkRows, mortal.over)
      mortal.kill = killed.kill
      const view = await viewInto(`killed_${step}_${name}`.replaceAll(' ', '_'), select)
      const killedId = await begun(killed, view, () => {
        mortal.killAt = mortal.count + step
      })
      await mortal.killed
      const later = await world.live(chunkRows)
      await untilStatus(later.jobs, killedId, 'done')
      t.same(await groups(`ws_0001.${view.targetId}`), right, `killed in front of step ${step} of ${steps}`)
      await later.jobs.close()
      t.same(await world.pins(), [])
    }
  })
}
