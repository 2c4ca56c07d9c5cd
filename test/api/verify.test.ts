// Comparisons of views with their queries through a whole service: what is equal, what differs, and what cannot be compared.

import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { VerifyCalls } from '../support/api/verify-calls.ts'
import { byMonth, engineCases, salesRows, salesSchema } from '../support/api/verify-cases.ts'

const { service, call } = await openPipeService(t, { populateChunkRowsMax: 40, verifyRowsMax: 5_000 })
const calls = new VerifyCalls(service)

async function sendSales(from: number, count: number): Promise<void> {
  await calls.send('sales', salesRows(from, count))
}

await calls.source('sales', salesSchema)
for (const [name, { sql, target }] of Object.entries(engineCases)) {
  await calls.fill(`to_${name}`, sql, { datasource: `in_${name}`, ...target })
}
for (let block = 0; block < 6; block += 1) await sendSales(block * 20, 20)

for (const [name, { damage, seen }] of Object.entries(engineCases)) {
  t.test(`a view into ${name} is equal, and what is damaged in it is told`, async (t) => {
    const pipe = `to_${name}`
    t.match(await calls.verify(pipe), { comparable: true, equal: true, partitions_total: 2, partitions_differing: 0 })
    await calls.send(`in_${name}`, [damage])
    const told = await calls.verify(pipe)
    t.match(told, { comparable: true, equal: false, partitions_differing: 1, note: /in other ways/ })
    t.match(told.partitions[0], { comparable: true, equal: false, partition: '202601', ...seen })
    t.match(told.partitions[1], { equal: true, partition: '202602' })
    await call('POST', `/v0/datasources/in_${name}/truncate`)
    const emptied = await calls.verify(pipe)
    t.equal(emptied.partitions_differing, 2)
    for (const { rows_expected, rows_found, rows_missing } of emptied.partitions) {
      t.equal(rows_found, 0)
      t.equal(rows_missing, rows_expected)
    }
  })
}

t.test('columns that depend on the order of rows or on single blocks are left out, and named', async (t) => {
  const merged = await calls.verify('to_merged')
  t.match(merged.columns_not_compared, [{ column: 'some', reason: /^any depends on the order/ }])
  const summed = await calls.verify('to_summed')
  t.match(summed.columns_not_compared, [{ column: 'some', reason: /is of the rows of one block/ }])
})

t.test('rows that were there before the view are missing, until a populate brings them', async (t) => {
  await calls.fill('to_late', 'SELECT day, count() AS n FROM sales GROUP BY day', {
    ...{ datasource: 'in_late', engine: 'SummingMergeTree', engine_sorting_key: 'day', ...byMonth },
  })
  t.match(await calls.verify('to_late'), { comparable: true, equal: false, partitions_differing: 2 })
  const { json } = await call('POST', '/v0/pipes/to_late/nodes/to_late_view/population')
  await calls.ended((json as { readonly job: { readonly id: string } }).job.id)
  t.match(await calls.verify('to_late'), { comparable: true, equal: true })
})

const unlike: readonly (readonly [reason: RegExp, sql: string, target?: Readonly<Record<string, string>>])[] = [
  [/its LIMIT counts/, 'SELECT day, v FROM sales LIMIT 3'],
  [/its DISTINCT compares/, 'SELECT DISTINCT day, v FROM sales'],
  [/its HAVING looks/, 'SELECT day, countState() AS n FROM sales GROUP BY day HAVING count() > 1'],
  [/window functions see/, 'SELECT day, row_number() OVER (ORDER BY v) AS n FROM sales'],
  [/function now\(\) is the time/, 'SELECT day, now() AS at FROM sales'],
  [/function rand\(\) gives another value/, 'SELECT day, rand() AS r FROM sales'],
  [/reads other Data Sources behind JOIN or IN/, 'SELECT day, v FROM sales WHERE user IN (SELECT user FROM events)'],
  [/reads its Data Source more than once/, 'SELECT day, v FROM sales WHERE v IN (SELECT max(v) FROM sales)'],
  [
    /groups in a subquery/,
    'SELECT day, max(n) AS n FROM (SELECT day, user, count() AS n FROM sales GROUP BY day, user) GROUP BY day',
  ],
  [
    /of the rows of one block, and its Data Source is sorted/,
    'SELECT day, count() AS n FROM sales GROUP BY day',
    { engine: 'MergeTree', engine_sorting_key: 'n' },
  ],
  [
    /"in_unlike_\d+", which it fills, has a TTL/,
    'SELECT day, v FROM sales',
    { engine: 'MergeTree', engine_sorting_key: 'day', engine_ttl: 'day + toIntervalYear(9)' },
  ],
  [/has the engine Null, of which no moment/, 'SELECT day, v FROM sales', { engine: 'Null' }],
  [
    /groups are those of each block, which the engine CollapsingMergeTree/,
    'SELECT day, toInt8(1) AS sign, count() AS n FROM sales GROUP BY day',
    { engine: 'CollapsingMergeTree', engine_sorting_key: 'day', engine_sign: 'sign' },
  ],
]

t.test('a view whose blocks say something else than all rows cannot be compared, and the reason is told', async (t) => {
  for (const [index, [reason, sql, target = {}]] of unlike.entries()) {
    await calls.fill(`unlike_${index}`, sql, { datasource: `in_unlike_${index}`, ...target })
    const told = await calls.verify(`unlike_${index}`)
    t.match(told, { comparable: false, reason, equal: null, partitions: [] }, sql)
  }
})

const merging: readonly (readonly [engine: string, options: Readonly<Record<string, string>>])[] = [
  ['ReplacingMergeTree', {}],
  ['SummingMergeTree', {}],
  ['AggregatingMergeTree', {}],
  ['CollapsingMergeTree', { engine_sign: 'sign' }],
  ['VersionedCollapsingMergeTree', { engine_sign: 'sign', engine_version: 'v' }],
]

t.test('a source that loses rows, or sees them merged, cannot be compared', async (t) => {
  const schema = 'day Date, v UInt64, sign Int8'
  for (const [engine, options] of merging) {
    await calls.source(`s_${engine}`, schema, { engine, ...options })
    await calls.fill(`of_${engine}`, `SELECT day, v FROM s_${engine}`, { datasource: `days_${engine}` })
    t.match(await calls.verify(`of_${engine}`), {
      comparable: false,
      reason: new RegExp(`engine ${engine}, which merges`),
    })
  }
  await calls.source('s_ttl', schema, { engine_ttl: 'day + toIntervalYear(9)' })
  await calls.fill('of_ttl', 'SELECT day, v FROM s_ttl', { datasource: 'days_ttl' })
  t.match(await calls.verify('of_ttl'), { comparable: false, reason: /"s_ttl" has a TTL/ })
  await call('POST', `/v0/datasources?${new URLSearchParams({ name: 's_null', schema, engine: 'Null' })}`)
  await calls.fill('of_null', 'SELECT day, v FROM s_null', { datasource: 'days_null' })
  t.match(await calls.verify('of_null'), { comparable: false, reason: /engine Null, which keeps no rows/ })
  await calls.fill('of_two', 'SELECT day, v FROM sales', { datasource: 'days_null' })
  t.match(await calls.verify('of_two'), { comparable: false, reason: /other Materialized Views fill its Data Source/ })
})

t.test('rows of the source that are gone are noted for the partitions that were there', async (t) => {
  await calls.source('gone', 'day Date, v UInt64')
  await calls.fill('of_gone', 'SELECT day, v FROM gone', {
    ...{ datasource: 'kept', engine: 'MergeTree', engine_sorting_key: 'day', ...byMonth },
  })
  await calls.send('gone', [
    { day: '2026-01-01', v: 1 },
    { day: '2026-01-02', v: 2 },
  ])
  const deleted = await call('POST', '/v0/datasources/gone/delete?delete_condition=v%3D1')
  await calls.ended((deleted.json as { readonly job_id: string }).job_id)
  await calls.send('gone', [{ day: '2026-02-01', v: 3 }])
  const told = await calls.verify('of_gone')
  t.match(told, { comparable: true, equal: true, partitions_total: 2, partitions_differing: 0 })
  t.match(told.partitions[0], { partition: '202601', comparable: false, reason: /were deleted/, rows_extra: 1 })
  t.match(told.partitions[1], { partition: '202602', comparable: true, equal: true })
  await call('POST', '/v0/datasources/gone/truncate')
  const emptied = await calls.verify('of_gone')
  t.match(emptied, { comparable: true, equal: null })
  for (const one of emptied.partitions) t.match(one, { comparable: false, reason: /was truncated/ })
  const rows = '{"day":"2026-01-03","v":4}'
  const replaced = await call('POST', '/v0/datasources?mode=replace&name=gone&format=ndjson', { body: rows })
  t.equal(replaced.status, 200)
  t.match(await calls.verify('of_gone'), {
    ...{ comparable: true, equal: true },
    partitions: [{ comparable: true, rows_found: 1 }],
  })
  await call('POST', '/v0/datasources/gone/truncate')
  t.match(await calls.verify('of_gone'), { equal: null, partitions: [{ comparable: false }] })
  await call('POST', '/v0/datasources/kept/truncate')
  await calls.send('gone', [{ day: '2026-01-04', v: 5 }])
  t.match(await calls.verify('of_gone'), { equal: true, partitions: [{ comparable: true, rows_found: 1 }] })
})

t.test('who may not read all that is compared is refused', async (t) => {
  const scopes = ['PIPES:READ:to_plain', 'DATASOURCES:READ:in_plain']
  const few = await calls.token('few', ...scopes)
  const refused = await calls.tryVerify('to_plain', few)
  t.equal(refused.status, 403)
  t.notMatch(errorOf(refused), /sales/)
  const filtered = await calls.token('filtered', ...scopes, 'DATASOURCES:READ:sales:v < 3')
  t.equal((await calls.tryVerify('to_plain', filtered)).status, 403)
  const whole = await calls.token('whole', ...scopes, 'DATASOURCES:READ:sales')
  t.equal((await calls.tryVerify('to_plain', whole)).status, 200)
})

t.test('what is too large, or is no view, is refused', async (t) => {
  t.equal((await call('GET', '/v0/pipes/to_plain/nodes/to_plain_first/verify')).status, 400)
  t.equal((await call('GET', '/v0/pipes/nothing/nodes/nothing/verify')).status, 404)
  await sendSales(1_000, 5_000)
  const large = await calls.tryVerify('to_plain')
  t.equal(large.status, 400)
  t.match(errorOf(large), /have \d+ rows, and 5000 are compared at most/)
})
