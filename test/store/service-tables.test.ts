// The tables of the service data sources on an engine: made, brought to what a release wants of them, and filled.

import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { serviceTableInEngine, serviceTableNames } from '../../src/store/sql/service-tables.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})
const { serviceTables } = store
const days = { requests: 7, totals: 90, operations: 30 }
const table = 'ws_0001.service_pipe_stats_rt'

/** As the engine has them, without numbers that differ between tables of one definition. */
async function definitions(): Promise<ReadonlyMap<string, string>> {
  const rows = await store.rows<{ readonly name: string; readonly text: string }>(
    `SELECT name, create_table_query AS text FROM system.tables WHERE startsWith(name, 'service_') ORDER BY name`,
  )
  return new Map(rows.map(({ name, text }) => [name, text]))
}

t.test('all tables are made, and a start that finds them changes nothing', async (t) => {
  await serviceTables.prepare(days)
  const made = await definitions()
  t.strictSame([...made.keys()].sort(), serviceTableNames.map(serviceTableInEngine).sort())
  const { definitionVersion } = store
  await serviceTables.prepare(days)
  t.strictSame(await definitions(), made)
  t.equal(store.definitionVersion, definitionVersion, 'no definition was written')
})

t.test('columns and days of another release become those of this one, and rows stay', async (t) => {
  const wanted = await definitions()
  await serviceTables.insert({
    table: 'pipe_stats_rt',
    lines: `{"start_datetime":${nowSeconds()},"url":"/kept"}`,
    token: 'a',
  })
  await store.command(
    `ALTER TABLE ${table} DROP COLUMN user_agent, ADD COLUMN older String, MODIFY COLUMN memory_usage UInt32`,
  )
  await serviceTables.prepare({ ...days, requests: 3 })
  t.match((await definitions()).get('service_pipe_stats_rt'), 'TTL start_datetime + toIntervalDay(3)')
  await serviceTables.prepare(days)
  t.strictSame(await definitions(), wanted)
  t.strictSame(await store.rows(`SELECT url FROM ${table}`), [{ url: '/kept' }])
})

t.test('rows that come again under their token are stored once', async (t) => {
  const batch = {
    table: 'limits_log',
    lines: `{"timestamp":${nowSeconds()},"limit_name":"x","unknown":1}`,
    token: 'b',
  } as const
  await serviceTables.insert(batch)
  await serviceTables.insert(batch)
  await serviceTables.insert({ ...batch, token: 'c' })
  const [count] = await store.rows<{ readonly n: number }>('SELECT count() AS n FROM ws_0001.service_limits_log')
  t.equal(count?.n, 2)
  const totals = {
    table: 'pipe_stats',
    lines: `{"date":"${today()}","pipe_id":"p","view_count":2,"durations":[10,20]}`,
    token: 'd',
  } as const
  await serviceTables.insert(totals)
  await serviceTables.insert(totals)
  const sums = 'SELECT sum(view_count) AS n, avgMerge(avg_duration_state) AS ms FROM ws_0001.service_pipe_stats'
  t.strictSame(await store.rows(sums), [{ n: 2, ms: 15 }])
})

t.test('rows beyond their days go, those within them stay', async (t) => {
  const row = (ageDays: number) => `{"start_datetime":${nowSeconds() - ageDays * 86_400},"url":"/${ageDays}"}`
  for (const age of [0, 6, 8, 30])
    await serviceTables.insert({ table: 'pipe_stats_rt', lines: row(age), token: `age-${age}` })
  await store.command(`OPTIMIZE TABLE ${table} FINAL`)
  const rows = await store.rows<{ readonly url: string }>(`SELECT url FROM ${table} WHERE url != '/kept' ORDER BY url`)
  t.strictSame(
    rows.map(({ url }) => url),
    ['/0', '/6'],
  )
})

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

function today(): string {
  return new Date().toISOString().slice(0, 10)
}
