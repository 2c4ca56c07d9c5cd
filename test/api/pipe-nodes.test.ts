// The Pipes section of the API, through a whole service: nodes and endpoints, in every form and with every code.

import t from 'tap'
import { errorOf, nodeIn, openPipeService, pipeIn } from '../support/api/pipe-service.ts'
import type { Answer } from '../support/api/test-service.ts'

const pipes = await openPipeService(t)
const { call } = pipes

t.test('a node is appended by its SQL as the body, under any Content-Type, by both paths', async (t) => {
  await pipes.create('grown', 'SELECT * FROM events')
  const first = await call('POST', '/v0/pipes/grown/nodes?name=counted&description=all', {
    body: 'SELECT count() AS c\nFROM n0\n',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  t.match(first, { status: 200, json: { name: 'counted', description: 'all', dependencies: ['n0'], version: 0 } })
  t.equal(nodeIn(first).sql, 'SELECT count() AS c\nFROM n0\n', 'as it was sent')
  const second = await call('POST', '/v0/pipes/grown/append', {
    body: '% SELECT c FROM counted WHERE c > {{Int32(least, 0)}}',
    headers: { 'content-type': 'text/plain' },
  })
  t.match(second, { status: 200, json: { name: 'grown_2', params: [{ name: 'least', type: 'Int32', default: 0 }] } })
  const byParameter = await call('POST', `/v0/pipes/grown/nodes?${new URLSearchParams({ sql: 'SELECT 1 AS one' })}`)
  t.match(byParameter, { status: 200, json: { name: 'grown_3', dependencies: [] } })
  const byJson = { name: 'byjson', sql: 'SELECT one FROM grown_3', type: 'endpoint', description: 'd' }
  const published = nodeIn(await call('POST', '/v0/pipes/grown/nodes', { body: JSON.stringify(byJson) }))
  t.match(published, { name: 'byjson', node_type: 'endpoint' })
  const pipe = await pipes.show('grown')
  t.same([pipe.endpoint, pipe.type], [published.id, 'endpoint'])
  t.same(
    pipe.nodes.map(({ name, node_type }) => [name, node_type]),
    [
      ...[
        ['n0', 'default'],
        ['counted', 'default'],
        ['grown_2', 'default'],
        ['grown_3', 'default'],
      ],
      ['byjson', 'endpoint'],
    ],
  )
  t.match((await call('GET', `/v0/pipes/grown/nodes/byjson`)).json, published)
})

t.test('SQL is text in UTF-8, with or without a mark in front', async (t) => {
  await pipes.create('utf8')
  const marked = await call('POST', '/v0/pipes/utf8/nodes?name=a', { body: '\uFEFFSELECT \'é€😀\' AS "été"' })
  t.equal(nodeIn(marked).sql, 'SELECT \'é€😀\' AS "été"')
  const latin = Buffer.from("SELECT 'é' AS a", 'latin1')
  const refused = await call('POST', '/v0/pipes/utf8/nodes?name=b', { body: latin })
  t.match([refused.status, errorOf(refused)], [400, /not in UTF-8/])
  t.equal((await call('POST', '/v0/pipes/utf8/nodes?name=b', { body: "SELECT 'a\0b' AS a" })).status, 400, 'a NUL')
})

t.test('a node that cannot be appended is refused, and the pipe stays as it was', async (t) => {
  const before = await pipes.create('firm', 'SELECT * FROM events')
  const refusals: readonly (readonly [string, string, number, RegExp])[] = [
    ['firm/nodes?name=x', '', 400, /query is empty/],
    ['firm/nodes?name=x', ' \n\t', 400, /query is empty/],
    ['firm/nodes?name=x', 'SELECT nope FROM n0', 400, /nope/],
    ['firm/nodes?name=x', 'SELECT * FROM x', 400, /x/],
    ['firm/nodes?name=x', 'SELECT * FROM firm', 400, /Circular dependency on 'firm'/],
    ['firm/nodes?name=x', 'INSERT INTO events VALUES (1)', 400, /./],
    ['firm/nodes?name=n0', 'SELECT 1', 409, /already a node with name "n0" in Pipe "firm"/],
    ['firm/nodes?name=a.b', 'SELECT 1', 400, /"a.b" is not a valid name/],
    ['firm/nodes?name=x&type=materialized', 'SELECT 1', 400, /needs "datasource"/],
    ['firm/nodes?name=x&type=copy', 'SELECT 1', 400, /"copy" are not supported yet/],
    [
      'firm/nodes?name=x&type=nothing',
      'SELECT 1',
      400,
      /"type" is "nothing", but must be standard, endpoint or materialized/,
    ],
    ['firm/nodes?name=x&engine=MergeTree', 'SELECT 1', 400, /"engine" needs type=materialized/],
    ['firm/nodes?name=x&engine_ttl=day', 'SELECT 1', 400, /"engine_ttl" needs type=materialized/],
    ['firm/append?name=x&sql=SELECT+1', 'SELECT 1', 400, /and another one in the body/],
    [`firm/nodes?name=x&description=${'d'.repeat(30_000)}`, `${'-'.repeat(140_000)}`, 400, /longer than 128 KiB/],
    ['missing/nodes?name=x', 'SELECT 1', 404, /Pipe 'missing' not found/],
    ['missing/append?name=x', 'SELECT 1', 404, /Pipe 'missing' not found/],
  ]
  for (const [path, body, status, reason] of refusals) {
    const answer = await call('POST', `/v0/pipes/${path}`, { body })
    t.match([answer.status, errorOf(answer)], [status, reason], `${path.slice(0, 60)} ${body.slice(0, 40)}`)
  }
  t.same(await pipes.show('firm'), before)
})

t.test('a node is edited: its SQL, its name, its description, each alone or together', async (t) => {
  const before = await pipes.create('edited', 'SELECT * FROM events', 'SELECT user FROM n0')
  const [first, second] = before.nodes
  const put = (node: string, query: string, body?: string) =>
    call('PUT', `/v0/pipes/edited/nodes/${node}${query}`, body === undefined ? {} : { body })
  const sql = 'SELECT user, n FROM n0 WHERE n > 3'
  const changed = nodeIn(await put('n1', '', sql))
  t.match(changed, { id: second?.id, name: 'n1', sql, version: 1, dependencies: ['n0'] })
  t.match(nodeIn(await put(String(second?.id), '?name=users&description=who')), {
    ...{ id: second?.id, name: 'users', description: 'who', sql, version: 1 },
  })
  t.match(nodeIn(await put('users', '?name=people', 'SELECT 1 AS x')), { name: 'people', version: 2, dependencies: [] })
  t.match(nodeIn(await put('people', '?description=')), { description: null, version: 2 })
  t.match(nodeIn(await put('people', '', JSON.stringify({ sql, description: 'j' }))), { sql, description: 'j' })
  t.match(nodeIn(await put('people', '?name=people', 'SELECT 2 AS x')), { name: 'people' }, 'its own name is free')
  const after = await pipes.show('edited')
  t.same(after.nodes[0], first)

  const refusals: readonly (readonly [string, string, string | undefined, number, RegExp])[] = [
    ['people', '', undefined, 400, /query is empty/],
    ['people', '', '  ', 400, /query is empty/],
    ['people', '?sql=', undefined, 400, /query is empty/],
    ['people', '?name=', undefined, 400, /"name" is required/],
    ['people', '?name=x', 'SELECT nope FROM n0', 400, /nope/],
    ['people', '', 'SELECT 1 FROM people', 400, /people/],
    ['people', '?name=n0', undefined, 409, /already a node with name "n0"/],
    ['people', '?name=9', undefined, 400, /not a valid name/],
    ['people', '?position=-1', undefined, 400, /"position" is "-1"/],
    ['n0', '?name=zero', 'SELECT nope FROM events', 400, /nope/],
    ['nothing', '?name=x', undefined, 404, /Node 'nothing' of Pipe 'edited' not found/],
    [before.id, '?name=x', undefined, 404, /not found/],
  ]
  for (const [node, query, body, status, reason] of refusals) {
    const answer = await put(node, query, body)
    t.match([answer.status, errorOf(answer)], [status, reason], `${node}${query} ${body}`)
  }
  t.same(await pipes.show('edited'), after)
  const missing = await call('PUT', '/v0/pipes/missing/nodes/n0', { body: 'SELECT 1' })
  t.match([missing.status, errorOf(missing)], [404, "Pipe 'missing' not found"])
})

t.test('a node that others read is renamed only by force, and then in their SQL too', async (t) => {
  await pipes.create('renamed_node', 'SELECT * FROM events', 'SELECT * FROM n0', 'SELECT * FROM events')
  const rename = (query: string) => call('PUT', `/v0/pipes/renamed_node/nodes/n0?${query}`)
  const refused = await rename('name=zero')
  t.match([refused.status, errorOf(refused)], [409, /Node "n0" is used by n1; change those first, or use force=true/])
  const shadowing = await rename('name=events')
  t.match([shadowing.status, errorOf(shadowing)], [409, /used by n1, n2/], 'a name that stands for something else')
  t.equal((await rename('name=events&force=true')).status, 409, 'which is not done by force')
  t.equal((await rename('name=zero&force=true')).status, 200)
  t.match(await pipes.show('renamed_node'), { nodes: [{}, { sql: 'SELECT * FROM zero', dependencies: ['zero'] }] })
  const stale = await call('PUT', '/v0/pipes/renamed_node/nodes/n1', { body: 'SELECT * FROM n0' })
  t.equal(stale.status, 400)
  const both = await rename('name=nought&sql=SELECT+1+AS+a')
  t.match([both.status, errorOf(both)], [404, /Node 'n0'/])
  const edited = await call('PUT', '/v0/pipes/renamed_node/nodes/zero?name=nought&force=true', {
    body: 'SELECT 1 AS a',
  })
  t.equal(edited.status, 200, 'with new SQL at once')
  t.match(await pipes.show('renamed_node'), { nodes: [{ sql: 'SELECT 1 AS a' }, { sql: 'SELECT * FROM nought' }] })
})

t.test('a node is moved to another place where it and those between still have what they read', async (t) => {
  await pipes.create('moved', 'SELECT * FROM events', 'SELECT 1 AS a', 'SELECT user FROM n0')
  const move = (node: string, position: number) => call('PUT', `/v0/pipes/moved/nodes/${node}?position=${position}`)
  const names = async () => (await pipes.show('moved')).nodes.map(({ name }) => name)
  t.equal((await move('n1', 0)).status, 200)
  t.same(await names(), ['n1', 'n0', 'n2'])
  t.equal((await move('n1', 99)).status, 200)
  t.same(await names(), ['n0', 'n2', 'n1'])
  const refused = await move('n2', 0)
  t.match([refused.status, errorOf(refused)], [400, /Node 'n2': .*n0/])
  const below = await move('n0', 1)
  t.match([below.status, errorOf(below)], [400, /Node 'n2': .*n0/])
  t.same(await names(), ['n0', 'n2', 'n1'])
  t.equal((await move('n0', 0)).status, 200, 'it may stay where it is')
})

t.test('a node is deleted, also where others read it; a published one is not', async (t) => {
  await pipes.create('shrunk', 'SELECT * FROM events', 'SELECT * FROM n0', 'SELECT 1 AS one')
  t.equal((await call('POST', '/v0/pipes/shrunk/nodes/n2/endpoint')).status, 200)
  const published = await call('DELETE', '/v0/pipes/shrunk/nodes/n2')
  t.match([published.status, errorOf(published)], [400, /Node 'n2' is published as an endpoint/])
  const deleted = await call('DELETE', '/v0/pipes/shrunk/nodes/n0')
  t.same([deleted.status, deleted.text], [204, ''])
  t.match((await pipes.show('shrunk')).nodes, [{ name: 'n1', dependencies: ['n0'] }, { name: 'n2' }], 'the others stay')
  const again = await call('DELETE', '/v0/pipes/shrunk/nodes/n0')
  t.match([again.status, errorOf(again)], [404, "Node 'n0' of Pipe 'shrunk' not found"])
  const missing = await call('DELETE', '/v0/pipes/missing/nodes/n0')
  t.match([missing.status, errorOf(missing)], [404, "Pipe 'missing' not found"])
  t.equal((await call('DELETE', '/v0/pipes/shrunk/nodes/n2/endpoint')).status, 200)
  t.equal((await call('DELETE', '/v0/pipes/shrunk/nodes/n2')).status, 204)
  t.equal((await call('DELETE', '/v0/pipes/shrunk/nodes/n1')).status, 204)
  t.same((await pipes.show('shrunk')).nodes, [])
  t.equal(nodeIn(await call('POST', '/v0/pipes/shrunk/nodes', { body: 'SELECT 1' })).name, 'shrunk_0')
})

t.test('one node at a time is published, in every form', async (t) => {
  const { nodes } = await pipes.create('shown', 'SELECT 1 AS a', 'SELECT 2 AS a')
  const [first, second] = nodes.map(({ id }) => id)
  const path = '/v0/pipes/shown'
  const types = (answer: Answer) => pipeIn(answer).nodes.map(({ node_type }) => node_type)
  const forms: readonly (readonly [string, string, string | undefined, string | undefined])[] = [
    ['POST', `${path}/nodes/n0/endpoint`, undefined, first],
    ['POST', `${path}/nodes/${second}/endpoint`, undefined, second],
    ['PUT', `${path}/endpoint`, first, first],
    ['PUT', `${path}/endpoint`, 'n1', second],
    ['POST', `${path}/published`, first, first],
    ['PUT', `${path}/endpoint/`, JSON.stringify({ node_id: second }), second],
    ['POST', `${path}/endpoint?node=n0`, undefined, first],
  ]
  for (const [method, url, body, endpoint] of forms) {
    const answer = await call(method, url, body === undefined ? {} : { body })
    t.match(pipeIn(answer), { name: 'shown', endpoint, type: 'endpoint' }, `${method} ${url} ${body ?? ''}`)
    t.same(types(answer), endpoint === first ? ['endpoint', 'default'] : ['default', 'endpoint'])
    t.notOk('token' in (answer.json as object), 'there is no token to share it with')
  }
  t.equal((await pipes.show('shown')).endpoint, first)
  t.match(await call('GET', '/v0/pipes?attrs=name,type'), { json: { pipes: /./ } })

  const other = await call('DELETE', `${path}/nodes/n1/endpoint`)
  t.match([other.status, errorOf(other)], [400, "Node 'n1' of Pipe 'shown' is not published"])
  const unpublished = await call('DELETE', `${path}/nodes/n0/endpoint`)
  t.match(pipeIn(unpublished), { endpoint: null, type: 'default' })
  t.same(types(unpublished), ['default', 'default'])
  await call('PUT', `${path}/endpoint`, { body: 'n1' })
  t.match(pipeIn(await call('DELETE', `${path}/endpoint`)), { endpoint: null })
  const none = await call('DELETE', `${path}/endpoint`)
  t.match([none.status, errorOf(none)], [400, "Pipe 'shown' has no published node"])
})

t.test('a node that is none of the pipe cannot be published', async (t) => {
  const other = await pipes.create('other_pipe', 'SELECT 1 AS a')
  await pipes.create('published_wrong', 'SELECT 1 AS a')
  const path = '/v0/pipes/published_wrong'
  const wrong = String(other.nodes[0]?.id)
  const refusals: readonly (readonly [string, string, string, number, RegExp])[] = [
    ['POST', `${path}/nodes/nothing/endpoint`, '', 400, /Pipe 'published_wrong' has no node 'nothing'/],
    ['POST', `${path}/nodes/${wrong}/endpoint`, '', 400, /has no node/],
    ['DELETE', `${path}/nodes/nothing/endpoint`, '', 400, /has no node 'nothing'/],
    ['PUT', `${path}/endpoint`, wrong, 400, /has no node/],
    ['PUT', `${path}/endpoint`, '', 400, /the body must be the id of the node to publish/],
    ['POST', `${path}/published`, 'nothing', 400, /has no node/],
    ['POST', '/v0/pipes/missing/nodes/n0/endpoint', '', 404, /Pipe 'missing' not found/],
    ['DELETE', '/v0/pipes/missing/nodes/n0/endpoint', '', 404, /Pipe 'missing' not found/],
    ['PUT', '/v0/pipes/missing/endpoint', 'n0', 404, /Pipe 'missing' not found/],
    ['DELETE', '/v0/pipes/missing/endpoint', '', 404, /Pipe 'missing' not found/],
    ['GET', `${path}/endpoint`, '', 405, /Method GET is not allowed here; use POST or PUT or DELETE/],
  ]
  for (const [method, url, body, status, reason] of refusals) {
    const answer = await call(method, url, body === '' ? {} : { body })
    t.match([answer.status, errorOf(answer)], [status, reason], `${method} ${url}`)
  }
  t.equal((await pipes.show('published_wrong')).endpoint, null)
})

t.test(
  'a pipe is copied with new ids; over a pipe that there is, its endpoint stays where a name is the same',
  async (t) => {
    const from = await pipes.create('original', 'SELECT * FROM events', 'SELECT user FROM n0')
    await call('PUT', '/v0/pipes/original/endpoint', { body: 'n1' })
    await call('POST', '/v0/pipes/original/nodes?name=by_id', { body: `SELECT user FROM ${from.nodes[1]?.id}` })
    const copy = pipeIn(await call('POST', '/v0/pipes?name=copied&from=original'))
    t.match(copy, { name: 'copied', endpoint: null, parent: from.id, type: 'default' })
    t.not(copy.id, from.id)
    t.same(
      copy.nodes.map(({ name, dependencies }) => [name, dependencies]),
      [
        ['n0', ['events']],
        ['n1', ['n0']],
        ['by_id', ['n1']],
      ],
    )
    t.equal(copy.nodes[2]?.sql, `SELECT user FROM ${copy.nodes[1]?.id}`, 'nodes that read by id read those of the copy')

    const target = await pipes.create('target', 'SELECT 1 AS a', 'SELECT 2 AS a', 'SELECT 3 AS a')
    await call('PUT', '/v0/pipes/target/endpoint', { body: 'n1' })
    const over = pipeIn(await call('POST', '/v0/pipes', { body: `name=target&from=${from.id}&description=copied` }))
    t.match(over, { id: target.id, description: 'copied', endpoint: target.nodes[1]?.id, type: 'endpoint' })
    t.same(
      over.nodes.map(({ name }) => name),
      ['n0', 'n1', 'by_id'],
    )
    t.equal(over.nodes[1]?.version, 1)

    await call('PUT', '/v0/pipes/original/nodes/by_id', { body: 'SELECT 4 AS a' })
    await call('PUT', '/v0/pipes/original/nodes/n1?name=other')
    const gone = pipeIn(await call('POST', '/v0/pipes?name=target&from=original'))
    t.match(gone, { id: target.id, endpoint: null, type: 'default' }, 'no node has the name of the endpoint')

    const refusals: readonly (readonly [string, number, RegExp])[] = [
      ['name=x1&from=missing', 404, /Pipe 'missing' not found/],
      ['name=x1&from=events', 404, /Pipe 'events' not found/],
      ['name=events&from=original', 409, /already a Data Source/],
      ['name=a-b&from=original', 400, /not a valid name/],
      ['name=original&from=original', 400, /"from" is "original"/],
      ['from=original', 400, /"name" is required/],
    ]
    for (const [query, status, reason] of refusals) {
      const answer = await call('POST', `/v0/pipes?${query}`)
      t.match([answer.status, errorOf(answer)], [status, reason], query)
    }
    const named = await call('POST', '/v0/pipes?name=from_sdk&from=ts-sdk', { body: 'SELECT 1 AS a' })
    t.equal(named.status, 200, 'clients name themselves by the same parameter')
  },
)

t.test('many changes at once are all made or refused, each whole', async (t) => {
  await pipes.create('crowded', 'SELECT 1 AS a')
  const appends = Array.from({ length: 20 }, (_, index) =>
    call('POST', `/v0/pipes/crowded/nodes?name=m${index % 10}`, { body: `SELECT ${index} AS a` }),
  )
  const statuses = (await Promise.all(appends)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, 10)
  t.equal(statuses.filter((status) => status === 409).length, 10)
  const names = (await pipes.show('crowded')).nodes.map(({ name }) => name)
  t.equal(new Set(names).size, 11)
})

t.test('a pipe has a greatest number of nodes', async (t) => {
  const nodes = Array.from({ length: 200 }, (_, index) => ({ name: `n${index}`, sql: 'SELECT 1 AS a' }))
  const more = JSON.stringify({ name: 'too_long', nodes: [...nodes, { sql: 'SELECT 1' }] })
  const refused = await call('POST', '/v0/pipes', { body: more })
  t.match([refused.status, errorOf(refused)], [400, "Pipe 'too_long' can have at most 200 nodes"])
  t.equal((await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'too_long', nodes }) })).status, 200)
  const append = await call('POST', '/v0/pipes/too_long/nodes', { body: 'SELECT 1' })
  t.match([append.status, errorOf(append)], [400, /at most 200 nodes/])
  const copy = await call('POST', '/v0/pipes?name=as_long&from=too_long')
  t.equal(copy.status, 200)
  const description = 'd'.repeat(100_001)
  const long = await call('PUT', '/v0/pipes/too_long', { body: JSON.stringify({ description }) })
  t.match([long.status, errorOf(long)], [400, /100000 characters at most/])
})
