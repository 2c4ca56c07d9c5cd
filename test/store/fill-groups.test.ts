import t from 'tap'
import type { CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { appendStatement } from '../../src/store/sql/append-statement.ts'
import { chunkRowsText } from '../../src/store/sql/chunk-rows.ts'
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
  const over = await store.fill(fill('b-1', { threads: 1, groupsMax: 2_999 })).catch((thrown: unknown) => thrown)
  t.ok(isOver(over))
  t.equal(await stored(), 0)
  const missing = 'SELECT k, n FROM ws_0001.t_missing GROUP BY k' as CheckedQuery
  const failed = await store.fill(fill('b-1', { query: missing, groupsMax: 1 })).catch((thrown: unknown) => thrown)
  t.ok(failed instanceof StoreError && !failed.isOverFill)
  await store.fill(fill('b-1', { threads: 1, groupsMax: 3_000 }))
  t.equal(await stored(), 100_000)
})

t.test('what one try has stored no other one is refused', async (t) => {
  await store.fill(fill('b-2', { threads: 2, groupsMax: 3_000 }))
  t.equal(await stored(), 200_000)
  await store.fill(fill('b-2', { threads: 2, groupsMax: 1_500, isRepeat: true }))
  t.equal(await stored(), 200_000, 'one thread has as many as two may have')
  const over = store
    .fill(fill('b-3', { threads: 2, groupsMax: 1_499, isRepeat: true }))
    .catch((thrown: unknown) => thrown)
  t.ok(isOver(await over))
  const again = repeatedAppend(fillAppend(fill('b-4', { threads: 2, groupsMax: 10 })))
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
    t.ok(isOver(await failureOf({ query: large(400_000), groupsMax: 1_000_000 })))
    for (const more of [{ query: large(400_000) }, { query: large(400_000), groupsMax: 1_000_000, isRepeat: true }]) {
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
    const behind = await failureOf({ query: one, groupsMax: 1_000_000 })
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
  await store.fill(fill('b-5', { threads: 2, groupsMax: 3_000 }))
  t.equal(await stored('t_behind'), 500_000)
})

t.test('a fill whose rows are read too late stores nothing, and one that may be stored has time', async (t) => {
  const before = await stored()
  const [part] = await store.pins.parts('t_from', null)
  const from = (readBy: number): string =>
    chunkRowsText('t_from', { pieces: [{ part: part?.name ?? '', range: null }], condition: null, readBy })
  const query = (readBy: number) => `SELECT k, count() AS n FROM ${from(readBy)} GROUP BY k` as CheckedQuery
  const passed = Math.floor(Date.now() / 1_000) - 1
  const late = fill('b-6', { query: query(passed), queryOfRepeats: query(passed + 3_600), groupsMax: 3_000 })
  t.ok(isOver(await store.fill(late).catch((thrown: unknown) => thrown)))
  t.equal(await stored(), before)
  await store.fill({ ...late, isRepeat: true })
  t.equal(await stored(), (before ?? 0) + 100_000)
  await store.fill({ ...late, query: query(passed + 3_600) })
  t.equal(await stored(), (before ?? 0) + 100_000, 'it is the same')
})
