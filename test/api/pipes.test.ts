// The Pipes section of the API, through a whole service: pipes, in every form and with every code.

import t from 'tap'
import { readPipeFile } from '../support/api/datafiles.ts'
import { errorOf, openPipeService, type PipeShape, pipeIn } from '../support/api/pipe-service.ts'

const pipes = await openPipeService(t)
const { call, service } = pipes

t.test('a pipe is created by JSON with its nodes, and each tells what it reads', async (t) => {
  const body = JSON.stringify({
    name: 'by_json',
    description: '**all** of it',
    nodes: [
      { name: 'recent', sql: 'SELECT * FROM events WHERE n > 1', description: 'some' },
      { sql: '%\nSELECT user FROM recent LIMIT {{Int32(top, 10, description="how many")}}' },
    ],
  })
  const pipe = pipeIn(await call('POST', '/v0/pipes/', { body, headers: { 'content-type': 'application/json' } }))
  t.match(pipe, {
    id: /^t_[0-9a-f]{32}$/,
    name: 'by_json',
    description: '**all** of it',
    endpoint: null,
    parent: null,
    type: 'default',
    url: `${service.address}/v0/pipes/by_json.json`,
    created_at: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/,
    pipeline: {
      nodes: [
        { name: 'recent', sql: 'SELECT * FROM events WHERE n > 1', materialized: null },
        { name: 'by_json_1', materialized: null },
      ],
    },
    nodes: [
      {
        id: /^t_[0-9a-f]{32}$/,
        name: 'recent',
        sql: 'SELECT * FROM events WHERE n > 1',
        description: 'some',
        dependencies: ['events'],
        materialized: null,
        cluster: null,
        tags: {},
        version: 0,
        project: null,
        result: null,
        ignore_sql_errors: false,
        node_type: 'default',
        params: [],
      },
      {
        name: 'by_json_1',
        description: null,
        dependencies: ['recent'],
        params: [{ name: 'top', type: 'Int32', default: 10, description: 'how many' }],
      },
    ],
  })
  for (const path of ['by_json', pipe.id, `t_.by_json.${pipe.id.slice(2)}`, 'by_json/']) {
    t.same(await pipes.show(path), pipe, path)
  }
})

t.test('a pipe is created by name and sql, in the URL, a form, a multipart form or around a body of SQL', async (t) => {
  const sql = 'SELECT count() AS c FROM events'
  const form = new FormData()
  form.set('name', 'in_multipart')
  form.set('sql', sql)
  const answers = [
    await call('POST', `/v0/pipes?${new URLSearchParams({ name: 'in_url', sql })}`),
    await call('POST', '/v0/pipes', { body: new URLSearchParams({ name: 'in_form', sql }).toString() }),
    await call('POST', '/v0/pipes?name=in_both', { body: new URLSearchParams({ sql }).toString() }),
    await call('POST', '/v0/pipes', { body: form }),
    await call('POST', '/v0/pipes?name=in_body', { body: sql }),
    await call('POST', '/v0/pipes?name=in_json', { body: JSON.stringify({ sql }) }),
  ]
  for (const answer of answers) {
    const { name, nodes } = pipeIn(answer)
    t.match(nodes, [{ name: `${name}_0`, sql, dependencies: ['events'] }], name)
  }
  const both = await call('POST', `/v0/pipes?${new URLSearchParams({ name: 'twice', sql })}`, { body: sql })
  t.match([both.status, errorOf(both)], [400, /in the parameter "sql" and another one in the body/])
})

t.test('a token is taken from the header, the URL, a form or JSON, and without one nothing is done', async (t) => {
  const sql = 'SELECT 1 AS one'
  const token = 'p.test.token'
  const without = { token: null }
  const form = new URLSearchParams({ token, name: 'token_form', sql }).toString()
  t.equal((await call('POST', '/v0/pipes', { ...without, body: form })).status, 200)
  const body = JSON.stringify({ token, name: 'token_json', nodes: [{ sql }] })
  t.equal((await call('POST', '/v0/pipes', { ...without, body })).status, 200)
  t.equal((await call('POST', `/v0/pipes?name=token_url&token=${token}`, { ...without, body: sql })).status, 200)
  t.equal((await call('GET', `/v0/pipes?token=${token}`, without)).status, 200)
  const refused: readonly (readonly [string, string])[] = [
    ['GET', '/v0/pipes'],
    ['POST', '/v0/pipes?name=x&sql=select+1'],
    ['GET', '/v0/pipes/token_url'],
    ['PUT', '/v0/pipes/token_url?name=x'],
    ['DELETE', '/v0/pipes/token_url'],
    ['POST', '/v0/pipes/token_url/nodes?sql=select+1'],
    ['PUT', '/v0/pipes/token_url/nodes/token_url_0?name=x'],
    ['DELETE', '/v0/pipes/token_url/nodes/token_url_0'],
    ['POST', '/v0/pipes/token_url/nodes/token_url_0/endpoint'],
  ]
  for (const [method, path] of refused) {
    t.equal((await call(method, path, without)).status, 403, `${method} ${path} without a token`)
    t.equal((await call(method, path, { token: 'wrong' })).status, 403, `${method} ${path} with a wrong one`)
  }
  t.match(await pipes.show('token_url'), { endpoint: null, nodes: [{ name: 'token_url_0' }] })
})

t.test('what cannot become a pipe is refused, and nothing of it stays', async (t) => {
  const refusals: readonly (readonly [object, number, RegExp])[] = [
    [{ nodes: [{ sql: 'SELECT 1' }] }, 400, /"name" is required/],
    [{ name: '1a', nodes: [] }, 400, /"1a" is not a valid name/],
    [{ name: 'a-b', nodes: [] }, 400, /not a valid name/],
    [{ name: 'events_quarantine', nodes: [] }, 400, /not a valid name/],
    [{ name: 'openapi', nodes: [] }, 400, /not a valid name/],
    [{ name: 'refused' }, 400, /A Pipe needs a query/],
    [{ name: 'refused', sql: ' \n' }, 400, /query is empty/],
    [{ name: 'refused', sql: 'SELECT 1', nodes: [] }, 400, /in "sql" and another one in "nodes"/],
    [{ name: 'refused', nodes: {} }, 400, /"nodes" must be a list/],
    [{ name: 'refused', nodes: ['SELECT 1'] }, 400, /a node must be an object/],
    [{ name: 'refused', nodes: [{ sql: 7 }] }, 400, /"sql" of a node must be a text/],
    [{ name: 'refused', nodes: [{ sql: 'SELECT 1' }, { name: 'b', sql: '' }] }, 400, /Node 'b': The query is empty/],
    [{ name: 'refused', nodes: [{ name: 'b-c', sql: 'SELECT 1' }] }, 400, /"b-c" is not a valid name/],
    [
      { name: 'refused', nodes: [{ sql: 'SELECT 1', type: 'materialized' }] },
      400,
      /a materialized node needs "datasource"/,
    ],
    [{ name: 'refused', nodes: [{ sql: 'SELECT 1', type: 'copy' }] }, 400, /"copy" are not supported yet/],
    [{ name: 'refused', nodes: [{ sql: 'SELECT 1', type: 'x' }] }, 400, /"type" is "x"/],
    [{ name: 'refused', sql: 'SELEC 1' }, 400, /SELEC/],
    [{ name: 'refused', sql: 'SELECT a FROM missing' }, 400, /missing/],
    [{ name: 'refused', sql: 'SELECT nope FROM events' }, 400, /nope/],
    [{ name: 'refused', sql: 'SELECT 1; SELECT 2' }, 400, /./],
    [{ name: 'refused', sql: 'DROP TABLE events' }, 400, /./],
    [{ name: 'refused', sql: '% SELECT {{Int32(a}}' }, 400, /./],
    [{ name: 'events', sql: 'SELECT 1' }, 409, /already a Data Source with name "events"/],
    [{ name: 'by_json', sql: 'SELECT 1' }, 409, /already a Pipe with name "by_json"/],
  ]
  for (const [body, status, reason] of refusals) {
    const answer = await call('POST', '/v0/pipes', { body: JSON.stringify(body) })
    t.match([answer.status, errorOf(answer)], [status, reason], JSON.stringify(body))
  }
  const twice = {
    name: 'refused',
    nodes: [
      { name: 'a', sql: 'SELECT 1' },
      { name: 'a', sql: 'SELECT 2' },
    ],
  }
  const same = await call('POST', '/v0/pipes', { body: JSON.stringify(twice) })
  t.match([same.status, errorOf(same)], [409, /already a node with name "a" in Pipe "refused"/])
  const endpoints = ['a', 'b'].map((name) => ({ name, sql: 'SELECT 1', type: 'endpoint' }))
  const two = await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'refused', nodes: endpoints }) })
  t.match([two.status, errorOf(two)], [400, /only one node of a pipe can be published/])
  t.equal((await call('POST', '/v0/pipes', { body: '{"name": "refused", "nodes": [' })).status, 400)
  t.equal((await call('GET', '/v0/pipes/refused')).status, 404)
  t.equal((await service.create('by_json', 'a String')).status, 409, 'a Data Source cannot have the name of a Pipe')
})

t.test('wrong SQL is told in the words of the engine, with its place', async (t) => {
  const syntax = await call('POST', '/v0/pipes?name=wrong', { body: 'SELECT a\nFROM events\nWHERE n >' })
  t.equal(syntax.status, 400)
  t.match(errorOf(syntax), /line \d+, col(umn)? \d+|position \d+/)
  const unknown = await call('POST', '/v0/pipes?name=wrong', { body: 'SELECT sum(usr) FROM events' })
  t.match(errorOf(unknown), /Unknown expression .*identifier .?usr/)
  t.notMatch(errorOf(unknown), /t_[0-9a-f]{32}/, 'names of the user, not ours')
})

t.test('the list has what was asked for and nothing else', async (t) => {
  await pipes.create('listed', 'SELECT * FROM events', 'SELECT user FROM n0')
  const list = async (query: string) => {
    const { status, json } = await call('GET', `/v0/pipes${query}`)
    t.equal(status, 200)
    const { pipes } = json as { readonly pipes: readonly PipeShape[] }
    const found = pipes.find(({ name, url }) => name === 'listed' || url.endsWith('/listed.json'))
    t.ok(found, query)
    return found ?? ({ nodes: [] } as unknown as PipeShape)
  }
  const all = await list('')
  const keys = ['created_at', 'description', 'endpoint', 'id', 'name', 'nodes', 'parent', 'type', 'updated_at', 'url']
  t.same(Object.keys(all).sort(), keys)
  t.notOk('dependencies' in (all.nodes[0] ?? {}), 'dependencies are on request')
  t.match(all.nodes[0], { name: 'n0', sql: 'SELECT * FROM events', node_type: 'default', version: 0 })

  t.same(
    (await list('/?dependencies=true')).nodes.map((node) => node.dependencies),
    [['events'], ['n0']],
  )
  t.same(Object.keys(await list('?attrs=id,name')).sort(), ['id', 'name', 'url'])
  t.same(Object.keys(await list('?attrs=id,name,description,type,endpoint')).sort(), [
    ...['description', 'endpoint', 'id', 'name', 'type', 'url'],
  ])
  const named = await list('?dependencies=false&attrs=name,updated_at&node_attrs=name')
  t.same(Object.keys(named).sort(), ['name', 'nodes', 'updated_at', 'url'])
  t.same(named.nodes, [{ name: 'n0' }, { name: 'n1' }])
  const read = await list('?attrs=&node_attrs=id,name&dependencies=1')
  t.same(Object.keys(read).sort(), keys)
  t.same(Object.keys(read.nodes[0] ?? {}).sort(), ['dependencies', 'id', 'name'])
  t.same(await list('?attrs=nothing'), { url: `${service.address}/v0/pipes/listed.json` })
  const proxied = await call('GET', '/v0/pipes/listed?attrs=url', { headers: { 'x-forwarded-proto': 'https' } })
  t.same(proxied.json, { url: `${service.address.replace('http:', 'https:')}/v0/pipes/listed.json` })
  t.equal((await call('GET', '/v0/pipes?dependencies=maybe')).status, 400)
})

t.test('the whole pipe has the shape that clients know', async (t) => {
  await pipes.create('whole', 'SELECT 1 AS a')
  const { json } = await call('GET', '/v0/pipes/whole')
  t.same(Object.keys(json as object).sort(), [
    ...[
      'content',
      'created_at',
      'description',
      'edited_by',
      'endpoint',
      'id',
      'last_commit',
      'name',
      'nodes',
      'parent',
    ],
    ...['path', 'pipeline', 'published_date', 'published_version', 'type', 'updated_at', 'url', 'workspace_id'],
  ])
  const [node] = (json as PipeShape).nodes
  t.same(Object.keys(node ?? {}).sort(), [
    ...['cluster', 'created_at', 'dependencies', 'deployment_suffix', 'description', 'id', 'ignore_sql_errors'],
    ...['materialized', 'name', 'node_type', 'params', 'possible_dependencies', 'project', 'result', 'sql', 'tags'],
    ...['updated_at', 'version'],
  ])
  for (const name of ['missing', 't_0123456789abcdef0123456789abcdef', 'missing.pipe']) {
    const missing = await call('GET', `/v0/pipes/${name}`)
    t.match([missing.status, errorOf(missing)], [404, `Pipe '${name.replace('.pipe', '')}' not found`])
  }
})

t.test('the datafile of a pipe makes the same pipe again', async (t) => {
  const nodes = [
    { name: 'first', sql: 'SELECT *\n  FROM events\n\nWHERE n > 0', description: 'TYPE endpoint\nNODE x' },
    {
      name: 'last',
      sql: "%\n  SELECT count() AS c FROM first\n  WHERE user = {{String(user, 'x')}}",
      type: 'endpoint',
    },
  ]
  const body = JSON.stringify({ name: 'filed', description: 'About\n\nall', nodes })
  const pipe = pipeIn(await call('POST', '/v0/pipes', { body }))
  const { status, headers, text } = await call('GET', '/v0/pipes/filed.pipe')
  t.equal(status, 200)
  t.match(headers.get('content-type'), /^text\/plain/)
  t.equal((await call('GET', `/v0/pipes/${pipe.id}.pipe`)).text, text)
  t.match(await call('GET', '/v0/pipes/filed'), { json: { content: text } })
  const read = readPipeFile(text)
  t.same(read, {
    description: 'About\n\nall',
    nodes: nodes.map(({ description = '', type = 'standard', ...node }) => ({ ...node, description, type })),
  })
  const again = pipeIn(await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'filed_again', ...read }) }))
  t.equal((await call('GET', `/v0/pipes/${again.id}.pipe`)).text, text)
})

t.test('a pipe gets another name and description, and keeps its id', async (t) => {
  const before = await pipes.create('old_name', 'SELECT 1 AS a')
  await pipes.create('reads_events', 'SELECT * FROM events')
  const renamed = pipeIn(await call('PUT', '/v0/pipes/old_name', { body: 'name=new_name&description=why' }))
  t.match(renamed, { id: before.id, name: 'new_name', description: 'why', nodes: before.nodes })
  t.match(renamed.url, /\/v0\/pipes\/new_name\.json$/)
  t.equal((await call('GET', '/v0/pipes/old_name')).status, 404)
  t.same(await pipes.show(before.id), renamed)
  t.match(pipeIn(await call('PUT', `/v0/pipes/${before.id}?description=`)), { name: 'new_name', description: null })
  t.equal((await call('PUT', '/v0/pipes/new_name?name=new_name')).status, 200)
  const refusals: readonly (readonly [string, number, RegExp])[] = [
    ['new_name', 400, /"name" or "description"/],
    ['new_name?name=', 400, /"name" is required/],
    ['new_name?name=a-b', 400, /not a valid name/],
    ['new_name?name=events', 409, /already a Data Source with name "events"/],
    ['reads_events?name=events', 409, /already a Data Source with name "events"/],
    ['new_name?name=by_json', 409, /already a Pipe with name "by_json"/],
    ['missing?name=x', 404, /Pipe 'missing' not found/],
  ]
  for (const [path, status, reason] of refusals) {
    const answer = await call('PUT', `/v0/pipes/${path}`)
    t.match([answer.status, errorOf(answer)], [status, reason], path)
  }
  const source = await call('PUT', '/v0/datasources/events?name=new_name')
  t.equal(source.status, 409, 'a Data Source cannot be named like a Pipe')
})
