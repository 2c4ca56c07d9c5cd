// What a caller is told to do about an error, in `hint` beside `error`: the sentences of `error` are compared by clients and by
// the tests of projects, and stay as they are.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)
const schema = 'ts DateTime64(3) `json:$.ts`, page String `json:$.page`, ms UInt32 `json:$.ms`'
await service.create('visits', schema)
await service.create('ids', 'ID UInt32')
const json = { 'content-type': 'application/json' }

async function createPipe(name: string, nodes: readonly object[]) {
  return await service.call('POST', '/v0/pipes', { headers: json, body: JSON.stringify({ name, nodes }) })
}

const sql = "%\nSELECT page, {{Float64(min_ms)}} AS bound FROM visits WHERE page = {{String(page, '/')}}"
t.equal((await createPipe('top', [{ name: 'top_node', sql, type: 'endpoint' }])).status, 200)

interface Refusal {
  readonly error: string
  readonly hint?: string
}

t.test('a misspelt name in a query is told with the one that was meant', async (t) => {
  const cases: readonly (readonly [sql: string, error: string, hint: string | undefined])[] = [
    ['SELECT * FROM vists', "Resource 'vists' not found", "Did you mean 'visits'?"],
    ['SELECT * FROM default.visits', "Resource 'default.visits' not found", "Did you mean 'visits'?"],
    ['SELECT * FROM VISITS', "Resource 'VISITS' not found", "Did you mean 'visits'?"],
    ['SELECT * FROM vists_quarantine', "Resource 'vists_quarantine' not found", "Did you mean 'visits_quarantine'?"],
    ['SELECT * FROM tpo', "Resource 'tpo' not found", "Did you mean 'top'?"],
    ['SELECT 1 FROM nothing_like_it', "Resource 'nothing_like_it' not found", undefined],
    [
      'SELECT toStartOfMinut(ts) FROM visits',
      "Function 'toStartOfMinut' is not known",
      "Did you mean 'toStartOfMinute'?",
    ],
    ['SELECT cuont() FROM visits', "Function 'cuont' is not known", "Did you mean 'count'?"],
    [
      'SELECT pgae FROM visits',
      "Unknown expression identifier `pgae` (line 1, column 8). Maybe you meant: ['page']. (UNKNOWN_IDENTIFIER)",
      "Did you mean 'page'?",
    ],
    [
      'SELECT id FROM ids',
      "Unknown expression identifier `id` (line 1, column 8). Maybe you meant: ['ID']. (UNKNOWN_IDENTIFIER)",
      "Did you mean 'ID'?",
    ],
    [
      'SELECT * FROM visits WHERE page = "/docs"',
      'Unknown expression or function identifier `/docs` (line 1, column 35). (UNKNOWN_IDENTIFIER)',
      "Double quotes and backquotes enclose names; single quotes enclose a text: '/docs'",
    ],
  ]
  for (const [body, error, hint] of cases) {
    const { json: answer } = await service.call('POST', '/v0/sql', { body })
    const told = answer as Refusal
    t.equal(told.error, error, body)
    t.equal(told.hint, hint, body)
  }
})

t.test('a column of a pipe is suggested to who asks, and none to who calls an endpoint', async (t) => {
  const own = await service.call('POST', '/v0/sql?min_ms=1', { body: 'SELECT boundd FROM top' })
  t.match(own.json, { hint: "Did you mean 'bound'?" })
  await createPipe('late', [
    { name: 'late_node', sql: "%\nSELECT {{column(c, 'page')}} FROM visits", type: 'endpoint' },
  ])
  const called = await service.call('GET', '/v0/pipes/late.json?c=pagee')
  t.equal(called.status, 400)
  t.notOk('hint' in (called.json as object), called.text)
})

t.test('a node that reads a later one, or a misspelt one, is told so', async (t) => {
  const order = [
    { name: 'one', sql: 'SELECT * FROM two' },
    { name: 'two', sql: 'SELECT 1 AS n' },
  ]
  t.same((await createPipe('p', order)).json, {
    error: "Node 'one': Resource 'two' not found",
    documentation: 'docs/errors.md#node_invalid',
    hint: "Node 'two' comes after this one, and a node reads only those before it: move it up",
  })
  const misspelt = [
    { name: 'first_step', sql: 'SELECT 1 AS n' },
    { name: 'two', sql: 'SELECT * FROM frst_step' },
  ]
  t.match((await createPipe('p', misspelt)).json, { hint: "Did you mean 'first_step'?" })
  t.match((await createPipe('p', [{ name: 'n', sql: 'SELECT pagee FROM visits' }])).json, {
    hint: "Did you mean 'page'?",
  })
  t.match((await createPipe('p', [{ name: 'n', sql: '%\nSELECT {{Strin(x)}}' }])).json, {
    error: "Template Syntax Error: 'Strin' is not a valid function, line 2",
    hint: "Did you mean 'String'?",
  })
})

t.test('what is wrong with a definition has advice beside it', async (t) => {
  const datafile = 'SCHEMA >\n    `ts` DateTime `json:$.ts`\n\nENGINE "MergeTree"\n'
  const cases: readonly (readonly [schema: string, more: Record<string, string>, hint: RegExp | undefined])[] = [
    ['a Integer32', {}, /^Did you mean 'Int32'\?$/],
    ['a uinteger_8', {}, /^Did you mean 'UInt8'\?$/],
    ['a Strng, b Int32', {}, /^Did you mean 'String'\?$/],
    ['Int32 a', {}, /^The name comes before the type: a Int32$/],
    ['a: Int32', {}, /^Columns are written name Type, without a colon$/],
    ['{"a":"Int32"}', {}, /^A schema is not JSON/],
    ['CREATE TABLE x (a Int32)', {}, /^A schema is not SQL/],
    [datafile, {}, /^This is the text of a datafile/],
    ['a Qqqqqqq', {}, undefined],
    ['a Int32', { engine: 'MergeTre' }, /^Did you mean 'MergeTree'\?$/],
    ['a Int32', { engine: 'MergeTree', engine_sortin_key: 'a' }, /^Did you mean 'engine_sorting_key'\?$/],
    ['aaaa Int32', { engine: 'MergeTree', engine_sorting_key: 'aaab' }, /^Did you mean 'aaaa'\?$/],
    ['a Int32', { engine_settings: 'index_granularty = 1' }, /^Did you mean 'index_granularity'\?$/],
  ]
  for (const [text, more, hint] of cases) {
    const { status, json: answer } = await service.create('wrong', text, more)
    const told = (answer as Refusal).hint
    t.equal(status, 400, text)
    if (hint === undefined) t.equal(told, undefined, text)
    else t.match(told, hint, text)
  }
})

t.test('a value of the wrong type names its parameter, a misspelt one is told', async (t) => {
  const wrong = await service.call('GET', '/v0/pipes/top.json?min_ms=strong')
  t.same(wrong.json, {
    error: "Template Syntax Error: Error validating 'strong' to type Float64",
    documentation: 'docs/errors.md#template_invalid',
    hint: "Parameter 'min_ms' takes a number",
  })
  const missing = await service.call('GET', '/v0/pipes/top.json?minms=1')
  t.match(missing.json, {
    error: /Required parameter is not defined/,
    hint: "Did you mean 'min_ms' instead of 'minms'?",
  })
  const unknown = await service.call('GET', '/v0/pipes/top.json?min_ms=1&pge=/docs&from=ts-sdk&__tb__semver=1')
  t.equal(unknown.status, 200)
  t.equal(unknown.headers.get('x-warning'), "Parameter 'pge' is not known; did you mean 'page'?")
  const known = await service.call('GET', '/v0/pipes/top.json?min_ms=1&page=/docs&cli_version=3&format=json')
  t.equal(known.headers.get('x-warning'), null)
})

t.test('paths, resources, parameters and tokens that are not there', async (t) => {
  const cases: readonly (readonly [method: string, path: string, hint: string | undefined])[] = [
    ['GET', '/v0/datasources/vists', "Did you mean 'visits'?"],
    ['GET', '/v0/datasources/top', "'top' is a Pipe"],
    ['POST', '/v0/datasources/visit/truncate', "Did you mean 'visits'?"],
    ['GET', '/v0/pipes/tpo', "Did you mean 'top'?"],
    ['GET', '/v0/pipes/tpo.json', "Did you mean 'top'?"],
    ['GET', '/v0/pipes/visits.json', "'visits' is a Data Source"],
    ['GET', '/v0/pipes/top/nodes/top_nod/explain', "Did you mean 'top_node'?"],
    ['GET', '/v0/datasource', "Did you mean '/v0/datasources'?"],
    ['POST', '/v0/event', "Did you mean '/v0/events'?"],
    ['POST', '/v1/events', 'The API begins with /v0: /v0/events'],
    ['GET', '/datasources', 'The API begins with /v0: /v0/datasources'],
    ['POST', '/v0/pipes/top/nodes/n0/populate', "Did you mean '/v0/pipes/top/nodes/n0/population'?"],
    ['POST', '/v0/pipes/top/nodes/n0/catchup', "Did you mean '/v0/pipes/top/nodes/n0/catch_up'?"],
    ['GET', '/v0/pipes/top/nodes/n0/verfiy', "Did you mean '/v0/pipes/top/nodes/n0/verify'?"],
    ['GET', '/v0/pipes/top/data', "The data of a Pipe are at its name with a format: '/v0/pipes/<name>.json'"],
    ['GET', '/v0/quite-another', undefined],
    ['POST', '/v0/events?nmae=visits', "Did you mean 'name' instead of 'nmae'?"],
    ['POST', '/v0/events?datasource=visits', "Did you mean 'name' instead of 'datasource'?"],
    ['POST', '/v0/datasources?name=x&shema=a', "Did you mean 'schema' instead of 'shema'?"],
    ['GET', '/v0/sql?query=SELECT', "Did you mean 'q' instead of 'query'?"],
    ['POST', '/v0/datasources?name=visits&mode=apend', "Did you mean 'append'?"],
    ['POST', '/v0/datasources?name=visits&format=nddjson', "Did you mean 'ndjson'?"],
    ['POST', '/v0/datasources?name=visits&format=json', "JSON is 'ndjson': one object a line, or an array of them"],
    ['POST', '/v0/sql?q=SELCT+1', "Did you mean 'SELECT'?"],
    ['POST', '/v0/sql?q=SHOW+TABLES', 'GET /v0/datasources and GET /v0/pipes list what there is'],
    [
      'POST',
      '/v0/sql?q=insert+into+visits+values+(1)',
      'Rows come by POST /v0/events, or by POST /v0/datasources?mode=append',
    ],
    ['POST', '/v0/sql?q=SELECT+1+FORMAT+JSONEachRwo', "Did you mean 'JSONEachRow'?"],
    ['POST', '/v0/pipes?name=p&query=SELECT', "Did you mean 'sql' instead of 'query'?"],
  ]
  for (const [method, path, hint] of cases) {
    const { status, json: answer } = await service.call(method, path)
    t.ok(status === 400 || status === 404, `${method} ${path} ${status}`)
    t.equal((answer as Refusal).hint, hint, `${method} ${path}`)
  }
  const tokens: readonly (readonly [header: string, hint: RegExp])[] = [
    ['p.test.token', /must be "Bearer <token>"/],
    ['Basic abc', /must be "Bearer <token>"/],
    ['Bearer "p.test.token"', /is in quotes/],
    ['Bearer $TOKEN', /double quotes only/],
    ['Bearer <token>', /placeholder/],
    ['Bearer nonsense', /each start of the service/],
  ]
  for (const [authorization, hint] of tokens) {
    const { status, json: answer } = await service.call('GET', '/v0/datasources', {
      token: null,
      headers: { authorization },
    })
    t.equal(status, 403)
    t.match((answer as Refusal).hint, hint, authorization)
  }
})

t.test('unknown parameters and attributes are told in a header, and nothing fails', async (t) => {
  const event = '{"ts":"2026-01-01T10:00:00Z","page":"/","ms":1}'
  const cases: readonly (readonly [method: string, path: string, body: string | undefined, warning: string | null])[] =
    [
      ['GET', '/v0/datasources/visits?attrs=nam,id', undefined, "Attribute 'nam' is not known; did you mean 'name'?"],
      ['GET', '/v0/datasources?attrs=engin', undefined, "Attribute 'engin' is not known; did you mean 'engine'?"],
      ['GET', '/v0/datasources?attrs=name,columns', undefined, null],
      [
        'GET',
        '/v0/pipes?attrs=nmae&node_attrs=sqll',
        undefined,
        "Attribute 'nmae' is not known; did you mean 'name'?; Node attribute 'sqll' is not known; did you mean 'sql'?",
      ],
      ['POST', '/v0/events?name=visits&wiat=true&from=x', event, "Parameter 'wiat' is not known; did you mean 'wait'?"],
      [
        'POST',
        '/v0/datasources?name=visits&mode=append&formt=csv',
        '2026-01-01,/,1',
        "Parameter 'formt' is not known; did you mean 'format'?",
      ],
      [
        'POST',
        '/v0/datasources?name=n1&schema=a+Int8&sorting_key=a',
        undefined,
        "Parameter 'sorting_key' is not known; did you mean 'engine_sorting_key'?",
      ],
      ['POST', '/v0/events?name=visits&%C3%A9%0D%0Ax=1', event, "Parameter '\\u{e9}\\u{d}\\u{a}x' is not known"],
    ]
  for (const [method, path, body, warning] of cases) {
    const answer = await service.call(method, path, body === undefined ? {} : { body })
    t.ok(answer.status < 300, `${path}: ${answer.text}`)
    t.equal(answer.headers.get('x-warning'), warning, path)
  }
})

t.test('what people do with curl', async (t) => {
  const hintOf = async (method: string, path: string, body?: string): Promise<string | undefined> => {
    const { json: answer } = await service.call(method, path, body === undefined ? {} : { body })
    return (answer as Refusal).hint
  }
  t.match(await hintOf('GET', '/v0/events?name=visits'), /curl sends a POST when it is given a body/)
  t.equal(await hintOf('PUT', '/v0/events?name=visits'), undefined)
  t.match(await hintOf('POST', '/v0/datasources?name=visits', 'a,b\n1,2\n'), /^mode=append adds rows to it/)
  const oneLine = 'ts,page,ms2026-01-01,/,12026-01-02,/,2'
  t.match(await hintOf('POST', '/v0/datasources?name=visits&mode=append', oneLine), /curl -d removes the line feeds/)
  const made = await service.call('POST', '/v0/datasources?name=one_line', { body: 'ts,page,msx,/,a' })
  t.match(made.json, { imported_rows: 0, warnings: [/^The body is one line: curl -d removes the line feeds/] })
  const nodes = (text: string) => hintOf('POST', '/v0/pipes', text)
  t.equal(
    await nodes('{"name":"n","nodes":[{"name":"a","query":"SELECT 1"}]}'),
    "A node has its query in 'sql', but this one in 'query'",
  )
  t.equal(
    await nodes('{"name":"n","nodes":[{"name":"a","sql":"SELECT 1"},]}'),
    'JSON has no comma after the last value',
  )
  t.equal(await nodes("{'name':'n','nodes':[]}"), 'JSON has double quotes around keys and texts')
  t.match(
    await hintOf('POST', '/v0/pipes', '{"name":"n","nodes":[{"sql":"SELECT 1","type":"endpont"}]}'),
    /^Did you mean 'endpoint'\?$/,
  )
})
