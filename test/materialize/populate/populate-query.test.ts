import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import {
  dependsOnOrder,
  givesDistinctKeys,
  mayGroupByKey,
  readNames,
} from '../../../src/materialize/populate/populate-query.ts'
import type { CheckedQuery } from '../../../src/schema/expressions/checked-text.types.ts'

/** As far as it is looked at. */
function sortedBy(sortingKey: string): Pick<DataSource, 'columns' | 'engine'> {
  const columns = ['ts', 'user', 'path'].map((name) => ({ name }))
  const options = sortingKey === '' ? {} : { sorting_key: sortingKey }
  return { columns, engine: { name: 'MergeTree', options } } as unknown as Pick<DataSource, 'columns' | 'engine'>
}

const byHour = 'SELECT toStartOfHour(ts) AS hour, path, count() FROM ws.t GROUP BY hour, path' as CheckedQuery
const byUser = 'SELECT `user`, count() FROM ws.t GROUP BY `user`' as CheckedQuery

t.test('chunks are cut by the sorting key only where a query reads its first column', async (t) => {
  t.equal(mayGroupByKey(byHour, sortedBy('user, ts')), false)
  t.equal(mayGroupByKey(byUser, sortedBy('user, ts')), true)
  t.equal(mayGroupByKey(byHour, sortedBy('toDate(ts), user')), true, 'in an expression')
  t.equal(mayGroupByKey(byUser, sortedBy('cityHash64(path)')), false)
  t.equal(mayGroupByKey(byUser, sortedBy('')), false, 'nothing is sorted')
})

t.test('rows of different groups have different keys where the target is sorted by all that makes a group', (t) => {
  const keys = (names: string) =>
    names.split(' ').map((name) => ({ name, typeText: name === 'value' ? 'Nullable(Float64)' : 'String' }))
  const states = { name: 'hits', typeText: 'AggregateFunction(count)' }
  const last = [{ name: 'last', typeText: 'SimpleAggregateFunction(max, UInt32)' }]
  /** As far as it is looked at. */
  const given = (sql: string, sortingKey: string, name = 'AggregatingMergeTree', more: readonly object[] = []) =>
    givesDistinctKeys(
      sql as CheckedQuery,
      {
        engine: { name, options: { sorting_key: sortingKey } },
        columns: [...keys(sortingKey.replaceAll(',', '')), states, ...more],
      } as unknown as Pick<DataSource, 'columns' | 'engine'>,
    )
  const byBoth = 'SELECT toStartOfHour(ts) AS hour, path, countState() AS hits FROM ws.t GROUP BY hour, path'
  t.ok(given(byBoth, 'hour, path'))
  t.ok(given(byBoth, 'path, user, hour'))
  t.notOk(given(byBoth, 'hour'))
  t.notOk(given(byBoth, 'toDate(hour), path'))
  t.notOk(given(byBoth, 'hour, path', 'SummingMergeTree'), 'which takes away rows of zeros')
  t.notOk(given(byBoth, 'hour, path', 'ReplacingMergeTree'))
  t.notOk(given('SELECT user, countState() AS hits FROM ws.t GROUP BY user, path', 'user'))
  t.notOk(given('SELECT arrayJoin([1, 2]) AS n, user, countState() AS h FROM ws.t GROUP BY user', 'user'))
  t.notOk(given('WITH arrayJoin([1, 1]) AS n SELECT user, n, countState() AS h FROM ws.t GROUP BY user', 'user'))
  const byUser = 'SELECT user, countState() AS h FROM ws.t GROUP BY user'
  t.ok(given(byUser, 'user'))
  t.notOk(given(byUser, 'user', 'AggregatingMergeTree', last), 'which is read with FINAL')
  const byValue = 'SELECT v AS value, countState() AS h FROM ws.t GROUP BY value'
  t.notOk(given(byValue, 'value'), 'zeros of both signs are one key')
  t.end()
})

t.test('the names of a query have all columns that it reads, or it may read any', (t) => {
  const names = (sql: string) => readNames(sql as CheckedQuery)
  t.same(names("SELECT n * 2 AS twice, count(*) FROM ws.t WHERE `a b` = 'v'"), [
    ...['SELECT', 'n', 'AS', 'twice', 'count', 'FROM', 'ws', 't', 'WHERE', 'a b'],
  ])
  const others = [
    '*',
    't.*',
    'n, *',
    'DISTINCT ON (n) *',
    '* EXCEPT (n)',
    '* REPLACE (1 AS n)',
    "COLUMNS('n')",
    'uniq(*)',
  ]
  for (const list of others) t.equal(names(`SELECT ${list} FROM ws.t`), null, list)
  for (const rest of [
    '',
    ' WHERE n > 0',
    ' PREWHERE n > 0',
    ' ORDER BY n',
    ' LIMIT 3',
    ' GROUP BY n',
    ' UNION ALL SELECT 1',
  ]) {
    t.equal(names(`FROM ws.t SELECT *${rest}`), null, rest)
    t.equal(names(`FROM ws.t SELECT DISTINCT ON (n) *${rest}`), null, rest)
  }
  t.same(names('SELECT `n.s` AS a FROM t'), ['SELECT', 'n.s', 'n', 'AS', 'a', 'FROM', 't'], 'a column of Nested')
  t.same(names('SELECT (a + 1) * -2, b[1] * c FROM t'), ['SELECT', 'a', 'b', 'c', 'FROM', 't'])
  t.equal(names('SELECT n FROM ws.t WHERE (n, m) IN (SELECT * FROM ws.u)'), null)
  t.end()
})

t.test('what depends on the order of its rows is known', (t) => {
  const depends = (sql: string) => dependsOnOrder(sql as CheckedQuery)
  for (const sql of [
    byHour,
    byUser,
    'SELECT uniqState(n), quantile(0.9)(n), maxIf(n, a = 1), toDate(`any`) FROM ws.t',
  ]) {
    t.notOk(depends(sql), sql)
  }
  const functions = [
    'groupArray(n)',
    'anyLast(n)',
    'argMaxState(n, m)',
    'first_value(n)',
    'groupArrayIf(n, 1)',
    'deltaSum(n)',
  ]
  for (const call of functions) t.ok(depends(`SELECT ${call} FROM ws.t GROUP BY a`), call)
  t.ok(depends('SELECT a FROM ws.t GROUP BY a LIMIT 3'))
  t.end()
})
