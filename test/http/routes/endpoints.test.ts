import { type Float, type Int, tableFromIPC } from 'apache-arrow'
import t from 'tap'
import { ask } from '../../support/http/fake-deps.ts'
import { openEndpoints } from '../../support/http/test-endpoints.ts'

interface Result {
  readonly meta: readonly { readonly name: string; readonly type: string }[]
  readonly data: readonly Readonly<Record<string, unknown>>[]
  readonly rows: number
}

t.test('the data of a pipe', async (t) => {
  const room = await openEndpoints(t)
  const { workspace, get, post } = room
  workspace.addPipe(
    'top',
    {
      chosen: '% SELECT * FROM events {% if defined(org) %} WHERE org = {{String(org)}} {% end %}',
      result: 'SELECT id, v FROM chosen ORDER BY id LIMIT 2',
      behind: 'SELECT 1',
    },
    'result',
  )
  workspace.addPipe('unpublished', { only: 'SELECT 1' })
  const dataOf = (answer: { json: () => Result }) => answer.json().data

  t.test('it is what ClickHouse writes, in every format', async (t) => {
    const answer = await get('/v0/pipes/top.json')
    t.equal(answer.statusCode, 200, answer.body)
    t.equal(answer.headers['content-type'], 'application/json; charset=UTF-8')
    t.match(answer.body, /^\{\n\t"meta":\n\t\[\n\t\t\{\n\t\t\t"name": "id",\n\t\t\t"type": "UInt64"\n\t\t\}/)
    t.match(answer.json(), {
      data: [
        { id: 1, v: 0 },
        { id: 2, v: 0.5 },
      ],
      rows: 2,
      rows_before_limit_at_least: 6,
      statistics: { rows_read: 6, elapsed: Number, bytes_read: Number },
    })
    t.equal((await get('/v0/pipes/top.csv')).body, '"id","v"\n1,0\n2,0.5\n')
    t.equal((await get('/v0/pipes/top.ndjson')).body, '{"id":1,"v":0}\n{"id":2,"v":0.5}\n')
    t.match((await get('/v0/pipes/top.parquet')).body, /^PAR1/)
    const arrow = await get('/v0/pipes/top.arrow')
    t.match(arrow.headers, { 'content-type': 'application/vnd.apache.arrow.file' })
    const rows = tableFromIPC<{ id: Int; v: Float }>(arrow.rawPayload).toArray()
    t.strictSame(
      rows.map(({ id, v }) => [id, v]),
      [
        [1n, 0],
        [2n, 0.5],
      ],
      'apache-arrow reads it',
    )
    const metrics = 'prometheus'
    workspace.addPipe(metrics, { only: "SELECT 'hits' AS name, 1.5 AS value, 'counter' AS type" }, 'only')
    t.equal((await get(`/v0/pipes/${metrics}.prometheus`)).body, '# TYPE hits counter\nhits 1.5\n\n')
  })

  t.test('it is found by name, by id, by the older path, and with a slash behind', async (t) => {
    const id = workspace.findPipe('top')?.id ?? ''
    for (const path of [
      `/v0/pipes/${id}.json`,
      '/v0/pipe/top/data.json',
      '/v0/pipes/top.json/',
      `/v0/pipe/${id}/data.csv`,
    ]) {
      t.equal((await get(path)).statusCode, 200, path)
    }
  })

  t.test('parameters come in the URL, in a form, in JSON, or in two places', async (t) => {
    const expected = [
      { id: 2, v: 0.5 },
      { id: 4, v: 1.5 },
    ]
    t.strictSame(dataOf(await get('/v0/pipes/top.json?org=b&unknown=1')), expected)
    t.strictSame(dataOf(await post('/v0/pipes/top.json', 'org=b')), expected)
    t.strictSame(dataOf(await post('/v0/pipes/top.json?from=chart', '{"org":"b"}')), expected)
    workspace.addPipe('two', { only: '% SELECT {{String(a)}} AS a, {{Int32(b)}} AS b' }, 'only')
    t.strictSame(dataOf(await post('/v0/pipes/two.json?a=x', '{"b":7}')), [{ a: 'x', b: 7 }])
    t.strictSame(dataOf(await post('/v0/pipes/two.json?a=x&b=1', 'b=7')), [{ a: 'x', b: 7 }], 'the body wins')
  })

  t.test('arrays are repeated, parted by commas, or arrays', async (t) => {
    workspace.addPipe('list', { only: "% SELECT {{Array(ids, 'Int32')}} AS ids, {{Array(tags)}} AS tags" }, 'only')
    const expected = [{ ids: [1, 2], tags: ['a', "b'c"] }]
    t.strictSame(dataOf(await get("/v0/pipes/list.json?ids=1,2&tags=a,b'c")), expected)
    t.strictSame(dataOf(await get("/v0/pipes/list.json?ids=1&ids=2&tags=a&tags=b'c")), expected)
    t.strictSame(
      dataOf(await post('/v0/pipes/list.json', JSON.stringify({ ids: [1, 2], tags: ['a', "b'c"] }))),
      expected,
    )
  })

  t.test('a query may stand over it', async (t) => {
    t.strictSame(dataOf(await get('/v0/pipes/top.json?q=SELECT sum(v) AS s FROM _')), [{ s: 0.5 }])
    t.strictSame(dataOf(await get('/v0/pipes/top.json?org=b&q=SELECT max(id) AS m FROM _ FORMAT CSV')), [{ m: 4 }])
    const templated = encodeURIComponent('% SELECT id FROM top WHERE id > {{Int32(least)}}')
    t.strictSame(dataOf(await get(`/v0/pipes/top.json?least=1&q=${templated}`)), [{ id: 2 }])
    t.equal((await get(`/v0/pipes/top.json?q=SELECT ${'1,'.repeat(800)}1`)).statusCode, 400)
  })

  t.test('settings of the output pass', async (t) => {
    const quoted = await get('/v0/pipes/top.json?output_format_json_quote_64bit_integers=1')
    t.match(dataOf(quoted), [{ id: '1' }, { id: '2' }])
    t.equal((await get('/v0/pipes/top.json?output_format_json_quote_64bit_integers=x')).statusCode, 400)
  })

  t.test('what is missing is told', async (t) => {
    const cases: readonly (readonly [string, number, string])[] = [
      ['/v0/pipes/missing.json', 404, "The pipe 'missing' does not exist"],
      ['/v0/pipe/missing/data.json', 404, "The pipe 'missing' does not exist"],
      [
        '/v0/pipes/unpublished.json',
        404,
        "The pipe 'unpublished' does not have an endpoint yet: publish one of its nodes",
      ],
      ['/v0/sql?q=SELECT 1&pipeline=missing', 404, "The pipe 'missing' does not exist"],
    ]
    for (const [path, status, error] of cases)
      t.match({ ...(await get(path)).json(), status: (await get(path)).statusCode }, { status, error })
  })

  t.test('wrong values are the template’s words', async (t) => {
    workspace.addPipe('strict', { only: '% SELECT {{Int32(n)}} AS n, {{Date(day)}} AS day' }, 'only')
    const missing = await get('/v0/pipes/strict.json')
    t.equal(missing.statusCode, 400)
    t.match(missing.json(), {
      error:
        'Template Syntax Error: Required parameter is not defined. Check the parameters n and day. Please provide a value or set a default value in the pipe code.',
      documentation: /^docs\/errors\.md#/,
    })
    t.match((await get('/v0/pipes/strict.json?n=x&day=2024-01-01')).json(), {
      error: "Template Syntax Error: Error validating 'x' to type Int32",
    })
    workspace.addPipe(
      'own',
      {
        only: "% {% if defined(e) %}{{error('no e')}}{% end %}{{custom_error({'error_id': 10, 'error': 'own'}, 409)}} SELECT 1",
      },
      'only',
    )
    const own = await get('/v0/pipes/own.json')
    t.equal(own.statusCode, 409)
    t.strictSame(own.json(), { error_id: 10, error: 'own' })
    const error = await get('/v0/pipes/own.json?e=1')
    t.equal(error.statusCode, 400)
    t.strictSame(error.json(), { error: 'no e' })
  })

  t.test('a node that is not read is not rendered, and the endpoint’s own error comes first', async (t) => {
    workspace.addPipe(
      'lazy',
      {
        broken: "% {{error('never')}} SELECT 1",
        needs: '% SELECT {{Int32(n)}} AS n',
        end: "% {% if not defined(ok) %}{{error('not ok')}}{% end %} SELECT n FROM needs",
      },
      'end',
    )
    t.strictSame((await get('/v0/pipes/lazy.json')).json(), { error: 'not ok' })
    t.match((await get('/v0/pipes/lazy.json?ok=1')).json(), { error: /Check the parameters n\./ })
    t.strictSame(dataOf(await get('/v0/pipes/lazy.json?ok=1&n=3')), [{ n: 3 }])
    t.strictSame(dataOf(await get('/v0/pipes/lazy.json?ok=1&n=4')), [{ n: 4 }], 'a plan is not kept for other values')
    t.strictSame(dataOf(await get('/v0/pipes/lazy.json?ok=1&n=3')), [{ n: 3 }])
  })

  t.test('a pipe that changes answers anew', async (t) => {
    workspace.addPipe('changing', { only: 'SELECT 1 AS a' }, 'only')
    t.strictSame(dataOf(await get('/v0/pipes/changing.json')), [{ a: 1 }])
    workspace.addPipe('changing', { only: 'SELECT 2 AS a' }, 'only')
    t.strictSame(dataOf(await get('/v0/pipes/changing.json')), [{ a: 2 }])
  })

  t.test('it can be asked for by browsers of any origin', async (t) => {
    const answer = await ask(room.app, { method: 'OPTIONS', url: '/v0/pipes/top.json' })
    t.equal(answer.statusCode, 204)
    t.match(answer.headers, { 'access-control-allow-origin': '*', 'access-control-allow-headers': /content-type/ })
    const data = await get('/v0/pipes/top.json')
    t.match(data.headers, {
      'access-control-allow-origin': '*',
      'x-request-id': /./,
      'server-timing': /^resolve;dur=[\d.]+, engine;dur=[\d.]+$/,
    })
  })

  t.test('a token is needed, wherever it stands', async (t) => {
    t.equal((await ask(room.app, '/v0/pipes/top.json')).statusCode, 403)
    t.equal((await ask(room.app, '/v0/pipes/top.json?token=p.test.token')).statusCode, 200)
    t.equal(
      (await ask(room.app, { method: 'POST', url: '/v0/pipes/top.json', payload: '{"token":"p.test.token"}' }))
        .statusCode,
      200,
    )
    t.equal((await ask(room.app, { method: 'DELETE', url: '/v0/pipes/top.json?token=p.test.token' })).statusCode, 405)
  })
})

t.test('the plan of a pipe', async (t) => {
  const { workspace, get, secrets } = await openEndpoints(t)
  workspace.addPipe(
    'p',
    {
      first: '% SELECT * FROM events WHERE id = {{Int32(n, 3)}}',
      end: 'SELECT count() AS c FROM first',
      last: 'SELECT 9',
    },
    'end',
  )
  workspace.addPipe('empty', {})

  const whole = await get('/v0/pipes/p/explain?n=5')
  t.equal(whole.statusCode, 200, whole.body)
  t.equal(
    whole.json().debug_query,
    "SELECT count() AS c FROM (SELECT * FROM `events` AS `events` WHERE id = toInt32('5')) AS `first`",
  )
  t.match(whole.json().query_explain, /ReadFromMergeTree \(events\)/)
  t.notMatch(whole.body, /ws_0001|t_[0-9a-f]{32}/)
  t.match((await get('/v0/pipes/p/nodes/first/explain')).json(), { debug_query: /toInt32\('3'\)/ })
  t.match((await get('/v0/pipes/p/nodes/last/explain')).json(), { debug_query: 'SELECT 9' })
  const cases: readonly (readonly [string, number, object])[] = [
    ['/v0/pipes/missing/explain', 404, { error: "The pipe 'missing' does not exist" }],
    ['/v0/pipes/p/nodes/nope/explain', 404, { error: "Node 'nope' of Pipe 'p' not found" }],
    ['/v0/pipes/empty/explain', 400, { error: "No node could be found to explain in the pipe 'empty'" }],
    ['/v0/pipes/p/explain?n=x', 400, { error: /Error validating 'x' to type Int32/ }],
  ]
  for (const [path, status, body] of cases) {
    const answer = await get(path)
    t.equal(answer.statusCode, status, path)
    t.match(answer.json(), body)
  }
  secrets.set('key', 'sesame')
  const explain = (condition: string) => {
    workspace.addPipe('secret', { end: `% SELECT count() AS c FROM events WHERE ${condition}` }, 'end')
    return get('/v0/pipes/secret/explain')
  }
  // What functions take differs, and none of them is given the value.
  for (const condition of [
    "org = {{tb_secret('key')}}",
    "id = toUInt32({{tb_secret('key')}})",
    "toDate({{tb_secret('key')}}) < today()",
    "toDateTime({{tb_secret('key')}}, 'UTC') < now()",
  ]) {
    const explained = await explain(condition)
    t.equal(explained.statusCode, 200, explained.body)
    t.notMatch(explained.body, /sesame/)
  }
  const refused = await explain("id = toUInt32({{tb_secret('key')}}) AND toDate({{tb_secret('key')}}) < today()")
  t.equal(refused.statusCode, 400, 'none of them is both')
})

t.test('the time of a job is now, unless the request has one', async (t) => {
  const { workspace, get } = await openEndpoints(t)
  workspace.addPipe('timed', { end: '% SELECT {{DateTime(job_timestamp)}} AS at' }, 'end')
  const timeOf = async (query: string) => (await get(`/v0/pipes/timed.ndjson${query}`)).body
  t.equal(await timeOf(''), '{"at":"1970-01-01 00:00:00"}\n')
  t.equal(await timeOf('?job_timestamp=2026-01-02+03:04:05'), '{"at":"2026-01-02 03:04:05"}\n')
})

t.test('values of secrets', async (t) => {
  const { workspace, get, post, secrets, deps } = await openEndpoints(t)
  secrets.set('key', 'a')
  secrets.set('long', "top-hidden 'value'")
  workspace.addPipe('mine', { end: "% SELECT count() AS c FROM events WHERE org = {{tb_secret('key')}}" }, 'end')
  workspace.addPipe('wrong', { end: "% SELECT id FROM events WHERE id = toUInt32({{tb_secret('long')}})" }, 'end')
  workspace.addPipe('broken', { end: "% SELECT id FROM events WHERE org = {{tb_secret('long')}} FROM FROM" }, 'end')
  workspace.addPipe('none', { end: "% SELECT {{tb_secret('missing')}} AS n" }, 'end')

  t.match((await get('/v0/pipes/mine.json')).json(), { data: [{ c: 3 }] })
  secrets.set('key', 'zzz')
  t.match((await get('/v0/pipes/mine.json')).json(), { data: [{ c: 0 }] }, 'a new value counts at once')
  for (const name of ['wrong', 'broken']) {
    const answer = await get(`/v0/pipes/${name}.json`)
    t.equal(answer.statusCode, 400)
    t.notMatch(answer.body, /top-|hidd|valu/, answer.body)
  }
  t.match((await get('/v0/pipes/none.json')).json(), { error: /Cannot access secret 'missing'/ })
  const compared = "% SELECT {{tb_secret('long')}} = 'top-hidden ''value''' AS n"
  t.match((await post('/v0/sql', compared)).json(), { data: [{ n: 1 }] })
  t.notMatch(JSON.stringify(deps.entries), /top-hidden/)
})

t.test('answers are kept for as long as a template says', async (t) => {
  const room = await openEndpoints(t)
  const { workspace, get, store } = room
  workspace.addPipe(
    'kept',
    { end: "% {{cache_ttl('5s')}} SELECT count() AS c, {{Int32(n, 0)}} AS n FROM events" },
    'end',
  )
  const table = workspace.find('events')?.id ?? ''
  const ask = async (query = '', format = 'json') => {
    const { body, headers } = await get(`/v0/pipes/kept.${format}${query}`)
    return { body, isKept: /^resolve;dur=[\d.]+, cache;/.test(String(headers['server-timing'])) }
  }
  const first = await ask()
  t.notOk(first.isKept)
  await store.command(`INSERT INTO ws_0001.${table} VALUES (7, 'c', 1)`)
  t.strictSame(await ask(), { body: first.body, isKept: true })
  t.equal((await ask('?n=1')).isKept, false, 'other values have another answer')
  t.equal((await ask('', 'csv')).body, '"c","n"\n7,0\n')
  room.now = 4_999
  t.equal((await ask()).isKept, true)
  room.now = 5_000
  const later = await ask()
  t.notOk(later.isKept)
  t.match(JSON.parse(later.body), { data: [{ c: 7 }] })
  workspace.addPipe('kept', { end: 'SELECT count() AS c FROM events' }, 'end')
  t.notOk((await ask()).isKept)
  t.notOk((await ask()).isKept, 'without cache_ttl() nothing is kept')
})

t.test('a template says how many threads compute its query', async (t) => {
  const { workspace, get } = await openEndpoints(t)
  const sql = (call: string) => `% ${call} SELECT getSetting('max_threads') AS n`
  // The function is refused to callers, so the number shows in the plan.
  workspace.addPipe('threads', { end: sql('{{max_threads(4)}}') }, 'end')
  t.equal((await get('/v0/pipes/threads.json')).statusCode, 400)
  workspace.addPipe(
    'hints',
    { end: "% {{max_threads(2)}}{{backend_hint('x')}}{{activate('analyzer')}}{{disable('analyzer')}} SELECT 1 AS a" },
    'end',
  )
  t.match((await get('/v0/pipes/hints.json')).json(), { data: [{ a: 1 }] })
})
