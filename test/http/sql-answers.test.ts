import { request as openRequest } from 'node:http'
import t from 'tap'
import { token } from '../support/http/fake-deps.ts'
import { openEndpoints } from '../support/http/test-endpoints.ts'

const encode = encodeURIComponent

t.test('a query of a caller', async (t) => {
  const room = await openEndpoints(t)
  const { workspace, get, post } = room
  workspace.addPipe(
    'top',
    { best: 'SELECT id, org FROM events ORDER BY id DESC LIMIT 2', names: 'SELECT org FROM best' },
    'names',
  )

  t.test('it is a template when it begins with %, wherever it stands and its parameters are', async (t) => {
    const sql = "% SELECT {{Int32(n)}} AS n, {{String(s, 'none')}} AS s FORMAT JSONEachRow"
    const expected = '{"n":7,"s":"it\'s"}\n'
    t.equal((await get(`/v0/sql?n=7&s=it's&q=${encode(sql)}`)).body, expected)
    t.equal((await post("/v0/sql?n=7&s=it's", sql)).body, expected)
    t.equal((await post('/v0/sql', `n=7&s=it%27s&q=${encode(sql)}`)).body, expected)
    t.equal((await post('/v0/sql', JSON.stringify({ q: sql, n: 7, s: "it's" }))).body, expected)
    t.equal((await post('/v0/sql?n=1', JSON.stringify({ q: sql, n: 7, s: "it's" }))).body, expected)
    t.equal((await post('/v0/sql', 'SELECT {{n}}')).statusCode, 400, 'without % it is none')
  })

  t.test('JSON keeps numbers, booleans and arrays', async (t) => {
    const q =
      "% {% for tag in tags %}{% if tag == 'b' %} SELECT '{{tag}}' AS tag, {{big}} AS big, {{Array(ids, 'Int64')}} AS ids, {{1 if isNew else 0}} AS isNew FORMAT JSONEachRow {% end %}{% end %}"
    const answer = await post(
      '/v0/sql',
      `{"q":${JSON.stringify(q)},"tags":["a","b"],"big":12,"ids":[9007199254740993,2],"isNew":false,"format":"json"}`,
    )
    t.equal(answer.body, '{"tag":"b","big":12,"ids":[9007199254740993,2],"isNew":0}\n')
    t.match((await post('/v0/sql', '[1]')).json(), { error: String })
    t.match((await post('/v0/sql', '{"q": }')).json(), { error: /JSON/ })
  })

  t.test('_ and the names of nodes are those of its pipeline', async (t) => {
    t.equal((await get(`/v0/sql?pipeline=top&q=${encode('SELECT * FROM _ FORMAT CSV')}`)).body, '"b"\n"a"\n')
    t.equal((await get(`/v0/sql?pipeline=top&q=${encode('SELECT id FROM best FORMAT CSV')}`)).body, '6\n5\n')
    t.equal((await get(`/v0/sql?q=${encode('SELECT * FROM top FORMAT CSV')}`)).body, '"b"\n"a"\n')
    t.equal((await get('/v0/sql?q=SELECT * FROM _')).statusCode, 400)
  })

  t.test('its FORMAT counts, then the parameter, then JSON', async (t) => {
    const typeOf = async (query: string) => (await get(`/v0/sql?${query}`)).headers['content-type']
    t.equal(await typeOf('q=SELECT 1 AS a'), 'application/json; charset=UTF-8')
    t.match(await typeOf('q=SELECT 1 AS a&format=csv'), /^text\/csv/)
    t.match(await typeOf('q=SELECT 1 AS a&format=json'), /^application\/json/)
    t.match(await typeOf('q=SELECT 1 AS a FORMAT ArrowStream&format=json'), /arrow\.stream/)
    t.match(await typeOf('q=select 1 as a format json'), /^application\/json/, 'in any case, as the engine has it')
    t.match(await typeOf('q=SELECT 1 AS a&format=tsv'), /^text\/tab-separated-values/)
    t.match((await get('/v0/sql?q=SELECT 1 AS a&format=nonsense')).json(), { error: /"nonsense" is not supported/ })
    const bodies: Readonly<Record<string, string | RegExp>> = {
      CSV: '1,"a"\n',
      CSVWithNames: '"n","s"\n1,"a"\n',
      JSONEachRow: '{"n":1,"s":"a"}\n',
      JSONCompactEachRow: '[1, "a"]\n',
      TSV: '1\ta\n',
      TSVWithNames: 'n\ts\n1\ta\n',
      PrettyCompact: /┌─n─┬─s─┐/,
      Parquet: /^PAR1/,
      Arrow: /^ARROW1/,
      ArrowStream: /./,
      XML: /<result>/,
    }
    for (const [format, body] of Object.entries(bodies)) {
      t.match((await post('/v0/sql', `SELECT 1 AS n, 'a' AS s FORMAT ${format}`)).body, body, format)
    }
  })

  t.test('its settings of the output are those of the request', async (t) => {
    const q = encode('SELECT toUInt64(1) AS n, 1 / 0 AS i, nan AS x FORMAT JSONEachRow')
    t.equal((await get(`/v0/sql?q=${q}`)).body, '{"n":1,"i":null,"x":null}\n')
    const set = 'output_format_json_quote_64bit_integers=1&output_format_json_quote_denormals=1'
    t.equal((await get(`/v0/sql?q=${q}&${set}`)).body, '{"n":"1","i":"inf","x":"nan"}\n')
  })

  t.test('it may join a subquery that has no alias, as real projects do', async (t) => {
    const sql = 'SELECT id, n FROM events JOIN (SELECT id, 7 AS n FROM events) USING id ORDER BY id LIMIT 1 FORMAT CSV'
    t.equal((await post('/v0/sql', sql)).body, '1,7\n')
  })

  t.test('what is wrong with it is told in its own words', async (t) => {
    const refusals: readonly (readonly [string, number, RegExp])[] = [
      ['SELECT nothing FROM events', 400, /nothing/],
      ['\n\n  SELECT nothing FROM events', 400, /line 3, column 10/],
      ['\n\n  SELECT FROM', 400, /line 3/],
      ['SELECT count() FROM events WHERE id = (SELECT id FROM events)', 400, /./],
      ['SELECT * FROM missing', 400, /missing/],
      ['DROP TABLE events', 400, /SELECT/],
      ["SELECT toUInt8('x')", 400, /x/],
      [`SELECT ${'1,'.repeat(800)}1`, 400, /longer than/],
      ['% SELECT {{Int32(n)}}', 400, /Required parameter is not defined. Check the parameters n/],
      ['% SELECT {{format}}', 400, /"format" can not be used as a variable name, line 1/],
    ]
    for (const [sql, status, message] of refusals) {
      const answer = await post('/v0/sql', sql)
      t.equal(answer.statusCode, status, sql.slice(0, 60))
      t.match(answer.json(), { error: message, documentation: String })
      t.notMatch(answer.body, /ws_0001|t_[0-9a-f]{32}/, answer.body)
    }
    t.match((await post('/v0/sql', ' ')).json(), { error: /empty/ })
  })

  t.test('its answer says how long it took, and who asked', async (t) => {
    const { headers } = await get('/v0/sql?q=SELECT 1')
    t.match(headers['server-timing'], /^resolve;dur=[\d.]+, engine;dur=[\d.]+$/)
    t.match(headers['x-request-id'], /^[0-9A-Z]{26}$/)
  })
})

t.test('a query that is too slow is stopped', async (t) => {
  const { post } = await openEndpoints(t, { queryTimeMaxMs: 300 })
  const slow = await post('/v0/sql', 'SELECT count() FROM numbers(100000000000) WHERE NOT ignore(number)')
  t.equal(slow.statusCode, 408)
  t.match(slow.json(), { error: 'The query ran longer than 0.3 seconds and was stopped' })
})

t.test('a query that is too long or too large is stopped', async (t) => {
  const { get, post } = await openEndpoints(t, { resultBytesMax: 2_000_000, sqlBytesMax: 120 })
  t.equal((await get('/v0/sql?q=SELECT number FROM numbers(200000) FORMAT CSV')).statusCode, 200)
  const largeQueries = [
    'SELECT number FROM numbers(300000) FORMAT CSV',
    'SELECT number FROM numbers(200000) FORMAT JSON',
    // To the engine, both of them are one text.
    "SELECT repeat('x', 1000) FROM numbers(3000) FORMAT CSV",
    "SELECT toLowCardinality(repeat('x', 1000)) FROM numbers(100000000) FORMAT CSV",
  ]
  for (const sql of largeQueries) {
    const large = await get(`/v0/sql?q=${encode(sql)}`)
    t.equal(large.statusCode, 400, sql)
    t.match(large.json(), { error: 'The result is larger than 2000000 bytes; select less, or use LIMIT' })
  }
  t.equal((await post('/v0/sql', `SELECT '${'x'.repeat(111)}'`)).statusCode, 200)
  t.equal((await post('/v0/sql', `SELECT '${'x'.repeat(112)}'`)).statusCode, 400)
})

t.test('a client that goes away stops its query', async (t) => {
  const { app, store, deps, get } = await openEndpoints(t)
  const address: Promise<string> = app.listen({ host: '127.0.0.1', port: 0 })
  const sql = 'SELECT count() FROM numbers(100000000000) WHERE NOT ignore(number)'
  const headers = { authorization: `Bearer ${token}` }
  const request = openRequest(`${await address}/v0/sql?q=${encode(sql)}`, { headers })
  request.on('error', () => undefined)
  request.end()
  // The engine lists a statement that was stopped until its session runs the next one.
  const running =
    "SELECT count() AS n FROM system.processes WHERE startsWith(query, 'SELECT count() FROM numbers') AND is_cancelled = 0"
  const count = async () => (await store.rows<{ n: number }>(running))[0]?.n ?? 0
  while ((await count()) === 0);
  request.destroy()
  while ((await count()) > 0);
  const answers = await Promise.all([1, 2].map((n) => get(`/v0/sql?q=SELECT ${n} FORMAT CSV`)))
  t.strictSame(
    answers.map(({ body }) => body),
    ['1\n', '2\n'],
    'its session is free',
  )
  t.strictSame(
    deps.entries.filter(({ level }) => level === 'error'),
    [],
    'nothing failed',
  )
})

t.test('an answer of many rows is streamed whole', async (t) => {
  const { get } = await openEndpoints(t)
  const answer = await get(`/v0/sql?q=${encode('SELECT number FROM numbers(300000) FORMAT TSV')}`)
  t.equal(answer.body.length, 1_988_890)
  t.match(answer.body, /^0\n1\n/)
  t.match(answer.body, /\n299998\n299999\n$/)
})
