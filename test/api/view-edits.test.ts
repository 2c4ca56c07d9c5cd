// Other SQL for nodes that fill data sources, and for what they are made of: the views change between two blocks of rows.

import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { byTier } from '../support/tier.ts'

const row = (user: string, n: number): object => ({ day: '2026-01-01', user, n })

t.test('other SQL of a node, and of what views are made of', async (t) => {
  const { service, call } = await openPipeService(t)
  const views = new ViewCalls(service)
  const put = (path: string, body: string, token?: string) =>
    call('PUT', `/v0/pipes/${path}`, token === undefined ? { body } : { body, token })

  await t.test('the view gives what the new SQL says from then on, and rows that are there stay', async (t) => {
    await views.fill('plain', 'SELECT user, toUInt64(n) AS n FROM events', { datasource: 'numbers' })
    await views.send('events', [row('a', 1)])
    const answer = await put('plain/nodes/plain_view', 'SELECT user, toUInt64(n * 10) AS n FROM events')
    t.equal(answer.status, 200, answer.text)
    t.match(answer.json, {
      materialized: true,
      datasource: 'numbers',
      version: 1,
      warnings: [{ text: /^Rows that its Data Source has were made by the SQL before; .*truncate=true/ }],
    })
    await views.send('events', [row('b', 2)])
    t.same(await service.rows('SELECT user, n FROM numbers ORDER BY user'), [
      ['a', '1'],
      ['b', '20'],
    ])
    const path = '/v0/pipes/plain/nodes/plain_view/population?truncate=true'
    t.equal((await endedJob(service, jobIdOf(await call('POST', path)))).status, 'done')
    t.same(await service.rows('SELECT user, n FROM numbers ORDER BY user'), [
      ['a', '10'],
      ['b', '20'],
    ])
  })

  await t.test('another source, and several, by one edit', async (t) => {
    await service.create('visits', 'visitor String, hits UInt64')
    const sql = 'SELECT user, toUInt64(n) AS n FROM events UNION ALL SELECT visitor, hits FROM visits'
    const split = await put('plain/nodes/plain_view', sql)
    t.match(split.json, { trigger_datasources: ['events', 'visits'] }, split.text)
    await views.send('visits', [{ visitor: 'v', hits: 5 }])
    await views.send('events', [row('c', 3)])
    t.same(await service.rows("SELECT user, n FROM numbers WHERE user IN ('c', 'v') ORDER BY user"), [
      ['c', '3'],
      ['v', '5'],
    ])
    const other = await put('plain/nodes/plain_view', 'SELECT visitor AS user, hits AS n FROM visits')
    t.match(other.json, { trigger_datasource: 'visits' }, other.text)
    const count = await service.count('numbers')
    await views.send('events', [row('d', 3)])
    t.equal(await service.count('numbers'), count, 'the old source fills it no more')
    t.equal((await call('DELETE', '/v0/pipes/plain')).status, 204)
  })

  await t.test('an earlier node and another pipe change the views that are made of them', async (t) => {
    const nodes = [
      { name: 'first', sql: 'SELECT user, n FROM events' },
      { name: 'second', sql: 'SELECT user, n FROM first', type: 'materialized', datasource: 'own_rows' },
    ]
    const made = await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'steps', nodes }) })
    t.equal(made.status, 200, made.text)
    const published = [{ name: 'answer', sql: 'SELECT user AS who, n FROM events' }]
    await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'shared', nodes: published }) })
    await views.fill('of_shared', 'SELECT who, n FROM shared', { datasource: 'shared_rows' })
    for (const [path, name] of [
      ['steps/nodes/first', 'user'],
      ['shared/nodes/answer', 'who'],
    ] as const) {
      const answer = await put(path, `SELECT upper(user) AS ${name}, n FROM events WHERE n > 5`)
      t.equal(answer.status, 200, answer.text)
      t.match(answer.json, { warnings: [{ text: /were made by the SQL before/ }] }, path)
    }
    await views.send('events', [row('x', 1), row('y', 9)])
    t.same(await service.rows('SELECT user, n FROM own_rows'), [['Y', '9']])
    t.same(await service.rows('SELECT who, n FROM shared_rows'), [['Y', '9']])
    const broken = await put('shared/nodes/answer', 'SELECT n FROM events')
    t.equal(broken.status, 400)
    t.match(errorOf(broken), /'of_shared\.of_shared_view' cannot be materialized: .*who/)
    await views.send('events', [row('z', 8)])
    t.equal(await service.count('shared_rows'), 2, 'nothing was changed')
    t.match((await call('GET', '/v0/pipes/shared')).json, { nodes: [{ sql: /upper/ }] })
  })

  await t.test('what does not fit, goes in a circle or is no view is refused, and nothing is changed', async (t) => {
    await views.fill('kept', 'SELECT user, n FROM events', { datasource: 'kept_rows' })
    const cases: readonly (readonly [sql: string, status: number, reason: RegExp])[] = [
      ['SELECT user, toString(n) AS n FROM events', 400, /column 'n' is String in the query and UInt32/],
      ['SELECT user, n, day FROM events', 400, /column 'day' of the query is not in the Data Source/],
      ['SELECT user, n FROM kept_rows', 400, /would come back .*kept_rows → kept_rows/],
      ["SELECT 'a' AS user, 1 AS n", 400, /reads no Data Source/],
      ['SELECT user, n FROM events UNION DISTINCT SELECT user, n FROM events', 400, /UNION DISTINCT/],
      ['%\nSELECT user, n FROM events WHERE n > {{Int32(least, 3)}}', 400, /takes the parameter 'least'/],
      ['SELECT user, nothing AS n FROM events', 400, /nothing/],
    ]
    for (const [sql, status, reason] of cases) {
      const answer = await put('kept/nodes/kept_view', sql)
      t.equal(answer.status, status, `${sql}: ${answer.text}`)
      t.match(errorOf(answer), reason, sql)
    }
    await views.send('events', [row('k', 6)])
    t.same(await service.rows('SELECT user, n FROM kept_rows'), [['k', '6']])
    t.match((await call('GET', '/v0/pipes/kept/nodes/kept_view')).json, { version: 0, sql: /^SELECT user, n FROM/ })
  })

  await t.test(
    'whoever may not have all of the views changed is refused, without names that are not his',
    async (t) => {
      const scopes = ['PIPES:CREATE:shared', 'DATASOURCES:READ:events', 'DATASOURCES:APPEND:events']
      const tokenWith = async (...more: readonly string[]): Promise<string> => {
        const query = new URLSearchParams({ name: `editor ${more.join()}` })
        for (const scope of [...scopes, ...more]) query.append('scope', scope)
        return ((await call('POST', `/v0/tokens?${query}`)).json as { readonly token: string }).token
      }
      const sql = 'SELECT user AS who, n FROM events WHERE n > 6'
      for (const more of [[], ['PIPES:CREATE:of_shared'], ['DATASOURCES:APPEND:shared_rows']]) {
        const refused = await put('shared/nodes/answer', sql, await tokenWith(...more))
        t.equal(refused.status, 409, more.join())
        if (!more.join().includes('of_shared')) t.notMatch(errorOf(refused), /of_shared/)
        t.match(errorOf(refused), /the token must be allowed to change their Pipes/)
      }
      const all = await tokenWith('PIPES:CREATE:of_shared', 'DATASOURCES:APPEND:shared_rows')
      t.equal((await put('shared/nodes/answer', sql, all)).status, 200)
    },
  )
})

t.test('of two changes of a view at once one is left, wherever they begin', async (t) => {
  const pipes = await openPipeService(t)
  const views = new ViewCalls(pipes.service)
  for (const [index, ends] of [true, false].entries()) {
    const name = (what: string): string => `${what}_${index}`
    await pipes.create(name('base'), 'SELECT n, 0 AS base FROM events')
    await views.fill(name('top'), `SELECT n, base, 0 AS own FROM ${name('base')}`, { datasource: name('top_rows') })
    const put = (path: string, body: string): Promise<Answer> => pipes.call('PUT', `/v0/pipes/${path}`, { body })
    const node = `${name('top')}/nodes/${name('top')}_view`
    const answers = await Promise.all([
      put(`${name('base')}/nodes/n0`, 'SELECT n, 1 AS base FROM events'),
      ends
        ? pipes.call('DELETE', `/v0/pipes/${node}/materialization`)
        : put(node, `SELECT n, base, 1 AS own FROM ${name('base')}`),
      put(`${name('base')}/nodes/n0`, 'SELECT n, 2 AS base FROM events'),
    ])
    t.ok(answers.every(({ status }) => [200, 409].includes(status)))
    await views.send('events', [{ day: '2026-01-01', user: 'a', n: 1 }])
    t.equal(await pipes.service.count(name('top_rows')), ends ? 0 : 1)
  }
})

t.test('a block is seen by the old view or by the new one, wholly', { timeout: 600_000 }, async (t) => {
  const service = await openTestService(t)
  const views = new ViewCalls(service)
  await service.create('stream', 'block UInt32, n UInt32')
  const blockRows = 100
  const edits = byTier({ quick: 5, full: 20, soak: 300 })
  const sqlOf = (edit: number): string => {
    if (edit % 3 === 0) return `SELECT block, toUInt32(${edit}) AS edit FROM stream`
    const half = (rest: number) => `SELECT block, toUInt32(${edit}) AS edit FROM stream WHERE n % 2 = ${rest}`
    return `${half(0)} UNION ALL ${half(1)}`
  }
  await views.fill('edited', sqlOf(0), { datasource: 'edited_rows' })
  let block = 0
  let isOver = false
  const send = async (isImport: boolean): Promise<void> => {
    while (!isOver) {
      block += 1
      const own = block
      const body = Array.from({ length: blockRows }, (_, n) => JSON.stringify({ block: own, n })).join('\n')
      const post = () =>
        isImport ? service.append('stream', 'ndjson', body) : service.events('stream', body, { wait: 'true' })
      let answer = await post()
      // Imports are asked to come again while a change runs.
      while (isImport && answer.status === 409) answer = await post()
      if (answer.status !== 200) throw new Error(answer.text)
    }
  }
  const senders = [send(false), send(true)]
  for (let edit = 1; edit <= edits; edit += 1) {
    const answer = await service.call('PUT', '/v0/pipes/edited/nodes/edited_view', { body: sqlOf(edit) })
    t.equal(answer.status, 200, answer.text)
  }
  isOver = true
  await Promise.all(senders)
  t.same(
    await service.rows(
      `SELECT block, count() FROM edited_rows GROUP BY block HAVING count() != ${blockRows} OR uniqExact(edit) > 1`,
    ),
    [],
  )
  t.same(await service.rows('SELECT uniqExact(block) FROM edited_rows'), [[String(block)]], 'no block came past it')
})
