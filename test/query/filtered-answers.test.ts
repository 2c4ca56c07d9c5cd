// What a reader whose rows are filtered learns besides its rows: two tables with the same visible rows, and other hidden ones,
// must give the same answers to the byte.

import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { answerFormats } from '../../src/query/answer-formats.ts'
import { withOwnStatistics } from '../../src/query/answer-statistics.ts'
import type { ReadScope } from '../../src/sql/read-scope.types.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'

const {
  store,
  workspace,
  query,
  filtering,
  ask: answerOf,
} = await openFilteredQuery(t, { unfiltered: ['lookup'], responseCacheBytesMax: 1_000_000 })
const few = workspace.addDataSource('few', 'id UInt64, tenant String')
const many = workspace.addDataSource('many', 'id UInt64, tenant String')
const lookup = workspace.addDataSource('lookup', 'k UInt64, v String', 'Join')
workspace.addPipe('shown', { all: 'SELECT * FROM few' }, 'all')

for (const { id } of [few, many]) {
  await store.command(`CREATE TABLE ws_0001.${id} (id UInt64, tenant String) ENGINE = MergeTree ORDER BY id`)
  await store.command(`INSERT INTO ws_0001.${id} SELECT number * 3, 'a' FROM numbers(500)`)
}
await store.command(`INSERT INTO ws_0001.${many.id} SELECT number * 3 + 1, 'hidden' FROM numbers(40000)`)
await store.command(`CREATE TABLE ws_0001.${lookup.id} (k UInt64, v String) ENGINE = Join(ANY, LEFT, k)`)
await store.command(`INSERT INTO ws_0001.${lookup.id} VALUES (1, 'one')`)

const ask = async (sql: string, readScope?: ReadScope): Promise<string> =>
  (await answerOf(sql, readScope)).toString('latin1')

const withoutTime = (text: string): string => text.replace(/("elapsed": |<elapsed>)[\d.e-]+/, '$1')

t.test('no format tells a filtered reader how many rows are hidden', async (t) => {
  for (const format of answerFormats) {
    // Text for the formats that take a value or a name of one kind only.
    const sql = (table: string) =>
      format === 'Prometheus'
        ? `SELECT 'x' AS name, toFloat64(count()) AS value FROM ${table} FORMAT Prometheus`
        : `SELECT id, tenant FROM ${table} WHERE id < 300 ORDER BY id LIMIT 20 FORMAT ${format}`
    const [one, other] = [await ask(sql('few')), await ask(sql('many'))]
    t.ok(one.length > 0, format)
    t.equal(withoutTime(other), withoutTime(one), format)
  }
})

t.test('the statistics of a filtered answer are of its own rows and bytes', async (t) => {
  for (const sql of [
    'SELECT id FROM many WHERE id < 30',
    'SELECT id FROM many LIMIT 7',
    'SELECT count() FROM many',
    'SELECT max(id) FROM many WHERE id > 20000',
    'SELECT a.id FROM lookup AS l JOIN many AS a ON l.k = a.id',
    'SELECT k FROM lookup WHERE k IN (SELECT id FROM many)',
    'WITH m AS (SELECT * FROM many) SELECT id FROM m LIMIT 3',
    'SELECT id FROM few UNION ALL SELECT id FROM many',
    'SELECT id FROM many LIMIT 0',
    'SELECT * FROM (SELECT 1 SETTINGS output_format_write_statistics = 1), many LIMIT 2',
    'SELECT id FROM few UNION ALL SELECT id FROM many LIMIT 4 SETTINGS output_format_write_statistics = 1',
  ]) {
    const answer: unknown = JSON.parse(await ask(sql))
    const { rows } = answer as { readonly rows: number }
    t.match(answer, { statistics: { elapsed: Number, rows_read: rows, bytes_read: Number } }, sql)
    const limit = (answer as { readonly rows_before_limit_at_least?: number }).rows_before_limit_at_least
    t.ok(limit === undefined || limit === rows, `${sql} ${limit}`)
  }
  const silent: unknown = JSON.parse(
    await ask('SELECT id FROM many LIMIT 1 SETTINGS output_format_write_statistics = 0'),
  )
  t.notMatch(silent, { statistics: Object })
  const whole: unknown = JSON.parse(await ask('SELECT sum(id) FROM many', adminScope))
  t.match(whole, { rows: 1, statistics: { rows_read: 40_500 } }, 'others are told what was read')
})

t.test('a large filtered answer is the same wherever its pieces are cut', async (t) => {
  const text = await ask('SELECT id, repeat(tenant, 300) AS s FROM many')
  t.match(JSON.parse(text), { rows: 500, statistics: { rows_read: 500 } })
  const engines = Buffer.from(
    '{\n\t"data": ["\\n\\t\\"rows\\": 9"],\n\n\t"rows": 1,\n\n\t"rows_before_limit_at_least": 77,\n\n\t"statistics":\n\t{\n\t\t"elapsed": 1e-05,\n\t\t"rows_read": 8,\n\t\t"bytes_read": 9\n\t}\n}\n',
  )
  const options = { format: 'JSON', elapsedSeconds: 0.5, hasStatistics: true }
  const expected = Buffer.from(withOwnStatistics({ whole: engines, [Symbol.asyncIterator]: none }, options).whole ?? [])
  t.match(JSON.parse(expected.toString()), {
    rows: 1,
    rows_before_limit_at_least: 1,
    statistics: { elapsed: 0.5, rows_read: 1, bytes_read: 32 },
  })
  for (let cut = 0; cut <= engines.length; cut += 1) {
    const pieces = [engines.subarray(0, cut), engines.subarray(cut)]
    const chunks: Uint8Array[] = []
    const body = {
      async *[Symbol.asyncIterator]() {
        yield* pieces
      },
    }
    for await (const chunk of withOwnStatistics(body, options)) chunks.push(chunk)
    t.ok(Buffer.concat(chunks).equals(expected), `cut at ${cut}`)
  }
  t.throws(() => withOwnStatistics({ whole: Buffer.from('{}'), [Symbol.asyncIterator]: none }, options), 'unknown ends')
})

async function* none(): AsyncGenerator<Uint8Array> {}

t.test('functions that count rows by blocks, and plans, are refused where rows are filtered', async (t) => {
  for (const call of ['blockSize()', 'blockNumber()', 'rowNumberInBlock()', 'BLOCKSIZE()', 'blockSerializedSize(id)']) {
    await t.rejects(ask(`SELECT ${call} FROM many LIMIT 1`), { code: 'SQL_INVALID', message: /filters rows/ }, call)
    await t.rejects(
      ask(`SELECT count() FROM lookup WHERE ${call} > (SELECT count() FROM many)`),
      /filters rows|UNKNOWN/,
    )
  }
  await t.resolves(ask('SELECT blockSize() FROM many LIMIT 1', adminScope))
  const request = { pipe: 'shown', node: null, parameters: new Map(), signal: new AbortController().signal }
  await t.rejects(query.explain({ ...request, readScope: filtering }), {
    code: 'SQL_INVALID',
    message: /can not be shown/,
  })
  await t.resolves(query.explain({ ...request, readScope: adminScope }))
})

t.test('nobody reads what the service calls its databases, tables and files', async (t) => {
  for (const sql of [
    'SELECT _table FROM few',
    'SELECT _database FROM few',
    'SELECT _part FROM few',
    'SELECT few._table FROM few',
    'SELECT `_table` FROM few',
    'SELECT "_database" FROM few',
    'SELECT f._part FROM few AS f',
    'SELECT 1 AS _table, few._table FROM few',
    'SELECT count() FROM few GROUP BY _part',
    'SELECT id FROM few ORDER BY _table LIMIT 1',
    "SELECT id FROM few WHERE _table LIKE 't_%'",
    'SELECT * FROM few JOIN many USING (id, _database)',
    'SELECT arrayMap(x -> _table, [1]) FROM few',
    'SELECT _part_uuid, _disk_name FROM few',
  ]) {
    await t.rejects(ask(sql, adminScope), { code: 'SQL_INVALID', message: /belongs to the service/ }, sql)
  }
  t.equal(await ask("SELECT currentDatabase(), '_table' AS x FORMAT CSV", adminScope), '"workspace","_table"\n')
})

t.test('columns without a name are not called by what the service calls its tables', async (t) => {
  const cases: readonly (readonly [sql: string, header: string])[] = [
    ["SELECT (toUInt64(3), 'a') IN few", "(toUInt64(3), 'a') IN few"],
    ["SELECT (toUInt64(3), 'a') NOT IN (few)", "(toUInt64(3), 'a') NOT IN (few)"],
    ["SELECT 1, (toUInt64(3), 'a') IN few, 2", '1","(toUInt64(3), \'a\') IN few","2'],
    ["SELECT in((toUInt64(3), 'a'), few)", "in((toUInt64(3), 'a'), few)"],
    ["SELECT NOT ((toUInt64(3), 'a') IN few)", "NOT ((toUInt64(3), 'a') IN few)"],
    ["SELECT (toUInt64(3), 'a') IN few AS known", 'known'],
    ["SELECT joinGet('lookup', 'v', toUInt64(1))", "joinGet('lookup', 'v', toUInt64(1))"],
    ["SELECT upper(joinGet('lookup', 'v', toUInt64(1)))", "upper(joinGet('lookup', 'v', toUInt64(1)))"],
    ["SELECT * FROM (SELECT joinGet('lookup', 'v', toUInt64(1)))", "joinGet('lookup', 'v', toUInt64(1))"],
    [
      "SELECT arrayMap(x -> joinGet('lookup', 'v', x), [toUInt64(1)])",
      "arrayMap(x -> joinGet('lookup', 'v', x), [toUInt64(1)])",
    ],
    ["SELECT joinGet('lookup', 'v', toUInt64(1)) UNION ALL SELECT 'x'", "joinGet('lookup', 'v', toUInt64(1))"],
  ]
  for (const [sql, header] of cases) {
    for (const scope of sql.includes('joinGet') ? [adminScope] : [adminScope, filtering]) {
      const [first = ''] = (await ask(`${sql} FORMAT CSVWithNames`, scope)).split('\n')
      t.equal(first, `"${header}"`, sql)
    }
  }
})
