// Rows that were set aside: read in SQL, told in groups, and let in once more.

import t, { type Test } from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)

async function replay(name: string, order: object = {}): Promise<Answer> {
  const body = JSON.stringify(order)
  return await service.call('POST', `/v0/datasources/${name}/quarantine/replay`, { body })
}

async function summary(name: string): Promise<Answer> {
  return await service.call('GET', `/v0/datasources/${name}/quarantine/summary`)
}

/** An expression that takes more memory than a statement may. */
function hugeText(column: string): string {
  return `arrayStringConcat(arrayMap(x -> repeat(ifNull(${column}, 'y'), 100000), range(100000)))`
}

function refuses(t: Test, answer: Answer, message: RegExp, status = 400): void {
  t.equal(answer.status, status, answer.text)
  t.match(answer.json, { error: message, documentation: String })
}

t.test('a summary groups rows by column and reason, and says which types would have let them in', async (t) => {
  const schema =
    "k UInt8 `json:$.k`, a Int32 `json:$.a`, b Date `json:$.b`, u UUID `json:$.u` DEFAULT generateUUIDv4(), `va'l ue` String `json:$.v`"
  await service.create('many', schema, { engine_sorting_key: 'k' })
  const lines = [
    '{"k":1,"a":3000000000,"b":"2026-01-01","v":"x"}',
    '{"k":2,"a":-5000000000,"b":"2026-01-01","v":"x"}',
    '{"k":3,"a":"it\'s \' on column \'b\'","b":"2026-01-01 10:00:00.5","v":"x","u":"no"}',
    '{"k":4,"a":1,"b":"2026-01-01"}',
    '{"k":300,"a":1,"b":"1890-01-01","v":"x"}',
    '{"k":5,"a":1,"b":"2026-01-01","v":"fits"}',
    'no json',
  ]
  await service.events('many', `${lines.join('\n')}\n`, { wait: 'true' })
  const { status, json } = await summary('many')
  t.equal(status, 200)
  t.match(json, {
    datasource: { id: /^t_/, name: 'many' },
    quarantine_rows: 6,
    more_groups: false,
    groups: { length: 6 },
    suggested_schema: /^`k` Int64 .*`a` String .*`b` String .*`u` String .*`va'l ue` Nullable\(String\)/,
  })
  // The shape of the answer is what is checked above.
  const { groups } = json as { readonly groups: readonly { readonly column: string; readonly samples: string[] }[] }
  const byColumn = Object.fromEntries(groups.map((group) => [group.column, group]))
  t.match(byColumn['a'], {
    reason: "value on column 'a' is not Int32",
    rows: 3,
    first: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
    last: /^\d{4}/,
    suggestion: { type: 'String', all_values: true },
  })
  t.same(byColumn['a']?.samples.toSorted(), ['-5000000000', '3000000000', "it's ' on column 'b'"])
  t.match(byColumn['b'], { reason: "value on column 'b' is not Date", rows: 1, suggestion: { type: 'String' } })
  t.match(byColumn['k'], { suggestion: { type: 'Int64' } })
  t.match(byColumn['u'], { rows: 1, suggestion: { type: 'String' } })
  t.match(byColumn["va'l ue"], { samples: [null], suggestion: { type: 'Nullable(String)' } })
  t.match(byColumn[''], { rows: 1, suggestion: null })
  await service.create('clean', 'a Int32')
  t.match((await summary('clean')).json, { quarantine_rows: 0, groups: [], suggested_schema: null })
  refuses(t, await summary('nobody'), /"nobody" does not exist/, 404)
})

t.test('rows that are repaired by SQL go in, and the others stay as they were', async (t) => {
  await service.create('prices', "item String, price Float64, at DateTime, note Nullable(String) DEFAULT 'none'")
  const csv = [
    'item,price,at,note',
    'a,1.5,2026-01-01 00:00:00,fine',
    '"b ""x""\nsecond","1,250.75",2026-01-02 00:00:00,',
    'c,free,2026-01-03 00:00:00,kept',
    'd,2,yesterday,',
    'e,"3,5",2026-01-05 00:00:00,"quoted, note"',
  ]
  await service.append('prices', 'csv', `${csv.join('\n')}\n`)
  t.equal(await service.count('prices_quarantine'), 4)
  const first = await replay('prices', { fixes: { price: "replaceAll(price, ',', '')" }, condition: "item != 'e'" })
  t.match(first.json, {
    datasource: { name: 'prices' },
    selected_rows: 3,
    replayed_rows: 1,
    failed_rows: 2,
    left_rows: 0,
    failures: [
      { column: 'at', reason: "value on column 'at' is not DateTime", rows: 1, samples: [/'yesterday'/] },
      { column: 'price', reason: "value on column 'price' is not Float64", rows: 1, samples: [/'free'/] },
    ],
  })
  t.same(await service.rows("SELECT item, price, at, note FROM prices WHERE item LIKE 'b%'"), [
    ['b "x"\\nsecond', '1250.75', '2026-01-02 00:00:00', 'none'],
  ])
  t.same(await service.rows('SELECT item, price, at, c__error FROM prices_quarantine ORDER BY item'), [
    ['c', 'free', '2026-01-03 00:00:00', "['value \\'free\\' on column \\'price\\' is not Float64']"],
    ['d', '2', 'yesterday', "['value \\'yesterday\\' on column \\'at\\' is not DateTime']"],
    ['e', '3,5', '2026-01-05 00:00:00', "['value \\'3,5\\' on column \\'price\\' is not Float64']"],
  ])
  const form = new URLSearchParams({
    'fixes.price': "replaceAll(if(price = 'free', '0', price), ',', '.')",
    'fixes.at': "if(at = 'yesterday', '2026-01-04', at)",
  })
  const path = '/v0/datasources/prices/quarantine/replay'
  t.match((await service.call('POST', path, { body: form.toString() })).json, { replayed_rows: 3, failed_rows: 0 })
  t.equal(await service.count('prices_quarantine'), 0)
  t.same(
    await service.rows("SELECT item, price, toDate(at), note FROM prices WHERE item > 'c' OR item = 'c' ORDER BY item"),
    [
      ['c', '0', '2026-01-03', 'kept'],
      ['d', '2', '2026-01-04', 'none'],
      ['e', '3.5', '2026-01-05', 'quoted, note'],
    ],
  )
  t.match((await replay('prices')).json, { selected_rows: 0, replayed_rows: 0, failed_rows: 0, failures: [] })
})

t.test('a schema that has grown lets rows in, with paths, nested values, and NULL', async (t) => {
  const before =
    'n Int32 `json:$.x.n`, list Array(Int32) `json:$.list[:]`, m Map(String, Int32) `json:$.m`, s Nullable(String) `json:$.s`'
  await service.create('grown', before)
  const lines = ['{"x":{"n":"ten"},"list":[1,2],"m":{"a":1},"s":null}', '{"x":{"n":2},"list":["x"],"m":{},"s":"é\\"/"}']
  await service.events('grown', `${lines.join('\n')}\n`, { wait: 'true' })
  await service.call('POST', '/v0/datasources/grown/alter', {
    body: new URLSearchParams({ schema: `${before}, more Int8 DEFAULT 7` }).toString(),
  })
  const fixes = { n: "if(n = 'ten', '10', n)", list: "if(list LIKE '%x%', '[]', list)", more: "'8'" }
  t.match((await replay('grown', { fixes: { n: fixes.n }, condition: "n = 'ten'" })).json, { replayed_rows: 1 })
  t.match((await replay('grown', { fixes })).json, { replayed_rows: 1, failed_rows: 0 })
  t.same(await service.rows('SELECT * FROM grown ORDER BY n'), [
    ['2', '[]', '{}', 'é"/', '8'],
    ['10', '[1,2]', "{'a':1}".replaceAll("'", "\\'").replaceAll('\\', ''), '\\N', '7'],
  ])
})

t.test('rows that the table itself refuses are told, and do not hold up the others', async (t) => {
  await service.create('throws', 'a Int32, b Int32 DEFAULT intDiv(10, a)')
  await service.append('throws', 'csv', 'a,b\n1,x\n0,y\n2,z\n')
  const answer = await replay('throws', { fixes: { b: 'NULL' } })
  t.match(answer.json, {
    selected_rows: 3,
    replayed_rows: 2,
    failed_rows: 1,
    failures: [{ column: '', reason: 'the database refused the row', rows: 1 }],
  })
  t.same(await service.rows('SELECT a, b FROM throws ORDER BY a'), [
    ['1', '10'],
    ['2', '5'],
  ])
  t.same(await service.rows('SELECT a FROM throws_quarantine'), [['0']])
})

t.test('many rows of many partitions go in, each once', async (t) => {
  await service.create('wide', 'd Date, n UInt32', { engine_partition_key: 'd', engine_sorting_key: 'n' })
  const lines = Array.from({ length: 120_000 }, (_, n) => `2026-01-${String((n % 28) + 1).padStart(2, '0')},#${n}`)
  await service.append('wide', 'csv', `d,n\n${lines.join('\n')}\n`)
  t.equal(await service.count('wide_quarantine'), 120_000)
  const answer = await replay('wide', { fixes: { n: "replaceAll(n, '#', '')" } })
  t.match(answer.json, { selected_rows: 120_000, replayed_rows: 120_000, failed_rows: 0 })
  t.same(await service.rows('SELECT count(), uniqExact(n), uniqExact(d) FROM wide'), [['120000', '120000', '28']])
  t.equal(await service.count('wide_quarantine'), 0)
  t.match((await service.call('GET', '/v0/datasources/wide')).json, { quarantine_rows: 0 })
})

t.test('what a replay cannot run is refused in words, and nothing is changed', async (t) => {
  await service.create('still', 'a Int32, b String')
  await service.append('still', 'csv', 'a,b\nx,1\n')
  await service.create('still_join', 'a Int32, b String', {
    engine: 'Join',
    engine_join_strictness: 'ANY',
    engine_join_type: 'LEFT',
    engine_key_columns: 'a',
  })
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ condition: 'a = ' }, /^The replay cannot run: condition: expected an expression, found the end/],
    [{ condition: 'zz = 1' }, /^The replay cannot run: condition: Unknown expression or function identifier `zz`\. \(/],
    [
      { condition: 'a' },
      /^The replay cannot run: condition: Invalid type for filter in WHERE: Nullable\(String\)\. \(/,
    ],
    [{ condition: "a = '1') OR (1" }, /^The replay cannot run: condition has '\)' that closes nothing/],
    [{ condition: 'a = (SELECT 1)' }, /^The replay cannot run: condition cannot hold a query/],
    [{ condition: "file('/etc/passwd') != ''" }, /^The replay cannot run: condition cannot call file\(\)/],
    [{ condition: 'count() > 1' }, /^The replay cannot run: condition: Aggregate function count\(\)/],
    [{ condition: '1; DROP TABLE x' }, /unexpected character ';'/],
    [{ fixes: { zz: "'1'" } }, /^The replay cannot run: there is a fix for 'zz', which is not a column/],
    [{ fixes: { a: 'zz' } }, /^The replay cannot run: the fix for 'a': Unknown expression or function identifier `zz`/],
    [{ fixes: { a: 'max(a)' } }, /^The replay cannot run: the fix for 'a': .*GROUP BY/],
    [{ fixes: { a: '' } }, /^The replay cannot run: the fix for 'a' has no expression/],
    [{ fixes: { a: '1, 2) FROM x --' } }, /^The replay cannot run: /],
    [{ fixes: { a: 'intDiv(1, length(a) - 1)' } }, /^The replay cannot run: Division by zero/],
    [{ fixes: { a: hugeText("'y'") } }, /^The replay cannot run: the fix for 'a': Query memory limit exceeded/],
    [{ fixes: { a: hugeText('b') } }, /^The replay cannot run: Query memory limit exceeded/],
    [{ condition: `${hugeText('b')} = ''` }, /^The replay cannot run: Query memory limit exceeded/],
    [{ fixes: { a: ['1'] } }, /"fixes\.a" must be a text/],
    [{ fixes: "a = '1'" }, /^Parameter "fixes" is "a = '1'", but must be a JSON object of columns and expressions$/],
    [{ fixes: '{"zz":"1"}' }, /^The replay cannot run: there is a fix for 'zz'/],
    [{ dry: true }, /^Parameter "dry" is "true", but must be absent: a replay has no dry run/],
  ]
  for (const [order, message] of cases) {
    const answer = await replay('still', order)
    refuses(t, answer, message)
    t.notMatch(answer.text, /DB::|ws_0001|t_[0-9a-f]{32}/)
  }
  refuses(t, await replay('still_join'), /^The replay cannot run: the engine Join takes no single rows/)
  refuses(t, await replay('nobody'), /"nobody" does not exist/, 404)
  t.same(await service.rows('SELECT * EXCEPT (c__import_id, insertion_date, c__error) FROM still_quarantine'), [
    ['x', '1', "['a']"],
  ])
  t.match((await replay('still', { fixes: { a: "'7'" } })).json, { replayed_rows: 1 })
})
