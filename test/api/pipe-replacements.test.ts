// `POST /v0/pipes?force=true`, as the official client pushes a pipe that is there.

import t from 'tap'
import { endedJob } from '../support/api/job-calls.ts'
import { errorOf, openPipeService, pipeIn } from '../support/api/pipe-service.ts'
import type { Answer } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const pipes = await openPipeService(t)
const { service, call } = pipes
const views = new ViewCalls(service)

interface Node {
  readonly name: string
  readonly sql: string
  readonly [field: string]: string
}

function push(name: string, nodes: readonly Node[], query = 'force=true', token?: string): Promise<Answer> {
  const body = JSON.stringify({ name, description: '', nodes })
  return call('POST', `/v0/pipes?${query}`, { body, ...(token === undefined ? {} : { token }) })
}

async function send(...days: readonly number[]): Promise<void> {
  await views.send(
    'events',
    days.map((n) => ({ day: '2026-01-01', user: `u${n}`, n })),
  )
}

async function numbersIn(name: string): Promise<readonly string[]> {
  return (await service.rows(`SELECT n FROM ${name} ORDER BY n`)).map(([n = '']) => n)
}

async function token(name: string, ...scopes: readonly string[]): Promise<string> {
  const body = new URLSearchParams({ name })
  for (const scope of scopes) body.append('scope', scope)
  // The shape of an answer is what its tests check.
  return ((await call('POST', `/v0/tokens?${body}`)).json as { readonly token: string }).token
}

const into = (datasource: string) => ({
  type: 'materialized',
  datasource,
  engine: 'MergeTree',
  engine_sorting_key: 'n',
})

t.test('nodes, texts and the endpoint of a pipe that is there become those that are sent', async (t) => {
  const first = pipeIn(
    await push('top', [
      { name: 'a', sql: 'SELECT 1 AS x' },
      { name: 'b', sql: 'SELECT x FROM a' },
    ]),
  )
  await call('POST', '/v0/pipes/top/nodes/b/endpoint')
  const refused = await push('top', [{ name: 'a', sql: 'SELECT 2 AS x' }], '')
  t.equal(refused.status, 409)
  const next = [
    { name: 'b', sql: 'SELECT 2 AS x', description: 'new' },
    { name: 'c', sql: 'SELECT x + 1 AS x FROM b' },
  ]
  const second = pipeIn(await push('top', next))
  t.equal(second.id, first.id)
  t.equal(second.endpoint, first.nodes[1]?.id, 'a node of that name stays published')
  t.match(second.nodes, [
    { id: first.nodes[1]?.id, version: 1 },
    { name: 'c', version: 0, dependencies: ['b'] },
  ])
  t.match((await call('GET', '/v0/pipes/top.csv')).text, '2')
  t.match(pipeIn(await push('top', [{ name: 'd', sql: 'SELECT 4 AS x', type: 'endpoint' }])).endpoint, /t_/)
  t.match((await call('GET', '/v0/pipes/top.csv')).text, '4')
  const last = await push('top', [{ name: 'e', sql: 'SELECT 5 AS x' }])
  t.match(last.json, { type: 'default', endpoint: null, warnings: [{ text: /is no endpoint any more/ }] })
  t.equal((await push('top', [{ name: 'e', sql: 'SELECT FROM' }])).status, 400)
  t.match((await pipes.show('top')).nodes, [{ name: 'e', sql: 'SELECT 5 AS x' }], 'a refused one leaves all as it was')
})

t.test('a node that fills what it filled goes on to, by its new SQL from the next block on', async (t) => {
  await push('kept', [{ name: 'v', sql: 'SELECT n FROM events', ...into('kept_rows') }])
  await send(1)
  const same = [
    { name: 'v', sql: 'SELECT n FROM events', ...into('kept_rows') },
    { name: 'w', sql: 'SELECT 1 AS x' },
  ]
  t.equal((await push('kept', same)).status, 200)
  await send(2)
  const other = [
    { name: 'base', sql: 'SELECT n + 100 AS m FROM events' },
    { name: 'v', sql: 'SELECT toUInt32(m) AS n FROM base', ...into('kept_rows') },
  ]
  t.match((await push('kept', other)).json, {
    type: 'materialized',
    nodes: [{ name: 'base' }, { name: 'v', datasource: 'kept_rows' }],
    warnings: [{ text: /made by the SQL before/ }],
  })
  await send(3)
  t.same(await numbersIn('kept_rows'), ['1', '2', '103'])
  const asked = { ...same[0], override_datasource: 'true', engine: 'ReplacingMergeTree' } as Node
  t.match(await push('kept', [asked]), { status: 409, text: /kept_rows.*kept\.v use it.*DELETE .*materialization/ })
  const told = await push('kept', [other[0] as Node, { ...other[1], engine_sorting_key: '-n' } as Node])
  t.match(told.json, { warnings: [{ text: /engine_sorting_key is 'n', not '-n'/ }] })
  t.equal((await push('kept', [])).status, 400)
  const moved = [{ name: 'base', sql: 'SELECT n + 200 AS m FROM events' }, other[1] as Node]
  t.equal((await push('kept', moved)).status, 200)
  await send(4)
  t.same(await numbersIn('kept_rows'), ['1', '2', '103', '204'])
  const broken = await push('kept', [{ name: 'v', sql: 'SELECT user FROM events', ...into('kept_rows') }])
  t.equal(broken.status, 400)
  await send(5)
  t.same(await numbersIn('kept_rows'), ['1', '2', '103', '204', '205'])
})

t.test('views of nodes that fill it no more go, and what they have filled stays', async (t) => {
  await push('going', [{ name: 'v', sql: 'SELECT n FROM events WHERE n > 10', ...into('going_rows') }])
  await send(11)
  const other = { name: 'v', sql: 'SELECT n FROM events WHERE n > 10', ...into('other_rows') }
  t.match((await push('going', [other])).json, { nodes: [{ datasource: 'other_rows' }] })
  await send(12)
  t.same(await numbersIn('going_rows'), ['11'])
  t.same(await numbersIn('other_rows'), ['12'])
  t.match((await push('going', [{ name: 'v', sql: 'SELECT n FROM events' }])).json, { type: 'default' })
  await send(13)
  t.same(await numbersIn('other_rows'), ['12'])
  await push('going', [other])
  await send(14)
  t.match((await push('going', [{ name: 'z', sql: 'SELECT 1 AS x' }])).json, { nodes: [{ name: 'z' }] })
  await send(15)
  t.same(await numbersIn('other_rows'), ['12', '14'])
  t.equal((await call('DELETE', '/v0/datasources/other_rows')).status, 204)
})

t.test('populate=true fills what is new with its view, and what was there as a populate does', async (t) => {
  const node = { name: 'v', sql: 'SELECT n FROM events WHERE n = 1', ...into('filled_rows') }
  for (const count of [1, 2]) {
    const answer = await push('filled', [node], 'force=true&populate=true')
    t.match(answer.json, { datasource: { name: 'filled_rows' }, job: { job: { kind: 'populateview' } } })
    const { job } = answer.json as { readonly job: { readonly id: string } }
    t.equal((await endedJob(service, job.id)).status, 'done')
    t.equal(await service.count('filled_rows'), count)
    if (count === 2) t.match(answer.json, { warnings: [{ text: /has rows already/ }] })
  }
})

t.test('populates of two nodes, one of which is made of what the other fills, are told to add up', async (t) => {
  await call('POST', '/v0/pipes?name=chain&sql=SELECT+1+AS+one')
  const first = { name: 'c1', sql: 'SELECT n FROM events', ...into('chain_rows') }
  t.equal((await push('chain', [first])).status, 200)
  const nodes = [first, { name: 'c2', sql: 'SELECT n + 1 AS n FROM chain_rows', ...into('chained_rows') }]
  t.equal((await push('chain', nodes)).status, 200)
  const { json } = await push('chain', nodes, 'force=true&populate=true')
  const told = (json as { readonly warnings: readonly { readonly text: string }[] }).warnings.map(({ text }) => text)
  t.ok(
    told.some((text) => /^Node 'c2' is made of what node 'c1' fills/.test(text)),
    told.join('; '),
  )
  for (const { id } of (json as { readonly jobs: readonly { readonly id: string }[] }).jobs)
    t.equal((await endedJob(service, id)).status, 'done')
  t.equal((await push('chain', [first])).status, 200)
})

t.test('a populate that cannot begin leaves the pipe as it was', async (t) => {
  const node = { name: 'v', sql: 'SELECT n FROM events WHERE n < 5', ...into('filled_rows') }
  const refused = await push('filled', [node], 'force=true&populate=true&populate_condition=nope>0')
  t.equal(refused.status, 400)
  t.match(await pipes.show('filled'), { nodes: [{ sql: 'SELECT n FROM events WHERE n = 1' }] })
})

t.test('a view that a populate has unlinked is linked again, and the answer says what it missed', async (t) => {
  const nodes = (sql: string) => [{ name: 'v', sql, ...into('relinked_rows') }]
  const failing = await push(
    'late',
    nodes("SELECT n + throwIf(n > 0, 'no') AS n FROM events"),
    'force=true&populate=true',
  )
  await endedJob(service, (failing.json as { readonly job: { readonly id: string } }).job.id)
  await send(70)
  const again = await push('late', nodes('SELECT n + 0 AS n FROM events WHERE n > 69'))
  t.match(again.json, { type: 'materialized', warnings: [{ text: /came while the Materialized View was unlinked/ }] })
  await send(71)
  t.same(await numbersIn('relinked_rows'), ['71'])
})

t.test('what others are made of is not taken from them', async (t) => {
  await push('lent', [
    { name: 'a', sql: 'SELECT n FROM events' },
    { name: 'b', sql: 'SELECT n FROM a' },
  ])
  await views.fill('borrows', 'SELECT n FROM lent WHERE n > 100', { datasource: 'lent_rows' })
  const gone = await push('lent', [{ name: 'z', sql: 'SELECT n FROM events' }])
  t.equal(gone.status, 409)
  t.match(errorOf(gone), /borrows\.borrows_view/)
  const changed = [
    { name: 'a', sql: 'SELECT toUInt32(n + 1000) AS n FROM events' },
    { name: 'b', sql: 'SELECT n FROM a' },
  ]
  t.match((await push('lent', changed)).json, { nodes: [{ sql: /1000/ }, {}] })
  await send(7)
  t.same(await numbersIn('lent_rows'), ['1007'], 'it is changed along')
  const mixed = [
    { name: 'a', sql: 'SELECT n FROM events', ...into('mixed_rows') },
    { name: 'b', sql: 'SELECT n FROM a' },
  ]
  const refused = await push('lent', mixed)
  t.equal(refused.status, 409)
  t.match(errorOf(refused), /borrows.*change the SQL/)
  t.match(await pipes.show('lent'), { type: 'default', nodes: [{ sql: /1000/ }, {}] })
})

t.test('a node that comes in front and takes a name changes what is made of the nodes behind it', async (t) => {
  await service.create('shadowed', 'n UInt32')
  await push('over', [{ name: 'o', sql: 'SELECT n FROM shadowed' }])
  await views.fill('of_over', 'SELECT n FROM over', { datasource: 'over_rows' })
  const nodes = [
    { name: 'shadowed', sql: 'SELECT toUInt32(n + 5000) AS n FROM events' },
    { name: 'o', sql: 'SELECT n FROM shadowed' },
  ]
  t.equal((await push('over', nodes)).status, 200)
  await send(8)
  t.same(await numbersIn('over_rows'), ['5008'])
})

t.test('whoever may not change the pipe or its views does not', async (t) => {
  const node = { name: 'v', sql: 'SELECT n FROM events', ...into('owned_rows') }
  await push('owned', [node])
  const reads = 'DATASOURCES:READ:events'
  const stranger = await token('stranger', 'PIPES:CREATE:another', reads)
  t.equal((await push('owned', [{ name: 'v', sql: 'SELECT 1 AS n' }], 'force=true', stranger)).status, 403)
  const author = await token('author', 'PIPES:CREATE:owned', reads, 'DATASOURCES:APPEND:owned_rows')
  const other = [{ ...node, sql: 'SELECT n + 1 AS n FROM events' }]
  const refused = await push('owned', other, 'force=true', author)
  t.equal(refused.status, 403)
  t.match(errorOf(refused), /may not write to the Data Source/)
  await push('shared', [{ name: 'a', sql: 'SELECT n FROM events' }])
  await views.fill('uses', 'SELECT n FROM shared WHERE n > 100', { datasource: 'shared_rows' })
  const sharer = await token('sharer', 'PIPES:CREATE:shared', reads)
  const changed = await push('shared', [{ name: 'a', sql: 'SELECT n FROM events WHERE n < 9' }], 'force=true', sharer)
  t.equal(changed.status, 409)
  t.match(errorOf(changed), /is part of Materialized Views; .*must be allowed/)
})
