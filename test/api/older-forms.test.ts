// Forms of requests and answers that older clients know: ids with a label, `node_name`, what is published.

import t from 'tap'
import { errorOf, openPipeService, pipeIn } from '../support/api/pipe-service.ts'
import { openTestService } from '../support/api/test-service.ts'

t.test('an id with a label stands for its resource in SQL, paths and parameters', async (t) => {
  const pipes = await openPipeService(t)
  const { call, service } = pipes
  await service.append('events', 'csv', '2024-01-01,a,1\n')
  // The shape of an answer is what its tests check.
  const { id } = (await call('GET', '/v0/datasources/events')).json as { readonly id: string }
  const labelled = (of: string, label: string) => of.replace('t_', `t_${label}.`)
  const [short, long] = [labelled(id, 'events'), labelled(id, '.my.events')]
  const pipe = await pipes.create('p', 'SELECT n FROM events', 'SELECT n + 1 AS m FROM n0')
  const [first, second] = pipe.nodes.map((node) => labelled(node.id, 'n'))
  const ask = async (sql: string): Promise<string> => {
    const { status, text } = await call('POST', '/v0/sql', { body: `${sql} FORMAT JSONCompactEachRow` })
    return status === 200 ? text.trim() : `${status} ${text}`
  }
  for (const sql of [
    `SELECT n FROM ${short}`,
    `SELECT n FROM ${long}`,
    `SELECT n FROM \`${short}\``,
    `SELECT ${short}.n FROM ${short}`,
    `SELECT ${short}.n FROM ${short} AS e`,
    `SELECT events.n FROM ${long} AS e`,
    `SELECT e.n FROM ${long} e WHERE e.n = 1`,
    `SELECT m - 1 FROM ${labelled(pipe.id, 'p')}`,
    `SELECT n FROM events WHERE (day, user, n) IN ${short}`,
    `SELECT n FROM events WHERE n + 1 IN (${labelled(pipe.id, '.p')})`,
    `SELECT count() FROM ${short} AS a JOIN ${long} AS b ON a.n = b.n`,
  ]) {
    t.equal(await ask(sql), '[1]', sql)
  }
  for (const sql of [
    'SELECT 1 IN t_x.y',
    'SELECT n FROM t_label.events',
    `SELECT n FROM ${short}0`,
    `SELECT n FROM x.${id}`,
  ]) {
    t.match(await ask(sql), /^400 /, sql)
  }
  const reader = await pipes.create('reader', `SELECT n FROM ${short}`, `SELECT * FROM n0`)
  t.same(reader.nodes[0]?.dependencies, ['events'])
  const byId = await call('PUT', '/v0/pipes/p/nodes/n1', { body: `SELECT n + 1 AS m FROM ${first}` })
  t.match([byId.status, byId.json], [200, { dependencies: ['n0'] }])
  const self = await call('PUT', '/v0/pipes/p/nodes/n0', { body: `SELECT m AS n FROM ${labelled(pipe.id, 'p')}` })
  t.match([self.status, errorOf(self)], [400, /Circular dependency/])
  const paths: readonly (readonly [string, string, string | undefined])[] = [
    ['GET', `/v0/datasources/${short}`, undefined],
    ['GET', `/v0/pipes/${labelled(pipe.id, 'p')}/nodes/${second}`, undefined],
    ['PUT', `/v0/pipes/p/endpoint`, second],
    ['POST', `/v0/pipes/p/nodes/${second}/endpoint`, undefined],
    ['GET', `/v0/pipes/${labelled(pipe.id, 'p')}.json`, undefined],
    ['GET', `/v0/pipes/${labelled(pipe.id, 'p')}/explain?node_name=${first}`, undefined],
    ['GET', `/v0/sql?q=SELECT+*+FROM+_&pipeline=${labelled(pipe.id, 'p')}`, undefined],
    ['GET', `/v0/sql?q=SELECT+*+FROM+${first}&pipeline=p`, undefined],
  ]
  for (const [method, path, body] of paths) {
    t.equal((await call(method, path, body === undefined ? {} : { body })).status, 200, `${method} ${path}`)
  }
})

t.test('explain takes the node as a parameter', async (t) => {
  const pipes = await openPipeService(t)
  const { nodes } = await pipes.create('p', 'SELECT 11 AS a', 'SELECT 22 AS b')
  const explained = async (path: string): Promise<string> => (await pipes.call('GET', `/v0/pipes/p/${path}`)).text
  t.match(await explained('explain'), /SELECT 22/)
  t.match(await explained('explain?node_name=n0'), /SELECT 11/)
  t.match(await explained(`explain?node_name=${nodes[0]?.id}`), /SELECT 11/)
  t.match(await explained('explain?node_name='), /SELECT 22/)
  t.match(await explained('nodes/n1/explain?node_name=n0'), /SELECT 22/, 'the path goes before the parameter')
  t.equal((await pipes.call('GET', '/v0/pipes/p/explain?node_name=n2')).status, 404)
})

t.test('a pipe tells which node is published, and since when', async (t) => {
  const pipes = await openPipeService(t)
  const { nodes } = await pipes.create('p', 'SELECT 1 AS a', 'SELECT 2 AS b')
  const [first, second] = nodes.map(({ id }) => id)
  t.match(await pipes.show('p'), { published_version: null, published_date: null })
  const published = pipeIn(await pipes.call('PUT', '/v0/pipes/p/endpoint', { body: 'n0' }))
  t.match(published, { endpoint: first, published_version: first, published_date: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/ })
  const { published_date: since } = published as unknown as { readonly published_date: string }
  await pipes.call('PUT', '/v0/pipes/p?description=other')
  await pipes.call('PUT', '/v0/pipes/p/nodes/n0', { body: 'SELECT 3 AS a' })
  t.match(await pipes.show('p'), { published_version: first, published_date: since }, 'other changes do not publish')
  t.match(pipeIn(await pipes.call('PUT', '/v0/pipes/p/endpoint', { body: 'n1' })), { published_version: second })
  await pipes.call('DELETE', '/v0/pipes/p/nodes/n1/endpoint')
  t.match(await pipes.show('p'), { endpoint: null, published_version: null, published_date: null })
  const one = await pipes.call('POST', '/v0/pipes?name=q&sql=SELECT+1&type=endpoint')
  const { endpoint } = pipeIn(one)
  t.match(one.json, { published_version: endpoint, published_date: String })
  const list = (await pipes.call('GET', '/v0/pipes')).json as { readonly pipes: readonly object[] }
  for (const item of list.pipes) t.notOk('published_version' in item, 'a list stays as it is')
  const chosen = (await pipes.call('GET', '/v0/pipes?attrs=published_version')).json
  t.match(chosen, { pipes: [{ published_version: null }, { published_version: endpoint }] })
})

t.test('the first node of a new pipe is published where an option says so', async (t) => {
  const service = await openTestService(t, { publishFirstNode: true })
  const create = async (body: object) => pipeIn(await service.call('POST', '/v0/pipes', { body: JSON.stringify(body) }))
  const sql = (name: string, more: object = {}) => ({ name, sql: `SELECT '${name}' AS x`, ...more })
  const two = await create({ name: 'two', nodes: [sql('a'), sql('b')] })
  t.equal(two.endpoint, two.nodes[0]?.id)
  t.match((await service.call('GET', '/v0/pipes/two.json')).json, { data: [{ x: 'a' }] })
  const chosen = await create({ name: 'chosen', nodes: [sql('a'), sql('b', { type: 'endpoint' })] })
  t.equal(chosen.endpoint, chosen.nodes[1]?.id, 'a node of type endpoint goes before')
  const empty = await create({ name: 'empty', nodes: [] })
  t.equal(empty.endpoint, null)
  await service.call('POST', '/v0/pipes/empty/nodes?name=late', { body: 'SELECT 1' })
  await service.call('POST', '/v0/pipes/empty/nodes?name=later', { body: 'SELECT 2' })
  const filled = pipeIn(await service.call('GET', '/v0/pipes/empty'))
  t.equal(filled.endpoint, filled.nodes[0]?.id)
  await service.call('DELETE', '/v0/pipes/empty/nodes/late/endpoint')
  await service.call('POST', '/v0/pipes/empty/nodes?name=last', { body: 'SELECT 3' })
  t.equal(pipeIn(await service.call('GET', '/v0/pipes/empty')).endpoint, null, 'what was unpublished stays so')
  const copied = pipeIn(await service.call('POST', '/v0/pipes?name=copied&from=two'))
  t.equal(copied.endpoint, copied.nodes[0]?.id)
})

t.test('the 101st variable is 400, like other limits', async (t) => {
  const service = await openTestService(t, { variablesRequestsPerSecondMax: 1000 })
  for (let index = 0; index < 100; index += 1) {
    await service.call('POST', `/v0/variables?name=v${index}&value=x`)
  }
  const refused = await service.call('POST', '/v0/variables?name=more&value=x')
  t.match([refused.status, errorOf(refused)], [400, /already 100 variables/])
})
