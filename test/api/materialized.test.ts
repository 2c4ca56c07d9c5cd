// Nodes that fill data sources, through a whole service: how they are made, what they make of rows, and what refuses them.

import t from 'tap'
import { errorOf, openPipeService, pipeIn } from '../support/api/pipe-service.ts'
import { ViewCalls, viewNodeIn } from '../support/api/view-calls.ts'

const { service, call } = await openPipeService(t)
const views = new ViewCalls(service)
const json = { 'content-type': 'application/json' }

const rows = [
  { day: '2026-01-01', user: 'a', n: 1 },
  { day: '2026-01-01', user: 'b', n: 2 },
  { day: '2026-01-02', user: 'a', n: 4 },
]

t.test('a node of states makes its data source, and takes each block that comes', async (t) => {
  const sql =
    'SELECT day, countState() AS events, uniqState(user) AS users, sumSimpleState(n) AS total FROM events GROUP BY day'
  const node = await views.fill('days', sql, { datasource: 'by_day' })
  t.match(node, {
    name: 'days_view',
    materialized: true,
    node_type: 'materialized',
    datasource: 'by_day',
    created_datasource: true,
    dependencies: ['events'],
    warnings: [{ text: /engine AggregatingMergeTree was chosen/ }, { text: /sorting key \(day\) was chosen/ }],
  })
  const target = await call('GET', '/v0/datasources/by_day')
  t.match(target.json, {
    engine: { engine: 'AggregatingMergeTree', sorting_key: 'day' },
    schema: {
      columns: [
        { name: 'day', type: 'Date' },
        { name: 'events', type: 'AggregateFunction(count)' },
        { name: 'users', type: 'AggregateFunction(uniq, String)' },
        { name: 'total', type: 'SimpleAggregateFunction(sum, UInt64)' },
      ],
    },
  })
  await views.send('events', rows)
  await views.send('events', rows.slice(0, 1))
  const query = 'SELECT day, countMerge(events), uniqMerge(users), sum(total) FROM by_day GROUP BY day ORDER BY day'
  t.same(await service.rows(query), [
    ['2026-01-01', '3', '2', '4'],
    ['2026-01-02', '1', '1', '4'],
  ])
  t.match((await call('GET', '/v0/pipes/days')).json, {
    type: 'materialized',
    content: /TYPE materialized\nDATASOURCE by_day/,
    pipeline: { nodes: [{ materialized: null }, { materialized: true }] },
  })
  const lists = await call('GET', '/v0/datasources')
  t.match(JSON.stringify(lists.json), /"by_day"/)
  t.equal(await service.count('by_day_quarantine'), 0)
})

t.test('a pipe is made by JSON with a node that fills a data source', async (t) => {
  const nodes = [
    { name: 'plain', sql: 'SELECT user, n FROM events WHERE n > 0' },
    {
      name: 'kept',
      sql: 'SELECT user, n FROM plain',
      type: 'materialized',
      datasource: 'kept_rows',
      engine: 'MergeTree',
    },
  ]
  const answer = await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'in_json', nodes }), headers: json })
  t.match(pipeIn(answer), { type: 'materialized', nodes: [{ node_type: 'default' }, { node_type: 'materialized' }] })
  const before = await service.count('kept_rows')
  await views.send('events', rows)
  t.equal(await service.count('kept_rows'), before + 3)
})

t.test('a node that is there is materialized and released again, and its rows stay', async (t) => {
  await call('POST', '/v0/pipes', {
    body: JSON.stringify({ name: 'later', nodes: [{ name: 'x', sql: 'SELECT n FROM events' }] }),
  })
  const path = '/v0/pipes/later/nodes/x/materialization'
  t.equal((await call('DELETE', path)).status, 400)
  t.match(viewNodeIn(await call('POST', `${path}?datasource=numbers_kept`)), {
    materialized: true,
    node_type: 'materialized',
  })
  const again = await call('POST', `${path}?datasource=numbers_kept`)
  t.equal(again.status, 409)
  t.match(errorOf(again), /already/)
  await views.send('events', rows)
  t.equal(await service.count('numbers_kept'), 3)
  t.match(viewNodeIn(await call('DELETE', path)), { materialized: null, node_type: 'default' })
  await views.send('events', rows)
  t.equal(await service.count('numbers_kept'), 3)
})

t.test('the analysis tells what would be made, and makes nothing', async (t) => {
  await call('POST', '/v0/pipes', {
    body: JSON.stringify({
      name: 'asked',
      nodes: [{ name: 'x', sql: 'SELECT user, countState() AS c FROM events GROUP BY user' }],
    }),
  })
  for (const method of ['GET', 'POST']) {
    const answer = await call(
      method,
      '/v0/pipes/asked/nodes/x/analysis?include_datafile=true&dry_run=false&datasource=asked_mv',
    )
    t.equal(answer.status, 200, answer.text)
    t.match(answer.json, {
      analysis: {
        datasource: {
          name: 'asked_mv',
          created: true,
          columns: [
            { name: 'user', type: 'String' },
            { name: 'c', type: 'AggregateFunction(count)' },
          ],
          engine: { engine: 'AggregatingMergeTree', sorting_key: 'user' },
          datafile: /ENGINE "AggregatingMergeTree"\nENGINE_SORTING_KEY "user"/,
        },
        pipe: { datafile: /TYPE materialized\nDATASOURCE asked_mv/ },
        trigger_datasource: 'events',
      },
      warnings: [{ text: String }, { text: String }],
    })
  }
  t.equal((await call('GET', '/v0/datasources/asked_mv')).status, 404)
})

t.test('what does not fit is refused column by column, with SQL that would', async (t) => {
  await service.create('typed', 'user String, n UInt8, extra String, c AggregateFunction(count)')
  const answer = await views.tryFill(
    'misfit',
    'SELECT user, n, toNullable(user) AS extra, count() AS c, n AS other FROM events GROUP BY user, n',
    { datasource: 'typed' },
  )
  t.equal(answer.status, 400)
  const text = errorOf(answer)
  t.match(text, /column 'n' is UInt32 in the query and UInt8 in the Data Source; write toUInt8\(…\) AS n/)
  t.match(text, /column 'extra' is Nullable\(String\) in the query and String in the Data Source; write ifNull/)
  t.match(
    text,
    /column 'c' is UInt64 in the query and AggregateFunction\(count\) in the Data Source; write countState\(…\) AS c/,
  )
  t.match(text, /column 'other' of the query is not in the Data Source/)
  t.match(await call('GET', '/v0/pipes/misfit'), { json: { nodes: [{ name: 'misfit_first' }] } })
})

t.test('what cannot be a view is refused with the reason', async (t) => {
  await call('POST', '/v0/variables', { body: 'name=key&value=s3cret&type=secret' })
  const cases: readonly (readonly [sql: string, reason: RegExp])[] = [
    ['SELECT 1 AS one', /reads no Data Source/],
    ['SELECT number FROM numbers(10)', /reads numbers\(\) first/],
    ['SELECT n FROM events UNION DISTINCT SELECT n FROM events', /UNION DISTINCT, which compares rows/],
    ['SELECT n FROM (SELECT n FROM events INTERSECT SELECT n FROM events)', /through INTERSECT/],
    ['SELECT c__error FROM events_quarantine', /the quarantine of 'events'/],
    ['%\nSELECT n FROM events WHERE n > {{Int32(least, 3)}}', /takes the parameter 'least'/],
    ["%\nSELECT n FROM events WHERE user = {{tb_secret('key')}}", /uses a secret/],
  ]
  for (const [index, [sql, reason]] of cases.entries()) {
    const answer = await views.tryFill(`refused_${index}`, sql, { datasource: `refused_target_${index}` })
    t.equal(answer.status, 400, `${sql}: ${answer.text}`)
    t.match(errorOf(answer), reason, sql)
    t.equal((await call('GET', `/v0/datasources/refused_target_${index}`)).status, 404)
  }
})

t.test('rows that would come back are refused with their way', async (t) => {
  for (const name of ['round_a', 'round_b', 'round_c']) await service.create(name, 'n UInt32')
  await views.fill('a_to_b', 'SELECT n FROM round_a', { datasource: 'round_b' })
  await views.fill('b_to_c', 'SELECT n FROM round_b', { datasource: 'round_c' })
  const answer = await views.tryFill('c_to_a', 'SELECT n FROM round_c', { datasource: 'round_a' })
  t.equal(answer.status, 400)
  t.match(errorOf(answer), /round_c → round_a → round_b → round_c/)
  t.match(
    errorOf(await views.tryFill('a_to_a', 'SELECT n FROM round_a', { datasource: 'round_a' })),
    /round_a → round_a/,
  )
  await views.send('round_a', [{ n: 1 }, { n: 2 }])
  t.equal(await service.count('round_c'), 2)
})

t.test('what means something else in a view is told', async (t) => {
  const sql =
    'SELECT user, rand() AS r, now() AS at, row_number() OVER (ORDER BY n) AS i FROM events ORDER BY n LIMIT 10'
  const { warnings = [] } = await views.fill('warned', sql, { datasource: 'warned_rows' })
  const text = JSON.stringify(warnings)
  for (const part of [
    /ORDER BY sorts/,
    /LIMIT counts/,
    /window functions see/i,
    /rand\(\) gives/,
    /now\(\) is the time/,
  ]) {
    t.match(text, part)
  }
})

t.test('parameters of a populate are judged', async (t) => {
  const fill = (more: Readonly<Record<string, string>>) =>
    views.tryFill('populated', 'SELECT n FROM events', { datasource: 'populated_rows', ...more })
  for (const subset of ['0', '0.1', '-1', '1', 'many', 'NaN']) {
    const answer = await fill({ populate: 'true', populate_subset: subset })
    t.match(errorOf(answer), /greater than 0 and lower than 0.1/, subset)
  }
  t.match(errorOf(await fill({ populate_subset: '0.05' })), /needs populate=true/)
  t.match(errorOf(await fill({ populate_condition: 'n > 1' })), /needs populate=true/)
  t.match(errorOf(await fill({ populate: 'maybe' })), /true or false/)
  const condition = { populate: 'true', populate_condition: 'nothing = 1' }
  t.match(errorOf(await fill(condition)), /"populate_condition" cannot be used: Unknown .*nothing/)
  t.match(errorOf(await call('POST', '/v0/pipes/days/nodes/days_first/population')), /is not materialized/)
})

t.test('explain without a node takes the one that fills a data source', async (t) => {
  const { status, json: shape, text } = await call('GET', '/v0/pipes/days/explain')
  t.equal(status, 200, text)
  t.match(JSON.stringify(shape), /countState/)
})
