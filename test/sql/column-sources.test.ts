import t from 'tap'
import { columnSources } from '../../src/sql/column-sources.ts'

const columns = ['ts', 'day', 'country', 'n', 'month']

function sources(sql: string, column: string): readonly string[] | null {
  const found = columnSources(sql, column, columns)
  return found === null ? null : [...found].sort()
}

t.test('a column is followed to those that it is made of', async (t) => {
  t.same(sources('SELECT day, sum(n) AS n FROM ws.t GROUP BY day', 'day'), ['day'])
  t.same(sources('SELECT toDate(ts) AS day, sum(n) AS n FROM ws.t AS e GROUP BY day', 'day'), ['ts'])
  t.same(sources('SELECT toDate(e.ts) AS d, toYYYYMM(d) AS m, n FROM ws.t AS e', 'm'), ['ts'])
  t.same(sources('SELECT toDate(day) AS day FROM ws.t', 'day'), ['day'])
  t.same(sources("SELECT DISTINCT if(n > 1, country, 'x') AS c FROM ws.t WHERE n IN (1, 2)", 'c'), ['country', 'n'])
  t.same(sources('SELECT ts - INTERVAL 1 DAY AS eve FROM ws.t', 'eve'), ['ts'])
  t.same(sources('SELECT * FROM ws.t', 'country'), ['country'])
  t.same(sources('SELECT e.*, 1 AS one FROM ws.t AS e', 'country'), ['country'])
  t.same(sources('SELECT count() AS c, 1 AS one FROM ws.t', 'one'), [])
})

t.test('subqueries are followed too', async (t) => {
  const sql = 'SELECT toStartOfMonth(d) AS m FROM (SELECT toDate(ts) AS d, n FROM ws.t WHERE n > 0) AS node GROUP BY m'
  t.same(sources(sql, 'm'), ['ts'])
  t.same(sources('SELECT d FROM (SELECT day AS d FROM (SELECT * FROM ws.t)) LIMIT 1', 'd'), ['day'])
})

t.test('what the text does not show is not known', async (t) => {
  for (const sql of [
    'SELECT day FROM ws.t JOIN ws.u USING (n)',
    'SELECT day FROM ws.t, ws.u',
    'SELECT day FROM ws.t UNION ALL SELECT day FROM ws.t',
    'WITH 1 AS day SELECT day FROM ws.t',
    'SELECT other AS day FROM ws.t',
    'SELECT n FROM ws.t',
    'SELECT 1',
  ]) {
    t.equal(sources(sql, 'day'), null, sql)
  }
})
