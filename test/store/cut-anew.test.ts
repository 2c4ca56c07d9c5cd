import { Int32 } from 'apache-arrow'
import t from 'tap'
import type { PartExpression } from '../../src/codec/arrow/part-expression.ts'
import type { CheckedExpression } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import type { AppendRequest } from '../../src/store/store.types.ts'
import { checked } from '../support/checked-text.ts'
import { arrowPart, numbers } from '../support/store/arrow-part.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

// A block of events that is inserted again after a crash is parsed anew out of the log, and its rows then come in other parts
// than before. Its token has to be the same.

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const rowCount = 1_200
const values = Int32Array.from({ length: rowCount }, (_, row) => row)
const window = 'SETTINGS non_replicated_deduplication_window = 1000'
const column = { column: 'c', expression: checked<PartExpression>('c') }

function requestOf(table: string, partCount: number, more: Partial<AppendRequest> = {}): AppendRequest {
  const step = Math.ceil(rowCount / partCount)
  const parts = Array.from({ length: partCount }, (_, part) =>
    arrowPart([{ name: 'c', data: numbers(new Int32(), values.slice(part * step, (part + 1) * step)) }]),
  )
  const layout = { fields: [{ name: 'c', engineType: 'Int32' }], targets: [column] }
  return { table, layout, parts, rowCount, blockId: 'block', mayBeCutAnew: true, ...more }
}

async function rowsOf(table: string): Promise<unknown> {
  const [row] = await store.rows(`SELECT count() AS rows, sum(c) AS sum FROM ws_0001.${table}`)
  return row
}

const once = { rows: rowCount, sum: (rowCount * (rowCount - 1)) / 2 }
const cuts = [3, 1, 2, 7, 12, 1, 3] as const

t.test('a block is stored once, in whatever parts its rows come', async (t) => {
  await store.command(`CREATE TABLE ws_0001.t_plain (c Int32) ENGINE = MergeTree ORDER BY c ${window}`)
  for (const partCount of cuts) {
    await store.append(requestOf('t_plain', partCount))
    t.match(await rowsOf('t_plain'), once, `in ${partCount} parts`)
  }
})

t.test('so it is behind views, of which one computes sums', async (t) => {
  await store.command('CREATE TABLE ws_0001.t_landing (c Int32) ENGINE = Null')
  await store.command(`CREATE TABLE ws_0001.t_target (c Int32) ENGINE = MergeTree ORDER BY c ${window}`)
  await store.command('CREATE MATERIALIZED VIEW ws_0001.t_view TO ws_0001.t_target AS SELECT c FROM ws_0001.t_landing')
  await store.command(`CREATE TABLE ws_0001.t_sums (k Int32, s Int64) ENGINE = SummingMergeTree ORDER BY k ${window}`)
  await store.command(
    'CREATE MATERIALIZED VIEW ws_0001.t_sum_view TO ws_0001.t_sums AS SELECT c % 10 AS k, sum(c) AS s FROM ws_0001.t_target GROUP BY k',
  )
  for (const partCount of cuts) {
    await store.append(requestOf('t_landing', partCount))
    t.match(await rowsOf('t_target'), once, `in ${partCount} parts`)
    t.match((await store.rows('SELECT sum(s) AS sum FROM ws_0001.t_sums'))[0], { sum: once.sum })
  }
})

t.test('so it is where one INSERT takes some of its partitions', async (t) => {
  await store.command(
    `CREATE TABLE ws_0001.t_parted (c Int32) ENGINE = MergeTree PARTITION BY c % 40 ORDER BY c ${window}`,
  )
  // As `schema` gives it.
  const partition = { key: 'c % 40' as CheckedExpression, columns: [column], partitionsMax: 12 }
  for (const partCount of cuts) {
    await store.append(requestOf('t_parted', partCount, { partition }))
    t.match(await rowsOf('t_parted'), once, `in ${partCount} parts`)
  }
})

t.test(
  'so it is where its partitions are looked at one time and not another: nearly full tables are looked at',
  async (t) => {
    await store.command(
      `CREATE TABLE ws_0001.t_looked (c Int32) ENGINE = MergeTree PARTITION BY c % 40 ORDER BY c ${window}`,
    )
    const bound = { key: 'c % 40' as CheckedExpression, columns: [column], partitionsMax: Number.MAX_SAFE_INTEGER }
    await store.append(requestOf('t_looked', 3))
    await store.append(requestOf('t_looked', 3, { partition: { ...bound, looksAlways: true } }))
    await store.append(requestOf('t_looked', 3, { partition: bound }))
    t.match(await rowsOf('t_looked'), once)
  },
)

t.test('its rows keep their order', async (t) => {
  await store.command(`CREATE TABLE ws_0001.t_order (c Int32) ENGINE = MergeTree ORDER BY tuple() ${window}`)
  await store.append(requestOf('t_order', 12))
  const [row] = await store.rows('SELECT groupArray(c) = range(1200) AS isInOrder FROM ws_0001.t_order')
  t.match(row, { isInOrder: 1 })
})
