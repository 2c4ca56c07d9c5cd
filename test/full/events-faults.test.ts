import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import type { Options } from '../../src/config.ts'
import { openService } from '../../src/service.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { TestLog, TestService, testOptions } from '../support/api/test-service.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())

/** A life of the service on the directory of this file. */
async function live(t: Test, given: Partial<Options> = {}): Promise<TestService> {
  const log = new TestLog()
  const service = await openService(testOptions({ dataDir: directory.path, ...given }), log)
  t.teardown(() => service.close())
  return new TestService(service, { log, dataDir: directory.path })
}

/** Runs statements on the engine while no service is open. */
async function runStatements(...statements: readonly string[]): Promise<void> {
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  for (const statement of statements) await store.command(statement)
  await store.close()
}

t.test('a view that fails is answered with 422, shown, and gets every row once when it works again', async (t) => {
  const first = await live(t)
  await first.create('viewed', 'n UInt32')
  await first.create('beside', 'n UInt32')
  const id = await first.idOf('viewed')
  await first.close()
  const window = 'SETTINGS non_replicated_deduplication_window = 10000'
  await runStatements(
    `CREATE TABLE ws_0001.viewed_sums (c UInt64) ENGINE = SummingMergeTree ORDER BY tuple() ${window}`,
    `CREATE MATERIALIZED VIEW ws_0001.viewed_view TO ws_0001.viewed_sums AS
       SELECT count() + throwIf(countIf(n = 13) > 0, 'unlucky') AS c FROM ws_0001.${id}`,
  )
  const second = await live(t, { eventsFlushIdleMs: 5 })
  t.match(await second.events('viewed', '{"n":1}', { wait: 'true' }), { status: 200 })
  const failed = await second.events('viewed', '{"n":13}\n{"n":14}', { wait: 'true' })
  t.match(failed, { status: 422, json: { error: /^A Materialized View failed.*do not send them again: unlucky/ } })
  t.notMatch(failed.text, /ws_0001/)
  const blocked = await second.events('viewed', '{"n":15}', { wait: 'true' })
  t.match(blocked, { status: 503, json: { error: /nothing of this request was stored/ } })
  t.match(blocked.headers.get('retry-after'), /^\d+$/)
  t.match(await second.events('viewed', '{"n":16}'), { status: 202 })
  t.match(await second.events('beside', '{"n":1}', { wait: 'true' }), { status: 200 }, 'others are stored')
  t.match(await second.call('GET', '/v0/datasources/viewed'), {
    json: { events: { waiting_rows: 3, error: /unlucky/, failed_since: /^20/, retry_at: /^20/ } },
  })
  await second.log.until('Events of a data source cannot be stored: they stay in the log, and are tried again.')
  await second.close()
  await runStatements(
    'DROP TABLE ws_0001.viewed_view SYNC',
    `CREATE MATERIALIZED VIEW ws_0001.viewed_view TO ws_0001.viewed_sums AS SELECT count() AS c FROM ws_0001.${id}`,
  )
  const third = await live(t)
  await third.untilStored('viewed')
  t.same(await third.rows('SELECT n FROM viewed ORDER BY n'), [['1'], ['13'], ['14'], ['16']])
  t.match(await third.call('GET', '/v0/datasources/viewed'), { json: { events: { waiting_rows: 0, error: null } } })
  await third.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.same(await store.rows('SELECT sum(c) AS c FROM ws_0001.viewed_sums'), [{ c: 4 }])
  await store.close()
})

t.test('rows that the engine refuses are set aside one by one, and the others of their block are stored', async (t) => {
  const service = await live(t)
  const schema = 'n UInt32 `json:$.n`, word String `json:$.word`, m UInt8 `json:$.m` DEFAULT intDiv(100, n % 50 - 13)'
  t.match(await service.create('poisoned', schema), { status: 200 })
  const lines = Array.from({ length: 100 }, (_, n) => JSON.stringify({ n: n === 7 ? 'bad' : n, word: `w${n}` }))
  const sent = await service.events('poisoned', lines.join('\n'), { wait: 'true' })
  t.match(sent, { status: 200, json: { successful_rows: 99, quarantined_rows: 1 } })
  t.equal(await service.count('poisoned'), 97)
  t.same(
    await service.rows("SELECT n, word, replaceAll(c__error[1], char(39), '') FROM poisoned_quarantine ORDER BY word"),
    [
      ['13', 'w13', 'the database refused the row'],
      ['63', 'w63', 'the database refused the row'],
      ['bad', 'w7', 'value bad on column n is not UInt32'],
    ],
  )
  const tables = await service.log.until('The engine refuses rows of a block; they are set aside.')
  t.match(tables.fields, { rowCount: 2, dataSource: 'poisoned' })
  t.match(await service.events('poisoned', '{"n":13,"word":"alone"}', { wait: 'true' }), { status: 200 })
  t.equal(await service.count('poisoned_quarantine'), 4)
  await service.close()
})

t.test('a refused row doubles no row of the partitions that took theirs before it', async (t) => {
  // In one INSERT; in the second of three; and so that one INSERT is left of two.
  const cases = [
    { name: 'parted_4', days: 4, badDay: 2 },
    { name: 'parted_30', days: 30, badDay: 17 },
    { name: 'parted_13', days: 13, badDay: 5 },
  ]
  const first = await live(t)
  const views: string[] = []
  for (const { name } of cases) {
    // The key of a part's order is computed for each partition, when those before it are stored already.
    const engine = { engine: 'MergeTree', engine_partition_key: 'day', engine_sorting_key: 'intDiv(100, x)' }
    await first.create(name, 'day UInt8, n UInt32, x UInt8', engine)
    const window = 'SETTINGS non_replicated_deduplication_window = 10000'
    views.push(
      `CREATE TABLE ws_0001.${name}_seen (n UInt32) ENGINE = MergeTree ORDER BY n ${window}`,
      `CREATE MATERIALIZED VIEW ws_0001.${name}_view TO ws_0001.${name}_seen AS
         SELECT n FROM ws_0001.${await first.idOf(name)}`,
    )
  }
  await first.close()
  await runStatements(...views)
  const second = await live(t)
  for (const { name, days, badDay } of cases) {
    const lines = Array.from({ length: days * 2 }, (_, n) => ({ day: n % days, n, x: n % days === badDay ? 0 : 1 }))
    const body = lines.map((line) => JSON.stringify(line)).join('\n')
    t.match(await second.events(name, body, { wait: 'true' }), { status: 200 })
    const good = String(2 * days - 2)
    t.same(await second.rows(`SELECT count(), uniqExact(n) FROM ${name}`), [[good, good]], name)
    t.same(await second.rows(`SELECT n FROM ${name}_quarantine ORDER BY toUInt32(n)`), [
      [`${badDay}`],
      [`${badDay + days}`],
    ])
  }
  await second.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  for (const { name, days } of cases) {
    const [seen] = await store.rows(`SELECT count() AS rows, uniqExact(n) AS distinct FROM ws_0001.${name}_seen`)
    t.same(seen, { rows: 2 * days - 2, distinct: 2 * days - 2 }, `${name} in its view`)
  }
  await store.close()
})

t.test('events of a data source that is dropped go with it, and those of its namesake do not', async (t) => {
  const first = await live(t, { eventsFlushIdleMs: 10_000, eventsFlushAgeMs: 60_000 })
  await first.create('again', 'n UInt32')
  t.match(await first.events('again', '{"n":1}'), { status: 202 })
  t.match(await first.call('DELETE', '/v0/datasources/again'), { status: 204 })
  await first.create('again', 'n UInt32')
  t.match(await first.events('again', '{"n":2}'), { status: 202 })
  await first.close()
  const second = await live(t)
  await second.untilStored('again')
  t.same(await second.rows('SELECT n FROM again'), [['2']])
  await second.close()
})

t.test('events of thirty days are stored, twelve partitions at a time', async (t) => {
  const service = await live(t)
  await service.create('days', 'day Date, n UInt32', { engine: 'MergeTree', engine_partition_key: 'day' })
  const lines = Array.from({ length: 90 }, (_, n) =>
    JSON.stringify({ day: `2026-01-${String((n % 30) + 1).padStart(2, '0')}`, n }),
  )
  const keyed = { headers: { 'idempotency-key': 'days' } }
  t.match(await service.events('days', lines.join('\n'), { wait: 'true' }, keyed), { status: 200 })
  t.same(await service.rows('SELECT count(), uniqExact(n), uniqExact(day) FROM days'), [['90', '90', '30']])
  const id = await service.idOf('days')
  await service.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  const [log] = await store.rows<{ path: string }>(
    `SELECT data_paths[1] || 'deduplication_logs/deduplication_log_1.txt' AS path FROM system.tables WHERE name = '${id}'`,
  )
  await store.close()
  // A record for each part: partition, then the token's hash. Three inserts have made thirty parts.
  const records = (await readFile(log?.path ?? '', 'utf8')).trim().split('\n')
  const tokens = records.map((record) => record.split('_').slice(-2).join('_'))
  t.equal(records.length, 30)
  t.same(
    [...new Set(tokens)].map((token) => tokens.filter((one) => one === token).length),
    [12, 12, 6],
  )
})
