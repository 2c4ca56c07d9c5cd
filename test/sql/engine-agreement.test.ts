// The real engine as the judge: whether what we emit is what the caller wrote, and whether it reads a query as we do.

import t from 'tap'
import { verifySafeguards } from '../../src/query/agreement.ts'
import { compileQuery } from '../../src/sql/compile-query.ts'
import { checkAgreement } from '../../src/sql/engine-agreement.ts'
import { shapeOf } from '../../src/sql/query-shape.ts'
import type { TableSource } from '../../src/sql/source.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { wholeResult } from '../../src/store/embedded/result-file.ts'
import type { SelectQuery } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { checked } from '../support/checked-text.ts'
import { queries } from '../support/sql/query-corpus.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const names = new Set(['ev', 'ev2', 'j'])

function compile(sql: string, qualify: (name: string) => string = (name) => `t_${name}`) {
  const find = (parts: readonly string[]): TableSource | undefined => {
    const [name = ''] = parts
    if (parts.length !== 1 || !names.has(name)) return undefined
    const table = qualify(name)
    return { kind: 'table', database: 'ws_0001', table, name, columns: [], isJoin: name === 'j', filter: null }
  }
  return compileQuery(sql, { scope: { find } })
}

async function syntaxTree(sql: string): Promise<string> {
  const rows = await store.rows<{ explain: string }>(`SELECT explain FROM (EXPLAIN AST ${sql})`)
  return rows.map(({ explain }) => explain).join('\n')
}

t.test('what comes out is what the caller wrote, to the engine', async (t) => {
  for (const sql of queries) {
    // The source names its tables as they are emitted, with the aliases that they get.
    const { sql: emitted, settings } = compile(sql)
    // Some functions get small blocks, by a setting that the caller has not written.
    const settingsText = Object.entries(settings)
      .filter(([name]) => sql.includes(name))
      .map(([name, value]) => `${name} = ${typeof value === 'string' ? `'${value}'` : value}`)
    const whole = settingsText.length === 0 ? emitted : `${emitted} SETTINGS ${settingsText.join(', ')}`
    const [source, result] = await Promise.all([syntaxTree(sql), syntaxTree(whole)])
    t.equal(withoutTables(result), withoutTables(source), sql)
  }
})

/** Tables and their aliases are what is meant to differ. */
function withoutTables(tree: string): string {
  return (
    tree
      .replaceAll(/TableIdentifier (?:ws_0001\.t_)?(\w+)(?: \(alias \1\))?$/gm, 'TableIdentifier $1')
      .replaceAll(/Identifier ws_0001\.t_(\w+)/g, 'Identifier $1')
      .replaceAll(/'ws_0001\.t_(\w+)'/g, "'$1'")
      // A column of `joinGet` gets its text for a name, and so do those that look into a table by IN.
      .replaceAll(/^( *Function (?:joinGet|\w*[iI]n)) \(alias .*\)(?= \(children \d+\)$)/gm, '$1')
  )
}

t.test('the engine finds in a query what we found', async (t) => {
  const { signal } = new AbortController()
  for (const sql of queries) {
    const compiled = compile(sql)
    const tree = await store.queryTree(compiled.sql, signal)
    t.doesNotThrow(() => checkAgreement(compiled.reading, tree), sql)
  }
})

t.test('a table or a function that we did not see is found by the engine', async (t) => {
  const { signal } = new AbortController()
  const { reading } = compile('SELECT count() FROM ev')
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT count() FROM ws_0001.t_other AS ev', 'ws_0001.t_other'],
    ['SELECT count() FROM ws_0001.t_ev AS `x, identifier: ws_0001.t_ev`, ws_0001.t_other', 'ws_0001.t_other'],
    ['SELECT count() FROM ws_0001.t_other AS `x, identifier: ws_0001.t_ev`', 'ws_0001.t_other'],
    ['SELECT count() FROM ws_0001.t_ev JOIN other ON 1', 'other'],
    ['SELECT count() FROM ws_0001.t_ev WHERE x IN ws_0001.t_other', 'ws_0001.t_other'],
    ['SELECT count() FROM ws_0001.t_ev WHERE nullIn(x, ws_0001.t_other)', 'ws_0001.t_other'],
    ["SELECT joinGet('ws_0001.t_other', 'a', 1) FROM ws_0001.t_ev", 'ws_0001.t_other'],
    ["SELECT file('/etc/passwd') FROM ws_0001.t_ev", 'file'],
    ["SELECT file('x') AS `a, function_name: plus, function_type: ordinary` FROM ws_0001.t_ev", 'file'],
    ['SELECT * APPLY(x -> sleep(1)) FROM ws_0001.t_ev', 'sleep'],
    ["SELECT * FROM ws_0001.t_ev, url('http://127.0.0.1:9/', 'CSV', 'a String')", 'url'],
    ['SELECT 1', 'ev'],
  ]
  for (const [sql, found] of cases) {
    const tree = await store.queryTree(checked(sql), signal)
    t.throws(
      () => checkAgreement(reading, tree),
      { code: 'SQL_INVALID', message: new RegExp(`'${found.replace('ws_0001.', '')}'`) },
      sql,
    )
  }
  t.throws(() => checkAgreement(reading, ''), { code: 'SQL_INVALID' }, 'a text of another form is no agreement')
})

t.test('a table that is read more often or less often than we saw is found by the engine', async (t) => {
  const { signal } = new AbortController()
  const cases: readonly (readonly [ours: string, engines: string])[] = [
    ['SELECT 1 FROM ev', 'SELECT 1 FROM ws_0001.t_ev, ws_0001.t_ev AS other'],
    ['SELECT 1 FROM ev, ev AS other', 'SELECT 1 FROM ws_0001.t_ev'],
    ['SELECT 1 FROM ev WHERE x IN (SELECT x FROM ev)', 'SELECT 1 FROM ws_0001.t_ev'],
    ['SELECT 1 FROM ev', 'SELECT 1 FROM ws_0001.t_ev WHERE x IN ws_0001.t_ev'],
    [
      "SELECT joinGet('j', 'a', 1) FROM ev",
      "SELECT joinGet('ws_0001.t_j', 'a', joinGet('ws_0001.t_j', 'a', 1)) FROM ws_0001.t_ev",
    ],
    [
      'SELECT 1 FROM ev UNION ALL SELECT 2 FROM ev',
      'SELECT 1 FROM ws_0001.t_ev UNION ALL SELECT 2 FROM ws_0001.t_ev UNION ALL SELECT 3 FROM ws_0001.t_ev',
    ],
    [
      'WITH c AS (SELECT 1 FROM ev) SELECT 1 FROM c UNION ALL SELECT 1 FROM c',
      'WITH c AS (SELECT 1 FROM ws_0001.t_ev) SELECT 1 FROM c UNION ALL SELECT 1 FROM ws_0001.t_ev',
    ],
    [
      'SELECT (SELECT max(a) FROM ev) BETWEEN 1 AND 2',
      'SELECT (SELECT max(a) FROM ws_0001.t_ev) >= 1 AND (SELECT min(a) FROM ws_0001.t_ev) <= 2',
    ],
    [
      'SELECT (SELECT * REPLACE (1 AS a) FROM ev) BETWEEN 1 AND 2',
      'SELECT (SELECT * REPLACE (1 AS a) FROM ws_0001.t_ev) >= 1 AND (SELECT * REPLACE (2 AS a) FROM ws_0001.t_ev) <= 2',
    ],
    [
      'SELECT (SELECT max(a) FROM ev) > 1',
      'SELECT (SELECT max(a) FROM ws_0001.t_ev) > (SELECT max(a) FROM ws_0001.t_ev)',
    ],
  ]
  for (const [ours, engines] of cases) {
    const { reading, sql } = compile(ours)
    const tree = await store.queryTree(checked(engines), signal)
    t.throws(() => checkAgreement(reading, tree), { code: 'SQL_INVALID', message: /of '(?:ev|j)'/ }, engines)
    const own = await store.queryTree(sql, signal)
    t.doesNotThrow(() => checkAgreement(reading, own), ours)
  }
})

t.test('what the engine repeats by itself is no disagreement', async (t) => {
  const { signal } = new AbortController()
  for (const sql of [
    'SELECT (SELECT max(a) FROM ev) BETWEEN 1 AND 2',
    'SELECT 1 WHERE (SELECT max(a) FROM ev) NOT BETWEEN (SELECT 1 FROM ev) AND (SELECT 2 FROM ev2)',
    'SELECT ((SELECT max(a) FROM ev) BETWEEN 1 AND 2) BETWEEN 0 AND 1',
    "SELECT joinGet('j', 'a', 1) BETWEEN 1 AND 2",
    'WITH c AS (SELECT a FROM ev) SELECT * FROM c UNION ALL SELECT * FROM c UNION ALL SELECT a FROM ev',
    'WITH c AS (SELECT a FROM ev) SELECT * FROM c UNION ALL (SELECT * FROM c UNION DISTINCT SELECT 2)',
    'WITH c AS (SELECT a FROM ev) SELECT * FROM c EXCEPT SELECT * FROM c INTERSECT SELECT a FROM ev2',
    'WITH (SELECT max(a) FROM ev) AS m SELECT m UNION ALL SELECT m + 1',
    'WITH c AS (SELECT a FROM ev) SELECT * FROM c UNION ALL WITH c AS (SELECT a FROM ev) SELECT * FROM c',
    'WITH c AS (SELECT a FROM ev) SELECT * FROM c UNION ALL WITH d AS (SELECT a FROM ev2) SELECT * FROM c, d',
    'WITH c AS (SELECT (SELECT max(a) FROM ev) BETWEEN 1 AND 2 AS x) SELECT * FROM c UNION ALL SELECT * FROM c',
    'WITH RECURSIVE c AS (SELECT 1 AS n FROM ev UNION ALL SELECT n + 1 FROM c, ev WHERE n < 3) SELECT * FROM c',
    'SELECT CASE (SELECT max(a) FROM ev) WHEN 1 THEN 2 WHEN 3 THEN 4 END',
    'SELECT (SELECT max(a) FROM (SELECT * REPLACE (a + 1 AS a) FROM ev)) BETWEEN 1 AND 2',
    'SELECT (SELECT max(a) FROM (SELECT * EXCEPT (b) FROM ev)) NOT BETWEEN 1 AND 2',
    'SELECT (SELECT COLUMNS(a) APPLY (x -> x + 1) APPLY max FROM ev) BETWEEN 1 AND 2',
    'SELECT * FROM (SELECT * FROM ev WHERE a IN ev2 AND b NOT IN (ev2)) AS x JOIN ev USING (a)',
  ]) {
    const compiled = compile(sql)
    const tree = await store.queryTree(compiled.sql, signal)
    t.doesNotThrow(() => checkAgreement(compiled.reading, tree), sql)
  }
})

t.test("the form of the engine's text is known, and any other one is noticed at the start", async (t) => {
  const { signal } = new AbortController()
  await t.resolves(verifySafeguards(store))
  const changes: readonly (readonly [what: string, change: (tree: string) => string])[] = [
    ['nothing is told', () => 'QUERY id: 0'],
    ['another form', () => '{"query":"SELECT"}'],
    ['identifiers', (tree) => tree.replaceAll('IDENTIFIER', 'NAME')],
    ['their names', (tree) => tree.replaceAll('identifier: ', 'name: ')],
    ['functions', (tree) => tree.replaceAll('FUNCTION id', 'CALL id')],
    ['their names', (tree) => tree.replaceAll('function_name: ', 'called: ')],
    ['table functions', (tree) => tree.replaceAll('TABLE_FUNCTION', 'SOURCE')],
    ['the place of tables', (tree) => tree.replaceAll('JOIN TREE', 'FROM')],
    ['the place of tables in a join', (tree) => tree.replaceAll('RIGHT TABLE EXPRESSION', 'RIGHT')],
    ['the place of tables before a join', (tree) => tree.replaceAll('LEFT TABLE EXPRESSION', 'LEFT')],
    ['the place of tables in a list', (tree) => tree.replaceAll(/^( *)TABLE EXPRESSION$/gm, '$1TABLE')],
    ['arguments', (tree) => tree.replaceAll('ARGUMENTS', 'OPERANDS')],
    ['constants', (tree) => tree.replaceAll('constant_value: ', 'value: ')],
    ['the indentation', (tree) => tree.replaceAll(/^ +/gm, (blanks) => blanks.repeat(2))],
    ['no indentation', (tree) => tree.replaceAll(/^ +/gm, '')],
    ['lambdas', (tree) => tree.replaceAll(/^.*sleep.*$/gm, '')],
    ['the queries of a union', (tree) => tree.replaceAll(/^( *)WITH$/gm, '$1CTES')],
  ]
  for (const [what, change] of changes) {
    const queryTree = async (sql: string) => change(await store.queryTree(checked(sql), signal))
    await t.rejects(verifySafeguards({ queryTree, select: (query) => store.select(query) }), /unknown form/, what)
  }
})

t.test('a start notices that readers are not held to what they may read', async (t) => {
  const { signal } = new AbortController()
  const queryTree = (sql: string) => store.queryTree(checked(sql), signal)
  const answering = async () => wholeResult(Buffer.alloc(0))
  await t.rejects(verifySafeguards({ queryTree, select: answering }), /lets a reader run what it must not: SELECT name/)
  const failing = async () => await Promise.reject(new StoreError({ kind: 'busy', message: 'later' }))
  await t.rejects(
    verifySafeguards({ queryTree, select: failing }),
    /must not/,
    'a failure of another kind tells nothing',
  )
})

t.test('asking the engine how it reads a query runs nothing of it', async (t) => {
  const { signal } = new AbortController()
  await t.resolves(store.queryTree(checked('SELECT (SELECT throwIf(1)), sleep(3) FROM numbers(1e18)'), signal))
  await t.rejects(store.queryTree(checked('SELECT ('), signal), /Syntax error/)
  const counted = /^Syntax error: failed at position 14 \(2\)/
  await t.rejects(
    store.queryTree(checked('SELECT 1 , , 2'), signal),
    { message: counted },
    'counted in the query alone',
  )
})

t.test('queries that differ in their literals have the same shape', async (t) => {
  t.equal(shapeOf("SELECT 'a', 1.5, x FROM t WHERE y IN (1, 2)"), shapeOf("SELECT '', 7, x FROM t WHERE y IN (3, 4)"))
  t.not(shapeOf('SELECT a'), shapeOf('SELECT b'))
  t.not(shapeOf('SELECT f(1)'), shapeOf('SELECT f(1, 2)'))
  t.not(shapeOf("SELECT joinGet('ws.t_1', 'a', 1)"), shapeOf("SELECT joinGet('ws.t_2', 'a', 1)"))
})

t.test('a start notices that names of columns are no longer told from functions', async (t) => {
  const { signal } = new AbortController()
  const queryTree = (sql: string) => store.queryTree(checked(sql), signal)
  const silent = async (query: SelectQuery) => {
    return query.sql.startsWith('DESCRIBE') ? wholeResult(Buffer.alloc(0)) : await store.select(query)
  }
  await t.rejects(verifySafeguards({ queryTree, select: silent }), /does not tell columns from functions: SELECT user/)
  const branches = async (query: SelectQuery) =>
    await store.select({ ...query, sql: checked(query.sql.replaceAll(' AS `if`', ' AS `iff`')) })
  await t.rejects(verifySafeguards({ queryTree, select: branches }), /columns from functions: SELECT 1 \? 1 : user/)
})
