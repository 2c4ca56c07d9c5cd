// Names without brackets that the engine takes for functions where no column has them: `SELECT user`. None of those that a
// query may not call is answered, wherever it stands; columns and aliases of that name are.

import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { byTier, everyNth } from '../support/tier.ts'

const service = await openTestService(t, { queryTimeMaxMs: 5_000 })
const ask = (sql: string) => service.call('POST', '/v0/sql', { body: sql })

await service.create('plain', 'id UInt32, tags Array(String), at DateTime', { engine_sorting_key: 'id' })
await service.append('plain', 'csv', "1,['a'],2026-01-01 00:00:00\n2,['b'],2026-01-02 00:00:00\n")
await service.create('people', 'id UInt32, user String, database String, schema String, session_user Array(String)')
await service.append('people', 'csv', "1,ann,d1,s1,\"['x','y']\"\n2,bob,d2,s2,\"['z']\"\n")

const internal = /r_reader|r_admin|\bdefault\b|\bws_\d/

/** Places of a query for an expression of type String. */
const places: readonly ((expression: string) => string)[] = [
  (e) => `SELECT ${e}`,
  (e) => `SELECT ${e} AS x FROM plain`,
  (e) => `SELECT ${e} AS ${e === '"user"' ? 'x' : e} FROM plain`,
  (e) => `SELECT id FROM plain WHERE ${e} != ''`,
  (e) => `SELECT id FROM plain PREWHERE ${e} != ''`,
  (e) => `SELECT count() FROM plain GROUP BY ${e}`,
  (e) => `SELECT count() FROM plain HAVING any(${e}) != ''`,
  (e) => `SELECT id FROM plain ORDER BY ${e}, id`,
  (e) => `SELECT id FROM plain LIMIT 1 BY ${e}`,
  (e) => `SELECT id FROM plain QUALIFY ${e} != ''`,
  (e) => `SELECT row_number() OVER (PARTITION BY ${e}) FROM plain`,
  (e) => `SELECT row_number() OVER w FROM plain WINDOW w AS (ORDER BY ${e})`,
  (e) => `SELECT sum(id) FILTER (WHERE ${e} != '') FROM plain`,
  (e) => `SELECT id AS n, '' AS k FROM plain ORDER BY n WITH FILL INTERPOLATE (k AS ${e})`,
  (e) => `SELECT arrayMap(x -> concat(x, ${e}), tags) FROM plain`,
  (e) => `SELECT arrayMap(x -> arrayMap(y -> ${e}, [1]), [1])`,
  (e) => `SELECT t FROM plain ARRAY JOIN [${e}] AS t`,
  (e) => `SELECT * REPLACE (${e} AS id) FROM plain`,
  (e) => `SELECT * APPLY (x -> ${e}) FROM plain`,
  (e) => `SELECT COLUMNS('id') APPLY (x -> (x, ${e})) FROM plain`,
  (e) => `SELECT (SELECT ${e})`,
  (e) => `WITH (SELECT ${e}) AS z SELECT z`,
  (e) => `WITH ${e} AS z SELECT z`,
  (e) => `WITH c AS (SELECT ${e} AS z FROM plain) SELECT z FROM c`,
  (e) => `WITH RECURSIVE r AS (SELECT '' AS n, 1 AS i UNION ALL SELECT ${e}, i + 1 FROM r WHERE i < 3) SELECT n FROM r`,
  (e) => `WITH (x -> concat(x, ${e})) AS f SELECT f('a')`,
  (e) => `SELECT '' AS n UNION ALL SELECT ${e}`,
  (e) => `SELECT 'a' EXCEPT SELECT ${e}`,
  (e) => `SELECT z FROM (SELECT ${e} AS z FROM plain)`,
  (e) => `SELECT count() FROM (SELECT ${e} AS z FROM plain)`,
  (e) => `SELECT * FROM view(SELECT ${e} AS z)`,
  (e) => `SELECT * FROM view(WITH 1 AS k SELECT z FROM view(SELECT ${e} AS z))`,
  (e) => `SELECT a.id FROM plain AS a JOIN plain AS b ON a.id = b.id AND ${e} != ''`,
  (e) => `SELECT a.id FROM plain AS a JOIN (SELECT ${e} AS z, 1 AS id) AS b USING (id)`,
  (e) => `SELECT id FROM plain WHERE EXISTS (SELECT ${e})`,
  (e) => `SELECT id FROM plain WHERE toString(id) IN (SELECT ${e})`,
  (e) => `SELECT 'a' IN (${e}, 'b')`,
  (e) => `SELECT if(1, ${e}, 'b')`,
  (e) => `SELECT if(now() > 0, 'b', ${e})`,
  (e) => `SELECT if((SELECT max(id) FROM plain) = 2, 'b', ${e})`,
  (e) => `SELECT (SELECT count() FROM plain) > 100 ? ${e} : 'b'`,
  (e) => `SELECT multiIf(1, 'a', ${e})`,
  (e) => `SELECT multiIf(0, 'a', now() > 0, 'c', ${e})`,
  (e) => `SELECT CASE WHEN now() > 0 THEN 'b' WHEN 1 THEN ${e} END`,
  (e) => `SELECT CASE 1 WHEN 1 THEN CASE WHEN 1 THEN 'b' ELSE ${e} END ELSE 'c' END`,
  (e) => `SELECT if(1, 'a', 2), if(1, 1, (1, 'a')), ${e}`,
  (e) => `SELECT tuple(${e}).1, [${e}][1], map('a', ${e})['a'], ${e}::String`,
  (e) => `SELECT ${e} LIKE '%', 'a' LIKE ${e}, ${e} BETWEEN 'a' AND 'z', ${e} IS NULL`,
  (e) => `SELECT number FROM numbers(length(${e}))`,
  (e) => `SELECT generate_series FROM generate_series(1, length(${e}))`,
  (e) => `SELECT * FROM values('a String', (${e}))`,
  (e) => `WITH 1 AS u SELECT number FROM numbers((SELECT length(${e})))`,
  (e) => `EXPLAIN SELECT ${e}`,
  (e) => `SELECT 1 AS ${e}, (SELECT z FROM view(SELECT ${e} AS z))`,
  (e) => `SELECT id FROM plain WHERE id IN (SELECT 1 AS id WHERE ${e} != '')`,
  (e) => `% SELECT {{column('${e.replaceAll(/["`]/g, '')}')}} FROM plain`,
]

const spellings = [
  'user',
  'USER',
  'User',
  'current_user',
  'CURRENT_USER',
  'currentUser',
  'session_user',
  '`user`',
  '"user"',
]

const step = byTier({ quick: 8, full: 3, soak: 1 })

for (const [at, place] of places.entries()) {
  t.test(`no function is answered in ${place('user')}`, async (t) => {
    for (const spelling of everyNth(spellings, step, at)) {
      const sql = place(spelling)
      const { status, text } = await ask(sql)
      t.equal(status, 400, `${sql}: ${text.slice(0, 300)}`)
      t.notMatch(text, internal, sql)
    }
  })
}

t.test('the error names the place, as for any unknown name', async (t) => {
  const { text } = await ask('SELECT id,\n  user FROM plain')
  t.match(text, /Unknown expression identifier `user` \(line 2, column 3\)/)
})

/** Queries over columns and aliases of such names, and the rows that they give. */
const real: readonly (readonly [sql: string, rows: string])[] = [
  ['SELECT user FROM people ORDER BY id', 'ann\nbob\n'],
  ['SELECT people.user, database, schema FROM people ORDER BY user', 'ann\td1\ts1\nbob\td2\ts2\n'],
  ["SELECT `user` FROM people WHERE user = 'ann'", 'ann\n'],
  ["SELECT p.user FROM people AS p PREWHERE user != 'ann'", 'bob\n'],
  ['SELECT user, count() FROM people GROUP BY user ORDER BY user DESC', 'bob\t1\nann\t1\n'],
  ['SELECT upper(user) AS user FROM people ORDER BY user LIMIT 1 BY user', 'ANN\nBOB\n'],
  ["SELECT user AS x, x AS y FROM people WHERE y = 'bob'", 'bob\tbob\n'],
  ['SELECT x, user AS x FROM people ORDER BY id', 'ann\tann\nbob\tbob\n'],
  ['SELECT user + 1, 1 AS user', '2\t1\n'],
  ['SELECT count() AS user FROM people HAVING user > 1', '2\n'],
  ["WITH 'a' AS user SELECT user", 'a\n'],
  ['WITH 1 AS user SELECT (SELECT user)', '1\n'],
  ['WITH (SELECT max(user) FROM people) AS user SELECT user', 'bob\n'],
  ['WITH c AS (SELECT user FROM people) SELECT user FROM c ORDER BY 1', 'ann\nbob\n'],
  ['WITH user AS (SELECT 1 AS k) SELECT k, user.k FROM user', '1\t1\n'],
  [
    'WITH RECURSIVE r AS (SELECT 1 AS user UNION ALL SELECT user + 1 FROM r WHERE user < 3) SELECT sum(user) FROM r',
    '6\n',
  ],
  ["SELECT * FROM (SELECT user FROM people) WHERE user = 'ann'", 'ann\n'],
  ['SELECT user FROM (SELECT * FROM people) ORDER BY user', 'ann\nbob\n'],
  ['SELECT user FROM (SELECT * EXCEPT (id, schema) FROM people) ORDER BY user', 'ann\nbob\n'],
  ['SELECT * EXCEPT user FROM (SELECT id, user FROM people) ORDER BY id', '1\n2\n'],
  ['SELECT * REPLACE (upper(user) AS user) FROM (SELECT user FROM people) ORDER BY user', 'ANN\nBOB\n'],
  ["SELECT COLUMNS('^us') FROM people ORDER BY user", 'ann\nbob\n'],
  ['SELECT COLUMNS(user, id) FROM people ORDER BY user', 'ann\t1\nbob\t2\n'],
  ['SELECT user FROM people AS a JOIN people AS b USING (user) ORDER BY user', 'ann\nbob\n'],
  ['SELECT user FROM people AS a JOIN people AS b USING user ORDER BY user', 'ann\nbob\n'],
  ['SELECT a.user FROM people AS a JOIN people AS b ON a.user = b.user ORDER BY a.user', 'ann\nbob\n'],
  ['SELECT user FROM plain AS a JOIN people AS b ON a.id = b.id ORDER BY user', 'ann\nbob\n'],
  ['SELECT user, session_user FROM people ARRAY JOIN session_user ORDER BY session_user', 'ann\tx\nann\ty\nbob\tz\n'],
  ['SELECT user FROM plain ARRAY JOIN tags AS user ORDER BY user', 'a\nb\n'],
  ["SELECT arrayMap(user -> user || '!', tags) FROM plain ORDER BY id", "['a!']\n['b!']\n"],
  ['SELECT arrayMap((user, i) -> user || toString(i), tags, [1]) FROM plain WHERE id = 1', "['a1']\n"],
  ["SELECT arrayMap(x -> x || user, ['a']) FROM people ORDER BY id", "['aann']\n['abob']\n"],
  ["SELECT if(user = 'ann', 'a', user) FROM people ORDER BY id", 'a\nbob\n'],
  ["SELECT CASE WHEN user = 'ann' THEN 1 WHEN database = 'd2' THEN 2 END FROM people ORDER BY id", '1\n2\n'],
  ["SELECT CASE user WHEN 'ann' THEN 1 ELSE 2 END FROM people ORDER BY id", '1\n2\n'],
  ["SELECT multiIf(user = 'ann', 1, 2), id = 1 ? user : schema FROM people ORDER BY id", '1\tann\n2\ts2\n'],
  ['SELECT if(1, user, 2) FROM people ORDER BY id', 'ann\nbob\n'],
  ['SELECT user, row_number() OVER (PARTITION BY user ORDER BY id) AS n FROM people ORDER BY id', 'ann\t1\nbob\t1\n'],
  ['SELECT id FROM people WHERE user IN (SELECT user FROM people WHERE id = 2)', '2\n'],
  ['SELECT user FROM view(SELECT user FROM people) ORDER BY user', 'ann\nbob\n'],
  ["SELECT user FROM values('user String', 'a')", 'a\n'],
  ["SELECT user FROM values('id UInt8, user String', (1, 'a'), (2, 'b')) WHERE user = 'b'", 'b\n'],
  ['SELECT user.1 FROM (SELECT (1, 2) AS user)', '1\n'],
  ['SELECT user.id FROM people AS user ORDER BY user.id', '1\n2\n'],
  ['SELECT 1 IN (SELECT 1 AS user)', '1\n'],
  ["SELECT user FROM people WHERE id = 1 UNION ALL SELECT user FROM people WHERE user = 'ann'", 'ann\nann\n'],
  ["SELECT user FROM (SELECT user FROM people UNION ALL SELECT 'c' AS user) ORDER BY user", 'ann\nbob\nc\n'],
  ['SELECT 1 AS n, 2 AS user ORDER BY n WITH FILL FROM 1 TO 3 INTERPOLATE (user AS user + 1)', '1\t2\n2\t3\n'],
  ['SELECT user, now() > 0 AS t FROM people ORDER BY user SETTINGS join_use_nulls = 1', 'ann\t1\nbob\t1\n'],
  ["SELECT max(user), (SELECT count() FROM people WHERE user != '') FROM people", 'bob\t2\n'],
  ["SELECT database = 'workspace', now > '2020-01-01', toYear(today) > 2020, toYear(curdate) > 2020", '1\t1\t1\t1\n'],
]

t.test('columns and aliases of such names are read as always', async (t) => {
  for (const [sql, rows] of real) {
    const { status, text } = await ask(`${sql} FORMAT TSV`)
    t.equal(status, 200, `${sql}: ${text.slice(0, 300)}`)
    if (status === 200) t.equal(text, rows, sql)
  }
})

t.test('a column that is gone makes no function of its name', async (t) => {
  await service.create('moving', 'id UInt32, user String')
  t.equal((await ask('SELECT user FROM moving')).status, 200)
  await service.call('DELETE', '/v0/datasources/moving')
  await service.create('moving', 'id UInt32')
  t.equal((await ask('SELECT user FROM moving')).status, 400)
})

/** Places of a definition or a replay for an expression, and what they answer where a column has its name. */
const json = { 'content-type': 'application/json' }
const form = (values: Readonly<Record<string, string>>) => ({ body: new URLSearchParams(values).toString() })
const alter = (values: Readonly<Record<string, string>>) =>
  service.call('POST', '/v0/datasources/kept/alter', form(values))
const replay = (name: string, order: object) =>
  service.call('POST', `/v0/datasources/${name}/quarantine/replay`, { body: JSON.stringify(order), headers: json })
const replace = (name: string, condition: string) => {
  const parameters = { mode: 'replace', name, format: 'csv', replace_condition: condition }
  return service.call('POST', `/v0/datasources?${new URLSearchParams(parameters)}`, {
    body: name === 'held' ? 'a,b,2026-01-01\n' : 'a,2026-01-01\n',
  })
}

await service.create('kept', 'a String, d Date', { engine_sorting_key: 'a', engine_partition_key: 'a' })
await service.create('held', 'user String, database String, d Date', {
  engine_sorting_key: 'user',
  engine_partition_key: 'user',
})

const definitions: readonly ((name: string) => Promise<Answer>)[] = [
  (e) => service.create('n', `a String, b String DEFAULT ${e}`),
  (e) => service.create('n', `a String, b String DEFAULT concat(a, ${e})`),
  (e) => service.create('n', `a String, b Array(String) DEFAULT arrayMap(x -> concat(x, ${e}), [a])`),
  (e) => service.create('n', `a String, b String DEFAULT if(1, a, ${e})`),
  (e) => service.create('n', 'a String', { engine_sorting_key: `a, concat(a, ${e})` }),
  (e) => service.create('n', 'a String', { engine_sorting_key: e }),
  (e) => service.create('n', 'a String', { engine_partition_key: e }),
  (e) => service.create('n', 'd Date', { engine_ttl: `d DELETE WHERE ${e} = ''` }),
  (e) => service.create('n', 'd Date, s String', { engine_sorting_key: 'd', engine_ttl: `d GROUP BY d SET s = ${e}` }),
  (e) => service.create('n', 'a String', { indexes: `i concat(a, ${e}) TYPE minmax` }),
  (e) =>
    service.create('n', 'a String', {
      indexes: `i a TYPE text(tokenizer = splitByNonAlpha, preprocessor = lower(${e}))`,
    }),
  (e) => alter({ schema: `a String, d Date, b String DEFAULT ${e}` }),
  (e) => alter({ ttl: `d + length(${e})` }),
  (e) => alter({ indexes: `i (${e}) TYPE minmax` }),
  (e) => replay('kept', { fixes: { a: e } }),
  (e) => replay('kept', { fixes: { a: `concat('x', ${e})` } }),
  (e) => replay('kept', { condition: `a = ${e}` }),
  (e) => replace('kept', `a = ${e}`),
  (e) => replace('kept', `a != '' AND if(1, 1, length(${e})) = 1`),
]

const sessionNames = [...spellings, 'database', 'SCHEMA', 'current_database', 'currentDatabase']

t.test('no definition, replay or replace calls a function of the session by its bare name', async (t) => {
  for (const define of definitions) {
    for (const name of sessionNames) {
      const { status, text } = await define(name)
      t.equal(status, 400, `${define}: ${name}: ${text.slice(0, 200)}`)
      t.match(text, /no column|not a column|is not in the schema/, `${define}: ${name}`)
      t.notMatch(text, internal, `${define}: ${name}`)
    }
  }
})

t.test('they take columns and parameters of that name', async (t) => {
  const answers = [
    await service.create('d1', "user String, b String DEFAULT concat(user, '!')", {
      engine_sorting_key: 'user, upper(user)',
      engine_partition_key: 'substring(user, 1, 1)',
      indexes: 'i lower(user) TYPE minmax',
    }),
    await service.create('d2', 'b String DEFAULT user, user String, database String DEFAULT upper(`user`)'),
    await service.create('d3', 'a Array(String), b Array(String) DEFAULT arrayMap(user -> upper(user), a)'),
    await service.create('d4', 'd Date, user String', { engine_ttl: "d DELETE WHERE user = 'x'" }),
    await service.create('d5', 'a DateTime DEFAULT now, b Date DEFAULT today, c DateTime DEFAULT current_timestamp'),
    await replay('held', { fixes: { user: "concat('x', user)" }, condition: 'user != database' }),
    await replace('held', "user = 'a' AND user != database"),
  ]
  for (const [index, { status, text }] of answers.entries()) t.ok(status < 300, `${index}: ${status} ${text}`)
})

t.test('nodes, endpoints and filters take no such function, and columns of that name', async (t) => {
  const pipe = (name: string, sql: string) => service.call('POST', '/v0/pipes', form({ name, sql }))
  const refused = await pipe('p1', 'SELECT id, user FROM plain')
  t.equal(refused.status, 400, refused.text)
  t.match(refused.text, /Unknown expression identifier `user`/)
  for (const sql of [
    "% SELECT {{columns(c, 'user')}} FROM plain",
    '% SELECT id FROM plain WHERE user = {{String(u)}}',
  ]) {
    const { status, text } = await pipe('p2', sql)
    t.equal(status, 400, `${sql}: ${text}`)
  }
  const taken = await pipe('p3', "% SELECT user FROM people WHERE user = {{String(u, 'ann')}}")
  t.equal(taken.status, 200, taken.text)
})
