// Rows that are older than the TTL of their data source when they come.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'

const parquet = await writeParquetFiles({
  rows: { sql: "SELECT toUInt32(number) AS n, '2020-01-01' AS day, 'x' AS kind FROM numbers(3)" },
})
const service = await openTestService(t)

const schema = 'n UInt32, day Date, kind String'
const today = new Date().toISOString().slice(0, 10)

function rowsOf(days: readonly string[]): string {
  return days.map((day, index) => `${index},${day},${index % 2 === 0 ? 'x' : 'y'}\n`).join('')
}

t.test('an import whose rows are past the TTL says so, and how many they are', async (t) => {
  const ttl = 'day + toIntervalDay(30)'
  const cases = [
    [
      'all of them',
      { engine_ttl: ttl },
      ['2020-01-01', '2020-01-02'],
      /^2 of the imported rows are past the TTL of Data Source "aged" \(day \+ toIntervalDay\(30\)\)/,
    ],
    ['one of one', { engine_ttl: ttl }, ['2020-01-01'], /^1 of the imported rows is past the TTL/],
    ['none', { engine_ttl: ttl }, [today, today], null],
    [
      'some',
      { engine_ttl: ttl },
      ['2020-01-01', today, '2020-01-01'],
      /^Between 1 and 2 of the imported rows are past/,
    ],
    ['one of two', { engine_ttl: ttl }, ['2020-01-01', today], /^1 of the imported rows is past/],
    [
      'by partition',
      { engine_ttl: ttl, engine_partition_key: 'day' },
      ['2020-01-01', '2020-01-02', today],
      /^2 of the imported/,
    ],
    [
      'by condition',
      { engine_ttl: `${ttl} WHERE kind = 'x'` },
      ['2020-01-01', '2020-01-01'],
      /^Between 1 and 2 of the/,
    ],
    ['another condition', { engine_ttl: `${ttl} WHERE kind = 'z'` }, ['2020-01-01', '2020-01-01'], null],
    ['whole parts alone', { engine_ttl: ttl, engine_settings: 'ttl_only_drop_parts = 1' }, ['2020-01-01', today], null],
    ['no TTL', {}, ['2020-01-01'], null],
  ] as const
  for (const [what, more, days, warning] of cases) {
    t.equal((await service.create('aged', schema, { engine: 'MergeTree', ...more })).status, 200, what)
    const answer = await service.append('aged', 'csv', rowsOf(days))
    t.match(answer, { status: 200, json: { error: false, imported_rows: days.length } }, what)
    // The answer of an import.
    const { warnings } = answer.json as { readonly warnings?: readonly string[] }
    t.match(warnings, warning === null ? undefined : [warning], what)
    // The next import has no part in it.
    const next = await service.append('aged', 'csv', rowsOf([today]))
    t.notOk(Object.hasOwn(next.json as object, 'warnings'), `${what}, then another`)
    await service.call('DELETE', '/v0/datasources/aged')
  }
})

t.test('so it is in all ways, and rows of a replace are counted as what they are', async (t) => {
  const keys = {
    engine: 'MergeTree',
    engine_partition_key: 'kind',
    engine_sorting_key: 'n',
    engine_ttl: 'day + INTERVAL 1 MONTH',
  }
  await service.create('ways', schema, keys)
  const warnings = [
    /of the imported rows are past the TTL of Data Source "ways" \(day \+ INTERVAL 1 MONTH\), and are deleted/,
  ]
  const old = rowsOf(['2020-01-01', '2020-01-01', '2020-01-01', today])
  const form = new FormData()
  form.append('csv', new Blob([Uint8Array.from(parquet('rows'))]), 'rows.parquet')
  const bodies = [
    ['mode=append', form],
    ['mode=append&format=ndjson', '{"n":1,"day":"2020-01-01","kind":"x"}\n{"n":2,"day":"2020-01-01","kind":"x"}\n'],
    ['mode=replace', old],
    ['mode=append&progress=true', old],
  ] as const
  for (const [order, body] of bodies) {
    const { status, text } = await service.call('POST', `/v0/datasources?name=ways&${order}`, { body })
    t.equal(status, 200, text)
    t.match(JSON.parse(text.trim().split('\n').at(-1) ?? ''), { warnings }, order)
  }
  const condition = encodeURIComponent("kind = 'x'")
  const path = `/v0/datasources?name=ways&mode=replace&replace_condition=${condition}`
  const replaced = await service.call('POST', path, { body: old })
  t.match(replaced, { status: 200, json: { imported_rows: 2, unmatched_rows: 2, warnings } }, replaced.text)
})
