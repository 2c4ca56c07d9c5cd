// Queries that are short and cost the engine much before they run: it cannot be stopped while it plans.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { byTier, everyNth } from '../support/tier.ts'

const service = await openTestService(t)
const columns = Array.from({ length: 400 }, (_, index) => `c${index} Int64`).join(', ')
await service.create('wide', columns)
await service.create('few', 'a Int64, b Int64, s String')
await service.append('few', 'csv', '1,2,x\n3,4,y\n')

function list(count: number, item: (index: number) => string, separator = ', '): string {
  return Array.from({ length: count }, (_, index) => item(index)).join(separator)
}

function nested(depth: number, around: (inner: string) => string, innermost: string): string {
  return Array.from({ length: depth }).reduce<string>((inner) => around(inner), innermost)
}

function joined(count: number): string {
  return `few AS t ${list(count, (index) => `JOIN few AS t${index} ON t.a = t${index}.a`, ' ')}`
}

// Each kept a session for seconds to minutes, or took more than a gigabyte.
const heavy: Readonly<Record<string, string>> = {
  'columns of nested asterisks': `SELECT * FROM ${nested(55, (inner) => `(SELECT * FROM ${inner})`, 'wide')}`,
  'asterisks of asterisks': `SELECT * FROM ${nested(14, (inner) => `(SELECT *, * FROM ${inner})`, 'few')}`,
  'functions over nested asterisks': `SELECT * FROM ${nested(30, (inner) => `(SELECT * APPLY(x -> toString(x)) FROM ${inner})`, 'wide')}`,
  'a long chain of APPLY': `SELECT * ${'APPLY(toString) '.repeat(900)} FROM wide`,
  'APPLY that doubles': `SELECT * ${'APPLY(x -> concat(toString(x), toString(x))) '.repeat(12)} FROM wide`,
  'COLUMNS a thousand times': `SELECT ${list(1000, () => "COLUMNS('c')")} FROM wide`,
  'tens of thousands of expressions': `SELECT ${list(15_000, (index) => `a+${index}`)} FROM few`,
  'names that double': `SELECT a + b AS x0, ${list(16, (index) => `x${index} + x${index} AS x${index + 1}`)} FROM few`,
  'a chain of names': `SELECT a AS x0, ${list(1500, (index) => `x${index} + 1 AS x${index + 1}`)} FROM few`,
  'a chain of names in reverse': `SELECT ${list(1500, (index) => `x${index + 1} + 1 AS x${index}`)}, a AS x1500 FROM few`,
  'tuples that double': `SELECT x FROM ${nested(24, (inner) => `(SELECT (x, x) AS x FROM ${inner})`, '(SELECT a AS x FROM few)')}`,
  'tuples that double without a name': `SELECT * FROM ${nested(24, (inner) => `(SELECT * APPLY(x -> (x, x)) FROM ${inner})`, 'few')}`,
  'many windows': `SELECT ${list(1000, (index) => `sum(a) OVER (ORDER BY b + ${index})`)} FROM few`,
  'many definitions of windows': `SELECT a FROM few WINDOW ${list(2000, (index) => `w${index} AS (PARTITION BY a ORDER BY b)`)}`,
  'many joins': `SELECT count() FROM ${joined(240)}`,
  'many table functions': `SELECT count() FROM ${list(1000, (index) => `numbers(1) AS t${index}`)}`,
  'a union of asterisks': list(250, () => 'SELECT * FROM wide', ' UNION ALL '),
  'a common table that is read often': `WITH c AS (SELECT ${list(400, (index) => `a+${index} AS k${index}`)} FROM few) ${list(60, () => 'SELECT count() FROM c', ' UNION ALL ')}`,
  'common tables of joins': `WITH c AS (SELECT 1 AS q FROM ${list(20, (index) => `numbers(1) AS t${index}`)}) SELECT ${list(200, () => '(SELECT q FROM c)')}`,
  'many scalar subqueries': `SELECT ${list(5000, (index) => `(SELECT ${index})`)}`,
  'long conditions': `SELECT count() FROM few WHERE ${list(4000, (index) => `a < b + ${index}`, ' AND ')}`,
  'conditions by function': `SELECT count() FROM few WHERE and(${list(4000, (index) => `a < b + ${index}`)})`,
  'constants that are computed': `SELECT ${list(300, (index) => `arraySum(i -> length(arraySort(range(100000))), range(${index + 1000}))`)}`,
  'queries behind IN': `SELECT a FROM few WHERE a IN ${nested(20, (inner) => `(SELECT a FROM few WHERE a IN ${inner})`, '(1)')}`,
  'queries behind NOT IN, in brackets': `SELECT a FROM few WHERE a NOT IN ${nested(20, (inner) => `((SELECT a FROM few WHERE a GLOBAL NOT IN ${inner}))`, '(1)')}`,
  'queries behind IN without a table': `SELECT 1 IN ${nested(22, (inner) => `(SELECT 1 IN ${inner})`, '(1)')}`,
  'queries behind the function in': `SELECT a FROM few WHERE ${nested(20, (inner) => `notIn(a, (SELECT a FROM few WHERE ${inner}))`, 'a = 1')}`,
  'queries behind ANY': `SELECT a FROM few WHERE a = ANY ${nested(20, (inner) => `(SELECT a FROM few WHERE a = ANY ${inner})`, '(SELECT 1)')}`,
  'queries behind IN of joins': `SELECT a FROM few ${nested(20, (inner) => `WHERE a IN (SELECT t.a FROM few AS t JOIN few AS u ON t.a = u.a AND t.b IN (SELECT b FROM few ${inner}))`, '')}`,
  'common tables that stand behind IN': `WITH c0 AS (SELECT a FROM few), ${list(22, (index) => `c${index + 1} AS (SELECT a FROM few WHERE a IN (SELECT a FROM c${index}))`)} SELECT count() FROM c22`,
  'common tables behind IN by their names': `WITH c0 AS (SELECT a FROM few), ${list(22, (index) => `c${index + 1} AS (SELECT a FROM few WHERE a IN c${index})`)} SELECT count() FROM c22`,
  'many keys': `SELECT count() FROM few GROUP BY ${list(12_000, (index) => `a+${index}`)}`,
}

t.test('a query that would keep the engine busy before it runs is refused', async (t) => {
  for (const [name, sql] of Object.entries(heavy)) {
    const { status, json } = await service.call('POST', '/v0/sql', { body: sql })
    t.equal(status, 400, name)
    t.match(
      json,
      { error: /^The query is too complex: .*Select fewer columns/, documentation: /#sql_too_complex$/ },
      name,
    )
  }
  t.equal(await service.sql('SELECT count() FROM few FORMAT TSV'), '2\n')
})

const generous: Readonly<Record<string, string>> = {
  'two thousand columns': `SELECT ${list(2000, (index) => `round(a * ${index}, 2) AS c${index}`)} FROM few`,
  'an asterisk through ten queries':
    `SELECT * FROM ${nested(10, (inner) => `(SELECT *, c0 + 1 AS more FROM ${inner})`, 'wide')}`.replaceAll(
      '*, c0 + 1 AS more',
      '* REPLACE (c0 + 1 AS c0)',
    ),
  'fifty windows': `SELECT ${list(50, (index) => `sum(a) OVER (PARTITION BY b ORDER BY s, a + ${index}) AS w${index}`)} FROM few`,
  'six queries behind IN, one within the other': `SELECT a FROM few WHERE a IN ${nested(6, (inner) => `(SELECT a FROM few WHERE a IN ${inner} AND b > 0)`, '(1)')}`,
  'forty queries behind IN side by side': `SELECT a FROM few WHERE ${list(40, (index) => `a IN (SELECT a FROM few WHERE b > ${index})`, ' AND ')}`,
  'twenty joins': `SELECT t.* FROM ${joined(20)}`,
  'a long list behind IN': `SELECT count() FROM few WHERE a IN (${list(62_000, (index) => String(index % 10), ',')})`,
  'negative numbers and texts behind IN': `SELECT count() FROM few WHERE a IN (${list(9000, (index) => `-${index}`)}) OR s IN (${list(8000, (index) => `'${index}'`)})`,
  'tuples behind IN': `SELECT count() FROM few WHERE (a, b) IN (${list(9000, (index) => `(${index},${index})`)})`,
  'an array of numbers': `SELECT length([${list(20_000, String)}])`,
  'names of names': `SELECT a AS x0, ${list(60, (index) => `x${index} + b AS x${index + 1}`)} FROM few`,
  'a name that hides its column': `SELECT * FROM ${nested(10, (inner) => `(SELECT toInt64(a) AS a, (b, b).1 AS b FROM ${inner})`, 'few')}`,
  'five hundred conditions': `SELECT count() FROM few WHERE ${list(500, (index) => `(a = ${index} AND b = ${index})`, ' OR ')}`,
  'a CASE of a thousand branches': `SELECT CASE ${list(1000, (index) => `WHEN a = ${index} THEN ${index}`, ' ')} END FROM few`,
  'a hundred tables in a union': list(100, () => 'SELECT a, b FROM few', ' UNION ALL '),
  'fifty scalar subqueries': `WITH ${list(50, (index) => `(SELECT max(a) + ${index} FROM few) AS m${index}`)} SELECT ${list(50, (index) => `m${index}`)}`,
  'padded texts': `SELECT ${list(300, (index) => `leftPad(toString(a), 2, '0') AS p${index}`)} FROM few`,
  'aggregates of all columns': 'SELECT * APPLY(sum), * APPLY(x -> max(abs(x))) FROM wide',
}

t.test('a large query that is planned at once is answered', async (t) => {
  for (const [name, sql] of everyNth(Object.entries(generous), byTier({ quick: 2, full: 1, soak: 1 }))) {
    const { status, text } = await service.call('POST', '/v0/sql', { body: sql })
    t.equal(status, 200, `${name}: ${text.slice(0, 300)}`)
  }
})

t.test('what nodes read counts as often as it is read, and the node is named', async (t) => {
  const nodes = [
    { name: 'n0', sql: `SELECT ${list(500, (index) => `a + ${index} AS k${index}`)} FROM few` },
    { name: 'n1', sql: list(8, () => 'SELECT * FROM n0', ' UNION ALL ') },
    { name: 'n2', sql: 'SELECT count() FROM n1 UNION ALL SELECT count() FROM n1' },
  ]
  const answer = (count: number) =>
    service.call('POST', '/v0/pipes', {
      body: JSON.stringify({ name: `p${count}`, nodes: nodes.slice(0, count) }),
      headers: { 'content-type': 'application/json' },
    })
  t.equal((await answer(2)).status, 200)
  t.equal(await service.sql('SELECT count() FROM p2 FORMAT TSV'), '16\n')
  const refused = await answer(3)
  t.equal(refused.status, 400)
  t.match(refused.json, { error: /The query is too complex: / })
  const outside = await service.call('POST', '/v0/sql', { body: 'SELECT 1 FROM p2 UNION ALL SELECT 2 FROM p2' })
  t.match(outside.json, { error: /^The query is too complex/ })
})
