// The order of rows that a reader gets whose rows are filtered, and which of them a LIMIT leaves: the engine plans by the
// sizes of tables, and none of this may tell how many rows are hidden.

import t, { type Test } from 'tap'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { byTier, everyNth } from '../support/tier.ts'

const { store, workspace, ask: answerOf } = await openFilteredQuery(t, { unfiltered: ['small', 'large'] })
const columns = 'id UInt32, tenant String, k UInt32'
const hiddenRows = { none: 0, few: 200, many: 6_000, flood: byTier({ quick: 100_000, full: 400_000, soak: 400_000 }) }
for (const [name, hidden] of Object.entries(hiddenRows)) {
  const { id } = workspace.addDataSource(name, columns)
  await store.command(
    `CREATE TABLE ws_0001.${id} (${columns}) ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = 64`,
  )
  await store.command(`INSERT INTO ws_0001.${id} SELECT number * 30, 'a', number % 97 FROM numbers(3000)`)
  // They lie between the others.
  await store.command(
    `INSERT INTO ws_0001.${id} SELECT cityHash64(number) % 90000, 'b', 1000 + number FROM numbers(${hidden})`,
  )
  await store.command(`OPTIMIZE TABLE ws_0001.${id} FINAL`)
}
for (const [name, rows] of [
  ['small', 60],
  ['large', 20_000],
] as const) {
  const { id } = workspace.addDataSource(name, columns)
  await store.command(
    `CREATE TABLE ws_0001.${id} (${columns}) ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = 16`,
  )
  await store.command(`INSERT INTO ws_0001.${id} SELECT number, 'a', number % 97 FROM numbers(${rows})`)
}

const ask = async (sql: string): Promise<string> => (await answerOf(sql)).toString()

/** What the reader gets of `SOURCE`, whatever is hidden in it. */
async function checkSame(t: Test, sql: string): Promise<void> {
  const expected = await ask(`${sql.replaceAll('SOURCE', 'none')} FORMAT TSV`)
  t.ok(expected.length > 0, sql)
  for (const name of ['few', 'many', 'flood']) {
    t.ok((await ask(`${sql.replaceAll('SOURCE', name)} FORMAT TSV`)) === expected, `${name}: ${sql}`)
  }
}

const shapes: readonly string[] = [
  'SELECT a.id, b.k FROM SOURCE AS a INNER JOIN OTHER AS b ON a.id % 2 = b.k % 2 WHERE b.id < BOUND LIMIT 6',
  'SELECT a.id, b.k FROM OTHER AS b INNER JOIN SOURCE AS a ON a.k = b.k WHERE b.id < BOUND LIMIT 6',
  'SELECT a.id, b.id FROM SOURCE AS a LEFT JOIN OTHER AS b ON a.k = b.k AND b.id < BOUND LIMIT 100',
  'SELECT a.id, b.id FROM SOURCE AS a RIGHT JOIN OTHER AS b ON a.k = b.k WHERE b.id < BOUND LIMIT 100',
  'SELECT a.id, b.id FROM SOURCE AS a FULL JOIN OTHER AS b ON a.k = b.k WHERE b.id < BOUND LIMIT 100',
  'SELECT a.id, b.id FROM SOURCE AS a, OTHER AS b WHERE a.k = b.k AND b.id < BOUND LIMIT 50',
  'SELECT a.id, b.id FROM SOURCE AS a CROSS JOIN OTHER AS b WHERE b.id < BOUND AND a.id < 900 LIMIT 50',
  'SELECT DISTINCT a.k, b.k % 3 FROM SOURCE AS a JOIN OTHER AS b ON a.id % 2 = b.k % 2 WHERE b.id < BOUND LIMIT 20',
  'SELECT b.k, count() FROM SOURCE AS a JOIN OTHER AS b ON a.k = b.k WHERE b.id < BOUND GROUP BY b.k LIMIT 5',
  'SELECT a.id, row_number() OVER (ORDER BY a.k % 2) FROM SOURCE AS a JOIN OTHER AS b ON a.k = b.k WHERE b.id < BOUND LIMIT 9',
  'SELECT a.id, b.id, c.id FROM SOURCE AS a JOIN OTHER AS b ON a.k = b.k JOIN small AS c ON b.k = c.k WHERE b.id < BOUND LIMIT 9',
  'SELECT a.id, b.id, c.id FROM small AS c JOIN OTHER AS b ON b.k = c.k JOIN SOURCE AS a ON a.k = b.k WHERE b.id < BOUND LIMIT 9',
  'SELECT a.id, b.id FROM SOURCE AS a JOIN SOURCE AS b ON a.k = b.k JOIN OTHER AS c ON c.k = a.k WHERE c.id < BOUND LIMIT 9',
  'SELECT a.id FROM SOURCE AS a LEFT SEMI JOIN OTHER AS b ON a.k = b.k AND b.id < BOUND LIMIT 9',
  'SELECT b.id FROM SOURCE AS a RIGHT ANTI JOIN OTHER AS b ON a.id = b.id WHERE b.id < BOUND LIMIT 9',
  'SELECT groupArray(7)((a.id, b.id)), any(a.id), anyLast(b.id) FROM SOURCE AS a ANY JOIN OTHER AS b ON a.k = b.k WHERE b.id < BOUND',
]

t.test('rows that are joined come in an order that tells nothing of hidden ones', async (t) => {
  const step = byTier({ quick: 4, full: 2, soak: 1 })
  for (const [index, shape] of shapes.entries()) {
    for (const bound of everyNth([16, 48, 300, 1_500], step, index)) {
      const other = bound < 50 ? 'small' : 'large'
      await checkSame(t, shape.replaceAll('OTHER', other).replaceAll('BOUND', String(bound)))
    }
  }
})

t.test('a table that is read alone comes in its own order, and its groups are those of visible rows', async (t) => {
  for (const sql of [
    'SELECT id FROM SOURCE',
    'SELECT id FROM SOURCE LIMIT 5 OFFSET 2500',
    'SELECT id FROM SOURCE WHERE k = 5 LIMIT 9',
    'SELECT DISTINCT k FROM SOURCE LIMIT 90',
    'SELECT id, k FROM SOURCE LIMIT 1 BY k LIMIT 90',
    'SELECT k FROM SOURCE WHERE id % 180 = 0 GROUP BY k LIMIT 4',
    'SELECT id FROM SOURCE GROUP BY id LIMIT 4',
    'SELECT id, count() FROM SOURCE GROUP BY id LIMIT 9',
    'SELECT intDiv(id, 60) AS g, min(id) FROM SOURCE WHERE id > 300 GROUP BY g LIMIT 3',
    'SELECT toString(id) AS g, any(k) FROM SOURCE GROUP BY g LIMIT 3',
    'SELECT id, k FROM SOURCE GROUP BY id, k LIMIT 3',
    'SELECT groupArray(id), any(id), anyLast(id), topK(3)(k) FROM SOURCE',
    'SELECT id, sum(k) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM SOURCE',
    'SELECT id FROM SOURCE WHERE k IN (SELECT k FROM SOURCE LIMIT 3) LIMIT 9',
  ]) {
    await checkSame(t, sql)
  }
})

t.test('more threads, where a template asks for them, divide no table by its hidden rows', async (t) => {
  for (const sql of [
    'SELECT id FROM SOURCE',
    'SELECT id FROM SOURCE LIMIT 5',
    'SELECT groupArray(id), any(id), anyLast(k) FROM SOURCE',
    'SELECT DISTINCT k FROM SOURCE',
    'SELECT k, any(id) FROM SOURCE GROUP BY k',
    'SELECT a.id, b.id FROM SOURCE AS a JOIN large AS b ON a.k = b.k LIMIT 9',
    'SELECT a.id, b.id FROM SOURCE AS a LEFT SEMI JOIN SOURCE AS b ON a.k = b.k LIMIT 600',
    'SELECT groupArray(9)(a.id), any(b.id), anyLast(a.id) FROM SOURCE AS a RIGHT JOIN large AS b ON a.k = b.k',
    'SELECT a.k AS g, anyLast(a.id), any(b.id) FROM SOURCE AS a RIGHT JOIN large AS b ON a.id % 7 = b.k GROUP BY g',
  ]) {
    await checkSame(t, `%\n{{ max_threads(2) }} ${sql}`)
  }
})

t.test('no setting of the query brings the order back that tells of hidden rows', async (t) => {
  const [join = ''] = shapes
  const sql = join.replaceAll('OTHER', 'large').replaceAll('BOUND', '1500')
  await checkSame(t, `${sql} SETTINGS optimize_read_in_order = 0, optimize_move_to_prewhere = 0`)
  await t.rejects(ask(`${sql.replaceAll('SOURCE', 'many')} SETTINGS query_plan_join_swap_table = 1`), {
    code: 'SQL_INVALID',
    message: /not allowed/,
  })
})
