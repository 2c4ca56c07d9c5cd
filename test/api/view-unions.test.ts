// Nodes that read their rows through UNION ALL: the engine has a view of each SELECT, and the API one node.

import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'
import { byTier } from '../support/tier.ts'

const row = (user: string, n: number): object => ({ day: '2026-01-01', user, n })

t.test('one node, a view of each SELECT', async (t) => {
  const { service, call } = await openPipeService(t)
  const views = new ViewCalls(service)
  await service.create('visits', 'visitor String, hits UInt64')

  await t.test('rows of several data sources come to one, by the places of the columns', async (t) => {
    const sql = 'SELECT user, n FROM events UNION ALL SELECT visitor, hits FROM visits'
    const analysis = await call('POST', '/v0/pipes', {
      body: JSON.stringify({ name: 'asked', nodes: [{ name: 'asked_0', sql }] }),
    })
    t.equal(analysis.status, 200, analysis.text)
    t.match((await call('GET', '/v0/pipes/asked/nodes/asked_0/analysis')).json, {
      analysis: { trigger_datasource: 'events', trigger_datasources: ['events', 'visits'] },
    })
    const node = await views.fill('both', sql, { datasource: 'both_rows' })
    t.match(node, {
      materialized: true,
      datasource: 'both_rows',
      trigger_datasource: 'events',
      trigger_datasources: ['events', 'visits'],
    })
    t.match(node.warnings, [{}, { text: /^UNION ALL became 2 views/ }])
    await views.send('events', [row('a', 1)])
    await views.send('visits', [{ visitor: 'b', hits: 5_000_000_000 }])
    t.same(await service.rows('SELECT user, n FROM both_rows ORDER BY user'), [
      ['a', '1'],
      ['b', '5000000000'],
    ])
    t.match((await call('GET', '/v0/datasources/both_rows')).json, {
      materialized_from: [
        { node: { name: 'both_view' }, trigger_datasource: { name: 'events' } },
        { node: { name: 'both_view' }, trigger_datasource: { name: 'visits' } },
      ],
    })
    t.match((await call('GET', '/v0/datasources/visits')).json, {
      materializes_into: [{ depth: 1, datasource: { name: 'both_rows' } }],
    })
    const refused = await call('DELETE', '/v0/datasources/visits')
    t.equal(refused.status, 409)
    t.match(errorOf(refused), /both\.both_view/)
    t.notMatch(errorOf(refused), /both_view.*both_view/, 'one node is told once')
  })

  await t.test('two SELECTs of one data source both fill it, and it is told once', async (t) => {
    const sql = "SELECT user, n, 'low' AS kind FROM events WHERE n < 10 UNION ALL SELECT user, n, 'all' FROM events"
    await views.fill('twice', sql, { datasource: 'kinds' })
    await views.send('events', [row('a', 3), row('b', 30)])
    t.same(await service.rows('SELECT user, kind FROM kinds ORDER BY ALL'), [
      ['a', 'all'],
      ['a', 'low'],
      ['b', 'all'],
    ])
    const { materialized_from: from } = (await call('GET', '/v0/datasources/kinds')).json as {
      readonly materialized_from: readonly object[]
    }
    t.equal(from.length, 1)
    const { edges } = (await call('GET', '/v0/graph')).json as { readonly edges: readonly object[] }
    t.equal(new Set(edges.map((edge) => JSON.stringify(edge))).size, edges.length)
  })

  await t.test('columns that change their places are put right', async (t) => {
    const sql = 'SELECT user AS a, user AS b FROM events UNION ALL SELECT visitor AS b, toString(hits) AS a FROM visits'
    await views.fill('swapped', sql, { datasource: 'swapped_rows' })
    await views.send('visits', [{ visitor: 'v', hits: 7 }])
    t.same(await service.rows('SELECT a, b FROM swapped_rows'), [['v', '7']])
  })

  await t.test('a UNION ALL in a subquery, a common table or an earlier node is taken apart', async (t) => {
    const both = 'SELECT user AS who, toUInt64(n) AS c FROM events UNION ALL SELECT visitor, hits FROM visits'
    const sums = 'SELECT who, sumSimpleState(c) AS total FROM'
    await views.fill('in_subquery', `${sums} (${both}) GROUP BY who`, { datasource: 'sums_0' })
    await views.fill('in_with', `WITH x AS (${both}) ${sums} x GROUP BY who`, { datasource: 'sums_1' })
    const nodes = [
      { name: 'first', sql: both },
      { name: 'second', sql: `${sums} first GROUP BY who`, type: 'materialized', datasource: 'sums_2' },
    ]
    const made = await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'nodes', nodes }) })
    t.equal(made.status, 200, made.text)
    await views.send('events', [row('a', 3), row('a', 4)])
    await views.send('visits', [{ visitor: 'a', hits: 10 }])
    for (const table of ['sums_0', 'sums_1', 'sums_2']) {
      t.same(await service.rows(`SELECT who, sum(total) FROM ${table} GROUP BY who`), [['a', '17']], table)
    }
  })

  await t.test('each SELECT is checked by its own types, and no rows go in a circle', async (t) => {
    await service.create('narrow', 'user String, n UInt32')
    const misfit = await views.tryFill(
      'both',
      'SELECT user, n FROM events UNION ALL SELECT visitor, hits FROM visits',
      {
        datasource: 'narrow',
        name: 'other',
      },
    )
    t.equal(misfit.status, 400)
    t.match(errorOf(misfit), /in SELECT 2: column 'n' is UInt64 in the query and UInt32/)
    const twice = await views.tryFill(
      'named_twice',
      'SELECT user, n FROM events UNION ALL SELECT hits, hits FROM visits',
      {
        datasource: 'named_rows',
      },
    )
    t.match(errorOf(twice), /two columns of SELECT 2 of its UNION ALL have one name; write AS/)
    const circle = 'SELECT user, n FROM events UNION ALL SELECT user, toUInt32(n) FROM narrow'
    const refused = await views.tryFill('round', circle, { datasource: 'narrow' })
    t.equal(refused.status, 400)
    t.match(errorOf(refused), /would come back .*narrow → narrow/)
  })

  await t.test('a populate fills the rows of each SELECT, once, whatever comes meanwhile', async (t) => {
    const sql = 'SELECT user, toUInt64(n) AS n FROM events UNION ALL SELECT visitor, hits FROM visits'
    const expected = (where = '1') => service.rows(`SELECT count(), sum(n) FROM (${sql}) WHERE ${where}`)
    const found = () => service.rows('SELECT count(), sum(n) FROM filled_rows')
    let isOver = false
    const flowing = (async () => {
      for (let n = 0; !isOver; n += 1) {
        await views.send('events', [row('f', n)])
        await views.send('visits', [{ visitor: 'f', hits: n }])
      }
    })()
    const made = await views.tryFill('filled', sql, { datasource: 'filled_rows', populate: 'true' })
    t.equal(made.status, 200, made.text)
    const { job } = made.json as { readonly job: { readonly id: string } }
    t.equal((await endedJob(service, job.id)).status, 'done')
    const path = '/v0/pipes/filled/nodes/filled_view/population'
    const again = await endedJob(service, jobIdOf(await call('POST', `${path}?truncate=true`)))
    t.equal(again.status, 'done', again.error ?? '')
    isOver = true
    await flowing
    t.same(await found(), await expected())
    const { rows } = (await call('POST', `${path}?dry_run=true`)).json as { readonly rows: number }
    t.equal(String(rows), (await expected())[0]?.[0])
    const missing = await call('POST', `${path}?populate_condition=hits%20%3E%201`)
    t.equal(missing.status, 400)
    t.match(errorOf(missing), /Unknown .*hits/)
    const condition = new URLSearchParams({ populate_condition: '1 = 0', truncate: 'true' })
    await endedJob(service, jobIdOf(await call('POST', `${path}?${condition}`)))
    t.same(await found(), [['0', '0']])
  })

  await t.test('whoever makes one may write to the source of each SELECT, and sees all of each', async (t) => {
    const scopes = ['PIPES:CREATE', 'DATASOURCES:READ:events', 'DATASOURCES:APPEND:events', 'DATASOURCES:CREATE:mine']
    const tokenWith = async (...more: readonly string[]): Promise<string> => {
      const query = new URLSearchParams({ name: `maker ${more.join()}` })
      for (const scope of [...scopes, ...more]) query.append('scope', scope)
      return ((await call('POST', `/v0/tokens?${query}`)).json as { readonly token: string }).token
    }
    await service.create('mine', 'user String, n UInt64')
    const body = 'SELECT user, n FROM events UNION ALL SELECT visitor, hits FROM visits'
    const ask = (token: string) =>
      call('POST', '/v0/pipes/asked/nodes?name=denied&type=materialized&datasource=mine', { body, token })
    t.equal((await ask(await tokenWith())).status, 403)
    const reader = await ask(await tokenWith('DATASOURCES:READ:visits'))
    t.equal(reader.status, 403)
    t.match(errorOf(reader), /may not write to the Data Source whose rows it would see/)
    const filtered = await tokenWith('DATASOURCES:READ:visits:hits > 5', 'DATASOURCES:APPEND:visits')
    t.equal((await ask(filtered)).status, 403)
    const writer = await tokenWith('DATASOURCES:READ:visits', 'DATASOURCES:APPEND:visits')
    const made = await ask(writer)
    t.equal(made.status, 200, made.text)
    t.equal((await call('DELETE', '/v0/pipes/asked/nodes/denied')).status, 204)
  })

  await t.test('a replace of one source computes the rows of both', async (t) => {
    const before = await service.rows('SELECT sum(n) FROM both_rows')
    const replaced = await service.call('POST', '/v0/datasources?name=visits&mode=replace&format=ndjson', {
      body: '{"visitor":"z","hits":1}',
    })
    t.equal(replaced.status, 200, replaced.text)
    t.not((await service.rows('SELECT sum(n) FROM both_rows')).join(), before.join())
    const expected = await service.rows('SELECT sum(n) FROM (SELECT n FROM events UNION ALL SELECT hits FROM visits)')
    t.same(await service.rows('SELECT sum(n) FROM both_rows'), expected)
  })

  await t.test('all of its views go at once, also by force with one of their sources', async (t) => {
    t.equal((await call('DELETE', '/v0/pipes/twice/nodes/twice_view/materialization')).status, 200)
    const kinds = await service.count('kinds')
    await views.send('events', [row('a', 3)])
    t.equal(await service.count('kinds'), kinds)
    t.equal((await call('DELETE', '/v0/datasources/visits?force=true')).status, 204)
    const count = await service.count('both_rows')
    await views.send('events', [row('a', 3)])
    t.equal(await service.count('both_rows'), count, 'the view of the other source is gone too')
    t.match((await call('GET', '/v0/pipes/both/nodes/both_view')).json, { materialized: null })
  })
})

t.test('a start makes the views of all SELECTs those of the catalog', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await openTestService(t, { dataDir: directory.path })
  await first.create('events', 'day Date, user String, n UInt32')
  const sql = 'SELECT user, n FROM events WHERE n < 5 UNION ALL SELECT user, n FROM events WHERE n >= 5'
  await new ViewCalls(first).fill('parts', sql, { datasource: 'part_rows' })
  await first.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  const names = await store.views.names()
  t.equal(names.length, 2)
  await store.views.drop(names[1] ?? '')
  await store.close()
  const second = await openTestService(t, { dataDir: directory.path })
  await new ViewCalls(second).send('events', [row('a', 1), row('b', 9)])
  t.equal(await second.count('part_rows'), 2)
  t.match(
    second.log.entries.find(({ fields }) => fields['node'] === 'parts.parts_view'),
    { message: /was missing and is made again/ },
  )
})

t.test('what has no type in one SELECT by itself is refused, with what to write', async (t) => {
  const service = await openTestService(t)
  const views = new ViewCalls(service)
  for (const name of ['left', 'right']) await service.create(name, 'id UInt64, s String')
  const cases = [
    ['SELECT id, NULL AS n FROM left UNION ALL SELECT id, s FROM right', 1, /CAST\(… AS Nullable\(String\)\)/],
    ['SELECT id, s AS n FROM left UNION ALL SELECT id, NULL FROM right', 2, /CAST\(… AS Nullable\(String\)\)/],
    ['SELECT id, [] AS n FROM left UNION ALL SELECT id, [s] FROM right', 1, /CAST\(… AS Array\(String\)\)/],
    ['SELECT id, [s] AS n FROM left UNION ALL SELECT id, [] FROM right', 2, /CAST\(… AS Array\(String\)\)/],
  ] as const
  for (const [index, [sql, select, remedy]] of cases.entries()) {
    const refused = await views.tryFill(`untyped_${index}`, sql, { datasource: `untyped_rows_${index}` })
    t.equal(refused.status, 400, refused.text)
    t.match(refused.text, new RegExp(`column 'n' of SELECT ${select} has no type by itself`))
    t.match(refused.text, remedy)
  }
  const typed = 'SELECT id, CAST(NULL AS Nullable(String)) AS n FROM left UNION ALL SELECT id, s FROM right'
  await views.fill('typed', typed, { datasource: 'typed_rows' })
})

t.test('a block passes all views of a node or none, while it is made and dropped', { timeout: 600_000 }, async (t) => {
  const service = await openTestService(t)
  const views = new ViewCalls(service)
  await service.create('stream', 'block UInt32, n UInt32')
  const blockRows = 100
  let block = 0
  let isOver = false
  const send = async (): Promise<void> => {
    while (!isOver) {
      block += 1
      const own = block
      await views.send(
        'stream',
        Array.from({ length: blockRows }, (_, n) => ({ block: own, n })),
      )
    }
  }
  const senders = [send(), send()]
  const rounds = byTier({ quick: 4, full: 15, soak: 200 })
  for (let round = 0; round < rounds; round += 1) {
    const sql = 'SELECT block, n FROM stream WHERE n % 2 = 0 UNION ALL SELECT block, n FROM stream WHERE n % 2 = 1'
    await views.fill(`whole_${round}`, sql, { datasource: `whole_rows_${round}` })
    if (round % 2 === 1) t.equal((await service.call('DELETE', `/v0/pipes/whole_${round}`)).status, 204)
  }
  isOver = true
  await Promise.all(senders)
  for (let round = 0; round < rounds; round += 1) {
    const query = `SELECT block FROM whole_rows_${round} GROUP BY block HAVING count() != ${blockRows}`
    t.same(await service.rows(query), [], `blocks of view ${round}`)
  }
})
