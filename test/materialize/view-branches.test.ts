import t from 'tap'
import { branchQueries } from '../../src/materialize/view-branches.ts'
import { readViewQuery, ViewQueryFault } from '../../src/materialize/view-query.ts'
import type { CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { ownQuery } from '../../src/sql/own-query.ts'
import { parseStatement } from '../../src/sql/parse-statement.ts'
import { StoreError } from '../../src/store/store-error.ts'

/** The names that stand behind SELECT, as far as they can be read; `outside` is what no query of its own can read. */
async function describe(sql: CheckedQuery) {
  if (/\boutside\b/.test(sql)) throw new StoreError({ kind: 'engine', message: 'Unknown table', clickhouseCode: 60 })
  const scope = parseStatement(sql)?.scopes.find(({ columns }) => columns.length > 0)
  return (scope?.columns ?? []).map(({ name }) => ({ name: name ?? '?', typeText: 'UInt32' }))
}

const split = (sql: string) => branchQueries(ownQuery(sql), [], describe)

t.test('a query is one view, or one for each SELECT of its UNION ALL', async (t) => {
  const cases: readonly (readonly [sql: string, queries: readonly string[], sources: readonly string[]])[] = [
    ['SELECT a FROM ws.t1', ['SELECT a FROM ws.t1'], ['t1']],
    ['SELECT a FROM ws.t1 UNION ALL SELECT a FROM ws.t2', ['SELECT a FROM ws.t1', 'SELECT a FROM ws.t2'], ['t1', 't2']],
    [
      '(SELECT a FROM ws.t1) UNION ALL (SELECT a FROM ws.t2 UNION ALL SELECT a FROM ws.t1)',
      ['(SELECT a FROM ws.t1)', '(SELECT a FROM ws.t2)', '(SELECT a FROM ws.t1)'],
      ['t1', 't2', 't1'],
    ],
    [
      'SELECT a, b FROM ws.t1 UNION ALL SELECT b, a FROM ws.t2',
      ['SELECT a, b FROM ws.t1', 'SELECT u.`b` AS `a`, u.`a` AS `b` FROM (SELECT b, a FROM ws.t2) AS u'],
      ['t1', 't2'],
    ],
    [
      'SELECT a, count() AS c FROM (SELECT a FROM ws.t1 UNION ALL SELECT b FROM ws.t2) AS x GROUP BY a',
      [
        'SELECT a, count() AS c FROM (SELECT a FROM ws.t1) AS x GROUP BY a',
        'SELECT a, count() AS c FROM (SELECT u.`b` AS `a` FROM (SELECT b FROM ws.t2) AS u) AS x GROUP BY a',
      ],
      ['t1', 't2'],
    ],
    [
      'WITH x AS (SELECT a FROM ws.t1 UNION ALL SELECT a FROM ws.t2) SELECT a FROM x',
      ['WITH x AS (SELECT a FROM ws.t1) SELECT a FROM x', 'WITH x AS (SELECT a FROM ws.t2) SELECT a FROM x'],
      ['t1', 't2'],
    ],
    [
      'WITH 5 AS five SELECT five AS a FROM ws.t1 UNION ALL SELECT five AS a FROM ws.t2 UNION ALL SELECT a FROM ws.t3',
      [
        'WITH 5 AS five SELECT five AS a FROM ws.t1',
        'WITH 5 AS five SELECT five AS a FROM ws.t2',
        'SELECT a FROM ws.t3',
      ],
      ['t1', 't2', 't3'],
    ],
    [
      'SELECT a FROM ws.t1 JOIN (SELECT a FROM ws.t2 UNION ALL SELECT a FROM ws.t3) AS j USING a',
      ['SELECT a FROM ws.t1 JOIN (SELECT a FROM ws.t2 UNION ALL SELECT a FROM ws.t3) AS j USING a'],
      ['t1'],
    ],
    [
      'SELECT a FROM ws.t1 ORDER BY a UNION ALL SELECT a FROM ws.t2 ORDER BY a LIMIT 3',
      ['SELECT a FROM ws.t1 ORDER BY a', 'SELECT a FROM ws.t2 ORDER BY a LIMIT 3'],
      ['t1', 't2'],
    ],
  ]
  for (const [sql, queries, sources] of cases) {
    const found = (await split(sql)).map((branch) => branch.sql)
    t.same(found, queries, sql)
    t.same(
      found.map((query) => readViewQuery(query).source),
      sources,
      sql,
    )
  }
})

t.test('what no view of each SELECT gives is refused, with the reason', async (t) => {
  const many = Array.from({ length: 51 }, () => 'SELECT a FROM ws.t1').join(' UNION ALL ')
  const cases: readonly (readonly [sql: string, reason: RegExp])[] = [
    ['SELECT a FROM ws.t1 UNION DISTINCT SELECT a FROM ws.t2', /UNION DISTINCT, which compares rows/],
    ['SELECT a FROM ws.t1 UNION SELECT a FROM ws.t2', /UNION DISTINCT/],
    ['SELECT a FROM ws.t1 INTERSECT SELECT a FROM ws.t2', /through INTERSECT/],
    ['SELECT a FROM (SELECT a FROM ws.t1 UNION ALL SELECT a FROM ws.t2 EXCEPT SELECT a FROM ws.t3)', /through EXCEPT/],
    [
      'WITH x AS (SELECT a FROM ws.t1 UNION ALL SELECT a FROM ws.t2) SELECT a FROM x JOIN x AS y USING a',
      /reads 'x', which has a UNION ALL, 2 times/,
    ],
    ['SELECT a FROM (SELECT a FROM ws.t1 UNION ALL SELECT a FROM outside)', /uses names from outside of it/],
    ['SELECT a, b FROM ws.t1 UNION ALL SELECT c, c FROM ws.t2', /two columns of SELECT 2 .* write AS/],
    [many, /more than 50 SELECTs/],
  ]
  for (const [sql, reason] of cases) {
    await t.rejects(split(sql), new ViewQueryFault(''), sql)
    await split(sql).catch((thrown: unknown) => t.match(thrown, { message: reason }, sql))
  }
  t.equal((await split(many.replace(/ UNION ALL SELECT a FROM ws.t1$/, ''))).length, 50)
})
