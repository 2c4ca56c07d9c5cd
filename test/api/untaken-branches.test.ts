// Branches that are never taken and cannot be computed, beside columns whose names are functions: what the engine answers is
// answered, and no function of such a name is called.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t, { queryTimeMaxMs: 5_000 })
const ask = (sql: string) => service.call('POST', '/v0/sql', { body: `${sql} FORMAT TSV` })

await service.create('people', 'id UInt32, user String', { engine_sorting_key: 'id' })
await service.append('people', 'csv', '1,ann\n')

const answered: readonly (readonly [sql: string, rows: string])[] = [
  ["SELECT if('' = '', 1, toUInt64('')), user FROM people", '1\tann\n'],
  ["SELECT multiIf(1, 1, toUInt64('')), user FROM people", '1\tann\n'],
  ["SELECT CASE WHEN 1 THEN 1 ELSE toUInt64('') END, user FROM people", '1\tann\n'],
  ["SELECT if('' = '', user, toString(toUInt64(''))) FROM people", 'ann\n'],
  ["SELECT if(1, 1, toUInt64('')), if(id > 0, user, 'none') FROM people", '1\tann\n'],
  ["SELECT if(1, 1, toUInt64('')), CASE WHEN id > 0 THEN user END FROM people", '1\tann\n'],
  ["SELECT user FROM (SELECT user, if(1, 1, toUInt64('')) AS n FROM people) WHERE n = 1", 'ann\n'],
  ["WITH 1 AS k SELECT if(1, k, toUInt64('')), user FROM people", '1\tann\n'],
  ["SELECT if(1, 1, toUInt64('')), (SELECT user FROM people LIMIT 1)", '1\tann\n'],
  ["SELECT 1 ? 1 : toUInt64(''), user FROM people", '1\tann\n'],
  ["SELECT (1 ? [1, 2][1] : toUInt64('')), user FROM people", '1\tann\n'],
]

for (const [sql, rows] of answered) {
  t.test(sql, async (t) => {
    t.match(await ask(sql), { status: 200, text: rows })
  })
}

const refused: readonly string[] = [
  "SELECT if(1, 1, toUInt64('')), user",
  "SELECT if(1, 1, toUInt64('')), if(now() > 0, user, 'b')",
  "SELECT if(1, 1, toUInt64('')), if(now() > 0, 'b', user)",
  "SELECT if(1, 1, toUInt64('')), IF((SELECT count() FROM people) = 1, 'b', user)",
  "SELECT if(1, 1, toUInt64('')), multiIf(now() > 0, 'b', user)",
  "SELECT if(1, 1, toUInt64('')), MULTIIF(1, 'b', user)",
  "SELECT if(1, 1, toUInt64('')), CASE WHEN now() > 0 THEN 'b' ELSE user END",
  "SELECT if(1, 1, toUInt64('')), CASE WHEN now() > 0 THEN CASE WHEN 1 THEN 'b' ELSE user END END",
  "SELECT if(1, 1, toUInt64('')), if((1, now()).1 = 1, 'b', user)",
  "SELECT if(1, user, toUInt64(''))",
  "SELECT if(0, toUInt64(''), user)",
  "SELECT if(1, 1, toUInt64('')), now() > 0 ? 'b' : user",
  "SELECT if(1, 1, toUInt64('')), user = 'a' AND now() > 0 ? 'b' : 'c'",
  "SELECT if(1, 1, toUInt64('')), now() > 0 ? 'b' : concat('a', [user, 'c'][1])",
  "SELECT if(1, 1, toUInt64('')), [now() > 0 ? 'b' : (SELECT max(x) FROM (SELECT user AS x))]",
  "WITH user AS u SELECT if(1, 1, toUInt64('')), if(now() > 0, 'b', u)",
  "WITH c AS (SELECT user AS u) SELECT if(1, 1, toUInt64('')), if(now() > 0, 'b', (SELECT u FROM c))",
  "WITH (x -> concat(x, user)) AS f SELECT if(1, 1, toUInt64('')), if(now() > 0, 'b', f('a'))",
  "SELECT if(1, 1, toUInt64('')), (SELECT user)",
  "SELECT if(1, 1, toUInt64('')), z FROM view(SELECT user AS z)",
  "SELECT if(1, 1, toUInt64('')), if(now() > 0, 'b', (SELECT z FROM view(SELECT user AS z)))",
]

for (const sql of refused) {
  t.test(`refused: ${sql}`, async (t) => {
    const { status, text } = await ask(sql)
    t.equal(status, 400)
    t.notMatch(text, /r_reader|r_admin/)
  })
}

t.test('a literal condition takes the same branch whenever it is computed, so the other calls nothing', async (t) => {
  const { text } = await ask("SELECT if(1, 1, toUInt64('')), if(1, 'a', user) FROM people")
  t.equal(text, '1\ta\n')
})
