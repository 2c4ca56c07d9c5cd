import t from 'tap'
import { readViewQuery, ViewQueryFault } from '../../src/materialize/view-query.ts'
import { ownQuery } from '../../src/sql/own-query.ts'

const read = (sql: string) => readViewQuery(ownQuery(sql))

t.test('the trigger is the first table that rows come from, wherever it stands', async (t) => {
  const cases: readonly (readonly [sql: string, source: string, others: readonly string[]])[] = [
    ['SELECT a FROM ws.t1', 't1', []],
    ['SELECT a FROM (SELECT a FROM (SELECT a FROM ws.t1) AS x) AS y', 't1', []],
    ['SELECT a FROM ws.t1 AS e JOIN ws.t2 AS f ON e.a = f.a', 't1', ['t2']],
    ['SELECT a FROM ws.t1 WHERE a IN (SELECT a FROM ws.t2)', 't1', ['t2']],
    ['SELECT a FROM ws.t1 WHERE a IN ws.t2', 't1', ['t2']],
    ['WITH x AS (SELECT a FROM ws.t2) SELECT a FROM ws.t1 JOIN x USING a', 't1', ['t2']],
    ['WITH x AS (SELECT a FROM ws.t1) SELECT a FROM x', 't1', []],
    ['WITH (SELECT max(a) FROM ws.t2) AS m SELECT a, m FROM ws.t1', 't1', ['t2']],
    ['SELECT (SELECT max(a) FROM ws.t2) AS m, a FROM ws.t1', 't1', ['t2']],
    ['FROM ws.t1 SELECT a', 't1', []],
    ['(SELECT a FROM ws.t1)', 't1', []],
    ['SELECT * EXCEPT (a) FROM ws.t1', 't1', []],
    ['SELECT a FROM ws.t1 JOIN (SELECT a FROM ws.t2 UNION ALL SELECT a FROM ws.t3) AS j USING a', 't1', ['t2', 't3']],
  ]
  for (const [sql, source, others] of cases) {
    const query = read(sql)
    t.same([query.source, [...query.others].toSorted()], [source, others], sql)
  }
})

t.test('what sees no rows of a table, or not all that it reads, is refused', async (t) => {
  const cases: readonly (readonly [sql: string, reason: RegExp])[] = [
    ['SELECT 1 AS a', /reads no Data Source/],
    ['SELECT number FROM numbers(3)', /reads numbers\(\) first/],
    ['SELECT a FROM numbers(3) AS n JOIN ws.t1 ON n.number = t1.a', /reads numbers\(\) first/],
    ['SELECT a FROM ws.t1 UNION ALL SELECT a FROM ws.t1', /UNION/],
    ['(SELECT a FROM ws.t1) UNION ALL (SELECT a FROM ws.t1)', /UNION/],
    ['SELECT a FROM (SELECT a FROM ws.t1 EXCEPT SELECT a FROM ws.t2)', /UNION, INTERSECT or EXCEPT/],
    ['WITH x AS (SELECT a FROM ws.t1 UNION ALL SELECT a FROM ws.t2) SELECT a FROM x', /UNION/],
  ]
  for (const [sql, reason] of cases) {
    try {
      read(sql)
      t.fail(sql)
    } catch (thrown) {
      t.ok(thrown instanceof ViewQueryFault, sql)
      t.match(thrown, { message: reason }, sql)
    }
  }
})

t.test('keys are what is grouped by, in that order, and what comes of no aggregate', async (t) => {
  const cases: readonly (readonly [sql: string, keys: readonly string[], isGrouped: boolean])[] = [
    ['SELECT a, b, count() AS c FROM ws.t1 GROUP BY b, a', ['b', 'a'], true],
    ['SELECT toDate(a) AS day, sum(b) AS s FROM ws.t1 GROUP BY toDate(a)', ['day'], true],
    ['SELECT toDate(a) AS day, sum(b) AS s FROM ws.t1 GROUP BY day', ['day'], true],
    ['SELECT a, b, sumState(c) AS s FROM ws.t1 GROUP BY 2, 1', ['b', 'a'], true],
    ['SELECT a, sumState(c) AS s FROM ws.t1 GROUP BY ALL', ['a'], true],
    ['SELECT a, countState() AS s FROM ws.t1 GROUP BY a HAVING a > 1', ['a'], true],
    ['SELECT sum(a) AS s FROM ws.t1', [], true],
    ['SELECT a, sum(b) OVER (PARTITION BY a) AS s FROM ws.t1', ['a', 's'], false],
    ['SELECT a, b FROM ws.t1', ['a', 'b'], false],
    ['SELECT * FROM (SELECT a, count() AS c FROM ws.t1 GROUP BY a) AS x', ['a'], true],
  ]
  for (const [sql, keys, isGrouped] of cases) {
    const query = read(sql)
    t.same([query.keys, query.isGrouped], [keys, isGrouped], sql)
  }
})

t.test('what groups it has is told where it gives all that it groups by, and nothing beside', async (t) => {
  const cases: readonly (readonly [sql: string, groups: readonly string[] | null])[] = [
    ['SELECT a, b, count() AS c FROM ws.t1 GROUP BY b, a', ['b', 'a']],
    ['SELECT toDate(a) AS day, b AS e, sum(b) AS s FROM ws.t1 GROUP BY toDate(a), b', ['day', 'e']],
    ['SELECT a, count() AS c FROM ws.t1 GROUP BY 1', ['a']],
    ['SELECT * FROM (SELECT a, count() AS c FROM ws.t1 GROUP BY a) AS x', ['a']],
    ['SELECT a, count() AS c FROM ws.t1 GROUP BY a, b', null],
    ['SELECT a, count() AS c FROM ws.t1 GROUP BY a, b + 1', null],
    ['SELECT a, count() AS c FROM ws.t1 GROUP BY a WITH ROLLUP', null],
    ['SELECT a, count() AS c FROM ws.t1 GROUP BY a WITH TOTALS', null],
    ['SELECT a, count() AS c FROM ws.t1 GROUP BY ROLLUP(a)', null],
    ['SELECT a, count() AS c FROM ws.t1 GROUP BY GROUPING SETS ((a), ())', null],
    ['SELECT a, count() AS c FROM ws.t1 GROUP BY ALL', null],
    ['SELECT a % 10 AS ALL, b, count() AS c FROM ws.t1 GROUP BY ALL', null],
    ['SELECT * REPLACE (a % 10 AS a) FROM (SELECT a, count() AS c FROM ws.t1 GROUP BY a)', null],
    ['SELECT * EXCEPT (b) FROM (SELECT a, b, count() AS c FROM ws.t1 GROUP BY a, b)', null],
    ['WITH x AS (SELECT a, b, count() AS c FROM ws.t1 GROUP BY a, b) SELECT * EXCEPT (b) FROM x', null],
    ['WITH x AS (SELECT a, count() AS c FROM ws.t1 GROUP BY a) SELECT * FROM x', ['a']],
    ['SELECT count() AS c FROM ws.t1', null],
    ['SELECT a FROM ws.t1', null],
    ['SELECT a, c + 1 AS d FROM (SELECT a, count() AS c FROM ws.t1 GROUP BY a)', null],
  ]
  for (const [sql, groups] of cases) t.same(read(sql).groups, groups, sql)
})

t.test('what means something else for a block is told once, and nothing else', async (t) => {
  const cases: readonly (readonly [sql: string, warnings: readonly RegExp[]])[] = [
    ['SELECT a FROM ws.t1', []],
    ['SELECT a FROM ws.t1 ORDER BY a LIMIT 3', [/^ORDER BY/, /^LIMIT/]],
    ['SELECT DISTINCT a FROM ws.t1', [/^DISTINCT/]],
    ['SELECT count(DISTINCT a) AS c FROM ws.t1', []],
    ['SELECT a, row_number() OVER (ORDER BY a) AS i FROM ws.t1', [/^window/]],
    ['SELECT rand() AS r, now() AS n FROM ws.t1', [/rand\(\)/, /now\(\)/]],
    ['SELECT a FROM ws.t1 JOIN ws.t2 USING a', [/^JOIN/]],
    ['SELECT a FROM ws.t1 WHERE a IN (SELECT a FROM ws.t1)', [/more than once/]],
    ['SELECT a FROM ws.t1 FINAL', [/^FINAL/]],
    ['SELECT a FROM ws.t1 WHERE a IN (SELECT a FROM ws.t2 ORDER BY a LIMIT 3)', []],
  ]
  for (const [sql, warnings] of cases) {
    const found = read(sql).warnings
    t.equal(found.length, warnings.length, `${sql}: ${found}`)
    for (const [index, warning] of warnings.entries()) t.match(found[index], warning, sql)
  }
})
