// Views as projects have them, each with a data source made for it: what it holds is what the same query gives over the rows.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const schema = `ts DateTime64(3), user String, country LowCardinality(String), page Nullable(String), ms UInt32,
  tags Array(String), attributes Map(String, String), doc JSON, kind Enum8('view' = 1, 'buy' = 2), price Decimal(18, 4), ok Bool`

interface ViewKind {
  readonly name: string
  /** Of the node. */
  readonly sql: string
  /** Over the data source that it fills. */
  readonly found: string
  /** Over the rows. */
  readonly expected: string
  /** What of its engine must be so. */
  readonly engine: object
}

const kinds: readonly ViewKind[] = [
  {
    name: 'by_hour',
    sql: 'SELECT toStartOfHour(ts) AS hour, country, countState() AS hits, uniqState(user) AS users FROM hits GROUP BY hour, country',
    found:
      'SELECT hour, country, countMerge(hits), uniqMerge(users) FROM by_hour GROUP BY hour, country ORDER BY hour, country',
    expected:
      'SELECT toStartOfHour(ts) AS hour, country, count(), uniq(user) FROM hits GROUP BY hour, country ORDER BY hour, country',
    engine: { engine: 'AggregatingMergeTree', sorting_key: 'hour, country' },
  },
  {
    name: 'nullable_key',
    sql: 'SELECT page, sumSimpleState(ms) AS total FROM hits GROUP BY page',
    found: 'SELECT page, sum(total) FROM nullable_key GROUP BY page ORDER BY page',
    expected: 'SELECT page, sum(ms) FROM hits GROUP BY page ORDER BY page',
    engine: { engine: 'AggregatingMergeTree', sorting_key: 'page', engine_full: /allow_nullable_key = 1/ },
  },
  {
    name: 'latest',
    sql: 'SELECT user, argMaxState(page, ts) AS page, maxSimpleState(ts) AS last FROM hits GROUP BY user',
    found: 'SELECT user, argMaxMerge(page), max(last) FROM latest GROUP BY user ORDER BY user',
    expected: 'SELECT user, argMax(page, ts), max(ts) FROM hits GROUP BY user ORDER BY user',
    engine: { engine: 'AggregatingMergeTree', sorting_key: 'user' },
  },
  {
    name: 'latency',
    sql: 'SELECT country, quantilesTimingState(0.5, 0.9)(ms) AS q, avgState(ms) AS mean FROM hits GROUP BY country',
    found:
      'SELECT country, quantilesTimingMerge(0.5, 0.9)(q), avgMerge(mean) FROM latency GROUP BY country ORDER BY country',
    expected: 'SELECT country, quantilesTiming(0.5, 0.9)(ms), avg(ms) FROM hits GROUP BY country ORDER BY country',
    engine: { engine: 'AggregatingMergeTree' },
  },
  {
    name: 'funnel',
    sql: "SELECT user, windowFunnelState(3600)(toDateTime(ts), kind = 'view', kind = 'buy') AS steps FROM hits GROUP BY user",
    found: 'SELECT user, windowFunnelMerge(3600)(steps) FROM funnel GROUP BY user ORDER BY user',
    expected:
      "SELECT user, windowFunnel(3600)(toDateTime(ts), kind = 'view', kind = 'buy') FROM hits GROUP BY user ORDER BY user",
    engine: { engine: 'AggregatingMergeTree' },
  },
  {
    name: 'sessions',
    sql: 'SELECT user, toDate(ts) AS day, minSimpleState(ts) AS first, maxSimpleState(ts) AS last, countState() AS hits FROM hits GROUP BY user, day',
    found:
      'SELECT user, day, min(first), max(last), countMerge(hits) FROM sessions GROUP BY user, day ORDER BY user, day',
    expected:
      'SELECT user, toDate(ts) AS day, min(ts), max(ts), count() FROM hits GROUP BY user, day ORDER BY user, day',
    engine: { sorting_key: 'user, day' },
  },
  {
    name: 'tagged',
    sql: 'SELECT tag, countState() AS hits FROM hits ARRAY JOIN tags AS tag GROUP BY tag',
    found: 'SELECT tag, countMerge(hits) FROM tagged GROUP BY tag ORDER BY tag',
    expected: 'SELECT tag, count() FROM hits ARRAY JOIN tags AS tag GROUP BY tag ORDER BY tag',
    engine: { sorting_key: 'tag' },
  },
  {
    name: 'plain',
    sql: "SELECT ts, user, attributes, tags, doc, attributes['plan'] AS plan, price, kind, ok FROM hits WHERE kind = 'buy'",
    found: 'SELECT ts, user, attributes, tags, doc, plan, price, kind, ok FROM plain ORDER BY ts, user',
    expected:
      "SELECT ts, user, attributes, tags, doc, attributes['plan'], price, kind, ok FROM hits WHERE kind = 'buy' ORDER BY ts, user",
    engine: { engine: 'MergeTree' },
  },
  {
    name: 'from_json',
    sql: 'SELECT doc.device.os::String AS os, countState() AS hits FROM hits GROUP BY os',
    found: 'SELECT os, countMerge(hits) FROM from_json GROUP BY os ORDER BY os',
    expected: 'SELECT doc.device.os::String AS os, count() FROM hits GROUP BY os ORDER BY os',
    engine: { sorting_key: 'os' },
  },
  {
    name: 'common',
    sql: 'WITH slow AS (SELECT country, ms FROM hits WHERE ms > 50), 10 AS factor SELECT country, sumState(ms * factor) AS s FROM slow GROUP BY country',
    found: 'SELECT country, sumMerge(s) FROM common GROUP BY country ORDER BY country',
    expected: 'SELECT country, sum(ms * 10) FROM hits WHERE ms > 50 GROUP BY country ORDER BY country',
    engine: { engine: 'AggregatingMergeTree' },
  },
  {
    name: 'template',
    sql: "%\n{% set wanted = ['es', 'pt'] %}\nSELECT user, ms FROM hits WHERE country IN {{Array(wanted, 'String')}}",
    found: 'SELECT user, ms FROM template ORDER BY user, ms',
    expected: "SELECT user, ms FROM hits WHERE country IN ('es', 'pt') ORDER BY user, ms",
    engine: { engine: 'MergeTree' },
  },
  {
    name: 'money',
    sql: 'SELECT country, sumSimpleState(price) AS revenue, groupUniqArrayState(user) AS buyers FROM hits WHERE ok GROUP BY country',
    found:
      'SELECT country, sum(revenue), arraySort(groupUniqArrayMerge(buyers)) FROM money GROUP BY country ORDER BY country',
    expected:
      'SELECT country, sum(price), arraySort(groupUniqArray(user)) FROM hits WHERE ok GROUP BY country ORDER BY country',
    engine: { engine: 'AggregatingMergeTree' },
  },
]

function rowOf(index: number): object {
  return {
    ts: new Date(Date.UTC(2026, 0, 1 + (index % 3), index % 24, index % 60, 0, index)).toISOString(),
    user: `u${index % 7}`,
    country: ['es', 'pt', 'fr'][index % 3],
    page: index % 4 === 0 ? null : `/p/${index % 5}`,
    ms: (index * 37) % 200,
    tags: index % 2 === 0 ? ['a', `t${index % 3}`] : [],
    attributes: { plan: index % 2 === 0 ? 'free' : 'paid' },
    doc: { device: { os: ['linux', 'mac'][index % 2] }, n: index },
    kind: index % 3 === 0 ? 'buy' : 'view',
    price: index / 4,
    ok: index % 5 !== 0,
  }
}

t.test('each kind of view holds what its query gives', { timeout: 240_000 }, async (t) => {
  const service = await openTestService(t)
  const views = new ViewCalls(service)
  const created = await service.create('hits', schema.replaceAll('\n', ' '))
  t.equal(created.status, 200, created.text)
  for (const { name, sql } of kinds)
    t.match(await views.fill(`of_${name}`, sql, { datasource: name }), { created_datasource: true })
  for (let block = 0; block < 6; block += 1) {
    await views.send(
      'hits',
      Array.from({ length: 40 }, (_, n) => rowOf(block * 40 + n)),
    )
  }
  for (const { name, found, expected, engine } of kinds) {
    t.same(await service.rows(found), await service.rows(expected), name)
    t.match((await service.call('GET', `/v0/datasources/${name}`)).json, { engine }, name)
  }
})
