// When the engine forgets the names of blocks, and that the numbers of blocks tell it in time: behind a view earlier than in the table itself.

import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { tablesBehind } from '../../src/store/sql/table-graph.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

/** What an import takes for forgotten (`import-ledger.ts`). */
const laterBlocksMax = 9_000

t.test(
  'a view with many partitions forgets a block of few others, and the sum of last blocks tells so before',
  async (t) => {
    const directory = await createTestDirectory()
    const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
    t.teardown(async () => {
      await store.close()
      await directory.remove()
    })
    const window = 'SETTINGS non_replicated_deduplication_window = 10000'
    await store.command(`CREATE TABLE ws_0001.t_few (n UInt32) ENGINE = MergeTree ORDER BY n ${window}`)
    await store.command(
      `CREATE TABLE ws_0001.t_many (n UInt32) ENGINE = MergeTree PARTITION BY n % 1000 ORDER BY n ${window}, parts_to_delay_insert = 100000, parts_to_throw_insert = 100000`,
    )
    await store.command('CREATE MATERIALIZED VIEW ws_0001.t_view TO ws_0001.t_many AS SELECT n FROM ws_0001.t_few')
    const insert = (token: string) =>
      store.command(
        `INSERT INTO ws_0001.t_few SELECT number FROM numbers(1000) ORDER BY number SETTINGS insert_deduplication_token = '${token}',
         insert_deduplicate = 1, deduplicate_insert_select = 'force_enable', deduplicate_blocks_in_dependent_materialized_views = 1, max_partitions_per_insert_block = 0, max_insert_threads = 1`,
      )
    const counts = async (): Promise<readonly number[]> => {
      const sql =
        "SELECT 't_few' AS name, count() AS n FROM ws_0001.t_few UNION ALL SELECT 't_many', count() FROM ws_0001.t_many"
      const rows = await store.rows<{ readonly name: string; readonly n: number }>(
        `SELECT name, toFloat64(n) AS n FROM (${sql}) ORDER BY name`,
      )
      return rows.map(({ n }) => n)
    }
    const tables = [...tablesBehind(await store.views.graph(), 't_few')]
    t.same(tables, ['t_few', 't_many'])
    const before = await store.parts.lastBlocks(tables)
    await insert('first')
    await insert('first')
    t.same(await counts(), [1_000, 1_000], 'the engine knows it')
    for (let block = 0; block < 8; block += 1) await insert(`other ${block}`)
    await insert('first')
    t.same(await counts(), [9_000, 9_000], 'it knows it behind a few others')
    const later = await store.parts.lastBlocks(tables)
    t.ok(
      later - before > laterBlocksMax,
      `${later - before} blocks, which is past the bound before anything is forgotten`,
    )
    for (let block = 8; block < 10; block += 1) await insert(`other ${block}`)
    await insert('first')
    t.same(await counts(), [11_000, 12_000], 'the table knows it, and the view has forgotten it')
    t.ok((await store.parts.lastBlock('t_few')) < 100, 'of which the blocks of the table alone say nothing')
  },
)
