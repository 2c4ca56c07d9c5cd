// Who reads whom, through a whole service: what is used is kept, and nothing reads itself.

import t from 'tap'
import { errorOf, openPipeService } from './pipe-service.ts'
import { openTestService } from './test-service.ts'

const pipes = await openPipeService(t)
const { call, service } = pipes

t.test('a pipe that others read is neither renamed nor dropped, unless the drop is forced', async (t) => {
  const base = await pipes.create('base', 'SELECT * FROM events')
  await pipes.create('reader', 'SELECT count() AS c FROM base')
  await pipes.create('id_reader', `SELECT count() AS c FROM ${base.id}`)
  await pipes.create('branch_reader', "% SELECT 1 AS x {% if defined(a) %} FROM {{table('base')}} {% end %}")
  for (const name of ['reader', 'id_reader', 'branch_reader']) {
    t.same((await pipes.show(name)).nodes[0]?.dependencies, ['base'], name)
  }
  const renamed = await call('PUT', '/v0/pipes/base?name=bottom')
  t.match(
    [renamed.status, errorOf(renamed)],
    [409, /Pipe "base" is used by reader, id_reader, branch_reader; let them read something else first/],
  )
  t.equal((await call('PUT', '/v0/pipes/base?description=fine')).status, 200)
  const dropped = await call('DELETE', '/v0/pipes/base')
  t.match([dropped.status, errorOf(dropped)], [409, /used by reader, id_reader, branch_reader; drop those first/])
  t.equal((await call('DELETE', '/v0/pipes/branch_reader')).status, 204)
  const forced = await call('DELETE', '/v0/pipes/base?force=true')
  t.same([forced.status, forced.text], [204, ''])
  t.match((await pipes.show('reader')).nodes, [{ dependencies: ['base'] }], 'a reader stays, and would fail')
  t.equal((await call('DELETE', '/v0/pipes/base')).status, 404)
  const missing = await call('GET', '/v0/pipes/base')
  t.match([missing.status, errorOf(missing)], [404, "Pipe 'base' not found"])
})

t.test('neither events nor imports make a data source under the name of a pipe', async (t) => {
  await pipes.create('only_pipe', 'SELECT 1 AS a')
  for (const answer of [
    await service.events('only_pipe', '{"a":1}'),
    await service.append('only_pipe', 'csv', 'a\n1\n'),
    await service.create('only_pipe', 'a UInt8'),
  ]) {
    t.match([answer.status, errorOf(answer)], [409, 'There is already a Pipe with name "only_pipe"'])
  }
})

t.test('no pipe can come to read itself, by whatever change', async (t) => {
  await pipes.create('ring_a', 'SELECT 1 AS x', 'SELECT 2 AS x')
  await pipes.create('ring_b', 'SELECT x FROM ring_a')
  const circular = /Circular dependency on '\w+': .*→/
  const edit = await call('PUT', '/v0/pipes/ring_a/nodes/n1', { body: 'SELECT x FROM ring_b' })
  t.match([edit.status, errorOf(edit)], [400, circular], 'the last node answers for an unpublished pipe')
  t.equal((await call('PUT', '/v0/pipes/ring_a/endpoint', { body: 'n0' })).status, 200)
  t.equal((await call('PUT', '/v0/pipes/ring_a/nodes/n1', { body: 'SELECT x FROM ring_b' })).status, 200)
  const publish = await call('PUT', '/v0/pipes/ring_a/endpoint', { body: 'n1' })
  t.match([publish.status, errorOf(publish)], [400, circular])
  const append = await call('POST', '/v0/pipes/ring_a/nodes?type=endpoint', { body: 'SELECT x FROM ring_b' })
  t.match([append.status, errorOf(append)], [400, circular])
  const self = await call('POST', '/v0/pipes/ring_b/nodes', { body: 'SELECT x FROM ring_b' })
  t.equal(self.status, 400)
  await pipes.create('ring_c', 'SELECT x FROM ring_b')
  const copy = await call('POST', '/v0/pipes?name=ring_a&from=ring_c')
  t.match([copy.status, errorOf(copy)], [400, circular])
  t.match(await pipes.show('ring_a'), { nodes: [{ name: 'n0', node_type: 'endpoint' }, { name: 'n1' }] })
})

t.test('data sources know the pipes that use them, and are kept for them', async (t) => {
  await service.create('used', 'a String, n UInt8')
  const { id } = (await call('GET', '/v0/datasources/used')).json as { readonly id: string }
  const reader = await pipes.create('user_a', 'SELECT * FROM used', 'SELECT * FROM n0')
  const byId = await pipes.create('user_b', `SELECT * FROM ${id}`)
  const quarantine = await pipes.create('user_c', 'SELECT count() AS c FROM used_quarantine')
  const shadowed = await pipes.create('user_d', 'SELECT 1 AS a')
  await call('POST', `/v0/pipes/user_d/nodes?name=used`, { body: 'SELECT 2 AS a' })
  await call('POST', `/v0/pipes/user_d/nodes?name=later`, { body: 'SELECT a FROM used' })
  const users = [reader, byId, quarantine].map((pipe) => ({ id: pipe.id, name: pipe.name }))
  t.equal((await pipes.show('user_d')).id, shadowed.id)
  t.match((await call('GET', '/v0/datasources/used')).json, { used_by: users })
  t.same(((await call('GET', '/v0/datasources/used')).json as { used_by: unknown }).used_by, users)
  const listed = (await call('GET', '/v0/datasources')).json as { datasources: { name: string; used_by: unknown }[] }
  t.same(listed.datasources.find(({ name }) => name === 'used')?.used_by, users)
  const appended = await service.append('used', 'csv', 'x,1\n')
  t.match(appended.json, { datasource: { used_by: users } })
  t.match((await call('POST', '/v0/datasources/used/alter?description=d&dry=true')).json, {
    dependencies: users.map(({ name }) => name),
  })

  const names = users.map(({ name }) => name).join(', ')
  const renamed = await call('PUT', '/v0/datasources/used?name=unused')
  t.match(
    [renamed.status, errorOf(renamed)],
    [409, `Data Source "used" is used by ${names}; let them read something else first`],
  )
  const dropped = await call('DELETE', '/v0/datasources/used')
  t.match([dropped.status, errorOf(dropped)], [409, new RegExp(`is used by ${names}; drop those first`)])
  const dry = await call('DELETE', '/v0/datasources/used?dry_run=true')
  t.match([dry.status, errorOf(dry)], [409, new RegExp(names)])
  t.equal((await call('DELETE', '/v0/datasources/used?force=true')).status, 204)
  t.match((await pipes.show('user_a')).nodes, [{ dependencies: ['used'] }, { dependencies: ['n0'] }], 'pipes stay')
  t.equal((await call('PUT', '/v0/pipes/user_a?description=broken')).status, 200, 'and can be changed')
  t.equal((await call('POST', '/v0/pipes/user_a/nodes', { body: 'SELECT 1 AS a' })).status, 200)
  t.equal((await call('POST', '/v0/pipes/user_a/nodes', { body: 'SELECT a FROM n1' })).status, 400)
  const copied = await call('POST', '/v0/pipes?name=user_e&from=user_a')
  t.match([copied.status, errorOf(copied)], [400, /Node 'n0': .*used/], 'a copy is checked as if it were new')

  await service.create('used', 'a String, n UInt8')
  t.equal((await call('POST', '/v0/pipes/user_a/nodes', { body: 'SELECT a FROM n1' })).status, 200, 'it works again')
})

t.test('what one change takes away, another that comes at the same time does not build upon', async (t) => {
  for (let round = 0; round < 8; round += 1) {
    const source = `raced_${round}`
    await service.create(source, 'a String')
    const [dropped, made] = await Promise.all([
      call('DELETE', `/v0/datasources/${source}`),
      call('POST', `/v0/pipes?name=racer_${round}`, { body: `SELECT a FROM ${source}` }),
    ])
    const isKept = (await call('GET', `/v0/datasources/${source}`)).status === 200
    const isMade = (await call('GET', `/v0/pipes/racer_${round}`)).status === 200
    t.notOk(isMade && !isKept, `round ${round}: ${dropped.status}, ${made.status}`)
    t.ok(isMade || dropped.status === 204, 'one of them was done')
  }
})

// The last one: a process can have one service open at a time.
t.test('pipes outlive a restart, with their nodes, their endpoint, and who uses what', async (t) => {
  await pipes.create('kept', 'SELECT * FROM events', 'SELECT user FROM n0')
  await pipes.create('renamed', 'SELECT user FROM kept')
  await call('PUT', '/v0/pipes/kept/endpoint', { body: 'n1' })
  await call('PUT', '/v0/pipes/renamed?name=kept_too&description=d')
  await pipes.create('dropped', 'SELECT 1 AS a')
  await call('DELETE', '/v0/pipes/dropped')
  const before = (await call('GET', '/v0/pipes?dependencies=true')).text.replaceAll(service.address, '')
  await service.close()

  const again = await openTestService(t, { dataDir: service.dataDir })
  const after = (await again.call('GET', '/v0/pipes?dependencies=true')).text.replaceAll(again.address, '')
  t.equal(after, before)
  t.match((await again.call('GET', '/v0/datasources/events')).text, /"name":"kept"/)
  t.equal((await again.call('DELETE', '/v0/pipes/kept')).status, 409)
  t.equal((await again.call('POST', '/v0/pipes/kept/nodes', { body: 'SELECT user FROM n1' })).status, 200)
})
