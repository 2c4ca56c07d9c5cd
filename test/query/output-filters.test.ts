// Filters on what pipes give, wherever their rows are read.

import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { createReadScope } from '../../src/access/read-scope.ts'
import { ApiError } from '../../src/shared/errors/errors.ts'
import type { ReadScope } from '../../src/sql/read-scope.types.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { idOf } from '../support/query/test-workspace.ts'

const { store, workspace, query, ask, read } = await openFilteredQuery(t, { responseCacheBytesMax: 1_000_000 })
const columns = 'id UInt64, tenant LowCardinality(String), s String, body JSON, tags Array(LowCardinality(String))'
const { id: table } = workspace.addDataSource('events', columns)
await store.command(`CREATE TABLE ws_0001.${table} (${columns}) ENGINE = MergeTree ORDER BY id`)
await store.command(
  `INSERT INTO ws_0001.${table} SELECT number, if(number % 2 = 0, 'a', 'SECRETT'), if(number % 2 = 0, toString(number), 'SECRETS'),
   if(number % 2 = 0, '{"x": 1}', '{"pS": "SECRETJ"}'), if(number % 2 = 0, ['t'], ['SECRETA']) FROM numbers(20)`,
)
workspace.addPipe('top', { raw: 'SELECT * FROM events', all: 'SELECT * FROM raw ORDER BY id DESC' }, 'all')
workspace.addPipe('counts', { all: 'SELECT tenant AS who, count() AS c, max(s) AS m FROM events GROUP BY who' }, 'all')
workspace.addPipe('over', { all: 'SELECT id * 10 AS id, tenant FROM top' }, 'all')
workspace.addPipe('sizes', { all: '% SELECT tenant, toFixedString(tenant, {{UInt32(n, 1)}}) AS f FROM events' }, 'all')
workspace.addPipe('failing', { all: 'SELECT tenant, toUInt8(s) AS n FROM events' }, 'all')

const scope = (outputs: Readonly<Record<string, string>>, name = 'f'): ReadScope => {
  const filters = new Map(Object.entries(outputs).map(([pipe, filter]) => [idOf(pipe), filter]))
  return createReadScope({
    ...adminScope,
    signature: `${name} ${JSON.stringify(outputs)}`,
    seesAll: false,
    isFiltered: true,
    outputFilterOf: (id) => filters.get(id) ?? null,
  })
}
const onTop = scope({ top: "tenant = 'a' AND id < 7" })
const csv = async (sql: string, readScope = onTop): Promise<string> =>
  (await ask(`${sql} FORMAT CSV`, readScope)).toString()

t.test('the rows of a pipe pass its filter at its path, in q, in SQL and in another pipe', async (t) => {
  const atPath = await read({ pipe: 'top', readScope: onTop })
  t.equal(atPath.toString().replaceAll(/,.*/g, ''), '6\n4\n2\n0\n', 'in the order of the pipe')
  t.equal((await read({ pipe: 'top', sql: 'SELECT sum(id) FROM _', readScope: onTop })).toString(), '12\n')
  t.equal(await csv('SELECT count(), sum(id), groupUniqArray(tenant) FROM top'), `4,12,"['a']"\n`)
  t.equal(await csv('SELECT count() FROM numbers(20) WHERE number IN (SELECT id FROM top)'), '4\n')
  t.equal(await csv('SELECT max(id) FROM over'), '60\n')
  t.equal((await read({ pipe: 'over', readScope: onTop })).toString().split('\n').length, 5)
  t.equal(await csv('SELECT a.id FROM top AS a JOIN top AS b ON a.id = b.id + 2 ORDER BY a.id'), '2\n4\n6\n')
  t.equal(await csv('SELECT count() FROM events'), '20\n', 'the data source has no filter of its own')
  t.equal(await csv('SELECT count() FROM top', adminScope), '20\n')
})

t.test('a filter may speak of columns that the pipe has computed', async (t) => {
  const readScope = scope({ counts: "who = 'a' AND c > 1" })
  t.equal(await csv('SELECT * FROM counts', readScope), '"a",10,"8"\n')
  t.equal((await read({ pipe: 'counts', readScope })).toString(), '"a",10,"8"\n')
  t.equal(await csv('SELECT * FROM counts', scope({ counts: 'c > 10' })), '')
})

t.test('nothing of the query around the pipe is taken for a column of the filter', async (t) => {
  const readScope = scope({ top: "kind = 'a'" })
  for (const sql of [
    'SELECT * FROM top',
    "WITH 'a' AS kind SELECT * FROM top",
    "SELECT 'a' AS kind, * FROM top",
    "SELECT * FROM (SELECT 'a' AS kind) AS top2, top",
    "SELECT arrayMap(kind -> (SELECT count() FROM top), ['a'])",
    "WITH top AS (SELECT 'a' AS kind) SELECT * FROM top, over",
  ]) {
    await t.rejects(ask(sql, readScope), { code: 'FILTER_BROKEN', status: 403, message: /filter does not fit/ }, sql)
  }
  await t.rejects(read({ pipe: 'top', readScope }), { code: 'FILTER_BROKEN', status: 403 })
  for (const sql of [
    'WITH 1 AS __filtered_rows SELECT * FROM top',
    'SELECT * FROM (SELECT 1 AS tenant) AS __filtered_rows, top',
    'SELECT `__filtered_rows_`.id FROM top AS `__filtered_rows_`',
  ]) {
    await t.rejects(ask(sql, onTop), { code: 'SQL_INVALID', message: /belongs to the service/ }, sql)
  }
})

t.test('a filter that the engine cannot evaluate any more is broken, not unfiltered', async (t) => {
  for (const filter of ['id = [1]', "tags = 'a'", 'body + 1 = 2']) {
    await t.rejects(ask('SELECT * FROM top', scope({ top: filter })), { code: 'FILTER_BROKEN', status: 403 }, filter)
  }
})

t.test('hidden rows of a pipe are not seen by what a caller computes', async (t) => {
  for (const sql of [
    'SELECT toUInt64(s) FROM top',
    "SELECT count() FROM top WHERE throwIf(tenant = 'SECRETT') = 0",
    'SELECT toFixedString(tenant, 1) FROM top',
    'SELECT toFixedString(tags[1], 1) FROM top',
    'SELECT lowCardinalityKeys(tenant) FROM top',
    'SELECT distinctJSONPaths(body) FROM top',
    'SELECT body.x::UInt64 FROM top',
    'SELECT id FROM top WHERE toUInt64(s) >= 0 ORDER BY toUInt64(s)',
    'SELECT intDiv(1, id % 2 - 1) FROM top',
  ]) {
    const told = await csv(sql).catch((thrown: unknown) => String(thrown))
    t.notMatch(told, /SECRET|pS|THROW|CANNOT|LARGE|DIVISION/, sql)
  }
})

t.test('what a pipe computes of hidden rows is not told', async (t) => {
  const readScope = scope({ failing: "tenant = 'a'" })
  for (const sql of ['SELECT sum(n) FROM failing', 'SELECT * FROM failing']) {
    const told = await ask(sql, readScope).catch((thrown: unknown) => thrown)
    if (!Buffer.isBuffer(told)) t.match(told, { code: 'PIPE_FAILED', message: /^(?!.*SECRET)(?!.*CANNOT)/ }, sql)
    else t.notMatch(told.toString(), /SECRET/, sql)
  }
  t.match(await ask('SELECT sum(n) FROM failing', adminScope).catch(String), /SECRETS/)
})

t.test('whatever fails by hidden rows, the answer is one', async (t) => {
  const conditions = {
    thrown: "throwIf(s = 'SECRETS', 'found') = 0",
    parsed: 'toUInt8(s) >= 0',
    dated: "toDate(if(s = 'SECRETS', s, '2024-01-01')) > 0",
    divided: "intDiv(1, s != 'SECRETS') >= 0",
    state: "finalizeAggregation(CAST(s, 'AggregateFunction(sum, UInt64)')) >= 0",
    scalar: "(SELECT throwIf(max(s) = 'SECRETS') FROM events) = 0",
    memory: "length(arrayMap(x -> repeat(s, 1000), range(if(s = 'SECRETS', 5000000, 1)))) > 0",
  }
  const asked = Object.entries(conditions).map(([name, sql]) => `{% elif what == '${name}' %} ${sql}`)
  const sql = `% SELECT * FROM events WHERE {% if what == '' %} 1 ${asked.join(' ')} {% end %}`
  workspace.addPipe('probed', { all: sql }, 'all')
  const readScope = scope({ probed: "tenant = 'a'" })
  const answers = new Set<string>()
  for (const what of Object.keys(conditions)) {
    const parameters = new Map([['what', what]])
    for (const sql of [null, 'SELECT count() FROM _', 'SELECT throwIf(id < 100) FROM _']) {
      const thrown: unknown = await read({ pipe: 'probed', sql, readScope, parameters }).catch(
        (error: unknown) => error,
      )
      t.type(thrown, ApiError, `${what}: ${sql}`)
      if (thrown instanceof ApiError) answers.add(`${thrown.status} ${JSON.stringify(thrown.body())}`)
    }
  }
  t.equal(answers.size, 1, [...answers].join('\n'))
  t.match([...answers], [/^400 .*docs\/errors\.md#pipe_failed/])
  const shown = await read({
    pipe: 'probed',
    sql: 'SELECT count() FROM _',
    readScope,
    parameters: new Map([['what', '']]),
  })
  t.equal(shown.toString(), '10\n')
  const own = read({
    pipe: 'probed',
    sql: 'SELECT nothing FROM _',
    readScope,
    parameters: new Map([['what', 'thrown']]),
  })
  await t.rejects(own, { code: 'SQL_INVALID', message: /`nothing`/ }, 'what is wrong with the own text is told')
})

t.test('a plan of a filtered pipe, and its nodes, are not shown', async (t) => {
  const signal = new AbortController().signal
  const request = { pipe: 'top', node: null, parameters: new Map(), signal, readScope: onTop }
  await t.rejects(query.explain(request), { code: 'SQL_INVALID' })
  await t.rejects(query.explain({ ...request, pipe: 'over' }), { code: 'SQL_INVALID' })
  await t.rejects(read({ pipe: 'top', sql: 'SELECT * FROM raw', readScope: onTop }), { code: 'READ_DENIED' })
  await t.rejects(read({ pipe: 'top', sql: 'SELECT * FROM all', readScope: onTop }), { code: 'READ_DENIED' })
})

t.test('the columns of a pipe follow its parameters', async (t) => {
  const readScope = scope({ sizes: "tenant = 'a'" })
  const parameters = new Map([['n', '9']])
  await t.rejects(read({ pipe: 'sizes', readScope }), { code: 'PIPE_FAILED' })
  const [first = ''] = (await read({ pipe: 'sizes', readScope, parameters })).toString().split('\n')
  t.equal(first, `"a","a${'\0'.repeat(8)}"`)
})
