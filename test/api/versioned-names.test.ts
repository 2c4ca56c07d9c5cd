// Names with a version behind them, `views__v3`: what they stand for is the same in whatever way they are sent.

import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'

const { service, call, ...pipes } = await openPipeService(t).then((opened) => ({
  service: opened.service,
  call: opened.call,
  create: opened.create.bind(opened),
  show: opened.show.bind(opened),
}))

const schema = '`id` String `json:$.id`, `n` Int32 `json:$.n`'
const hintOf = ({ json }: { readonly json: unknown }): unknown => (json as { readonly hint?: string }).hint

async function countOf(name: string): Promise<number> {
  return Number(await service.sql(`SELECT count() FROM ${name} FORMAT TSV`))
}

async function namesLike(start: string): Promise<readonly string[]> {
  const { json } = await call('GET', '/v0/datasources?attrs=name')
  const { datasources } = json as { readonly datasources: readonly { readonly name: string }[] }
  return datasources.map(({ name }) => name).filter((name) => name.startsWith(start))
}

t.test("an application's first event under a version goes to the data source that queries read", async (t) => {
  await service.create('views', schema)
  t.equal((await service.events('views', '{"id":"1","n":1}', { wait: 'true' })).status, 200)
  t.equal(await countOf('views__v3'), 1)
  const sent = await service.events('views__v3', '{"id":"2","n":2}\n{"id":"3","n":"x"}', { wait: 'true' })
  t.match([sent.status, sent.json], [200, { successful_rows: 1, quarantined_rows: 1 }])
  t.equal(sent.headers.get('x-datasource-created'), null)
  t.equal((await service.append('views__v2', 'ndjson', '{"id":"4","n":4}')).status, 200)
  t.same([await countOf('views'), await countOf('views__v3')], [3, 3])
  t.same(await namesLike('views'), ['views'])
  t.equal(await countOf('views__v3_quarantine'), 1)
})

t.test('every path takes the version behind a name', async (t) => {
  const { json } = await call('GET', '/v0/datasources/views')
  const { id } = json as { readonly id: string }
  const named = { id, name: 'views' }
  t.match((await call('GET', '/v0/datasources/views__v3')).json, named)
  t.match((await call('GET', '/v0/datasources/views__v3.datasource')).text, /SCHEMA >/)
  t.match((await call('PUT', '/v0/datasources/views__v3?description=pages')).json, { ...named, description: 'pages' })
  t.match((await call('GET', '/v0/datasources/views__v3/quarantine/summary')).json, {
    datasource: named,
    quarantine_rows: 1,
  })
  const replayed = await call('POST', '/v0/datasources/views__v3/quarantine/replay', {
    body: JSON.stringify({ fixes: { n: '3' } }),
    headers: { 'content-type': 'application/json' },
  })
  t.match(replayed.json, { datasource: named, replayed_rows: 1 })
  const wider = encodeURIComponent(`${schema}, \`m\` Nullable(Int32) \`json:$.m\``)
  t.match((await call('POST', `/v0/datasources/views__v3/alter?schema=${wider}`)).json, {
    operations: [/ADD COLUMN `m`/],
  })
  t.equal((await call('POST', '/v0/datasources/views__v3_quarantine/truncate')).status, 205)
  const replaced = await call('POST', '/v0/datasources?mode=replace&name=views__v3&format=ndjson', {
    body: '{"id":"9","n":9}',
  })
  t.match([replaced.status, replaced.json], [200, { datasource: named }])
  t.equal(await countOf('views'), 1)
  t.equal((await call('POST', '/v0/datasources/views__v3/truncate')).status, 205)
  t.equal(await countOf('views'), 0)
  const dry = await call('DELETE', '/v0/datasources/views__v3?dry_run=true')
  t.same(dry.status, 404)
  const dropped = await call('DELETE', '/v0/datasources/views__v3')
  t.match(
    [dropped.status, hintOf(dropped)],
    [404, "'views__v3' is read as 'views', which was given no version: DELETE takes the name 'views'"],
  )
  t.same(await namesLike('views'), ['views'])
})

t.test('a pipe answers under its name with a version, in every path', async (t) => {
  const { id } = await pipes.create('durations', 'SELECT 1 AS a', 'SELECT a + 1 AS b FROM n0')
  t.equal((await call('PUT', '/v0/pipes/durations__v5/endpoint', { body: 'n1' })).status, 200)
  t.match((await call('GET', '/v0/pipes/durations__v5.json')).json, { data: [{ b: 2 }] })
  t.match((await call('GET', '/v0/pipes/durations__v5')).json, { id, name: 'durations' })
  t.match((await call('GET', '/v0/pipes/durations__v5.pipe')).text, /NODE n0/)
  t.match((await call('GET', '/v0/pipes/durations__v5/nodes/n0')).json, { name: 'n0' })
  t.equal((await call('GET', '/v0/pipes/durations__v5/explain')).status, 200)
  t.equal((await call('GET', '/v0/pipes/durations__v5/openapi.json')).status, 200)
  t.match((await call('GET', '/v0/pipes/durations__v5.xml')).status, 400)
  t.match((await call('POST', '/v0/sql?pipeline=durations__v5', { body: 'SELECT * FROM _' })).text, /2/)
  const copied = await call('POST', '/v0/pipes?name=durations_copy&from=durations__v5')
  t.match(copied.json, { name: 'durations_copy', parent: id })
  for (const answer of [
    await service.events('durations__v5', '{"a":1}'),
    await service.append('durations__v5', 'csv', 'a\n1\n'),
  ]) {
    t.match([answer.status, answer.json], [409, { error: 'There is already a Pipe with name "durations"' }])
  }
  const dropped = await call('DELETE', '/v0/pipes/durations__v5')
  t.match([dropped.status, hintOf(dropped)], [404, /DELETE takes the name 'durations'/])
})

t.test('a version that was declared is the only one', async (t) => {
  t.match((await service.create('clicks', schema, { version: '3' })).json, {
    datasource: { name: 'clicks', version: 3 },
  })
  t.match((await call('GET', '/v0/datasources/clicks__v3')).json, { name: 'clicks', version: 3 })
  t.match((await call('GET', '/v0/datasources/clicks.datasource')).text, /^VERSION 3\n/)
  t.equal((await service.events('clicks__v3', '{"id":"1","n":1}', { wait: 'true' })).status, 200)
  t.equal(await countOf('clicks__v3'), 1)
  const hint = "'clicks' has the version 3: it is 'clicks' or 'clicks__v3'"
  for (const answer of [
    await call('GET', '/v0/datasources/clicks__v2'),
    await service.events('clicks__v2', '{"id":"2","n":2}'),
    await service.append('clicks__v2', 'ndjson', '{"id":"2","n":2}'),
    await call('DELETE', '/v0/datasources/clicks__v2'),
  ]) {
    t.match([answer.status, hintOf(answer)], [404, hint])
  }
  const read = await call('POST', '/v0/sql', { body: 'SELECT * FROM clicks__v2' })
  t.match([read.status, hintOf(read)], [400, hint])
  t.same(await namesLike('clicks'), ['clicks'])
  const odd = await service.create('odd', schema, { version: 'three' })
  t.match([odd.status, odd.json], [400, { error: /version/ }])
  const moved = await call('PUT', '/v0/datasources/clicks?version=4')
  t.match([moved.status, moved.json], [200, { version: 4 }])
  t.equal(await countOf('clicks__v4'), 1)
  await pipes.create('clicks_reader', 'SELECT count() AS c FROM clicks__v4')
  const refused = await call('PUT', '/v0/datasources/clicks?version=5')
  t.match([refused.status, refused.json], [409, { error: /clicks_reader \(as 'clicks__v4'\)/ }])
  t.equal((await call('DELETE', '/v0/pipes/clicks_reader')).status, 204)
  t.equal((await call('DELETE', '/v0/datasources/clicks__v4')).status, 204)
  t.same(await namesLike('clicks'), [])
})

t.test('nothing new takes a name from under who reads it', async (t) => {
  await service.create('vw', schema)
  await service.events('vw', '{"id":"1","n":1}', { wait: 'true' })
  await pipes.create('vp', 'SELECT count() AS c FROM vw__v4')
  await pipes.create('vt', '% SELECT 1 AS c {% if defined(a) %} FROM vw__v5 {% end %}')
  await pipes.create('vm', "% SELECT count() AS c FROM {{table('vw__v' + String(n, '6'))}}")
  await pipes.create('vq', 'SELECT count() AS c FROM vw__v8_quarantine')
  const captures = [
    ['vw__v4', "vp (as 'vw__v4')"],
    ['vw__v5', 'vt'],
    ['vw__v7', 'vm'],
    ['vw__v8', 'vq'],
  ] as const
  for (const [name, reader] of captures) {
    for (const answer of [
      await service.create(name, schema),
      await call('POST', '/v0/pipes', { body: JSON.stringify({ name, nodes: [{ name: 'x', sql: 'SELECT 1' }] }) }),
      await call('PUT', `/v0/pipes/durations?name=${name}`),
      await call('PUT', `/v0/datasources/views?name=${name}`),
      await call('POST', `/v0/pipes?name=${name}&from=durations`),
    ]) {
      t.match(
        [answer.status, (answer.json as { error: string }).error.includes(reader)],
        [409, true],
        `${name}: ${answer.text}`,
      )
    }
  }
  t.same(await namesLike('vw'), ['vw'])
  for (const name of ['vm', 'vt', 'vq']) t.equal((await call('DELETE', `/v0/pipes/${name}`)).status, 204)
  const free = await service.create('vw__v9', schema)
  t.match([free.status, free.headers.get('x-warning')], [200, /'vw__v9' was read as 'vw' until now/])
  t.equal((await service.create('vw__v9', schema)).status, 409)
  t.equal((await service.events('vw__v9', '{"id":"1","n":1}', { wait: 'true' })).status, 200)
  t.same([await countOf('vw__v9'), await countOf('vw')], [1, 1], 'an exact name wins')
  await pipes.create('v9', 'SELECT count() AS c FROM vw__v9')
  const forced = await call('DELETE', '/v0/datasources/vw__v9?force=true')
  t.match(
    [forced.status, forced.json],
    [409, { error: /used by v9 .*would read 'vw'/ }],
    'it would read another table silently',
  )
  t.equal((await call('DELETE', '/v0/pipes/v9')).status, 204)
  t.equal((await call('DELETE', '/v0/datasources/vw__v9')).status, 204)
})

t.test('a rename takes along who reads it under a version', async (t) => {
  const refused = await call('PUT', '/v0/datasources/vw?name=vx')
  t.match([refused.status, refused.json], [409, { error: /used by vp/ }])
  t.equal((await call('PUT', '/v0/datasources/vw?name=vx&force=true')).status, 200)
  t.match((await pipes.show('vp')).nodes, [{ sql: /FROM vx__v4/, dependencies: ['vx'] }])
  t.match((await call('GET', '/v0/datasources/vx')).json, { used_by: [{ name: 'vp' }] })
  t.equal((await call('PUT', '/v0/pipes/vp/endpoint', { body: 'n0' })).status, 200)
  t.match((await call('GET', '/v0/pipes/vp.json')).json, { data: [{ c: 1 }] })
  t.equal((await call('PUT', '/v0/pipes/vp__v1?name=vy')).status, 200)
})
