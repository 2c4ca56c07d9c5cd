// Who reads whom, through a whole service: what is used is kept, and nothing reads itself.

import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { openTestService } from '../support/api/test-service.ts'

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
    [409, /Pipe "base" is used by reader, branch_reader; let them read something else first, or use force=true: the/],
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
    [409, /^Data Source "used" is used by user_a, user_c; let them read something else first/],
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

t.test('what a branch of a template reads is kept, though no check took the branch', async (t) => {
  const branches: readonly (readonly [name: string, sql: string])[] = [
    ['text', "{% if x == 'y' %} SELECT a FROM NAME {% else %} SELECT 1 AS a {% end %}"],
    ['joined', 'SELECT 1 AS a {% if defined(x) %} FROM numbers(1) AS n JOIN NAME ON 1 {% end %}'],
    ['nested', "SELECT 1 AS a {% if x == '1' %}{% if y == '2' %} FROM {# no #} `NAME` {% end %}{% end %}"],
    ['member', "SELECT 1 AS a WHERE 1 {% if defined(x) %} AND 'q' IN NAME {% end %}"],
    ['bad_rows', "{% if x == 'y' %} SELECT 1 AS a FROM NAME_quarantine {% else %} SELECT 1 AS a {% end %}"],
    ['id', "{% if x == 'y' %} SELECT a FROM ID {% else %} SELECT 1 AS a {% end %}"],
    ['labelled', "{% if x == 'y' %} SELECT a FROM LABEL {% else %} SELECT 1 AS a {% end %}"],
    ['set', "{% set t = 'NAME' %} SELECT 1 AS a {% if defined(x) %} FROM {{ table(t) }} {% end %}"],
    ['default', "SELECT 1 AS a {% if defined(x) %} FROM {{ table(String(t, 'NAME')) }} {% end %}"],
    ['made', "SELECT 1 AS a {% if defined(x) %} FROM NAM{{ table(x, 'E') }} {% end %}"],
    ['split', 'SELECT 1 AS a {% if defined(x) %} FROM {% end %} {% if defined(x) %} NAME {% end %}'],
    ['loop', '% SELECT 1 AS a {% for t in [] %} UNION ALL SELECT length(a) FROM NAME {% end %}'],
  ]
  for (const [name, text] of branches) {
    const source = `kept_by_${name}`
    await service.create(source, 'a String')
    const { id } = (await call('GET', `/v0/datasources/${source}`)).json as { readonly id: string }
    const label = id.replace('t_', 't_.some_label.')
    const half = source.slice(0, -1)
    const sql = text
      .replace("NAM{{ table(x, 'E') }}", `${half}{{ table(x, '${source.at(-1)}') }}`)
      .replaceAll('NAME', source)
      .replaceAll('ID', id)
      .replaceAll('LABEL', label)
    const reader = await pipes.create(`branch_${name}`, text.startsWith('%') ? sql : `%${sql}`)
    t.same(reader.nodes[0]?.dependencies, [], name)
    const refused = await call('DELETE', `/v0/datasources/${source}`)
    const told = `Data Source "${source}" is used by branch_${name} (in a branch of its template); drop those first`
    t.match([refused.status, errorOf(refused)], [409, told], name)
    const isById = text.includes('ID') || text.includes('LABEL')
    if (!isById) t.equal((await call('PUT', `/v0/datasources/${source}?name=other_${name}`)).status, 409, name)
    const possible = name === 'bad_rows' ? `${source}_quarantine` : source
    const shown = await call('GET', `/v0/pipes/branch_${name}`)
    t.match(shown.json, { nodes: [{ possible_dependencies: [possible] }] }, name)
    const users = [{ id: reader.id, name: reader.name }]
    t.match((await call('GET', `/v0/datasources/${source}`)).json, { used_by: [], possibly_used_by: users }, name)
  }
  const lists = [await call('GET', '/v0/datasources'), await call('GET', '/v0/pipes?dependencies=true')]
  t.notMatch(lists.map(({ text }) => text).join(''), /possib/, 'strict clients read lists')
  t.equal((await call('DELETE', '/v0/datasources/kept_by_text?force=true')).status, 204)
})

t.test('what only looks like a name in a branch keeps nothing', async (t) => {
  await service.create('free_name', 'a String')
  const texts = [
    "-- FROM free_name\n SELECT 1 AS a /* JOIN free_name */ {# FROM free_name #} WHERE 'FROM free_name' != ''",
    'WITH free_name AS (SELECT 1 AS a) SELECT a FROM free_name',
    'SELECT free_name FROM (SELECT 1 AS free_name)',
    "SELECT 1 AS a WHERE {{ String(x, 'free_name') }} != 'FROM free_name'",
    'SELECT extract(DAY FROM free_name) AS d FROM (SELECT today() AS free_name)',
    'SELECT free_name.a AS a FROM (SELECT 1 AS a) AS free_name',
    "SELECT $$ FROM free_name $$ AS a, 'it''s FROM free_name' AS b",
  ]
  for (const [index, text] of texts.entries()) {
    await pipes.create(`looks_${index}`, `% {% if defined(z) %} ${text} {% else %} SELECT 1 AS a {% end %}`)
  }
  t.match((await call('GET', '/v0/datasources/free_name')).json, { possibly_used_by: [] })
  t.equal((await call('DELETE', '/v0/datasources/free_name')).status, 204)
})

t.test('a column of the name keeps nothing in a node that is no template', async (t) => {
  await service.create('plain_name', 'a String')
  const texts = [
    'SELECT plain_name FROM (SELECT 1 AS plain_name)',
    "SELECT position('a' IN plain_name) AS a FROM (SELECT 'a' AS plain_name)",
    "SELECT 'plain_name' AS a",
  ]
  for (const [index, text] of texts.entries()) await pipes.create(`plain_${index}`, text)
  t.match((await call('GET', '/v0/datasources/plain_name')).json, { used_by: [], possibly_used_by: [] })
  t.equal((await call('DELETE', '/v0/datasources/plain_name')).status, 204)
})

t.test('a parameter of a pipe that a branch reads is known, though the branch was not taken', async (t) => {
  await publish('below_branch', { name: 'n0', sql: '% SELECT {{Int32(size, 1)}} AS x' })
  await publish('between_branch', { name: 'n0', sql: 'SELECT x FROM below_branch' })
  await publish('above_branch', {
    name: 'n0',
    sql: "% {% if go == '1' %} SELECT x FROM {{table('BETWEEN_branch'.lower())}} {% else %} SELECT 0 AS x {% end %}",
  })
  const asked = await call('GET', '/v0/pipes/above_branch.json?size=3&sise=4')
  t.match([asked.status, asked.headers.get('x-warning')], [200, /^Parameter 'sise' is not known[^;]*$/])
  const taken = await call('GET', '/v0/pipes/above_branch.json?size=3&go=1')
  t.match([taken.headers.get('x-warning'), taken.json], [null, { data: [{ x: 3 }] }])
})

t.test('a pipe that reads by an id is made while its data source gets another name', async (t) => {
  await service.create('moved_0', 'a String')
  const { id } = (await call('GET', '/v0/datasources/moved_0')).json as { readonly id: string }
  for (let round = 0; round < 8; round += 1) {
    const [renamed, made] = await Promise.all([
      call('PUT', `/v0/datasources/moved_${round}?name=moved_${round + 1}`),
      call('POST', `/v0/pipes?name=mover_${round}`, { body: `SELECT a FROM ${id}` }),
    ])
    t.match([renamed.status, made.status], [200, 200], made.text)
    t.same((await pipes.show(`mover_${round}`)).nodes[0]?.dependencies, [`moved_${round + 1}`])
  }
})

t.test('branches of pipes keep pipes, and close no ring', async (t) => {
  await pipes.create('lower', 'SELECT 1 AS x')
  await pipes.create('upper', '% SELECT 1 AS x {% if defined(a) %} FROM lower {% end %}')
  const dropped = await call('DELETE', '/v0/pipes/lower')
  t.match([dropped.status, errorOf(dropped)], [409, /"lower" is used by upper \(in a branch of its template\)/])
  t.equal((await call('PUT', '/v0/pipes/lower/nodes/n0', { body: 'SELECT x FROM upper' })).status, 200)
  t.equal((await call('DELETE', '/v0/pipes/lower')).status, 409)
  t.equal((await call('DELETE', '/v0/pipes/upper')).status, 409)
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
interface Named {
  readonly name: string
  readonly sql: string
}

/** A pipe that is published at its last node. */
async function publish(name: string, ...nodes: readonly Named[]): Promise<void> {
  const last = nodes.at(-1)
  const given = nodes.map((node) => (node === last ? { ...node, type: 'endpoint' } : node))
  const { status, text } = await call('POST', '/v0/pipes', { body: JSON.stringify({ name, nodes: given }) })
  if (status !== 200) throw new Error(text)
}

const endpointStatus = async (name: string): Promise<number> => (await call('GET', `/v0/pipes/${name}.json`)).status

const usersOf = async (name: string): Promise<readonly string[]> => {
  const { json } = await call('GET', `/v0/datasources/${name}`)
  return (json as { readonly used_by: readonly { readonly name: string }[] }).used_by.map((user) => user.name)
}

t.test('what is read past an earlier node of its name is kept all the same', async (t) => {
  const hides: readonly (readonly [string, (id: string, name: string) => readonly Named[]])[] = [
    ['an id beside the node', (id, name) => [{ name, sql: 'SELECT 7 AS seven' }, last(`${id} AS z, ${name}`)]],
    ['an id alone', (id, name) => [{ name, sql: 'SELECT 7 AS seven' }, last(id)]],
    ['a labelled id', (id, name) => [{ name, sql: 'SELECT 7 AS seven' }, last(id.replace('t_', 't_x.'))]],
    ['a version', (_, name) => [{ name, sql: 'SELECT 7 AS seven' }, last(`${name}__v1`)]],
    [
      'the quarantine by id',
      (id, name) => [{ name: `${name}_quarantine`, sql: 'SELECT 5 AS five' }, last(`${id}_quarantine`)],
    ],
    ['its own name in the node itself', (_, name) => [{ name, sql: `SELECT a FROM ${name}` }, last(name)]],
    [
      'a node between',
      (id, name) => [{ name, sql: 'SELECT 7 AS seven' }, { name: 'm', sql: `SELECT a FROM ${id}` }, last('m')],
    ],
    [
      'a join behind a common table',
      (id, name) => [
        { name, sql: 'SELECT 7 AS seven' },
        { name: 'e', sql: `WITH c AS (SELECT * FROM ${id}) SELECT seven, (SELECT count() FROM c) AS n FROM ${name}` },
      ],
    ],
    [
      'IN',
      (id, name) => [
        { name, sql: 'SELECT 7 AS seven' },
        { name: 'e', sql: `SELECT seven FROM ${name} WHERE ('x', 1) NOT IN ${id}` },
      ],
    ],
    [
      'a template',
      (id, name) => [
        { name, sql: 'SELECT 7 AS seven' },
        { name: 'e', sql: `% SELECT count() AS c FROM {{table('${id}')}}` },
      ],
    ],
  ]
  for (const [index, [how, nodesOf]] of hides.entries()) {
    const name = `hidden_${index}`
    await service.create(name, 'a String, n UInt8')
    const { id } = (await call('GET', `/v0/datasources/${name}`)).json as { readonly id: string }
    await publish(`past_${index}`, ...nodesOf(id, name))
    t.equal(await endpointStatus(`past_${index}`), 200, how)
    t.same(await usersOf(name), [`past_${index}`], how)
    const dropped = await call('DELETE', `/v0/datasources/${name}`)
    t.match([dropped.status, errorOf(dropped)], [409, new RegExp(`used by past_${index};`)], how)
    t.equal(await endpointStatus(`past_${index}`), 200, how)
  }
})

function last(read: string): Named {
  return { name: 'e', sql: `SELECT count() AS c FROM ${read}` }
}

t.test('a node that takes the name of what a later one reads by id takes no guard away', async (t) => {
  await service.create('kept_on', 'a String')
  const { id } = (await call('GET', '/v0/datasources/kept_on')).json as { readonly id: string }
  await publish('keeps_on', { name: 'm', sql: 'SELECT 1 AS k' }, { name: 'e', sql: `SELECT a FROM ${id}` })
  t.equal((await call('DELETE', '/v0/datasources/kept_on')).status, 409)
  t.equal((await call('PUT', '/v0/pipes/keeps_on/nodes/m?name=kept_on')).status, 200)
  t.equal((await call('DELETE', '/v0/datasources/kept_on')).status, 409)
  const inFront = { body: "SELECT 'x' AS a" }
  t.equal((await call('PUT', '/v0/pipes/keeps_on/nodes/kept_on', inFront)).status, 200)
  t.same(await usersOf('kept_on'), ['keeps_on'])
  t.equal((await call('PUT', '/v0/pipes/keeps_on/nodes/kept_on?name=other')).status, 200, 'and gives the name back')
  t.same((await pipes.show('keeps_on')).nodes[1]?.dependencies, ['kept_on'])
  t.same(await usersOf('kept_on'), ['keeps_on'])
  // A node alone is read by its name, and keeps no data source that has it too.
  t.equal((await call('PUT', '/v0/pipes/keeps_on/nodes/other?name=kept_on')).status, 200)
  t.equal((await call('PUT', '/v0/pipes/keeps_on/nodes/e', { body: 'SELECT a FROM kept_on' })).status, 200)
  t.same(await usersOf('kept_on'), [])
  t.equal((await call('DELETE', '/v0/pipes/keeps_on/nodes/kept_on')).status, 204)
  t.same(await usersOf('kept_on'), ['keeps_on'], 'the name stands for the data source again')
})

t.test('pipes that are read past an earlier node of their name are kept, and close no ring', async (t) => {
  await publish('past_base', { name: 'n0', sql: '% SELECT {{Int32(own, 1)}} AS x' })
  const { id } = await pipes.show('past_base')
  await publish('past_reader', { name: 'past_base', sql: 'SELECT 2 AS y' }, { name: 'e', sql: `SELECT x FROM ${id}` })
  const dropped = await call('DELETE', '/v0/pipes/past_base')
  t.match([dropped.status, errorOf(dropped)], [409, /used by past_reader;/])
  t.match((await call('GET', '/v0/pipes/past_reader.json?own=8')).json, { data: [{ x: 8 }] })
  t.match((await call('GET', '/v0/pipes/past_reader')).json, { nodes: [{}, { params: [{ name: 'own' }] }] })
  t.equal((await call('POST', '/v0/pipes/past_base/nodes?name=n1', { body: 'SELECT x FROM past_reader' })).status, 200)
  const circular = /Circular dependency on '\w+': .*→/
  const closed = await call('PUT', '/v0/pipes/past_base/endpoint', { body: 'n1' })
  t.match([closed.status, errorOf(closed)], [400, circular])
  const edited = await call('PUT', '/v0/pipes/past_base/nodes/n0', { body: 'SELECT x FROM past_reader' })
  t.match([edited.status, errorOf(edited)], [400, circular])
  t.equal(await endpointStatus('past_reader'), 200)
  const self = JSON.stringify({
    name: 'past_self',
    nodes: [
      { name: 'past_self', sql: 'SELECT 1 AS x' },
      { name: 'e', sql: 'SELECT x FROM past_self' },
    ],
  })
  t.equal((await call('POST', '/v0/pipes', { body: self })).status, 200, 'a node of the name of its pipe is no ring')
  const own = await pipes.show('past_self')
  for (const read of [own.id, own.id.replace('t_', 't_own.'), 'past_self__v2']) {
    const ring = await call('PUT', '/v0/pipes/past_self/nodes/e', { body: `SELECT x FROM ${read}` })
    t.match([ring.status, errorOf(ring)], [400, circular], read)
  }
})

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
