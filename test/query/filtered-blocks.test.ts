// Answers whose format shows the blocks that the engine has made, for a reader whose rows are filtered.

import { tableFromIPC } from 'apache-arrow'
import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'

const { store, workspace, ask } = await openFilteredQuery(t)
const sources = ['alone', 'between'].map((name) => workspace.addDataSource(name, 'id UInt64, tenant String'))

for (const { id } of sources) {
  await store.command(`CREATE TABLE ws_0001.${id} (id UInt64, tenant String) ENGINE = MergeTree ORDER BY id`)
  await store.command(`INSERT INTO ws_0001.${id} SELECT number * 10, 'a' FROM numbers(70000)`)
}
const [, between] = sources
await store.command(`INSERT INTO ws_0001.${between?.id} SELECT number * 2 + 1, 'b' FROM numbers(200000)`)
await store.command(`OPTIMIZE TABLE ws_0001.${between?.id} FINAL`)

const texts = [
  'SELECT * FROM SOURCE ORDER BY id',
  'SELECT id FROM SOURCE ORDER BY id DESC',
  'SELECT id, tenant FROM SOURCE WHERE id < 300000 ORDER BY id LIMIT 20000',
  'SELECT id, repeat(tenant, 3) FROM SOURCE WHERE id < 50000 ORDER BY id',
  'SELECT id FROM SOURCE WHERE id < 9000 UNION ALL SELECT id FROM SOURCE WHERE id BETWEEN 9000 AND 400000',
  'SELECT toString(id) AS a, a || tenant AS `b c`, id + 1 FROM SOURCE',
]

t.test('an answer has the same blocks whatever is hidden between its rows', async (t) => {
  for (const text of texts) {
    for (const format of ['Native', 'Arrow', 'ArrowStream', 'ORC', 'Parquet', 'PrettyCompact', 'Pretty']) {
      const answer = (source: string) => ask(`${text.replaceAll('SOURCE', source)} FORMAT ${format}`)
      const [one, other] = await Promise.all([answer('alone'), answer('between')])
      t.ok(one?.equals(other), `${format}: ${text}`)
    }
  }
})

t.test('the rows are all there, in the order of the query', async (t) => {
  const table = tableFromIPC(await ask('SELECT id FROM between ORDER BY id DESC FORMAT ArrowStream'))
  t.same(
    table.batches.map(({ numRows }) => numRows),
    [65_536, 4_464],
  )
  const ids: readonly bigint[] = [...(table.getChild('id') ?? [])]
  t.equal(ids.length, 70_000)
  t.ok(ids.every((id, index) => id === BigInt(69_999 - index) * 10n))
})

t.test('a reader without a filter gets the blocks of the engine, and columns of one name keep it', async (t) => {
  const table = tableFromIPC(await ask("SELECT id FROM between WHERE tenant = 'a' FORMAT ArrowStream", adminScope))
  t.ok(table.batches.length > 2)
  const joined = tableFromIPC(
    await ask('SELECT l.id, r.id FROM alone AS l JOIN between AS r ON l.id = r.id LIMIT 3 FORMAT Arrow'),
  )
  t.same(joined.schema.names, ['id', 'r.id'])
  const doubled = tableFromIPC(await ask('SELECT id, id, tenant, id FROM alone ORDER BY id LIMIT 3 FORMAT Arrow'))
  t.same(doubled.schema.names, ['id', 'id', 'tenant', 'id'])
  await t.rejects(ask('SELECT nosuch FROM alone FORMAT Native'), { code: 'SQL_INVALID', message: /nosuch/ })
})
