// Wrong expressions × the places that take one: no message tells what the service calls its tables, files, statements and
// users, or what the engine has beside the caller's own columns.

import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { byTier, everyNth } from '../support/tier.ts'

const service = await openTestService(t, { queryTimeMaxMs: 5_000 })
const columns = 'id UInt32, name String, at DateTime, tags Array(String), n Nullable(Int32)'
await service.create('ev', columns, { engine_sorting_key: 'id', engine_partition_key: 'toYYYYMM(at)' })
await service.append('ev', 'csv', '1,a,2026-01-01 00:00:00,[],\nx,b,c,d,e\n')

const expressions = [
  'nosuch',
  'nmae',
  '_tabl',
  '_partt',
  'nosuch(1)',
  'id + name',
  'toDate(name, name)',
  'at.x',
  'ev.nosuch',
  'arrayMap(x -> y, tags)',
  'arrayMap((x, y) -> x, tags)',
  'CAST(name AS UInt8)',
  'CAST(name AS Nosuch)',
  'tuple(1).5',
  'tuple(1).a',
  '[1, name]',
  'toUInt8(tags)',
  'plus(1)',
  'count()',
  'sum(count())',
  'arrayJoin(id)',
  'toDateTime64(at, id)',
  'quantile(id)(id)',
  'name IN (1, 2)',
  'id.name',
  'JSONExtract(name)',
  'parseDateTime(name, 1)',
  'n.null + name',
  'system.one',
  'dummy.dummy',
  'row_number() OVER (ORDER BY name)',
  'multiIf(1)',
  'intDiv(1, 0)',
  "toUInt8('x')",
  "(1, 'a') = 1",
]

const form = (values: Readonly<Record<string, string>>) => ({ body: new URLSearchParams(values).toString() })
const query = (sql: string): Promise<Answer> => service.call('POST', '/v0/sql', { body: sql })
const alter = (values: Readonly<Record<string, string>>): Promise<Answer> =>
  service.call('POST', '/v0/datasources/ev/alter', form({ ...values, dry: 'true' }))
const replay = (order: object): Promise<Answer> => {
  const headers = { 'content-type': 'application/json' }
  return service.call('POST', '/v0/datasources/ev/quarantine/replay', { body: JSON.stringify(order), headers })
}

type Place = readonly [about: string, ask: (expression: string) => Promise<Answer>]

const places: readonly Place[] = [
  ['select', (e) => query(`SELECT ${e} FROM ev`)],
  ['where', (e) => query(`SELECT id FROM ev PREWHERE id > 0 WHERE ${e}`)],
  ['join', (e) => query(`SELECT ${e} FROM ev AS a JOIN ev AS b ON a.id = b.id`)],
  ['alone', (e) => query(`SELECT ${e}`)],
  ['subquery', (e) => query(`WITH c AS (SELECT ${e} AS z FROM ev) SELECT z FROM c GROUP BY z ORDER BY z`)],
  [
    'node',
    (e) => service.call('POST', '/v0/pipes', form({ name: 'p', sql: `SELECT ${e} AS z FROM ev ORDER BY nosuch` })),
  ],
  ['default', (e) => service.create('n', `a String, id UInt8, b String DEFAULT ${e}`)],
  ['sorting', (e) => service.create('n', 'a String, id UInt8', { engine_sorting_key: `a, (${e})` })],
  ['partition', (e) => service.create('n', 'a String, id UInt8', { engine_partition_key: `(${e})` })],
  ['ttl', (e) => service.create('n', 'd Date, id UInt8', { engine_ttl: `d + (${e})` })],
  ['ttl where', (e) => service.create('n', 'd Date, id UInt8', { engine_ttl: `d DELETE WHERE ${e}` })],
  ['index', (e) => service.create('n', 'a String, id UInt8', { indexes: `i (${e}) TYPE minmax` })],
  ['alter default', (e) => alter({ schema: `${columns}, z String DEFAULT ${e}` })],
  ['alter ttl', (e) => alter({ ttl: `at + (${e})` })],
  ['alter index', (e) => alter({ indexes: `i (${e}) TYPE minmax` })],
  ['fix', (e) => replay({ fixes: { id: e }, condition: '0' })],
  ['condition', (e) => replay({ condition: `(${e}) = 'nothing'` })],
  [
    'replace condition',
    (e) => {
      const parameters = { mode: 'replace', name: 'ev', format: 'csv', replace_condition: `toYYYYMM(at) = 1 AND ${e}` }
      return service.call('POST', `/v0/datasources?${new URLSearchParams(parameters)}`, {
        body: '1,a,2026-01-01 00:00:00,[],\n',
      })
    },
  ],
]

const forbidden: readonly RegExp[] = [
  /\bdummy\b/,
  /\bsystem\./,
  /\bone\b/,
  /'_(?:part|table|database|row|block|disk|sample|distance)/,
  /__table\d/,
  /__rows/,
  /\bws_\d/,
  /\bt_[0-9a-f]{32}/,
  /r_reader|r_admin/,
  /\bIn (?:scope|query)\b|\bin (?:scope|query) SELECT/,
  /while executing/,
  /_quarantine\b/,
  /__no_column/,
  /DB::|Code: \d/,
  /\/tmp\/|0x[0-9a-f]{6}/,
  /127\.0\.0\.1|localhost/,
]

t.test('no message for a wrong expression tells of the inside of the service', async (t) => {
  let refusedCount = 0
  const step = byTier({ quick: 10, full: 4, soak: 1 })
  for (const [place, [about, ask]] of places.entries()) {
    for (const expression of everyNth(expressions, step, place)) {
      const { status, json } = await ask(expression)
      if (status < 400) continue
      refusedCount += 1
      // Every answer of an error has its message there.
      const { error } = json as { readonly error: string }
      t.ok(status < 500, `${about}: ${expression}: ${status} ${error}`)
      const told = error.replaceAll(expression, '')
      const found = forbidden.find((pattern) => pattern.test(told))
      t.equal(found, undefined, `${about}: ${expression}: ${error}`)
    }
  }
  t.ok(refusedCount > 400 / step, String(refusedCount))
})
