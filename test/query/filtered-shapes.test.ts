// Queries that the engine writes anew for itself, repeating what they say, by readers whose rows are filtered.

import t from 'tap'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { byTier, everyNth } from '../support/tier.ts'

const { store, workspace, ask: answerOf } = await openFilteredQuery(t, { unfiltered: ['shown'] })
const columns = 'id Int32, tenant LowCardinality(String), body JSON, tags Array(LowCardinality(String))'
const hiding = workspace.addDataSource('hiding', columns)
const shown = workspace.addDataSource('shown', columns)
workspace.addPipe('top', { all: 'SELECT max(id) AS m FROM hiding' }, 'all')
workspace.addPipe('shown_top', { all: 'SELECT max(id) AS m FROM shown' }, 'all')

for (const { id } of [hiding, shown]) {
  await store.command(`CREATE TABLE ws_0001.${id} (${columns}) ENGINE = MergeTree ORDER BY id`)
  await store.command(`INSERT INTO ws_0001.${id} SELECT number, 'a', '{"x": 1}', [toString(number)] FROM numbers(20)`)
}
await store.command(`INSERT INTO ws_0001.${hiding.id} SELECT 100, 'b', '{"y": 1}', ['z'] FROM numbers(20)`)

const ask = async (sql: string): Promise<string> => (await answerOf(sql)).toString()

const scalars = [
  '(SELECT max(id) FROM hiding)',
  '(SELECT m FROM top)',
  '(SELECT count() FROM hiding WHERE tenant = tenant)',
  '(SELECT length(any(tags)) FROM hiding)',
  '(SELECT max(id) FROM (SELECT * EXCEPT (body) FROM hiding))',
  '(SELECT max(id) FROM (SELECT * REPLACE (id + 1 AS id) FROM hiding))',
  '(SELECT max(id) FROM (SELECT id, * APPLY (x -> toString(x)) FROM hiding))',
]

const shapes: readonly ((scalar: string) => string)[] = [
  (s) => `${s} BETWEEN 1 AND 100`,
  (s) => `${s} NOT BETWEEN 1 AND 100`,
  (s) => `NOT (${s} BETWEEN 1 AND 100)`,
  (s) => `${s} BETWEEN ${s} AND ${s}`,
  (s) => `(${s} BETWEEN 1 AND 2) BETWEEN 0 AND 1`,
  (s) => `(${s} + ${s}) BETWEEN 1 AND 30`,
  (s) => `1 BETWEEN ${s} AND 30`,
  (s) => `CASE ${s} WHEN 1 THEN 2 WHEN 19 THEN 4 ELSE 5 END`,
  (s) => `CASE WHEN ${s} BETWEEN 1 AND 19 THEN ${s} ELSE 5 END`,
  (s) => `${s} IN (1, 19)`,
  (s) => `${s} NOT IN (SELECT id FROM hiding)`,
  (s) => `(${s}, 1) IN ((19, 1))`,
  (s) => `${s} > 3 ? ${s} : 0`,
  (s) => `coalesce(${s}, 0)`,
  (s) => `ifNull(${s}, ${s})`,
  (s) => `nullIf(${s}, 19)`,
  (s) => `(${s}, 2) < (20, 3)`,
  (s) => `${s} = ANY (SELECT id FROM hiding)`,
  (s) => `${s} >= ALL (SELECT id FROM hiding)`,
  (s) => `EXISTS (SELECT 1 FROM hiding WHERE ${s} BETWEEN 1 AND 2)`,
  (s) => `${s} IS DISTINCT FROM 3`,
  (s) => `${s} <=> 19`,
  (s) => `${s} IS NULL`,
  (s) => `least(${s}, 4) BETWEEN greatest(${s}, 1) AND 9`,
  (s) => `[${s}][1]`,
  (s) => `${s}::String LIKE '1%'`,
]

const places: readonly ((expression: string) => string)[] = [
  (e) => `SELECT ${e}`,
  (e) => `SELECT count() FROM hiding WHERE ${e}`,
  (e) => `SELECT count() FROM hiding PREWHERE ${e} WHERE id > 3`,
  (e) => `WITH ${e} AS w SELECT w, id FROM hiding ORDER BY id LIMIT 1`,
  (e) => `SELECT count() FROM hiding GROUP BY id % 2 HAVING ${e} ORDER BY 1`,
  (e) => `SELECT ${e} UNION ALL SELECT ${e}`,
]

t.test('a filtered reader asks what the engine repeats, and gets what its rows say', async (t) => {
  const step = byTier({ quick: 4, full: 2, soak: 1 })
  for (const [index, scalar] of scalars.entries()) {
    for (const [position, shape] of (index === 0 ? shapes : everyNth(shapes, step, index)).entries()) {
      // Each shape in each place is asked once with some scalar, and all scalars with each shape; the quick tier takes some.
      for (const place of index === 0 ? everyNth(places, Math.min(step, 2), position) : places.slice(0, 1)) {
        const sql = `${place(shape(scalar))} FORMAT TSV`
        const plain = sql.replaceAll('hiding', 'shown').replaceAll('top', 'shown_top')
        t.equal(await ask(sql), await ask(plain), sql)
      }
    }
  }
})
