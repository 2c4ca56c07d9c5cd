// The real engine as the judge: whether what we emit is what the caller wrote, and whether it reads a query as we do.

import t from 'tap'
import { compileQuery } from '../../src/sql/compile-query.ts'
import { checkAgreement, verifyQueryTree } from '../../src/sql/engine-agreement.ts'
import { shapeOf } from '../../src/sql/query-shape.ts'
import type { TableSource } from '../../src/sql/source.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'
import { queries } from './query-corpus.ts'

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
    const settingsText = Object.entries(settings).map(
      ([name, value]) => `${name} = ${typeof value === 'string' ? `'${value}'` : value}`,
    )
    const whole = settingsText.length === 0 ? emitted : `${emitted} SETTINGS ${settingsText.join(', ')}`
    const [source, result] = await Promise.all([syntaxTree(sql), syntaxTree(whole)])
    t.equal(withoutTables(result), withoutTables(source), sql)
  }
})

/** Tables and their aliases are what is meant to differ. */
function withoutTables(tree: string): string {
  return tree
    .replaceAll(/TableIdentifier (?:ws_0001\.t_)?(\w+)(?: \(alias \1\))?$/gm, 'TableIdentifier $1')
    .replaceAll(/Identifier ws_0001\.t_(\w+)/g, 'Identifier $1')
    .replaceAll(/'ws_0001\.t_(\w+)'/g, "'$1'")
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
    ['SELECT 1', 'ws_0001.t_ev'],
  ]
  for (const [sql, found] of cases) {
    const tree = await store.queryTree(sql, signal)
    t.throws(() => checkAgreement(reading, tree), { code: 'SQL_INVALID', message: new RegExp(found) }, sql)
  }
  t.throws(() => checkAgreement(reading, ''), { code: 'SQL_INVALID' }, 'a text of another form is no agreement')
})

t.test("the form of the engine's text is known, and another one is noticed", async (t) => {
  const { signal } = new AbortController()
  await t.resolves(verifyQueryTree((sql) => store.queryTree(sql, signal)))
  const renamed = async (sql: string): Promise<string> =>
    (await store.queryTree(sql, signal)).replaceAll('IDENTIFIER', 'NAME')
  await t.rejects(verifyQueryTree(renamed), /unknown form/)
  await t.rejects(
    verifyQueryTree(async () => 'QUERY id: 0'),
    /unknown form/,
  )
})

t.test('asking the engine how it reads a query runs nothing of it', async (t) => {
  const { signal } = new AbortController()
  await t.resolves(store.queryTree('SELECT (SELECT throwIf(1)), sleep(3) FROM numbers(1e18)', signal))
  await t.rejects(store.queryTree('SELECT (', signal), /Syntax error/)
  const counted = /^Syntax error: failed at position 14 \(2\)/
  await t.rejects(store.queryTree('SELECT 1 , , 2', signal), { message: counted }, 'counted in the query alone')
})

t.test('queries that differ in their literals have the same shape', async (t) => {
  t.equal(shapeOf("SELECT 'a', 1.5, x FROM t WHERE y IN (1, 2)"), shapeOf("SELECT '', 7, x FROM t WHERE y IN (3, 4)"))
  t.not(shapeOf('SELECT a'), shapeOf('SELECT b'))
  t.not(shapeOf('SELECT f(1)'), shapeOf('SELECT f(1, 2)'))
  t.not(shapeOf("SELECT joinGet('ws.t_1', 'a', 1)"), shapeOf("SELECT joinGet('ws.t_2', 'a', 1)"))
})
