import t from 'tap'
import { compileQuery } from '../../src/sql/compile-query.ts'
import type { NameScope, QuerySource, Source } from '../../src/sql/source.types.ts'

interface Workspace {
  readonly scope: NameScope
  /** How often the text of each node was asked for. */
  readonly rendered: Map<string, number>
}

/** Data sources `ev` and `us`, and pipes that read by their own scope: those before them, and what is outside. */
function workspace(pipes: Readonly<Record<string, string>> = {}, denied: readonly string[] = []): Workspace {
  const rendered = new Map<string, number>()
  const scopeOf = (isInside: boolean): NameScope => ({
    find(parts): Source | 'denied' | undefined {
      const name = parts.join('.')
      // What a token may not read itself, a pipe may read for it.
      if (!isInside && denied.includes(name)) return 'denied'
      const sql = pipes[name]
      if (sql !== undefined) {
        const render = (): string => {
          rendered.set(name, (rendered.get(name) ?? 0) + 1)
          return sql
        }
        return { kind: 'query', id: `id of ${name}`, name, sql: render, scope: scopeOf(true) } satisfies QuerySource
      }
      if (!['ev', 'us'].includes(name)) return undefined
      return { kind: 'table', database: 'ws', table: `t_${name}`, name, columns: [], isJoin: false, filter: null }
    },
  })
  return { scope: scopeOf(false), rendered }
}

function compile(sql: string, pipes: Readonly<Record<string, string>> = {}, denied: readonly string[] = []) {
  return compileQuery(sql, workspace(pipes, denied))
}

t.test('a pipe or node becomes its query in brackets, under the name that the user gave it', async (t) => {
  const pipes = {
    p: 'SELECT a FROM ev -- rows\n',
    q: 'SELECT * FROM p JOIN us USING a;',
    u: 'SELECT 1 UNION ALL SELECT 2',
  }
  const p = '(SELECT a FROM `ws`.`t_ev` AS `ev`)'
  const q = `(SELECT * FROM ${p} AS \`p\` JOIN \`ws\`.\`t_us\` AS \`us\` USING a)`
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT * FROM p', `SELECT * FROM ${p} AS \`p\``],
    ['SELECT x.a FROM p AS x, q', `SELECT x.a FROM ${p} AS x, ${q} AS \`q\``],
    ['SELECT 1 IN p', `SELECT 1 IN ${p} AS \`1 IN p\``],
    ['SELECT in(1, (u))', 'SELECT in(1, ((SELECT 1 UNION ALL SELECT 2))) AS `in(1, (u))`'],
    ['WITH p AS (SELECT 7) SELECT * FROM p', 'WITH p AS (SELECT 7) SELECT * FROM p'],
    ['SELECT * FROM view(SELECT * FROM p)', `SELECT * FROM view(SELECT * FROM ${p} AS \`p\`)`],
  ]
  for (const [sql, expected] of cases) t.equal(compile(sql, pipes).sql, expected)
  t.same(compile('SELECT * FROM q, ev WHERE a IN u AND a IN (SELECT a FROM q)', pipes).dependencies, ['q', 'ev', 'u'])
  t.same(compile('SELECT * FROM q', pipes).tables, ['ws.t_ev', 'ws.t_us'])
  t.same(
    [...compile('SELECT * FROM q', pipes).tableNames],
    [
      ['ws.t_ev', 'ev'],
      ['ws.t_us', 'us'],
    ],
  )
})

t.test('the names of a node mean what they mean in its pipe, whatever the query around it calls so', async (t) => {
  const pipes = { p: 'WITH own AS (SELECT 1) SELECT * FROM own, ev' }
  t.equal(
    compile('WITH ev AS (SELECT 2), own AS (SELECT 3) SELECT * FROM p', pipes).sql,
    'WITH ev AS (SELECT 2), own AS (SELECT 3) SELECT * FROM (WITH own AS (SELECT 1) SELECT * FROM own, `ws`.`t_ev` AS `ev`) AS `p`',
  )
  t.throws(() => compile('WITH x AS (SELECT 2) SELECT * FROM p', { p: 'SELECT * FROM x' }), /Resource 'x' not found/)
})

t.test('a name beside an alias becomes the alias, within the filter of the reader', async (t) => {
  const find: NameScope['find'] = ([name = '']) => ({
    ...{ kind: 'table', database: 'ws', table: `t_${name}`, name, columns: ['a', 'b'], isJoin: false },
    filter: 'a = 1',
  })
  const rows = '`__filtered_rows`'
  const filtered = (alias: string) =>
    `(SELECT * FROM \`ws\`.\`t_ev\` AS ${rows} PREWHERE (${rows}.a = 1) LIMIT ${10n ** 18n})${alias}`
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT ev.a FROM ev AS e', `SELECT \`e\`.a FROM ${filtered(' AS e')}`],
    ['SELECT t_ev.* FROM ev', `SELECT \`ev\`.* FROM ${filtered(' AS `ev`')}`],
    // What the store calls a table is no name of it.
    ['SELECT ws.t_ev.a FROM ev e', `SELECT ws.t_ev.a FROM ${filtered(' e')}`],
    ['SELECT ev.ev.a FROM ev e', `SELECT \`e\`.ev.a FROM ${filtered(' e')}`],
    ['SELECT ev.a FROM ev e(x, y)', `SELECT \`e\`.a FROM ${filtered(' e (x, y)')}`],
    ['SELECT x -> ev.a FROM ev e', `SELECT x -> \`e\`.a FROM ${filtered(' e')}`],
    ['SELECT 1 FROM view(SELECT ev.a) v, ev e', `SELECT 1 FROM view(SELECT ev.a) v, ${filtered(' e')}`],
  ]
  for (const [sql, expected] of cases) {
    t.equal(compileQuery(sql, { scope: { find } }).sql.replaceAll(' (x', '(x'), expected.replaceAll(' (x', '(x'), sql)
  }
})

t.test('a node is rendered once when it is read often, and never when it is not', async (t) => {
  const pipes = { p: 'SELECT * FROM q AS x, q AS y', q: 'SELECT 1', unread: 'SELECT 2' }
  const { scope, rendered } = workspace(pipes)
  compileQuery('SELECT * FROM p, q, p AS z WHERE 1 IN q', { scope })
  t.same([...rendered].sort(), [
    ['p', 1],
    ['q', 1],
  ])
})

t.test('nodes that read each other are refused with the way round', async (t) => {
  const pipes = { a: 'SELECT * FROM b', b: 'SELECT 1 WHERE 1 IN (SELECT x FROM c)', c: 'SELECT * FROM a' }
  t.throws(() => compile('SELECT * FROM a', pipes), { message: /^Circular dependency on 'a': a → b → c → a/ })
  t.throws(() => compile('SELECT * FROM me', { me: 'SELECT * FROM me' }), { message: /'me': me → me/ })
  t.throws(() => compile('WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a'), /Circular/)
})

t.test('the caller is checked for what the query names, not for what a pipe reads', async (t) => {
  const pipes = { p: 'SELECT * FROM ev' }
  t.throws(() => compile('SELECT * FROM ev', pipes, ['ev']), { code: 'READ_DENIED', status: 403 })
  t.throws(() => compile('SELECT 1 IN ev', pipes, ['ev']), { code: 'READ_DENIED' })
  t.doesNotThrow(() => compile('SELECT * FROM p', pipes, ['ev']))
})

t.test('lambdas and aliases hide names as they do in the engine', async (t) => {
  const unchanged = [
    'WITH [1] AS ev SELECT 1 IN ev',
    'SELECT arrayFilter(ev -> 1 IN ev, [[1]])',
    'WITH x -> x + 1 AS twice SELECT twice(1), arrayMap(y -> twice(y), [1])',
    'WITH twice AS (SELECT 1) SELECT * FROM twice AS ev WHERE 1 IN twice',
    'WITH 1 AS one SELECT (SELECT one) UNION ALL SELECT one',
  ]
  for (const sql of unchanged) t.equal(compile(sql).sql, sql)
  t.throws(() => compile('SELECT twice(1), (WITH x -> x AS twice SELECT twice(2))'), /Function 'twice' is not known/)
  t.match(compile('SELECT arrayMap(ev -> 1, [1]), 1 IN ev').sql, /1 IN `ws`.`t_ev` AS `1 IN ev`$/)
})

t.test('an error tells whose text it is in', async (t) => {
  const error = (sql: string, pipes: Readonly<Record<string, string>>): string => {
    try {
      compile(sql, pipes)
      return ''
    } catch (thrown) {
      return (thrown as Error).message
    }
  }
  t.equal(error('SELECT *\n  FROM (', {}), 'Syntax error at line 2, column 8: a bracket is not closed')
  t.equal(
    error('SELECT * FROM p', { p: 'SELECT 1\nFROM ev WHERE' }),
    `Syntax error at line 2, column 14 of node 'p': expected an expression, found the end of the query`,
  )
  t.equal(error('SELECT * FROM p', { p: 'SELECT sleep(1)' }), "Function 'sleep' is not allowed (in node 'p')")
  t.equal(error('SELECT * FROM p', { p: 'SELECT * FROM q', q: 'SELECT FROM ev' }).includes("of node 'q'"), true)
})

t.test('every byte of what is emitted is told where it comes from', async (t) => {
  const pipes = { p: 'SELECT a,\n  b FROM ev' }
  const sql = "SELECT 'é',\n  x.b -- why\nFROM p AS x WHERE b = 1"
  const compiled = compile(sql, pipes)
  const placeOf = (text: string): unknown =>
    compiled.placeOf(Buffer.byteLength(compiled.sql.slice(0, compiled.sql.indexOf(text))))
  t.same(placeOf('SELECT'), { source: null, line: 1, column: 1 })
  t.same(placeOf('x.b'), { source: null, line: 2, column: 3 })
  t.same(placeOf('b FROM `'), { source: 'p', line: 2, column: 3 })
  t.same(placeOf('t_ev'), { source: 'p', line: 2, column: 10 })
  t.same(placeOf('AS x'), { source: null, line: 3, column: 8 })
  t.same(placeOf('1'), { source: null, line: 3, column: 23 })
  t.same(compiled.placeOf(10_000), { source: null, line: 3, column: 23 })
})

t.test('settings of the whole query are told, others stay, and none goes without a look', async (t) => {
  const compiled = compile(
    "SELECT 1 FROM ev SETTINGS join_use_nulls = 1, totals_mode = 'auto' FORMAT CSV SETTINGS group_by_use_nulls = true",
  )
  t.equal(compiled.sql, 'SELECT 1 FROM `ws`.`t_ev` AS `ev`')
  t.equal(compiled.format, 'CSV')
  t.same(compiled.settings, { join_use_nulls: 1, totals_mode: 'auto', group_by_use_nulls: 1 })
  const inner = 'SELECT * FROM (SELECT 1 SETTINGS join_use_nulls = 1) AS x'
  t.equal(compile(inner).sql, inner)
  t.same(compile(inner).settings, {})
  t.match(compile('SELECT * FROM p', { p: 'SELECT 1 SETTINGS join_use_nulls = 1 FORMAT CSV' }), {
    sql: 'SELECT * FROM (SELECT 1 SETTINGS join_use_nulls = 1) AS `p`',
    settings: {},
    format: null,
  })
  t.throws(() => compile('SELECT * FROM p', { p: 'SELECT 1 SETTINGS max_threads = 8' }), /'max_threads' is not allowed/)
})

t.test('what comes together has its limits', async (t) => {
  const reads = (count: number): string => Array.from({ length: count }, () => 'SELECT 1 FROM ev').join(' UNION ALL ')
  t.doesNotThrow(() => compile(reads(256)))
  t.throws(() => compile(reads(257)), /reads more than 256 tables/)
  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, level) => [`p${level + 1}`, `SELECT * FROM p${level} AS a, p${level} AS b`]),
  )
  t.throws(() => compile('SELECT * FROM p40', { ...doubling, p0: 'SELECT 1 FROM ev' }), /too complex/)
  const tables = (count: number): string =>
    `WITH ${Array.from({ length: count }, (_, level) => `c${level + 1} AS (SELECT 1 FROM c${level} UNION ALL SELECT 1 FROM c${level})`).join(', ')} SELECT 1 FROM c${count}`
  const inBase = (count: number): string => tables(count).replace('WITH', 'WITH c0 AS (SELECT 1 FROM ev),')
  t.doesNotThrow(() => compile(inBase(8)), '256 reads')
  t.throws(() => compile(inBase(9)), /reads more than 256/)
  const long = { p: `SELECT '${'x'.repeat(100_000)}'` }
  t.doesNotThrow(() => compile('SELECT * FROM p, p AS q', long))
  t.throws(() => compile('SELECT * FROM p, p AS q, p AS r', long), /too long/)
})
