// Repairs of views through a whole service: partitions that differ are made anew while events come, and nothing is lost or there twice.

import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { VerifyCalls } from '../support/api/verify-calls.ts'
import { byMonth, engineCases, salesRows, salesSchema } from '../support/api/verify-cases.ts'
import { byTier, everyNth } from '../support/tier.ts'

const { service, call } = await openPipeService(t, { populateChunkRowsMax: 40 })
const calls = new VerifyCalls(service)
let next = 0

async function sendSales(count: number): Promise<void> {
  const from = next
  next += count
  await calls.send('sales', salesRows(from, count))
}

/** Sends sales until what is done has ended. */
async function whileSalesCome<Result>(work: () => Promise<Result>): Promise<Result> {
  let isOver = false
  const sending = (async () => {
    while (!isOver) await sendSales(8)
  })()
  try {
    return await work()
  } finally {
    isOver = true
    await sending
  }
}

await calls.source('sales', salesSchema)
for (const [name, { sql, target }] of Object.entries(engineCases)) {
  await calls.fill(`to_${name}`, sql, { datasource: `in_${name}`, ...target })
}
for (let block = 0; block < 6; block += 1) await sendSales(20)

for (const [name, { damage }] of everyNth(Object.entries(engineCases), byTier({ quick: 6, full: 1, soak: 1 }))) {
  t.test(`a view into ${name} is repaired while events come, and then is equal`, async (t) => {
    const pipe = `to_${name}`
    await calls.send(`in_${name}`, [damage])
    const job = await whileSalesCome(() => calls.repair(pipe))
    t.match(job, {
      ...{ kind: 'repairview', status: 'done', pipe_name: pipe, progress_percentage: 100 },
      ...{ partitions_differing: 1, partitions_repaired: 1, partitions_skipped: 0 },
      partitions: [{ partition: '202601', comparable: true }],
    })
    await sendSales(10)
    t.match(await calls.verify(pipe), { comparable: true, equal: true, partitions_differing: 0 })
  })
}

t.test('partitions that are gone come back, and a second repair finds nothing to do', async (t) => {
  await call('POST', '/v0/datasources/in_summed/truncate')
  const dry = await calls.repair('to_summed', { dry_run: 'true' })
  t.match(dry, { status: 'done', partitions_differing: 2, partitions_repaired: 0 })
  t.equal((await calls.verify('to_summed')).partitions_differing, 2)
  t.match(await whileSalesCome(() => calls.repair('to_summed')), { status: 'done', partitions_repaired: 2 })
  t.match(await calls.verify('to_summed'), { equal: true })
  t.match(await calls.repair('to_summed'), { status: 'done', partitions_differing: 0, partitions_repaired: 0 })
  const [[rows, sums] = []] = await service.rows('SELECT sum(n), sum(w) FROM in_summed')
  t.same([[rows, sums]], await service.rows('SELECT count(), sum(v) FROM sales'))
})

t.test('what says nothing is left alone, until it is forced', async (t) => {
  await calls.source('gone', 'day Date, v UInt64')
  await calls.fill('of_gone', 'SELECT day, v FROM gone', {
    ...{ datasource: 'kept', engine: 'MergeTree', engine_sorting_key: 'day', ...byMonth },
  })
  await calls.send('gone', [{ day: '2026-01-01', v: 1 }])
  await call('POST', '/v0/datasources/gone/truncate')
  await calls.send('gone', [{ day: '2026-02-01', v: 2 }])
  await calls.send('kept', [{ day: '2026-02-02', v: 9 }])
  const left = await calls.repair('of_gone')
  t.match(left, { status: 'done', partitions_differing: 2, partitions_repaired: 1, partitions_skipped: 1 })
  t.same(await service.rows('SELECT v FROM kept ORDER BY v'), [['1'], ['2']])
  t.match(await calls.repair('of_gone', { force: 'true' }), { status: 'done', partitions_repaired: 1 })
  t.same(await service.rows('SELECT v FROM kept ORDER BY v'), [['2']])
  const told = await calls.verify('of_gone')
  t.match(told, { comparable: true, equal: true, partitions_total: 1 })
  t.match(told.partitions[0], { partition: '202602', comparable: true })
})

t.test('a view that cannot be compared needs force, and then has what its source has', async (t) => {
  await calls.source('states', 'day Date, user String, v UInt64', {
    engine: 'ReplacingMergeTree',
    engine_sorting_key: 'user',
  })
  const summing = { engine: 'SummingMergeTree', engine_sorting_key: 'day', ...byMonth }
  await calls.fill('of_states', 'SELECT day, sum(v) AS v FROM states GROUP BY day', {
    datasource: 'state_days',
    ...summing,
  })
  await calls.send('states', [{ day: '2026-01-01', user: 'a', v: 1 }])
  await calls.send('states', [{ day: '2026-01-01', user: 'b', v: 2 }])
  await calls.send('state_days', [{ day: '2026-01-01', v: 100 }])
  const refused = await calls.tryRepair('of_states')
  t.equal(refused.status, 409)
  t.match(errorOf(refused), /engine ReplacingMergeTree, which merges .*; force=true makes its partitions/)
  t.match(await calls.repair('of_states', { force: 'true' }), { status: 'done', partitions_repaired: 1 })
  t.same(await service.rows('SELECT sum(v) FROM state_days'), [['3']])
})

t.test('what others fill, or keeps no moment, is refused with force too', async (t) => {
  await calls.fill('also', 'SELECT day, v AS w FROM sales', { datasource: 'in_plain' })
  for (const parameters of [{}, { force: 'true' }]) {
    const refused = await calls.tryRepair('to_plain', parameters)
    t.equal(refused.status, 409)
    t.match(errorOf(refused), /other Materialized Views fill its Data Source/)
    t.notMatch(errorOf(refused), /force/)
  }
  await calls.fill('nowhere', 'SELECT day, v FROM sales', { datasource: 'nothing', engine: 'Null' })
  t.match(errorOf(await calls.tryRepair('nowhere', { force: 'true' })), /has the engine Null/)
})

t.test(
  'views that read what is repaired are left as they are, and incomplete until they are repaired too',
  async (t) => {
    const plain = { engine: 'MergeTree', engine_sorting_key: 'day', ...byMonth }
    await calls.fill('near', 'SELECT day, v FROM sales WHERE v < 20', { datasource: 'in_near', ...plain })
    await calls.fill('far', 'SELECT day, v FROM in_near', { datasource: 'in_far', ...plain })
    const refused = await calls.tryRepair('near')
    t.equal(refused.status, 409)
    t.match(errorOf(refused), /Materialized Views read its Data Source/)
    t.notMatch(errorOf(refused), /far/)
    const forced = await calls.tryRepair('near', { force: 'true' })
    t.match(forced.json, { warnings: [{ text: /keep what they made of its old rows/ }] })
    t.match(await calls.ended((forced.json as { readonly job: { readonly id: string } }).job.id), { status: 'done' })
    t.match(await calls.verify('near'), { equal: true })
    t.match(await calls.verify('far'), { equal: false })
    const stale = {
      ...{ view: 'far.far_view', state: 'incomplete', takes_new_rows: true, error: /in_near|the Data Source/ },
      remedy: /^POST .*far.*population\?truncate=true\.$/,
    }
    t.match(await call('GET', '/v0/datasources/in_near'), { json: { views_behind: [stale] } })
    t.match(await call('GET', '/v0/datasources/in_far'), { json: { lacks_rows_of: [stale] } })
    await calls.fill('farther', 'SELECT day, v FROM in_far', { datasource: 'in_farther', ...plain })
    t.match(await calls.verify('farther'), { note: /'lacks_rows_of' of GET \/v0\/datasources\/in_far says/ })
    await call('DELETE', '/v0/pipes/farther/nodes/farther_view/materialization')
    const statesOf = async (): Promise<readonly unknown[]> => {
      const { edges } = (await call('GET', '/v0/graph')).json as {
        readonly edges: readonly { readonly state?: string }[]
      }
      return edges.flatMap(({ state }) => state ?? [])
    }
    t.same(await statesOf(), ['incomplete'])
    t.match(await calls.repair('far'), { status: 'done', partitions_repaired: 2 })
    t.same(await statesOf(), [])
    t.match(await calls.verify('far'), { equal: true })
    t.notMatch((await call('GET', '/v0/datasources/in_far')).text, /lacks_rows_of/)
    t.notMatch((await call('GET', '/v0/datasources/in_near')).text, /views_behind/)
  },
)

t.test('a repair needs the rights of a populate with truncate, and to read what is compared', async (t) => {
  const scopes = [
    'PIPES:CREATE:near',
    'DATASOURCES:READ:sales',
    'DATASOURCES:READ:in_near',
    'DATASOURCES:CREATE:in_near',
  ]
  for (const left of scopes) {
    const token = await calls.token(`without ${left}`, ...scopes.filter((scope) => scope !== left))
    t.equal((await calls.tryRepair('near', { dry_run: 'true' }, token)).status, 403, left)
  }
  const token = await calls.token('repairs', ...scopes)
  t.equal((await calls.tryRepair('near', { dry_run: 'true' }, token)).status, 200)
})

t.test('a repair that fails leaves all as it was', async (t) => {
  await calls.source('failing', 'day Date, v UInt64')
  await calls.send('failing', [{ day: '2026-01-01', v: 7 }])
  await calls.fill('fails', "SELECT day, throwIf(v = 7, 'seven')::UInt64 AS v FROM failing", { datasource: 'failed' })
  await calls.send('failed', [{ day: '2026-01-01', v: 1 }])
  const job = await calls.repair('fails')
  t.equal(job.status, 'error')
  t.match(job.error, /cannot be repaired: .*seven/)
  t.match(await call('GET', '/v0/pipes/fails'), { text: /"materialized":true/ })
  t.same(await service.rows('SELECT count() FROM failed'), [['1']])
})
