import t from 'tap'
import { type Call, openTestService, type TestService } from '../support/api/test-service.ts'
import { openApiFaults } from '../support/http/openapi-rules.ts'

/** An OpenAPI document as far as this file reads it. */
interface Document {
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Path>>
}

interface Path {
  readonly get: {
    readonly description?: string
    readonly parameters: readonly { readonly name: string; readonly schema: object; readonly description?: string }[]
    readonly responses: Readonly<
      Record<string, { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }>
    >
  }
}

interface Schema {
  readonly properties?: Readonly<Record<string, object>>
}

async function createPipe(service: TestService, name: string, nodes: readonly (readonly [string, string])[]) {
  const published = nodes.at(-1)?.[0]
  const body = JSON.stringify({
    name,
    description: `What ${name} gives.`,
    nodes: nodes.map(([node, sql]) => ({ name: node, sql, type: node === published ? 'endpoint' : 'standard' })),
  })
  const answer = await service.call('POST', '/v0/pipes', { body, headers: { 'content-type': 'application/json' } })
  if (answer.status !== 200) throw new Error(`${name}: ${answer.text}`)
}

async function documentAt(service: TestService, path: string, call: Call = {}): Promise<Document> {
  const { status, json, text } = await service.call('GET', path, call)
  if (status !== 200) throw new Error(text)
  const faults = openApiFaults(json)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  // Its shape was just checked.
  return json as Document
}

function columnsOf(document: Document, name: string): object | undefined {
  const path = document.paths[`/pipes/${name}.{format}`]
  return path?.get.responses['200']?.content['application/x-ndjson']?.schema.properties
}

function parametersOf(document: Document, name: string): readonly string[] | undefined {
  return document.paths[`/pipes/${name}.{format}`]?.get.parameters.map((parameter) => parameter.name)
}

t.test('endpoints are described by their templates and by what the engine says of their results', async (t) => {
  const service = await openTestService(t)
  await service.create('visits', 'path String, org LowCardinality(String), n UInt32, at DateTime')
  await createPipe(service, 'chosen', [
    ['rows', "% SELECT * FROM visits WHERE org = {{String(org, 'acme', description='Whose visits')}}"],
  ])
  await createPipe(service, 'top', [
    ['unread', '% SELECT {{Int8(nobody)}} AS x'],
    ['days', '% SELECT path, sum(n) AS hits, max(at) AS last FROM chosen WHERE n > {{UInt32(least, 0)}} GROUP BY path'],
    ['result', '% SELECT * FROM days ORDER BY hits DESC LIMIT {{Int32(size, 10, required=True)}}'],
  ])
  await service.call('POST', '/v0/pipes?name=draft&sql=SELECT+1')

  const all = await documentAt(service, '/v0/pipes/openapi.json')
  t.same(all.servers, [{ url: `${service.address}/v0` }])
  t.same(
    Object.keys(all.paths),
    ['/pipes/chosen.{format}', '/pipes/top.{format}'],
    'what is not published is no endpoint',
  )
  t.same(parametersOf(all, 'top'), ['least', 'size', 'org'], 'those of all nodes that are read, also in other pipes')
  t.match(all.paths['/pipes/top.{format}']?.get, {
    description: 'What top gives.',
    parameters: [
      { name: 'least', schema: { type: 'integer', minimum: 0, default: 0 } },
      { name: 'size', required: true, schema: { type: 'integer', format: 'int32', default: 10 } },
      { name: 'org', description: 'Whose visits', schema: { type: 'string', default: 'acme' } },
    ],
  })
  t.match(columnsOf(all, 'top'), {
    path: { type: 'string' },
    hits: { type: 'integer', 'x-clickhouse-type': 'UInt64' },
    last: { type: 'string', 'x-clickhouse-type': 'DateTime' },
  })

  const one = await documentAt(service, '/v0/pipes/top/openapi.json')
  t.same(one.paths, { '/pipes/top.{format}': all.paths['/pipes/top.{format}'] })
  const forwarded = await service.call('GET', '/v0/pipes/top/openapi.json', {
    headers: { 'x-forwarded-proto': 'https' },
  })
  t.match(forwarded.json, { servers: [{ url: /^https:/ }] })

  await service.call('POST', '/v0/datasources/visits/alter', {
    body: 'schema=path String, org LowCardinality(String), n UInt32, at DateTime, more Bool',
  })
  t.match(columnsOf(await documentAt(service, '/v0/pipes/openapi.json'), 'chosen'), { more: { type: 'boolean' } })

  t.match(await service.call('GET', '/v0/pipes/none/openapi.json'), {
    status: 404,
    json: { error: "Pipe 'none' not found" },
  })
  t.match(await service.call('GET', '/v0/pipes/draft/openapi.json'), { status: 404 })
  t.match(await service.call('GET', '/v0/pipes/openapi.json', { token: null }), { status: 403 })
  t.match(await service.call('GET', '/v0/pipes/openapi.json?token=p.test.token', { token: null }), { status: 200 })
  t.match(await service.call('POST', '/v0/pipes/openapi.json'), { status: 405 })
})

t.test('an endpoint that is broken by now is described without its columns', async (t) => {
  const service = await openTestService(t)
  await service.create('visits', 'path String')
  await createPipe(service, 'broken', [['a', '% SELECT path FROM visits LIMIT {{Int8(size, 1)}}']])
  await createPipe(service, 'whole', [['a', 'SELECT 1 AS one']])
  t.same(columnsOf(await documentAt(service, '/v0/pipes/openapi.json'), 'broken'), {
    path: { type: 'string', 'x-clickhouse-type': 'String' },
  })
  t.equal((await service.call('DELETE', '/v0/datasources/visits?force=true')).status, 204)
  const document = await documentAt(service, '/v0/pipes/openapi.json')
  t.equal(columnsOf(document, 'broken'), undefined)
  t.same(parametersOf(document, 'broken'), ['size'])
  t.ok(columnsOf(document, 'whole'))
})

t.test('templates read variables, and a change of one shows with the next request', async (t) => {
  const service = await openTestService(t)
  // The engine gives the alias to the whole comparison.
  t.equal(await service.sql("SELECT 'a' = 'b' AS s, s AS again FORMAT TSV"), '0\t0\n')
  await createPipe(service, 'guarded', [
    [
      'rows',
      "% SELECT if({{String(key, '')}} = {{tb_secret('password')}}, 'open', 'shut') AS door {{cache_ttl('1h')}}",
    ],
  ])
  const ask = async () => {
    const headers = { 'content-type': 'application/json' }
    return (await service.call('POST', '/v0/pipes/guarded.ndjson', { body: '{"key": "sesame"}', headers })).text
  }
  t.match(await ask(), /Cannot access secret 'password'. Check the secret exists in the Workspace/)
  await service.call('POST', '/v0/variables', { body: 'name=password&value=sesame' })
  t.equal(await ask(), '{"door":"open"}\n')
  await service.call('PUT', '/v0/variables/password', { body: '{"value": "other"}' })
  t.equal(await ask(), '{"door":"shut"}\n')
  await service.call('DELETE', '/v0/variables/password')
  t.match(await ask(), /Cannot access secret/)
  await service.call('POST', '/v0/variables', { body: 'name=password&value=sesame' })
  for (const sql of [
    "% SELECT {{tb_secret('password')}} AS shown",
    "% SELECT shown FROM (SELECT 1) WHERE ({{tb_secret('password')}} AS shown) != ''",
  ]) {
    const refusal = { status: 400, json: { error: /^(?:Node '.*': )?The value of a secret would show in the result/ } }
    t.match(
      await service.call('POST', `/v0/pipes?name=leaky&sql=${encodeURIComponent(sql)}`),
      refusal,
      'no node has it',
    )
    t.match(await service.call('POST', '/v0/sql', { body: sql }), refusal, 'and no query')
  }
  const entries = JSON.stringify(service.log.entries)
  t.notMatch(entries, 'sesame', 'no value is logged')
})

t.test('a parameter that the token fixes is none that a request could send', async (t) => {
  const token = 'p.openapi.0123456789abcdef0123456789abcdef'
  const service = await openTestService(t, { adminToken: token })
  const asAdmin = { token }
  const post = async (path: string, body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const { status, json, text } = await service.call('POST', path, { body: JSON.stringify(body), headers, token })
    t.equal(status, 200, text)
    // A pipe has none, and it is not looked at.
    return (json as { readonly token: string }).token
  }
  const create = (name: string, sql: string) => post('/v0/pipes', { name, nodes: [{ sql, type: 'endpoint' }] })
  const uses = "{{String(org, 'acme', required=True)}} AS org, {{Int8(size, 1)}} AS size"
  await create('inner', `% SELECT ${uses}, {{Int8(least, 0)}} AS least`)
  await create('outer', '% SELECT * FROM inner WHERE size > {{Int8(size, 2)}}')
  const jwtOf = (...fixed: readonly (readonly [string, object])[]): Promise<string> => {
    const scopes = fixed.map(([resource, params]) => ({ type: 'PIPES:READ', resource, fixed_params: params }))
    return post(`/v0/tokens?expiration_time=${Math.floor(Date.now() / 1_000) + 600}`, { name: 'reader', scopes })
  }
  const listed = async (name: string, call: Call): Promise<readonly string[] | undefined> => {
    const one = await documentAt(service, `/v0/pipes/${name}/openapi.json`, call)
    const all = await documentAt(service, '/v0/pipes/openapi.json', call)
    t.same(all.paths[`/pipes/${name}.{format}`], one.paths[`/pipes/${name}.{format}`])
    return parametersOf(one, name)
  }
  t.same(await listed('inner', asAdmin), ['org', 'size', 'least'])
  const fixedOuter = { token: await jwtOf(['outer', { org: 'a', none: 1 }]) }
  t.same(await listed('outer', fixedOuter), ['size', 'least'], 'what is fixed for a pipe is fixed below')
  const document = await documentAt(service, '/v0/pipes/outer/openapi.json', fixedOuter)
  t.notMatch(JSON.stringify(document), /"org":\{"type":"string","default|acme/, 'nor is it in the body of a POST')
  const fixedInner = { token: await jwtOf(['outer', {}], ['inner', { size: 5, org: 'a' }]) }
  t.same(await listed('outer', fixedInner), ['size', 'least'], 'one of its uses is free')
  t.same(await listed('inner', fixedInner), ['least'])
  t.same(await listed('outer', asAdmin), ['size', 'org', 'least'], 'others see them all')
})
