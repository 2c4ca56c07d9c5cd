// Data sources that are made, or made anew, for a view: beside imports and events to them, and when something of it is refused.

import t from 'tap'
import { openPipeService, type PipeService } from '../support/api/pipe-service.ts'
import type { Answer } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { byTier } from '../support/tier.ts'

interface Counts {
  readonly imported_rows?: number
  readonly quarantine_rows?: number
}

function post({ call }: PipeService, nodes: readonly object[], name: string): Promise<Answer> {
  return call('POST', '/v0/pipes', { body: JSON.stringify({ name, nodes }) })
}

/** What an answer to an import says that it has stored. */
function tellsRows({ status, json }: Answer): number {
  if (status !== 200) return 0
  // The shape of an answer is what its tests check.
  const { imported_rows: stored = 0, quarantine_rows: setAside = 0 } = json as Counts
  return stored + setAside
}

t.test('a refused override leaves its target as it was', async (t) => {
  const pipes = await openPipeService(t)
  const { service } = pipes
  const views = new ViewCalls(service)
  await service.create('ages', 'n UInt32, day Date')
  const refused: Readonly<Record<string, readonly [sql: string, options: Readonly<Record<string, string>>]>> = {
    'unknown engine': ['SELECT n FROM events', { engine: 'Foo' }],
    'sorting key of no column': ['SELECT n FROM events', { engine: 'MergeTree', engine_sorting_key: 'nope' }],
    'version of no column': [
      'SELECT n FROM events',
      { engine: 'ReplacingMergeTree', engine_ver: 'nope', engine_sorting_key: 'n' },
    ],
    'TTL of no date': ['SELECT n FROM events', { engine: 'MergeTree', engine_sorting_key: 'n', engine_ttl: 'n' }],
    'setting that is none': [
      'SELECT n FROM events',
      { engine: 'MergeTree', engine_sorting_key: 'n', engine_settings: 'index_granularity = 0' },
    ],
    'condition of no column': ['SELECT n FROM events', { populate: 'true', populate_condition: 'nope = 1' }],
    'column of the service': ['SELECT n AS c__import_id FROM events', {}],
    'column named twice': ['SELECT n AS a, user AS a FROM events', {}],
    'too many columns': [
      `SELECT ${Array.from({ length: 600 }, (_, index) => `n AS c${index}`).join(', ')} FROM events`,
      {},
    ],
    FINAL: ['SELECT n FROM events FINAL', {}],
    SAMPLE: ['SELECT n FROM events SAMPLE 0.5', {}],
  }
  for (const [index, [what, [sql, options]]] of Object.entries(refused).entries()) {
    const name = `kept_${index}`
    await service.create(name, 'x UInt8')
    const id = await service.idOf(name)
    const asked = { datasource: name, override_datasource: 'true', ...options }
    const { status, text } = await views.tryFill(`refused_${index}`, sql, asked)
    t.ok(status >= 400 && status < 500, `${what}: ${status} ${text}`)
    t.equal(await service.idOf(name), id, what)
    await views.send(name, [{ x: 1 }])
    t.equal(await service.count(name), 1, what)
  }
  await service.create('kept', 'x UInt8')
  const overriding = { type: 'materialized', override_datasource: true, sql: 'SELECT n FROM events' }
  const later = {
    name: 'later',
    type: 'materialized',
    datasource: 'b',
    engine: 'MergeTree',
    engine_sorting_key: 'nope',
  }
  const first = { ...overriding, name: 'first', datasource: 'kept' }
  t.equal((await post(pipes, [first, { ...later, sql: 'SELECT n FROM events' }], 'half')).status, 400)
  const other = { ...overriding, name: 'other', datasource: await service.idOf('kept'), sql: 'SELECT user FROM events' }
  t.equal((await post(pipes, [first, other], 'misfit')).status, 400, 'the second does not fit the first')
  const made = { type: 'materialized', datasource: 'made' }
  const misfits = [
    { ...made, name: 'one', sql: 'SELECT n FROM events' },
    { ...made, name: 'two', sql: 'SELECT user FROM events' },
  ]
  t.equal((await post(pipes, misfits, 'misfits')).status, 400)
  t.equal((await service.call('GET', '/v0/datasources/made')).status, 404)
  await views.send('kept', [{ x: 1 }])
  await views.send('events', [{ day: '2026-01-01', user: 'a', n: 1 }])
  t.equal(await service.count('kept'), 1)
})

t.test('an override keeps the id, so scopes of tokens go on, and the description and the version', async (t) => {
  const { service, call } = await openPipeService(t)
  await call('POST', `/v0/datasources?${new URLSearchParams({ name: 'old', schema: 'x UInt8', description: 'words' })}`)
  const id = await service.idOf('old')
  const scope = new URLSearchParams({ name: 'reader', scope: 'DATASOURCES:READ:old' })
  // The shape of an answer is what its tests check.
  const { token } = (await call('POST', `/v0/tokens?${scope}`)).json as { readonly token: string }
  const views = new ViewCalls(service)
  const asked = { datasource: 'old', override_datasource: 'true' }
  t.match(await views.fill('renewed', 'SELECT n, user FROM events', asked), { created_datasource: true })
  t.equal(await service.idOf('old'), id)
  t.match((await call('GET', '/v0/datasources/old')).json, { description: 'words' })
  await views.send('events', [{ day: '2026-01-01', user: 'a', n: 1 }])
  const read = await call('GET', `/v0/sql?q=${encodeURIComponent('SELECT n FROM old FORMAT CSV')}`, { token })
  t.equal(read.text.trim(), '1')
  await views.send('old', [{ user: 'b', n: 2 }])
  t.equal(await service.count('old'), 2)
})

t.test('another engine than that of a target that takes the columns is told, or made by an override', async (t) => {
  const pipes = await openPipeService(t)
  const { service } = pipes
  const views = new ViewCalls(service)
  await service.create('sorted', 'n UInt32, user String', { engine: 'MergeTree', engine_sorting_key: '(n, user)' })
  const sql = 'SELECT n, user FROM events'
  const asked = { datasource: 'sorted', engine: 'MergeTree' }
  const same = await views.fill('same', sql, { ...asked, engine_sorting_key: 'n,`user`' })
  t.same(same.warnings, [])
  for (const [index, options] of [{ engine_sorting_key: 'user' }, { engine: 'ReplacingMergeTree' }].entries()) {
    const told = await views.fill(`told_${index}`, sql, { ...asked, ...options })
    t.match(told.warnings, [{ text: /stays as it is: its engine.* is .*, not .*override_datasource=true/ }])
  }
  const other = { ...asked, engine_sorting_key: 'user', override_datasource: 'true' }
  const used = await views.tryFill('used', sql, other)
  t.match([used.status, used.text], [409, /same\.same_view/])
  for (const pipe of ['same', 'told_0', 'told_1']) await service.call('DELETE', `/v0/pipes/${pipe}`)
  await service.append('sorted', 'csv', '1,a\n')
  t.match([(await views.tryFill('used', sql, other)).status, await service.count('sorted')], [409, 1])
  await service.call('POST', '/v0/datasources/sorted/truncate')
  t.equal((await views.tryFill('used', sql, other)).status, 200)
  const shown = await service.call('GET', '/v0/datasources/sorted')
  t.match(shown.json, { engine: { engine: 'MergeTree', engine_full: /ORDER BY user/i } })
})

t.test('no import beside an override is told to be stored and lost', async (t) => {
  const { service, call } = await openPipeService(t)
  const views = new ViewCalls(service)
  for (let round = 0; round < byTier({ quick: 4, full: 25, soak: 150 }); round += 1) {
    const name = `target_${round}`
    await service.create(name, 'x UInt64')
    const asked = { datasource: name, override_datasource: 'true' }
    const overriding = views.tryFill(`over_${round}`, 'SELECT user FROM events', asked)
    const imports: Promise<Answer>[] = []
    let isOver = false
    const ended = overriding.finally(() => {
      isOver = true
    })
    while (!isOver && imports.length < 20) {
      imports.push(call('POST', `/v0/datasources?name=${name}&mode=append&format=ndjson`, { body: '{"x":1}\n' }))
      await Promise.race([ended, imports.at(-1)])
    }
    const { status } = await ended
    const answers = await Promise.all(imports)
    t.ok([200, 409].includes(status), `override: ${status}`)
    t.same(
      answers.filter((one) => ![200, 404, 409].includes(one.status)),
      [],
    )
    const told = answers.map(tellsRows).reduce((sum, count) => sum + count, 0)
    t.equal(
      (await service.count(name)) + (await service.count(`${name}_quarantine`)),
      told,
      `round ${round}: ${status}`,
    )
  }
})

t.test('a making that fails drops no rows that were acknowledged for its target', async (t) => {
  const pipes = await openPipeService(t)
  const { service } = pipes
  const making = { type: 'materialized', sql: 'SELECT n FROM events' }
  for (let round = 0; round < byTier({ quick: 2, full: 10, soak: 60 }); round += 1) {
    const datasource = `made_${round}`
    const nodes = [
      { ...making, name: `first_${round}`, datasource },
      { ...making, name: `later_${round}`, datasource: `later_${round}`, sql: 'SELECT n FROM events FINAL' },
    ]
    let isOver = false
    const failing = post(pipes, nodes, `failing_${round}`).finally(() => {
      isOver = true
    })
    let acknowledged = 0
    while (!isOver || acknowledged === 0) {
      const { status } = await service.events(datasource, '{"n":1}', { wait: 'true' })
      if (status === 200) acknowledged += 1
    }
    t.ok((await failing).status >= 400)
    t.equal((await service.count(datasource)) + (await service.count(`${datasource}_quarantine`)), acknowledged)
  }
})
