import t from 'tap'
import type { CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { appendStatement } from '../../src/store/sql/append-statement.ts'
import { fillAppend, repeatedAppend } from '../../src/store/sql/fill-append.ts'
import type { FillRequest } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const options = { ...testStoreOptions(directory.path), insertMemoryBytesMax: 100_000_000 }
const store = await openEmbeddedStore(options, silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

await store.command('CREATE TABLE ws_0001.t_from (k UInt64) ENGINE = MergeTree ORDER BY k')
await store.command('INSERT INTO ws_0001.t_from SELECT number % 3000 FROM numbers(100000)')
const engine =
  'ENGINE = SummingMergeTree ORDER BY k SETTINGS non_replicated_deduplication_window = 100, max_bytes_to_merge_at_max_space_in_pool = 1'
for (const name of ['t_to', 't_behind'])
  await store.command(`CREATE TABLE ws_0001.${name} (k UInt64, n UInt64) ${engine}`)

function fill(blockId: string, more: Partial<FillRequest>): FillRequest {
  // The test vouches for it.
  const query = 'SELECT k, count() AS n FROM ws_0001.t_from GROUP BY k' as CheckedQuery
  return { table: 't_to', columns: ['k', 'n'], query, rowCount: 100_000, blockId, threads: 2, ...more }
}

async function stored(table = 't_to') {
  const [found] = await store.rows<{ readonly n: number }>(`SELECT sum(n) AS n FROM ws_0001.${table}`)
  return found?.n
}

function isOver(thrown: unknown): boolean {
  return thrown instanceof StoreError && thrown.isOverFill
}

t.test('a fill that comes to more groups than it may stores nothing, and is told from others that fail', async (t) => {
  const over = await store
    .fill(fill('b-1', { threads: 1, bounds: { groupsMax: 2_999, readTimeMaxMs: null } }))
    .catch((thrown: unknown) => thrown)
  t.ok(isOver(over))
  t.equal(await stored(), 0)
  const missing = 'SELECT k, n FROM ws_0001.t_missing GROUP BY k' as CheckedQuery
  const failed = await store
    .fill(fill('b-1', { query: missing, bounds: { groupsMax: 1, readTimeMaxMs: null } }))
    .catch((thrown: unknown) => thrown)
  t.ok(failed instanceof StoreError && !failed.isOverFill)
  await store.fill(fill('b-1', { threads: 1, bounds: { groupsMax: 3_000, readTimeMaxMs: null } }))
  t.equal(await stored(), 100_000)
})

t.test('what one try has stored no other one is refused', async (t) => {
  await store.fill(fill('b-2', { threads: 2, bounds: { groupsMax: 3_000, readTimeMaxMs: null } }))
  t.equal(await stored(), 200_000)
  await store.fill(fill('b-2', { threads: 2, bounds: { groupsMax: 1_500, readTimeMaxMs: null }, isRepeat: true }))
  t.equal(await stored(), 200_000, 'one thread has as many as two may have')
  const over = store
    .fill(fill('b-3', { threads: 2, bounds: { groupsMax: 1_499, readTimeMaxMs: null }, isRepeat: true }))
    .catch((thrown: unknown) => thrown)
  t.ok(isOver(await over))
  const again = repeatedAppend(fillAppend(fill('b-4', { threads: 2, bounds: { groupsMax: 10, readTimeMaxMs: null } })))
  t.match(appendStatement(again, ''), /max_rows_to_group_by = 20\b/)
  t.match(appendStatement(again, ''), /max_bytes_ratio_before_external_group_by = 0\b/, 'groups on disk do not count')
  t.match(appendStatement(again, ''), /max_threads = 1\b/)
  t.same(repeatedAppend(again), again)
})

t.test(
  'a fill that lacks memory for its groups stores nothing, but where another try may have had enough',
  async (t) => {
    const before = await stored()
    const large = (rows: number) =>
      `SELECT intDiv(number, 2) AS k, length(max(repeat('x', 2000 + number % 2))) AS n FROM numbers(${rows}) GROUP BY k` as CheckedQuery
    const failureOf = (more: Partial<FillRequest>) =>
      store.fill(fill('b-7', { threads: 1, ...more })).catch((thrown: unknown) => thrown)
    t.ok(isOver(await failureOf({ query: large(400_000), bounds: { groupsMax: 1_000_000, readTimeMaxMs: null } })))
    for (const more of [
      { query: large(400_000) },
      { query: large(400_000), bounds: { groupsMax: 1_000_000, readTimeMaxMs: null }, isRepeat: true },
    ]) {
      const failed = await failureOf(more)
      t.ok(
        failed instanceof StoreError && !failed.isOverFill && failed.message.startsWith('Query memory limit exceeded'),
      )
    }
    t.equal(await stored(), before)
    await store.command('CREATE TABLE ws_0001.t_large (k UInt64, n UInt64) ENGINE = SummingMergeTree ORDER BY k')
    await store.command(
      "CREATE MATERIALIZED VIEW ws_0001.v_large TO ws_0001.t_large AS SELECT k + number AS k, length(max(repeat('x', n + number % 2))) AS n FROM ws_0001.t_to ARRAY JOIN range(200000) AS number GROUP BY k",
    )
    const one = 'SELECT 1 AS k, 2000 AS n GROUP BY k' as CheckedQuery
    const behind = await failureOf({ query: one, bounds: { groupsMax: 1_000_000, readTimeMaxMs: null } })
    t.ok(
      behind instanceof StoreError && !behind.isOverFill,
      'nor is it in doubt where a view behind the table lacks it',
    )
    t.match(behind, { message: /memory limit exceeded[\s\S]*while pushing to view/ })
    await store.command('DROP TABLE ws_0001.v_large')
  },
)

t.test('a view behind the table may make more groups', async (t) => {
  await store.command(
    'CREATE MATERIALIZED VIEW ws_0001.v_1 TO ws_0001.t_behind AS SELECT 10 * k + arrayJoin(range(5)) AS k, sum(n) AS n FROM ws_0001.t_to GROUP BY k',
  )
  await store.fill(fill('b-5', { threads: 2, bounds: { groupsMax: 3_000, readTimeMaxMs: null } }))
  t.equal(await stored('t_behind'), 500_000)
})

t.test('a fill whose rows are read too late stores nothing, and one that may be stored has time', async (t) => {
  const before = await stored()
  // The engine looks at the time when it has read for some milliseconds.
  await store.command('CREATE TABLE ws_0001.t_many (k UInt64) ENGINE = MergeTree ORDER BY k')
  await store.command('INSERT INTO ws_0001.t_many SELECT number % 3000 FROM numbers(5000000)')
  const bounds = { groupsMax: 3_000, readTimeMaxMs: 1 }
  const query = 'SELECT k, count() AS n FROM ws_0001.t_many GROUP BY k' as CheckedQuery
  const late = fill('b-6', { query, bounds })
  t.ok(isOver(await store.fill(late).catch((thrown: unknown) => thrown)))
  t.equal(await stored(), before)
  await store.fill({ ...late, isRepeat: true })
  t.equal(await stored(), (before ?? 0) + 5_000_000)
  await store.fill({ ...late, bounds: { ...bounds, readTimeMaxMs: 60_000 } })
  t.equal(await stored(), (before ?? 0) + 5_000_000, 'it is the same')
})

t.test('what a view behind the table takes its time for is no time of reading', async (t) => {
  const before = (await stored()) ?? 0
  await store.command(
    'CREATE MATERIALIZED VIEW ws_0001.v_slow TO ws_0001.t_behind AS SELECT k, n + sleep(1.5) AS n FROM ws_0001.t_to',
  )
  await store.fill(fill('b-8', { threads: 2, bounds: { groupsMax: 3_000, readTimeMaxMs: 1_000 } }))
  t.equal(await stored(), before + 100_000)
  await store.command('DROP TABLE ws_0001.v_slow')
})
