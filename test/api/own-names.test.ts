// What a query reads is known by its own name beside its alias.

import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'

const pipes = await openPipeService(t)
const { call, service } = pipes
await service.create('users', 'id UInt32, name String, shop Tuple(id UInt32)')
await service.create('stores', 'id UInt32, name String, stores String')
await service.create('selfy', 'id UInt32, selfy Tuple(id UInt32)')
await service.append('events', 'csv', '2024-01-01,a,1\n2024-01-02,b,2\n')
await service.append('users', 'ndjson', '{"id":1,"name":"x","shop":{"id":7}}\n{"id":2,"name":"y","shop":{"id":8}}\n')
await service.append('stores', 'csv', '1,s,t\n')
await service.append('selfy', 'ndjson', '{"id":1,"selfy":{"id":9}}\n')
await pipes.create('p', 'SELECT n AS id, user FROM events e WHERE events.n > 0', 'SELECT n0.id, n0.user FROM n0 AS x')

async function ask(sql: string): Promise<string> {
  const { status, text } = await call('POST', '/v0/sql', { body: `${sql} FORMAT JSONCompactEachRowWithNames` })
  return status === 200 ? text.trim().split('\n').join(' ') : `${status} ${text}`
}

t.test('a data source, a pipe and a node keep their names beside their aliases', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT events.n FROM events e ORDER BY events.n', '["n"] [1] [2]'],
    ['SELECT p.id FROM p AS x ORDER BY 1', '["id"] [1] [2]'],
    [
      'SELECT max(events.n) AS m, events.user FROM events AS e GROUP BY events.user ORDER BY m',
      '["m", "user"] [1, "a"] [2, "b"]',
    ],
    ['SELECT e.n FROM events e WHERE events.n = 1', '["n"] [1]'],
    ['SELECT `events`.n FROM events "e x" WHERE events.n = 1', '["n"] [1]'],
    ['SELECT events.* FROM events e WHERE events.n = 1', '["day", "user", "n"] ["2024-01-01", "a", 1]'],
    ["SELECT events.COLUMNS('^n') FROM events e WHERE e.n = 1", '["n"] [1]'],
    [
      'SELECT events.n, users.name FROM events e JOIN users u ON events.n = users.id WHERE u.id = 2',
      '["n", "name"] [2, "y"]',
    ],
    ['SELECT users.shop.id FROM users u WHERE users.id = 1', '["shop.id"] [7]'],
    ['SELECT n FROM events e WHERE n IN (SELECT users.id FROM users u WHERE users.id > 1)', '["n"] [2]'],
    ['SELECT n FROM events e WHERE EXISTS (SELECT 1 FROM users u WHERE users.id = events.n AND u.id = 2)', '["n"] [2]'],
    ['WITH events.n AS x SELECT x FROM events e ORDER BY x', '["x"] [1] [2]'],
    ['SELECT count() AS c FROM zeros(assumeNotNull((SELECT max(events.n) FROM events e)))', '["c"] [2]'],
    ['SELECT max(number) AS m FROM numbers(assumeNotNull((SELECT max(events.n) FROM events e)))', '["m"] [1]'],
    ['SELECT n FROM view(SELECT events.n AS n FROM events e WHERE events.n = 2)', '["n"] [2]'],
    ['SELECT events.n AS events FROM events e WHERE events.n = 1', '["events"] [1]'],
    [
      'SELECT count() AS events, events.user FROM events e GROUP BY events.user ORDER BY 2',
      '["events", "user"] [1, "a"] [1, "b"]',
    ],
    ['WITH c AS (SELECT 5 AS id) SELECT c.id FROM c AS d', '["id"] [5]'],
    [
      'SELECT events.n FROM events e FINAL WHERE 0 UNION ALL SELECT users.id FROM users u WHERE users.id = 1',
      '["n"] [1]',
    ],
    [
      'SELECT sum(events.n) OVER (PARTITION BY events.user ORDER BY events.day) AS s FROM events e ORDER BY s',
      '["s"] [1] [2]',
    ],
    ['SELECT tag FROM users u ARRAY JOIN [users.id] AS tag ORDER BY tag', '["tag"] [1] [2]'],
  ]
  for (const [sql, expected] of cases) {
    const ready = sql.replace(' FINAL', '')
    t.equal(await ask(ready), expected, ready)
  }
})

t.test('columns are called as ClickHouse calls them', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT users.id, stores.id FROM users u, stores s WHERE u.id = 2', '["id", "stores.id"] [2, 1]'],
    ['SELECT users.id, stores.id FROM users u, stores s, selfy z WHERE u.id = 2', '["users.id", "stores.id"] [2, 1]'],
    ['SELECT users.id, p.id FROM users u JOIN p AS q ON u.id = q.id WHERE u.id = 2', '["id", "p.id"] [2, 2]'],
    ['SELECT users.id, q.id FROM users u JOIN (SELECT 2 AS id) AS q ON users.id = q.id', '["id", "q.id"] [2, 2]'],
  ]
  for (const [sql, expected] of cases) t.equal(await ask(sql), expected, sql)
})

t.test('an alias, a column with elements and a nearer table come first', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT events.id FROM events e JOIN users events ON e.n = events.id WHERE e.n = 2', '["id"] [2]'],
    ['SELECT events.n FROM events a, events b WHERE a.n = 1 AND b.n = 2', '["n"] [1]'],
    ['SELECT events.n, e.n FROM events e, events WHERE e.n = 1 AND events.n = 2', '["events.n", "n"] [2, 1]'],
    ['SELECT selfy.id FROM selfy s', '["selfy.id"] [9]'],
    ['SELECT selfy.id FROM selfy', '["selfy.id"] [9]'],
    ['SELECT stores.id FROM stores s', '["id"] [1]'],
    ['SELECT shop AS events, events.id FROM users e WHERE e.id = 1', '["events", "events.id"] [{"id":7}, 7]'],
    [
      'SELECT events.id FROM (SELECT CAST(tuple(5) AS Tuple(id UInt8)) AS events) x, events e WHERE e.n = 1',
      '["events.id"] [5]',
    ],
    ['SELECT events.n FROM (SELECT 5 AS n, 6 AS events) x, events e WHERE e.n = 1', '["events.n"] [1]'],
    ['SELECT arrayMap(events -> events.1, [tuple(7)]) AS a FROM events e WHERE e.n = 1', '["a"] [[7]]'],
    [
      'SELECT n, (SELECT count() FROM events f WHERE f.n <= events.n) AS c FROM events e WHERE n = 1',
      '["n", "c"] [1, 2]',
    ],
    ['SELECT x.n FROM (SELECT events.n FROM events e WHERE events.n = 1) AS x', '["n"] [1]'],
  ]
  for (const [sql, expected] of cases) t.equal(await ask(sql), expected, sql)
})

t.test('a name from nowhere is told as it was written', async (t) => {
  for (const sql of [
    'SELECT events.n FROM (SELECT events.n FROM events e) AS e',
    'SELECT e.events.n FROM events e',
    'SELECT EVENTS.n FROM events e',
    'SELECT users.id FROM events e',
  ]) {
    const answer = await call('POST', '/v0/sql', { body: sql })
    t.match([answer.status, errorOf(answer)], [400, /events\.n|EVENTS\.n|users\.id/], sql)
  }
})

t.test('a data source that is read by its id is known by its name, and the other way round', async (t) => {
  // The shape of an answer is what its tests check.
  const { id } = (await call('GET', '/v0/datasources/users')).json as { readonly id: string }
  for (const sql of [
    `SELECT users.id FROM ${id} WHERE users.id = 1`,
    `SELECT users.id FROM ${id} AS x WHERE users.id = 1`,
    `SELECT ${id}.id FROM users WHERE users.id = 1`,
    `SELECT ${id}.id FROM ${id} x WHERE ${id}.id = 1`,
  ]) {
    t.equal(await ask(sql), '["id"] [1]', sql)
  }
})
