// What the engine takes and harms nobody: functions, table functions and texts that are on no list of the engine's own.

import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'

const pipes = await openPipeService(t)
const { call, service } = pipes
await service.create('pairs', "pair Tuple(a UInt8, b String), word String DEFAULT 'w'")
await service.append('pairs', 'ndjson', '{"pair":{"a":1,"b":"x"}}\n')

async function ask(sql: string): Promise<string> {
  const { status, text } = await call('POST', '/v0/sql', { body: `${sql} FORMAT JSONCompactEachRowWithNames` })
  return status === 200 ? text.trim().split('\n').join(' ') : `${status} ${text}`
}

t.test('untuple makes columns of the elements of a tuple', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ["SELECT untuple((1, 'a')) AS x", '["x.1", "x.2"] [1, "a"]'],
    ['SELECT untuple(pair) AS p FROM pairs', '["p.a", "p.b"] [1, "x"]'],
    ['SELECT * FROM (SELECT untuple(pair) AS p FROM pairs)', '["p.a", "p.b"] [1, "x"]'],
    ['SELECT untuple(pairs.pair) AS p, word FROM pairs q', '["p.a", "p.b", "word"] [1, "x", "w"]'],
    ['SELECT p.a FROM (SELECT untuple(pair) AS p FROM pairs)', '["p.a"] [1]'],
    ['SELECT untuple(argMax(pair, word)) AS p FROM pairs', '["p.a", "p.b"] [1, "x"]'],
  ]
  for (const [sql, expected] of cases) t.equal(await ask(sql), expected, sql)
})

t.test('a heredoc is a text, whatever stands in it', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    [`SELECT $$a'b\\n"\`$$ AS x`, `["x"] ["a'b\\\\n\\"\`"]`],
    ['SELECT $t$a$$b$u$c$t$ AS x', '["x"] ["a$$b$u$c"]'],
    ['SELECT $$$$ AS x, $_1$ -- no comment $_1$ AS y', '["x", "y"] ["", " -- no comment "]'],
    ['SELECT $$two\nlines$$ AS x', '["x"] ["two\\nlines"]'],
    ['SELECT CAST(1, $$String$$) AS x', '["x"] ["1"]'],
    ['SELECT x FROM values($$x UInt8$$, 7)', '["x"] [7]'],
    ["SELECT word FROM pairs WHERE word LIKE $$w%$$ AND word IN ($$w$$, 'v')", '["word"] ["w"]'],
    ['SELECT 1 AS x FORMAT JSONCompactEachRowWithNames --', '["x"] [1]'],
    ['SELECT $$é ✓$$ AS x', '["x"] ["é ✓"]'],
    ['WITH $$UTC$$ AS zone SELECT toHour(toDateTime(0, zone)) AS x', '["x"] [0]'],
  ]
  for (const [sql, expected] of cases) t.equal(await ask(sql), expected, sql)
  const open = await call('POST', '/v0/sql', { body: 'SELECT $a$ x' })
  t.match([open.status, errorOf(open)], [400, /line 1, column 8: the heredoc \$a\$ is not closed/])
  const two = await call('POST', '/v0/sql', { body: 'SELECT $$a$$, xyz FROM pairs' })
  t.match([two.status, errorOf(two)], [400, /xyz/])
  await pipes.create('heredocs', "% SELECT $$a'b$$ AS x, {{String(p, 'q')}} AS y")
  t.match((await call('GET', '/v0/pipes/heredocs.ndjson')).status, 404, 'it has no endpoint')
  t.equal(await ask('SELECT * FROM heredocs'), `["x", "y"] ["a'b", "q"]`)
})

t.test('zeros and numbers give rows', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT * FROM zeros(2)', '["zero"] [0] [0]'],
    ['SELECT toTypeName(zero) AS x FROM zeros(1) AS z WHERE z.zero = 0', '["x"] ["UInt8"]'],
    ['SELECT count() AS c FROM zeros_mt(100000)', '["c"] [100000]'],
    ['SELECT count() AS c FROM (SELECT * FROM zeros() LIMIT 3)', '["c"] [3]'],
    ['SELECT count() AS c FROM zeros(2) AS a JOIN Zeros(3) AS b ON a.zero = b.zero', '["c"] [6]'],
    ['SELECT count() AS c FROM zeros(2), zeros(2)', '["c"] [4]'],
    ['SELECT (SELECT count() FROM zeros(1 + 1)) AS c', '["c"] [2]'],
    ['WITH z AS (SELECT zero FROM zeros(1)) SELECT zero + 1 AS x FROM z', '["x"] [1]'],
    ['SELECT max(number) AS m FROM numbers_mt(5)', '["m"] [4]'],
    ['SELECT number FROM numbers(3, 1)', '["number"] [3]'],
  ]
  for (const [sql, expected] of cases) t.equal(await ask(sql), expected, sql)
  for (const sql of ['SELECT * FROM zeros(1, 2)', 'SELECT * FROM zeros(SELECT 1)']) {
    const refused = await call('POST', '/v0/sql', { body: sql })
    t.match([refused.status, errorOf(refused)], [400, /zeros\(\) takes one number of rows/], sql)
  }
  await pipes.create('zeroed', 'SELECT zero + n AS x FROM events, zeros(2)')
  t.same((await pipes.show('zeroed')).nodes[0]?.dependencies, ['events'])
})

t.test('a format that is not there is told, however the data are asked for', async (t) => {
  const { id } = await pipes.create('p1', 'SELECT 1 AS x')
  await call('PUT', '/v0/pipes/p1/endpoint', { body: 'n0' })
  const formats = 'use one of json, csv, ndjson, parquet, prometheus, arrow'
  const cases: readonly (readonly [string, string, string])[] = [
    ['GET', '/v0/pipes/p1.xml', 'xml'],
    ['POST', '/v0/pipes/p1.xml', 'xml'],
    ['GET', '/v0/pipes/p1.JSON', 'JSON'],
    ['GET', '/v0/pipes/p1.xml?x=1', 'xml'],
    ['GET', '/v0/pipes/p1.', ''],
    ['GET', `/v0/pipes/${id}.xml`, 'xml'],
    ['GET', `/v0/pipes/${id.replace('_', '_p1.')}.tsv`, 'tsv'],
    ['GET', '/v0/pipe/p1/data.xml', 'xml'],
    ['POST', '/v0/pipe/p1/data.xml', 'xml'],
  ]
  for (const [method, path, format] of cases) {
    const answer = await call(method, path)
    t.match(
      [answer.status, errorOf(answer)],
      [400, `Format "${format}" is not supported; ${formats}`],
      `${method} ${path}`,
    )
  }
  const others: readonly (readonly [string, string, number])[] = [
    ['GET', '/v0/pipes/p2.xml', 404],
    ['GET', '/v0/pipe/p2/data.xml', 404],
    ['GET', '/v0/pipes/p1.pipe', 200],
    ['GET', '/v0/pipes/p1.json', 200],
    ['POST', '/v0/pipes/p1.json', 200],
    ['GET', '/v0/pipe/p1/data.json', 200],
    ['GET', `/v0/pipes/${id.replace('_', '_p1.')}`, 200],
    ['POST', '/v0/pipes/p1', 405],
    ['POST', '/v0/pipes/p2.xml', 405],
    ['DELETE', '/v0/pipes/p2.xml', 404],
  ]
  for (const [method, path, status] of others) t.equal((await call(method, path)).status, status, `${method} ${path}`)
})

t.test('parameters of inner pipes are among those of the nodes that read them, as in openapi.json', async (t) => {
  await pipes.create('deep', "% SELECT {{Int32(deep, 1)}} AS x, {{String(both, 'a', description='Of deep')}} AS y")
  await pipes.create(
    'inner',
    '% SELECT {{Int32(inner_a, 2)}} AS a',
    '% SELECT x, a, {{Int8(inner_b)}} AS b FROM deep, n0',
  )
  await pipes.create('outer', '% SELECT x FROM inner WHERE x = {{Int32(own, 1)}}', '% SELECT *, {{both}} AS z FROM n0')
  await pipes.create('n0', '% SELECT {{Int32(never, 1)}} AS x')
  await call('PUT', '/v0/pipes/outer/endpoint', { body: 'n1' })
  const namesOf = (params: readonly unknown[]): readonly string[] =>
    // Each parameter of an answer has a name.
    params.map((parameter) => (parameter as { readonly name: string }).name)
  const { nodes } = await pipes.show('outer')
  t.same(
    nodes.map(({ params }) => namesOf(params)),
    [['own', 'inner_b', 'deep', 'both', 'inner_a'], ['both']],
    'a node of its own pipe tells its parameters itself, also beside a pipe of its name',
  )
  t.match(nodes[0]?.params[3], { description: 'Of deep', default: 'a' })
  const list = (await call('GET', '/v0/pipes?attrs=name&node_attrs=params')).json
  t.match(list, { pipes: [{}, {}, {}, {}, {}, { nodes: [{ params: [{}, {}, {}, {}, {}] }, { params: [{}] }] }, {}] })
  const document = (await call('GET', '/v0/pipes/openapi.json')).json
  t.match(document, { paths: { '/pipes/outer.{format}': { get: { parameters: Array } } } })
  // Its shape was just checked.
  const told = document as { paths: Record<string, { get: { parameters: { name: string }[] } }> }
  const inDocument = told.paths['/pipes/outer.{format}']?.get.parameters.map(({ name }) => name) ?? []
  t.same([...inDocument].sort(), [...new Set(nodes.flatMap(({ params }) => namesOf(params)))].sort())
})
