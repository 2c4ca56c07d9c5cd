import t from 'tap'
import { compileQuery } from '../../src/sql/compile-query.ts'
import type { TableSource } from '../../src/sql/source.types.ts'
import { testSeed } from '../support/seeded-random.ts'

const tables: Readonly<Record<string, string>> = {
  events: 't_1',
  t_1: 't_1',
  users: 't_2',
  'odd name`s': 't_3',
  t_: 't_4',
}

function compile(sql: string): ReturnType<typeof compileQuery> {
  const find = (parts: readonly string[]): TableSource | undefined => {
    const name = parts.join('.')
    const table = Object.hasOwn(tables, name) ? tables[name] : undefined
    if (table === undefined) return undefined
    return { kind: 'table', database: 'ws', table, name, columns: [], isJoin: false, filter: null }
  }
  return compileQuery(sql, { scope: { find } })
}

t.test('a data source becomes its table, under the name that the user gave it', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT * FROM events', 'SELECT * FROM `ws`.`t_1` AS `events`'],
    ['select count() from events;', 'select count() from `ws`.`t_1` AS `events`'],
    ['SELECT * FROM t_1', 'SELECT * FROM `ws`.`t_1` AS `t_1`'],
    ['SELECT * FROM "events"', 'SELECT * FROM `ws`.`t_1` AS `events`'],
    ['SELECT * FROM `odd name\\`s`', 'SELECT * FROM `ws`.`t_3` AS `odd name\\`s`'],
    ['SELECT e.x FROM events AS e', 'SELECT e.x FROM `ws`.`t_1` AS e'],
    ['SELECT e.x FROM events e', 'SELECT e.x FROM `ws`.`t_1` e'],
    ['SELECT events.x FROM events FINAL', 'SELECT events.x FROM `ws`.`t_1` AS `events` FINAL'],
    ['SELECT 1 FROM events SAMPLE 0.1', 'SELECT 1 FROM `ws`.`t_1` AS `events` SAMPLE 0.1'],
    ['SELECT 1 FROM events, users u', 'SELECT 1 FROM `ws`.`t_1` AS `events`, `ws`.`t_2` u'],
    ['FROM events SELECT *', 'FROM `ws`.`t_1` AS `events` SELECT *'],
    ['(SELECT 1 FROM events) UNION ALL (SELECT 2)', '(SELECT 1 FROM `ws`.`t_1` AS `events`) UNION ALL (SELECT 2)'],
    ['SELECT * FROM (SELECT * FROM events) AS users', 'SELECT * FROM (SELECT * FROM `ws`.`t_1` AS `events`) AS users'],
    ['SELECT * FROM view(SELECT * FROM events)', 'SELECT * FROM view(SELECT * FROM `ws`.`t_1` AS `events`)'],
  ]
  for (const [sql, expected] of cases) t.equal(compile(sql).sql, expected)
})

t.test('every kind of join is followed', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    [
      'SELECT 1 FROM events JOIN users USING id',
      'SELECT 1 FROM `ws`.`t_1` AS `events` JOIN `ws`.`t_2` AS `users` USING id',
    ],
    [
      'SELECT 1 FROM events e LEFT ANY JOIN users u ON e.id = u.id, events',
      'SELECT 1 FROM `ws`.`t_1` e LEFT ANY JOIN `ws`.`t_2` u ON e.id = u.id, `ws`.`t_1` AS `events`',
    ],
    [
      'SELECT 1 FROM events JOIN users USING (id), users u2',
      'SELECT 1 FROM `ws`.`t_1` AS `events` JOIN `ws`.`t_2` AS `users` USING (id), `ws`.`t_2` u2',
    ],
    [
      'SELECT 1 FROM (events AS a JOIN events AS b ON a.id = b.id)',
      'SELECT 1 FROM (`ws`.`t_1` AS a JOIN `ws`.`t_1` AS b ON a.id = b.id)',
    ],
    [
      'SELECT 1 FROM events ARRAY JOIN tags, users AS u WHERE 1',
      'SELECT 1 FROM `ws`.`t_1` AS `events` ARRAY JOIN tags, users AS u WHERE 1',
    ],
    [
      'SELECT 1 FROM events LEFT ARRAY JOIN tags AS x INNER JOIN users ON x = id',
      'SELECT 1 FROM `ws`.`t_1` AS `events` LEFT ARRAY JOIN tags AS x INNER JOIN `ws`.`t_2` AS `users` ON x = id',
    ],
    [
      'SELECT 1 FROM events GLOBAL LEFT JOIN users ON 1 ORDER BY a, users',
      'SELECT 1 FROM `ws`.`t_1` AS `events` GLOBAL LEFT JOIN `ws`.`t_2` AS `users` ON 1 ORDER BY a, users',
    ],
  ]
  for (const [sql, expected] of cases) t.equal(compile(sql).sql, expected)
})

t.test('FROM and IN inside functions are no tables', async (t) => {
  const unchanged = [
    "SELECT trim(BOTH 'x' FROM 'xax'), extract(YEAR FROM now()), substring('abc' FROM 2 FOR 1)",
    'SELECT 1 IS NOT DISTINCT FROM 2',
    'SELECT number AS events FROM numbers(3) ORDER BY events WITH FILL FROM 0 TO 5 STEP 1',
    "SELECT position('a' IN tag) FROM numbers(3)",
    'SELECT number FROM numbers(3) WHERE number IN (1, 2) AND number NOT IN (number) AND number IN numbers_list',
    "SELECT * FROM values('`a` Int8, `b` String', (1, 'x')), generateSeries(1, 5)",
    'SELECT dummy FROM system.one',
    'SELECT sum(n) OVER w FROM (SELECT number AS n FROM numbers(3)) WINDOW w AS (ORDER BY n)',
  ]
  for (const sql of unchanged) t.equal(compile(sql).sql, sql)
})

t.test('a data source after IN is read as a table', async (t) => {
  t.equal(compile('SELECT 1 WHERE 1 IN users').sql, 'SELECT 1 WHERE 1 IN `ws`.`t_2`')
  t.equal(compile('SELECT 1 WHERE 1 GLOBAL NOT IN ((users))').sql, 'SELECT 1 WHERE 1 GLOBAL NOT IN ((`ws`.`t_2`))')
  t.equal(
    compile('SELECT 1 WHERE 1 IN (SELECT id FROM users)').sql,
    'SELECT 1 WHERE 1 IN (SELECT id FROM `ws`.`t_2` AS `users`)',
  )
  t.throws(() => compile('SELECT 1 WHERE (1, 2) IN ws.t_1'), {
    code: 'SQL_INVALID',
    message: /can not be used after IN/,
  })
  t.throws(() => compile('SELECT 1 WHERE (1, 2) IN (((ws.t_1)))'), { message: /can not be used after IN/ })
})

t.test('a name of WITH hides the data source where it is seen, and nowhere else', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['WITH events AS (SELECT 1) SELECT * FROM events', 'WITH events AS (SELECT 1) SELECT * FROM events'],
    [
      'WITH events AS (SELECT * FROM events) SELECT * FROM events',
      'WITH events AS (SELECT * FROM `ws`.`t_1` AS `events`) SELECT * FROM events',
    ],
    [
      'WITH a AS (SELECT * FROM b), b AS (SELECT * FROM users) SELECT * FROM a',
      'WITH a AS (SELECT * FROM b), b AS (SELECT * FROM `ws`.`t_2` AS `users`) SELECT * FROM a',
    ],
    [
      'WITH q AS (SELECT 1) SELECT * FROM q UNION ALL SELECT * FROM q',
      'WITH q AS (SELECT 1) SELECT * FROM q UNION ALL SELECT * FROM q',
    ],
    [
      'SELECT * FROM (WITH events AS (SELECT 1) SELECT * FROM events) x, events',
      'SELECT * FROM (WITH events AS (SELECT 1) SELECT * FROM events) x, `ws`.`t_1` AS `events`',
    ],
    [
      'WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT * FROM n',
      'WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT * FROM n',
    ],
    ["WITH 'a' AS users SELECT * FROM users", "WITH 'a' AS users SELECT * FROM `ws`.`t_2` AS `users`"],
    [
      'WITH (SELECT max(id) FROM users) AS top, u AS (SELECT * FROM users) SELECT top FROM u',
      'WITH (SELECT max(id) FROM `ws`.`t_2` AS `users`) AS top, u AS (SELECT * FROM `ws`.`t_2` AS `users`) SELECT top FROM u',
    ],
    ['WITH u (a, b) AS (SELECT 1, 2) SELECT a FROM u', 'WITH u (a, b) AS (SELECT 1, 2) SELECT a FROM u'],
  ]
  for (const [sql, expected] of cases) t.equal(compile(sql).sql, expected)
})

t.test('a last FORMAT is split off, and a column called format is not', async (t) => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['SELECT 1', null],
    ['SELECT 1 FORMAT JSON', 'JSON'],
    ['SELECT * FROM events format CSVWithNames ;', 'CSVWithNames'],
    ['SELECT * FORMAT TSV', 'TSV'],
    ['SELECT (1) FORMAT CSV', 'CSV'],
    ['SELECT format FROM events', null],
    ['SELECT format f', null],
    ['SELECT a AS format', null],
    ['SELECT e.format f FROM events e', null],
  ]
  for (const [sql, format] of cases) {
    const compiled = compile(sql)
    t.equal(compiled.format, format, sql)
    if (format !== null) t.notMatch(compiled.sql, /format/i)
  }
})

t.test('it tells which tables are read, each once', async (t) => {
  t.strictSame(compile('SELECT 1 FROM users, events, users u2').tables, ['ws.t_2', 'ws.t_1'])
})

t.test('comments are dropped, and what they hide stays hidden', async (t) => {
  t.equal(compile('SELECT 1 -- { serverError 47 }').sql, 'SELECT 1')
  t.equal(compile('SELECT/**/1').sql, 'SELECT 1')
  t.equal(compile('SELECT 1 /* a /* b */ c */ , 2 # x\n, 3 // y\n, 4').sql, 'SELECT 1 , 2 , 3 , 4')
  t.equal(compile('SELECT "a""b" FROM numbers(1)').sql, 'SELECT `a"b` FROM numbers(1)')
  t.equal(compile('SELECT `a`"b"').sql, 'SELECT `a` `b`')
  t.throws(() => compile('SELECT * FROM /* /* */ events -- */ ws.t_1'), { message: /'ws.t_1' not found/ })
  t.throws(() => compile('SELECT 1 /* /* */'), { message: /comment is not closed/ })
})

t.test('literals, numbers and operators pass unchanged', async (t) => {
  const sql =
    "SELECT 'a''b', 'c\\'d', x'41', b'01', 1_000, 0x1F, 0b11, 1e-5, .5, 5., t.1.2, -1, a::Int8, b ? 1 : 2, x -> x + 1, a || b, a <=> b, [1, 2][1], `é`, '“'"
  t.equal(compile(sql).sql, sql)
})

t.test('what is no single SELECT is refused with a reason', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['SET readonly = 0', /only SELECT/],
    ['1+1', /only SELECT/],
    ['EXPLAIN SELECT 1', /only SELECT/],
    ['(((DROP TABLE x)))', /only SELECT/],
    ['SELECT 1; DROP TABLE x', /Multi-statements/],
    ["SELECT 1 INTO OUTFILE '/tmp/x'", /INTO OUTFILE is not allowed/],
    ['SELECT 1 SETTINGS max_execution_time = 0', /max_execution_time/],
    ['SELECT 1 FORMAT JSON SETTINGS a = 1', /Setting 'a'/],
    ['SELECT * FROM (SELECT 1 SETTINGS `max_threads` = 1)', /max_threads/],
    ['SELECT 1 PARALLEL WITH SELECT 2', /PARALLEL WITH/],
    ['SELECT * FROM (EXPLAIN SELECT 1)', /EXPLAIN/],
    ['WITH x AS (SELECT 1) INSERT INTO events SELECT * FROM x', /line 1, column 22: expected SELECT, found "INSERT"/],
    ["SELECT * FROM '/etc/passwd'", /string literal/],
    ['SELECT * FROM `/tmp/canary.txt`', /Resource '\/tmp\/canary.txt' not found/],
    ['SELECT * FROM nothing', /Resource 'nothing' not found/],
    ['SELECT * FROM ws.t_1', /Resource 'ws.t_1' not found/],
    ['SELECT * FROM "system"."users"', /Resource 'system.users' not found/],
    ['SELECT * FROM system . settings', /Resource 'system.settings' not found/],
    ['SELECT 1 WHERE 1 IN (SELECT name FROM system.tables)', /Resource 'system.tables' not found/],
    ['SELECT * FROM events ORDER BY id WITH FILL FROM 0 TO (SELECT count() FROM t_priv)', /'t_priv' not found/],
    ['SELECT 1 FROM events, ', /a table is missing/],
    ['SELECT 1 FROM (SELECT 1 FROM)', /a table is missing/],
    ['SELECT (1', /line 1, column 8: a bracket is not closed/],
    ['SELECT 1)', /line 1, column 9: "\)" closes nothing/],
    ['SELECT (1]', /closes nothing/],
    ["SELECT 'a", /line 1, column 8: the quote ' is not closed/],
    ['SELECT\n  {x:Identifier}', /line 2, column 3: query parameters are not supported/],
    [
      'SELECT {{Int32(n)}}',
      /line 1, column 8: this is template syntax, and only a query that begins with % is a template/,
    ],
    ['SELECT 1 {% if n %}', /column 10: this is template syntax/],
    ['SELECT @@version', /global variables/],
    ['SELECT $tag$x', /heredoc \$tag\$ is not closed/],
    ['SELECT $1', /a heredoc begins with/],
    ['SELECT “secret”', /unexpected character "“"/],
    ['SELECT * FROM ｗｓ', /unexpected character/],
    ['SELECT * FROM ev #x\n', /unexpected character "#"/],
    ['SELECT 1 |> 2', /unexpected character "\|"/],
    ['SELECT 1\0; DROP', /NUL/],
    ['SELECT `a\nb`', /control character/],
    ['SELECT `\\x77s`', /escape/],
    ['SELECT ""', /name is empty/],
    ['SELECT 1.5abc', /ends in letters/],
    [`SELECT ${'('.repeat(181)}1${')'.repeat(181)}`, /nested too deeply/],
  ]
  for (const [sql, message] of cases) t.throws(() => compile(sql), { code: 'SQL_INVALID', status: 400, message }, sql)
  t.throws(() => compile(' -- nothing\n ;'), { code: 'SQL_EMPTY' })
  t.doesNotThrow(() => compile(`SELECT ${'('.repeat(180)}1${')'.repeat(180)}`))
})

t.test('functions that reach out of the query are refused in every spelling', async (t) => {
  const refused = [
    "SELECT file('/etc/passwd')",
    "SELECT FILE('/etc/passwd')",
    'SELECT "file"(\'/tmp/x\')',
    "SELECT file /* x */ ('/etc/passwd')",
    "SELECT * APPLY(file) FROM (SELECT '/etc/passwd' AS p)",
    "SELECT arrayMap(`file`, ['/etc/passwd'])",
    "SELECT 'x' IN file('/etc/passwd', 'd')",
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:9/x', 'CSV', 'a String')",
    "SELECT * FROM `url`('http://127.0.0.1:9/')",
    "SELECT * FROM merge('ws', '.*')",
    "SELECT * FROM remote('127.0.0.1', system.one)",
    "SELECT hasColumnInTable('ws', 't_1', 'x')",
    "SELECT dictGet('d', 'a', 1)",
    "SELECT aiGenerate('hello')",
    "SELECT __getScalar('x')",
    'SELECT sleep(3)',
    'SELECT currentUser()',
  ]
  for (const sql of refused) t.throws(() => compile(sql), { code: 'SQL_INVALID', message: /is not allowed/ }, sql)
  // Columns of these names are common.
  t.doesNotThrow(() => compile('SELECT user, url, file, e.file, settings, arrayConcat(user, x) FROM events e'))
})

t.test('whatever is cut or swapped in a query, no unqualified or foreign table comes out', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const pieces =
    'SELECT WITH FROM JOIN , ( ) AS x events users ws.t_1 system.tables IN UNION ALL ARRAY USING ON 1 * "a" `b` \'s\' . ; numbers(1) view( file( -- /* */ \n [ ] FINAL LIMIT'.split(
      ' ',
    )
  let state = seed
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return Math.floor((state / 0x8000_0000) * below)
  }
  let compiledCount = 0
  for (let round = 0; round < 20_000; round += 1) {
    const sql = `SELECT ${Array.from({ length: 2 + random(10) }, () => pieces[random(pieces.length)]).join(' ')}`
    let compiled = ''
    try {
      compiled = compile(sql).sql
    } catch (error) {
      // Anything but a refusal is a fault of the compiler.
      if ((error as { code?: string }).code !== 'SQL_INVALID') t.fail(`${sql}: ${String(error)}`)
      continue
    }
    compiledCount += 1
    // After a dot or AS the word is a column's name, for the engine too.
    if (/(?<!\.|\bAS) FROM (?:ws\.|system\.|events\b|users\b)/.test(compiled) || /file\(|--|\/\*/.test(compiled)) {
      t.fail(`${sql} became ${compiled}`)
    }
  }
  t.ok(compiledCount > 100, `${compiledCount} of 20,000 compiled`)
})
