// Filters before they become a token's.

import t from 'tap'
import { openFilteredQuery } from '../support/query/filtered-query.ts'

const { store, workspace, query } = await openFilteredQuery(t)
const { checkFilter } = query
const columns =
  "id UInt64, tenant String, n Nullable(Int32), day Date, ts DateTime64(3), tags Array(String), m Map(String, UInt8), body JSON, l LowCardinality(String), e Enum8('x' = 1), `a.b` UInt8, `order` String, __filtered_rows String"
const events = { kind: 'datasource', id: workspace.addDataSource('events', columns).id } as const
await store.command(`CREATE TABLE ws_0001.${events.id} (${columns}) ENGINE = MergeTree ORDER BY id`)
const daily = {
  kind: 'pipe',
  id: workspace.addPipe(
    'daily',
    { raw: 'SELECT * FROM events', all: '% SELECT day AS d, count() AS c, {{Int32(x, 3)}} AS x FROM raw GROUP BY d' },
    'all',
  ).id,
} as const
const open = { kind: 'pipe', id: workspace.addPipe('open', { all: '% SELECT * FROM {{table(x)}}' }).id } as const
const empty = { kind: 'pipe', id: workspace.addPipe('empty', {}).id } as const

t.test('a condition over the columns is a filter', async (t) => {
  for (const filter of [
    "tenant = 'a'",
    "tenant IN ('a', 'b') AND NOT empty(tags) -- two of them",
    "`tenant` = 'a' AND \"order\" != ''",
    'n > 3 OR n IS NULL',
    'ts > now() - INTERVAL 1 DAY',
    "day BETWEEN toDate('2024-01-01') AND today()",
    'has(tags, tenant)',
    "arrayExists(day -> day = 'x', tags)",
    "m['x'] = 1",
    'toUInt8(body.flag::UInt8) = 1',
    "l = 'x' AND e = 'x'",
    'a.b = 1 AND `a.b` < 4',
    "dateDiff('day', ts, now()) < 7",
    'id',
    '1 = 0',
    `tenant IN (${Array.from({ length: 700 }, (_, index) => `'t${index}'`).join(', ')})`,
  ]) {
    await t.resolves(checkFilter(events, filter), filter)
  }
  await t.resolves(checkFilter(daily, "d > '2024-01-01' AND c > 1 AND x = 3"))
})

t.test('anything else is refused with the reason, and the place where it is known', async (t) => {
  const cases: readonly (readonly [filter: string, message: RegExp])[] = [
    ['', /expected|empty|end/i],
    ['tenant = ', /./],
    ["tenant = 'a') OR (1 = 1", /line 1, column 13/],
    ["tenant =\n 'a';", /line 2, column 5/],
    ['tenantt = 1', /'tenantt'.*line 1, column 1/],
    ["tenant = 'a' AND events.id = 1", /'events\.id'.*column 18/],
    ['id IN (SELECT id FROM events)', /can not read a table/],
    ['id IN events', /can not read a table/],
    ['exists(SELECT 1)', /./],
    ["joinGet('j', 'n', id) = 1", /./],
    ["file('/etc/passwd') = ''", /'file' is not/],
    ['count() > 1', /aggregate|ILLEGAL_AGGREGATION/i],
    ['sum(id) > 1', /aggregate|ILLEGAL_AGGREGATION/i],
    ['row_number() OVER () = 1', /./],
    ['rand() < 5', /rand\(\)/],
    ['currentUser() = tenant', /currentUser/],
    ['user = tenant', /'user'/],
    ['throwIf(id = 1) = 0', /throwIf\(\)/],
    ['arrayJoin(tags) = tenant', /arrayJoin/],
    ["(tenant AS t) = 'a'", /AS/],
    ['*', /./],
    ['tenant = {x:String}', /./],
    ["tenant = 'a' FORMAT CSV", /./],
    ["tenant = 'a' SETTINGS max_threads = 1", /./],
    ['tenant', /condition|filter/i],
    ['tuple(1)', /condition|filter/i],
    ["'1'", /condition|filter/i],
    ['1.5', /Float64/],
    ["id = 'x'", /Cannot convert string 'x'/],
    ['tenant = 5', /supertype/],
    ["tags = 'a'", /Array/],
    ["toDate('x') = day", /parse/],
    ['nosuchfunction(id) = 1', /nosuchfunction/],
    ['_table = tenant', /_table/],
    [`tenant = '${'x'.repeat(9_000)}'`, /8192 bytes/],
  ]
  for (const [filter, message] of cases) {
    await t.rejects(checkFilter(events, filter), { code: 'FILTER_INVALID', status: 400, message }, filter.slice(0, 60))
    const told = await checkFilter(events, filter).catch(String)
    t.notMatch(told, /__filtered|t_[0-9a-f]{32}|ws_0001/, filter.slice(0, 60))
  }
})

t.test('what a pipe does not give is no column of a filter on it', async (t) => {
  await t.rejects(checkFilter(daily, "tenant = 'a'"), { code: 'FILTER_INVALID', message: /'tenant'.*column 1/ })
  await t.rejects(checkFilter(open, 'id = 1'), { code: 'FILTER_INVALID' })
  await t.rejects(checkFilter(empty, 'id = 1'), { code: 'FILTER_INVALID' })
  await t.rejects(checkFilter({ kind: 'pipe', id: 't_0' }, 'id = 1'), { code: 'FILTER_INVALID' })
  await t.rejects(checkFilter({ kind: 'datasource', id: 't_0' }, 'id = 1'), { code: 'FILTER_INVALID' })
})
