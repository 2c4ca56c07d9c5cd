// What becomes of views when what they are made of, read or fill is changed or dropped, and over restarts; and who may make them.

import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { errorOf, openPipeService, PipeService } from '../support/api/pipe-service.ts'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls, viewNodeIn } from '../support/api/view-calls.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const rows = [
  { day: '2026-01-01', user: 'a', n: 1 },
  { day: '2026-01-02', user: 'b', n: 2 },
]

t.test('drops, edits and renames', async (t) => {
  const pipes = await openPipeService(t)
  const { service, call } = pipes
  const views = new ViewCalls(service)

  await t.test('a data source that a view reads or fills is dropped by force alone, which unlinks', async (t) => {
    await service.create('looked_up', 'user String, more String')
    await views.fill('joined', 'SELECT n, more FROM events LEFT JOIN looked_up USING user', { datasource: 'with_more' })
    for (const name of ['with_more', 'looked_up']) {
      const refused = await call('DELETE', `/v0/datasources/${name}`)
      t.equal(refused.status, 409)
      t.match(errorOf(refused), /joined\.joined_view/, name)
      t.equal((await call('DELETE', `/v0/datasources/${name}?dry_run=true&force=true`)).status, 200)
    }
    const dropped = await call('DELETE', '/v0/datasources/looked_up?force=true')
    t.equal(dropped.status, 204)
    t.match(dropped.headers.get('x-warning'), /went with it: joined\.joined_view; Pipes that still read it: joined/)
    t.match((await call('GET', '/v0/pipes/joined')).json, {
      type: 'default',
      nodes: [{}, { name: 'joined_view', materialized: null, node_type: 'default' }],
    })
    await views.send('events', rows)
    t.equal(await service.count('with_more'), 0)
    t.equal((await call('DELETE', '/v0/datasources/with_more')).status, 204)
    t.equal((await call('DELETE', '/v0/pipes/joined')).status, 204)
  })

  await t.test('a node and a pipe that fill something go with their views, and the rows stay', async (t) => {
    await views.fill('going', 'SELECT n FROM events', { datasource: 'stays' })
    await views.send('events', rows)
    t.equal((await call('DELETE', '/v0/pipes/going/nodes/going_view')).status, 204)
    await views.send('events', rows)
    t.equal(await service.count('stays'), 2)
    await views.fill('going', 'SELECT n FROM events', { datasource: 'stays' })
    t.equal((await call('DELETE', '/v0/pipes/going')).status, 204)
    await views.send('events', rows)
    t.equal(await service.count('stays'), 2)
    t.equal((await call('DELETE', '/v0/datasources/stays')).status, 204)
  })

  await t.test('what a view is made of is not changed without a word', async (t) => {
    await pipes.create('made_of', 'SELECT n, user FROM events', 'SELECT n FROM n0 WHERE n > 1')
    await views.fill('of_pipe', 'SELECT n + 1 AS m FROM made_of', { datasource: 'of_pipe_rows' })
    const link = '/v0/pipes/made_of/nodes/n1/materialization?datasource=own_rows'
    t.equal((await call('POST', link)).status, 200)
    const refusals: readonly (readonly [method: string, path: string, body: string | undefined, users: RegExp])[] = [
      ['PUT', '/v0/pipes/made_of/nodes/n0', 'SELECT user FROM events', /made_of\.n1|n0|node|'n'/],
      ['PUT', '/v0/pipes/made_of/nodes/n0?position=1', undefined, /.|n0/],
      [
        'POST',
        '/v0/pipes/made_of/nodes?name=last',
        'SELECT 7 AS n',
        /Pipe 'made_of' is part of .*of_pipe\.of_pipe_view/,
      ],
      ['POST', '/v0/pipes/made_of/nodes/n0/endpoint', undefined, /of_pipe\.of_pipe_view/],
      ['DELETE', '/v0/pipes/made_of/nodes/n0', undefined, /of_pipe\.of_pipe_view/],
      ['DELETE', '/v0/pipes/made_of', undefined, /of_pipe/],
      ['POST', '/v0/pipes?name=made_of&from=of_pipe', undefined, /made_of/],
    ]
    for (const [method, path, body, users] of refusals) {
      const answer = await call(method, path, body === undefined ? {} : { body })
      t.ok(answer.status === 409 || answer.status === 400, `${method} ${path}: ${answer.status}`)
      t.match(errorOf(answer), users, `${method} ${path}`)
    }
    t.equal((await call('PUT', '/v0/pipes/made_of/nodes/n0?description=told')).status, 200)
    t.equal((await call('PUT', '/v0/pipes/made_of/nodes/n1', { body: 'SELECT n FROM n0 WHERE n > 1' })).status, 200)
    t.equal((await call('POST', '/v0/pipes/made_of/nodes/n1/endpoint')).status, 200)
    await views.send('events', rows)
    t.same(await service.rows('SELECT m FROM of_pipe_rows'), [['3']])
    t.same(await service.rows('SELECT n FROM own_rows'), [['2']])
  })

  await t.test('renames leave views what they are', async (t) => {
    const put = async (path: string): Promise<void> => {
      const { status, text } = await call('PUT', path)
      t.equal(status, 200, text)
    }
    await put('/v0/datasources/events?name=moved_events&force=true')
    await put('/v0/datasources/of_pipe_rows?name=moved_rows')
    await put('/v0/pipes/of_pipe?name=moved_pipe')
    await put('/v0/pipes/moved_pipe/nodes/of_pipe_view?name=moved_node')
    const before = await service.count('moved_rows')
    await views.send('moved_events', rows)
    t.equal(await service.count('moved_rows'), before + 1)
    t.match((await call('GET', '/v0/pipes/moved_pipe/nodes/moved_node')).json, {
      materialized: true,
      datasource: 'moved_rows',
    })
    await put('/v0/datasources/moved_events?name=events&force=true')
  })

  await t.test('a data source is not altered so that a view breaks', async (t) => {
    await service.create('left_rows', 'k String, n UInt32')
    await service.create('right_rows', 'k String, m UInt32')
    const sql = 'SELECT k, n, m FROM left_rows LEFT JOIN right_rows ON left_rows.k = right_rows.k'
    await views.fill('both', sql, { datasource: 'both_rows' })
    const alter = (name: string, schema: string) =>
      call('POST', `/v0/datasources/${name}/alter`, { body: new URLSearchParams({ schema }).toString() })
    const refused = await alter('right_rows', 'k String, m UInt32, n String')
    t.equal(refused.status, 200, refused.text)
    const ambiguous = await alter('left_rows', 'k String, n UInt32, m Date')
    t.equal(ambiguous.status, 400, ambiguous.text)
    t.match(errorOf(ambiguous), /Materialized View both\.both_view would/)
    t.equal((await alter('left_rows', 'k String, n UInt32, other Date')).status, 200)
    await views.send('left_rows', [{ k: 'a', n: 1, other: '2026-01-01' }])
    t.equal(await service.count('both_rows'), 1)
  })

  await t.test('a view that fails is told by its pipe and node', async (t) => {
    await service.create('risky', 'word String')
    await views.fill('failing', 'SELECT toUInt32(word) AS n FROM risky', { datasource: 'risky_numbers' })
    const answer = await service.events('risky', '{"word":"none"}', { wait: 'true' })
    t.equal(answer.status, 422)
    t.match(errorOf(answer), /failing\.failing_view/)
    t.notMatch(errorOf(answer), /v_[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-/)
    t.match((await call('GET', '/v0/datasources/risky')).json, { events: { error: /failing\.failing_view/ } })
    t.equal((await call('DELETE', '/v0/pipes/failing/nodes/failing_view/materialization')).status, 200)
    await service.untilStored('risky')
    t.equal(await service.count('risky'), 1)
  })

  await t.test('a data source is made anew where that is asked for and loses nothing', async (t) => {
    await service.create('old_shape', 'other String')
    const sql = 'SELECT n FROM events'
    t.equal((await views.tryFill('overriding', sql, { datasource: 'old_shape' })).status, 400)
    await views.send('old_shape', [{ other: 'x' }])
    const refused = await views.tryFill('overriding', sql, { datasource: 'old_shape', override_datasource: 'true' })
    t.equal(refused.status, 409)
    t.match(errorOf(refused), /it has 1 rows, those set aside included, which would be lost/)
    await call('POST', '/v0/datasources/old_shape/truncate')
    for (let round = 0; round < 5; round += 1) {
      // Acknowledged, and not stored yet.
      t.match(await service.events('old_shape', '{"other":"y"}'), { status: 202 })
      const asked = { datasource: 'old_shape', override_datasource: 'true' }
      t.equal((await views.tryFill('overriding', sql, asked)).status, 409)
      await service.untilStored('old_shape')
      t.equal(await service.count('old_shape'), 1)
      await call('POST', '/v0/datasources/old_shape/truncate')
    }
    await service.events('old_shape', '{"other":7}{', { wait: 'true' })
    t.equal(await service.count('old_shape_quarantine'), 1)
    const setAside = { datasource: 'old_shape', override_datasource: 'true' }
    t.equal((await views.tryFill('overriding', sql, setAside)).status, 409)
    await call('POST', '/v0/datasources/old_shape_quarantine/truncate')
    const node = await views.fill('overriding', sql, { datasource: 'old_shape', override_datasource: 'true' })
    t.match(node, { created_datasource: true, datasource: 'old_shape' })
    await views.send('events', rows)
    t.equal(await service.count('old_shape'), 2)
  })
})

t.test('a start makes the views of the engine those of the catalog', async (t) => {
  const directory = await createTestDirectory()
  const first = await openTestService(t, { dataDir: directory.path })
  await first.create('events', 'day Date, user String, n UInt32')
  await new ViewCalls(first).fill('kept', 'SELECT n FROM events', { datasource: 'kept_rows' })
  await new ViewCalls(first).fill('lost', 'SELECT n FROM events', { datasource: 'lost_rows' })
  const ids = [await first.idOf('events'), await first.idOf('kept_rows'), await first.idOf('lost_rows')]
  await first.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  const { views } = await store.views.graph()
  const lost = views.find(({ target }) => target === ids[2])
  await store.views.drop(lost?.name ?? '')
  const stray = `v_${'0'.repeat(32)}`
  await store.command(
    `CREATE MATERIALIZED VIEW ws_0001.${stray} TO ws_0001.${ids[1]} AS SELECT n FROM ws_0001.${ids[0]}`,
  )
  await store.close()
  const second = await openTestService(t, { dataDir: directory.path })
  t.teardown(() => directory.remove())
  t.match(
    second.log.entries.find(({ fields }) => fields['view'] === stray),
    { message: /no node knows of is dropped/ },
  )
  t.match(
    second.log.entries.find(({ fields }) => fields['node'] === 'lost.lost_view'),
    {
      level: 'warn',
      message: /was missing and is made again/,
    },
  )
  await new ViewCalls(second).send('events', rows)
  t.equal(await second.count('kept_rows'), 2)
  t.equal(await second.count('lost_rows'), 2)
})

t.test('whoever makes a view must have the rights to its pipe, to what it reads and to what it fills', async (t) => {
  const pipes = await openPipeService(t)
  const { service, call } = pipes
  await service.create('target', 'n UInt32')
  await service.create('secret_rows', 'n UInt32')
  await new PipeService(service).create('one', 'SELECT n FROM events')
  let count = 0
  const token = async (...scopes: readonly string[]): Promise<string> => {
    count += 1
    const body = new URLSearchParams({ name: `maker ${count}` })
    for (const scope of scopes) body.append('scope', scope)
    // The shape is what other tests check.
    return ((await call('POST', '/v0/tokens', { body: body.toString() })).json as { readonly token: string }).token
  }
  const link = (value: string, target: string, sql = 'SELECT n FROM events') =>
    call('POST', `/v0/pipes/one/nodes?type=materialized&datasource=${target}`, { body: sql, token: value })
  const maker = ['PIPES:CREATE', 'DATASOURCES:READ:events']
  const cases: readonly (readonly [string, string, number, string?])[] = [
    [await token(...maker), 'target', 403],
    [await token(...maker), 'brand_new', 403],
    [await token('DATASOURCES:CREATE', 'DATASOURCES:READ:events'), 'target', 403],
    [await token(...maker, 'DATASOURCES:APPEND:target'), 'brand_new', 403],
    [await token(...maker, 'DATASOURCES:APPEND:target'), 'target', 403, 'SELECT n FROM secret_rows'],
    [await token(...maker, 'DATASOURCES:APPEND:target'), 'target', 403],
    [await token(...maker, 'DATASOURCES:APPEND:target', 'DATASOURCES:APPEND:events'), 'target', 200],
    [await token(...maker, 'DATASOURCES:CREATE'), 'brand_new', 200],
  ]
  for (const [value, target, status, sql] of cases) {
    const answer = await link(value, target, sql)
    t.equal(answer.status, status, `${target}: ${answer.text}`)
  }
  const above = [
    'PIPES:CREATE',
    'DATASOURCES:READ:target',
    'DATASOURCES:APPEND:target',
    'DATASOURCES:APPEND:secret_rows',
  ]
  const onTarget = 'SELECT n FROM target'
  t.equal((await link(await token(...above), 'secret_rows', onTarget)).status, 403, 'it would stop events too')
  const whole = await token(...above, 'DATASOURCES:APPEND:events')
  t.equal((await link(whole, 'secret_rows', onTarget)).status, 200)
  const reader = await token('PIPES:CREATE', 'DATASOURCES:APPEND:target')
  t.equal(
    (await call('POST', '/v0/pipes/one/nodes/n0/materialization?datasource=target', { token: reader })).status,
    403,
  )
  t.equal((await call('GET', '/v0/pipes/one/nodes/n0/analysis?datasource=target', { token: reader })).status, 403)
  t.ok(viewNodeIn(await call('POST', '/v0/pipes/one/nodes/n0/materialization?datasource=target')).materialized)
})

t.test('what a caller may not know of is neither named to him nor told by another refusal', async (t) => {
  const pipes = await openPipeService(t)
  const { service, call } = pipes
  const views = new ViewCalls(service)
  await service.create('hidden_rows', 'n UInt32')
  await pipes.create('hidden_pipe', 'SELECT n FROM events')
  await views.fill('hidden_view', 'SELECT n FROM events', { datasource: 'hidden_rows' })
  const tokenWith = async (...scopes: readonly string[]): Promise<string> => {
    const query = new URLSearchParams({ name: scopes.join() })
    for (const scope of scopes) query.append('scope', scope)
    // The shape of an answer is what its tests check.
    return ((await call('POST', `/v0/tokens?${query}`)).json as { readonly token: string }).token
  }
  const altering = await tokenWith('DATASOURCES:CREATE:events')
  const alter = { token: altering, body: 'description=x' }
  t.same((await call('POST', '/v0/datasources/events/alter?dry=true', alter)).json, {
    operations: ['MODIFY DESCRIPTION'],
    dependencies: [],
  })
  const body = 'description=x'
  const all = (await call('POST', '/v0/datasources/events/alter?dry=true', { body })).json as {
    readonly dependencies: readonly string[]
  }
  t.same(all.dependencies.toSorted(), ['hidden_pipe', 'hidden_view', 'hidden_view.hidden_view_view'])
  const author = await tokenWith('PIPES:CREATE:mine')
  const refusals: string[] = []
  for (const datasource of ['hidden_rows', 'nothing_there']) {
    const nodes = [{ name: 'v', sql: 'SELECT 1 AS n', type: 'materialized', datasource }]
    const request = { token: author, body: JSON.stringify({ name: 'mine', nodes }) }
    const { status, text } = await call('POST', '/v0/pipes', request)
    t.equal(status, 403)
    refusals.push(text.replaceAll(datasource, 'x'))
  }
  t.equal(refusals[0], refusals[1])
  await pipes.create('mine', 'SELECT 1 AS x')
  t.equal((await call('PUT', '/v0/pipes/mine?name=dropped_before', { token: author })).status, 403)
  t.equal((await call('PUT', '/v0/pipes/mine?name=mine&description=x', { token: author })).status, 200)
  t.equal((await call('PUT', '/v0/datasources/events?name=dropped_before', { token: altering })).status, 403)
  t.equal((await call('PUT', '/v0/datasources/events?description=x', { token: altering })).status, 200)
})
