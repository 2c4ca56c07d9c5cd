// Views into targets of every engine that lost rows, and got others: what a comparison tells of each, and what a repair makes of it.

import t from 'tap'
import { deleteRows } from '../support/api/job-calls.ts'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { VerifyCalls } from '../support/api/verify-calls.ts'
import { byMonth, engineCases, salesRows, salesSchema } from '../support/api/verify-cases.ts'

const { service } = await openPipeService(t, { populateChunkRowsMax: 40 })
const calls = new VerifyCalls(service)

await calls.source('sales', salesSchema)
for (const [name, { sql, target }] of Object.entries(engineCases)) {
  await calls.fill(`to_${name}`, sql, { datasource: `in_${name}`, ...target })
}
for (let block = 0; block < 6; block += 1) await calls.send('sales', salesRows(block * 20, 20))

for (const [name, { target, sql, damage, seen }] of Object.entries(engineCases)) {
  t.test(`rows that ${target['engine']} (${name}) lost and got are told, and repaired`, async (t) => {
    const pipe = `to_${name}`
    // Of groups by day there is one a month.
    const lost = sql.includes('GROUP BY') ? 'toYYYYMM(day) = 202602' : "toYYYYMM(day) = 202602 AND user = 'u1'"
    t.equal((await deleteRows(service, `in_${name}`, lost)).status, 'done')
    await calls.send(`in_${name}`, [damage])
    const told = await calls.verify(pipe)
    t.match(told, { comparable: true, equal: false, partitions_total: 2, partitions_differing: 2 })
    const [january, february] = [...told.partitions].sort((a, b) => a.partition.localeCompare(b.partition))
    t.match(january, { partition: '202601', ...seen })
    t.match(february, { partition: '202602', rows_extra: 0, rows_different: 0 })
    const { rows_expected: expected = 0, rows_found: found = 0, rows_missing: missing = 0 } = february ?? {}
    t.ok(missing > 0, `${missing} rows are missing`)
    t.equal(found + missing, expected)
    t.match(await calls.repair(pipe), { status: 'done', partitions_differing: 2, partitions_repaired: 2 })
    t.match(await calls.verify(pipe), { comparable: true, equal: true, partitions_differing: 0 })
  })
}

const incomparable: Readonly<Record<string, readonly [sql: string, source: Readonly<Record<string, string>>]>> = {
  replacing: ['SELECT day, v FROM s_replacing', { engine: 'ReplacingMergeTree' }],
  summing: ['SELECT day, v FROM s_summing', { engine: 'SummingMergeTree' }],
  collapsing: ['SELECT day, v FROM s_collapsing', { engine: 'CollapsingMergeTree', engine_sign: 'sign' }],
  aged: ['SELECT day, v FROM s_aged', { engine_ttl: 'day + toIntervalYear(9)' }],
  limited: ['SELECT day, v FROM s_limited LIMIT 100', {}],
}

for (const [name, [sql, source]] of Object.entries(incomparable)) {
  t.test(`what cannot be compared (${name}) is repaired with force alone`, async (t) => {
    await calls.source(`s_${name}`, 'day Date, v UInt64, sign Int8', source)
    await calls.fill(`of_${name}`, sql, {
      ...{ datasource: `days_${name}`, engine: 'MergeTree', engine_sorting_key: 'day', ...byMonth },
    })
    await calls.send(`s_${name}`, [
      { day: '2026-01-01', v: 1, sign: 1 },
      { day: '2026-02-01', v: 2, sign: 1 },
    ])
    await calls.send(`days_${name}`, [{ day: '2026-01-01', v: 77 }])
    t.equal((await deleteRows(service, `days_${name}`, 'v = 2')).status, 'done')
    const told = await calls.verify(`of_${name}`)
    t.match(told, { comparable: false, equal: null, partitions: [] })
    t.ok(told.reason)
    const refused = await calls.tryRepair(`of_${name}`)
    t.match([refused.status, errorOf(refused)], [409, /force=true/])
    t.equal(await service.count(`days_${name}`), 2)
    t.match(await calls.repair(`of_${name}`, { force: 'true' }), { status: 'done', partitions_repaired: 2 })
    t.same(await service.rows(`SELECT v FROM days_${name} ORDER BY v`), [['1'], ['2']])
  })
}
