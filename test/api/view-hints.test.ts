// What is advised to the author of a materialized node whose query the database refuses.

import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const pipes = await openPipeService(t)
const { service, call } = pipes
const views = new ViewCalls(service)
await service.create(
  'states',
  'user String, total AggregateFunction(sum, UInt32), q AggregateFunction(quantiles(0.5), UInt32)',
)
await service.create('visits', 'user String, hits UInt64')

t.test('a refused query has a hint of what was meant', async (t) => {
  const cases: readonly (readonly [sql: string, hint: RegExp | undefined])[] = [
    ['SELECT day, countstate() AS c FROM events GROUP BY day', /^Did you mean 'countState'\?$/],
    ['SELECT day, SUMSTATE(n) AS c FROM events GROUP BY day', /^Did you mean 'sumState'\?$/],
    ['SELECT day, sumsimplestateif(n, n > 1) AS c FROM events GROUP BY day', /^Did you mean 'sumSimpleStateIf'\?$/],
    ['SELECT tostartofhour(day) AS c FROM events', /^Did you mean 'toStartOfHour'\?$/],
    ['SELECT user, n FROM events FINAL', /^FINAL is for engines that merge rows .* leave it out$/],
    ['SELECT user, n FROM (SELECT * FROM events FINAL)', /^FINAL is for engines/],
    [
      'SELECT user, sum(total) AS t FROM states GROUP BY user',
      /states of sum\(\): sumMerge\(…\) .* sumMergeState\(…\)/,
    ],
    ['SELECT upper(user) AS user, avg(total) AS t FROM states GROUP BY user', /states of sum\(\): sumMerge/],
    ['SELECT user, max(q) AS t FROM states GROUP BY user', /states of quantiles\(\): quantilesMerge/],
    ['SELECT user, total + 1 AS t FROM states', /states of sum\(\): finalizeAggregation\(…\)/],
    ['SELECT user, sumMerge(n) AS t FROM events GROUP BY user', /^Functions with -Merge take columns of states/],
    [
      'SELECT user, toString(n) AS n, sum(n) AS total FROM events GROUP BY user, n',
      /'n' is the expression .* events\.n$/,
    ],
    ['SELECT sum(n) AS n, max(n) AS m FROM events', /'n' is the expression that has it as its alias/],
    ['SELECT day, sumState(n) AS n, maxState(n) AS m FROM events GROUP BY day', /'n' is the expression/],
    ['SELECT length(user) AS user, upper(user) AS u FROM events', /'user' is the expression/],
    ['SELECT sum(user) AS total FROM events', undefined],
  ]
  for (const [sql, hint] of cases) {
    const answer = await views.tryFill('hinted', sql, { datasource: 'hinted_rows' })
    t.equal(answer.status, 400, `${sql}: ${answer.text}`)
    const told = (answer.json as { readonly hint?: string }).hint
    if (hint === undefined) t.equal(told, undefined, sql)
    else t.match(told, hint, sql)
    const asked = await call('POST', '/v0/sql', { body: sql })
    t.equal((asked.json as { readonly hint?: string }).hint, told, `${sql}, as a query`)
  }
})

t.test('columns that are added to what a view reads or fills leave it what it is, or are refused', async (t) => {
  await service.create('starred', 'user String, n UInt32')
  await views.fill('star', 'SELECT * FROM starred', { datasource: 'star_rows' })
  await views.fill('parts', 'SELECT user, n FROM starred UNION ALL SELECT user, toUInt32(hits) FROM visits', {
    datasource: 'part_rows',
  })
  const alter = (name: string, parameters: Readonly<Record<string, string>>) =>
    call('POST', `/v0/datasources/${name}/alter`, { body: new URLSearchParams(parameters).toString() })
  t.equal((await alter('starred', { schema: 'user String, n UInt32, extra Date' })).status, 200)
  t.equal((await alter('star_rows', { schema: 'user String, n UInt32, note String' })).status, 200)
  t.equal((await alter('starred', { ttl: "toDate('2100-01-01') + toIntervalDay(n)" })).status, 200)
  await views.send('starred', [{ user: 'a', n: 1, extra: '2026-01-01' }])
  t.same(await service.rows('SELECT user, n, note FROM star_rows'), [['a', '1', '']])
  t.same(await service.rows('SELECT user, n FROM part_rows'), [['a', '1']])
  for (const [name, schema, reason] of [
    ['starred', 'user String', /columns cannot be dropped/],
    ['starred', 'user String, n UInt64, extra Date', /cannot become UInt64/],
    ['star_rows', 'user String, note String', /columns cannot be dropped/],
  ] as const) {
    const refused = await alter(name, { schema })
    t.equal(refused.status, 400)
    t.match(refused.text, reason)
  }
  await service.create('sided', 'user String, label String')
  const joined =
    'SELECT user, hits, label FROM visits LEFT JOIN sided USING user UNION ALL SELECT user, n, toString(n) FROM starred'
  await views.fill('joined', joined, { datasource: 'joined_rows' })
  const ambiguous = await alter('visits', { schema: 'user String, hits UInt64, label Date' })
  t.equal(ambiguous.status, 400, ambiguous.text)
  t.match(ambiguous.text, /Materialized View joined\.joined_view would/)
})

t.test('a parameter that says nothing of a node and its target is told, with the one that was meant', async (t) => {
  await service.create('typed', 'n UInt32')
  await pipes.create('typo', 'SELECT n FROM typed', 'SELECT n FROM n0')
  for (const [path, typo, meant] of [
    ['nodes?type=materialized&name=m&datasource=typed_1', 'popluate=true', 'populate'],
    ['nodes/n0/materialization?datasource=typed_2', 'overide_datasource=true', 'override_datasource'],
  ] as const) {
    const body = path.startsWith('nodes?') ? { body: 'SELECT n FROM typed' } : {}
    const answer = await service.call('POST', `/v0/pipes/typo/${path}&engine=MergeTree&${typo}`, body)
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('x-warning'), `Parameter '${typo.split('=')[0]}' is not known; did you mean '${meant}'?`)
  }
})
