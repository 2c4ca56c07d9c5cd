// Rows for which the engine refuses a whole block, with every code that one row can bring about: what came in is what is stored
// and what is set aside, and nothing waits.

import t, { type Test } from 'tap'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { byTier, everyNth } from '../support/tier.ts'

const fileOf = await writeParquetFiles({
  good: { sql: "SELECT '1 s' AS x" },
  bad: { sql: "SELECT arrayJoin(['1 s', 'zz']) AS x" },
})
const service = await openTestService(t, { eventsFlushIdleMs: 5 })

/** A DEFAULT, a text for which it fails, and one that it takes. */
const defaults: readonly (readonly [expression: string, bad: string, good: string])[] = [
  ['toString(parseTimeDelta(x))', 'zz', '1 s'],
  ['formatQuery(x)', 'b', 'SELECT 1'],
  ["decrypt('aes-128-ecb', x, '0123456789abcdef')", 'zz', ''],
  ["replaceRegexpAll('a', x, 'b')", '(', 'a'],
  ["toString(match('a', x))", '(', 'a'],
  ['toString(readWKTPoint(x))', 'zz', 'POINT (1 2)'],
  ["toString(CAST(x, 'Array(UInt8)'))", 'zz', '[1]'],
  ['toString(intDiv(1, toInt32(x)))', '0', '1'],
  ['toString(x::DateTime)', 'zz', '2020-01-01 00:00:00'],
  ['toString(toFixedString(x, 2))', 'zzz', 'zz'],
  ["printf(x, 'a')", '%s%s', '%s'],
  ["toString(finalizeAggregation(CAST(unhex(x), 'AggregateFunction(groupBitmap, UInt32)')))", 'ff', '0000'],
]

async function stand(of: TestService, name: string): Promise<readonly [stored: number, setAside: number]> {
  const stored = await of.count(name)
  return [stored, await of.count(`${name}_quarantine`)]
}

t.test('one row that its DEFAULT refuses stops no data source, whatever the error is', async (t) => {
  const step = byTier({ quick: 4, full: 2, soak: 1 })
  for (const [index, [expression, bad, good]] of everyNth(defaults, step).entries()) {
    const name = `one_${index}`
    const made = await service.create(name, `x String \`json:$.x\`, d String DEFAULT ${expression}`)
    t.match(made, { status: 200 }, made.text)
    const lines = [good, bad, good, bad, good].map((x) => JSON.stringify({ x })).join('\n')
    t.match(await service.events(name, lines, { wait: 'true' }), { status: 200 }, expression)
    t.same(await stand(service, name), [3, 2], expression)
    t.match(await service.events(name, JSON.stringify({ x: bad }), { wait: 'true' }), { status: 200 }, expression)
    t.same(await stand(service, name), [3, 3], `${expression}: a row alone`)
    t.match(await service.call('POST', `/v0/datasources/${name}/truncate`), { status: 205 }, expression)
    await service.call('DELETE', `/v0/datasources/${name}`)
  }
})

t.test('an import with such a row sets it aside and says why, and an import without is stored', async (t) => {
  await service.create('imported', 'x String, d String DEFAULT toString(parseTimeDelta(x))')
  const csv = 'x\n1 s\nzz\n'
  const ndjson = '{"x":"1 s"}\n{"x":"zz"}\n'
  const reason = /parseTimeDelta|Expected|expression/
  const json = { imported_rows: 1, quarantine_rows: 1, warnings: [reason] }
  const refused = { status: 200, json }
  t.match(await service.append('imported', 'csv', csv), {
    status: 200,
    json: { ...json, warnings: [/header/, reason] },
  })
  t.match(await service.create('imported_json', 'x String `json:$.x`, d String DEFAULT toString(parseTimeDelta(x))'), {
    status: 200,
  })
  t.match(await service.append('imported_json', 'ndjson', ndjson), refused)
  const send = (body: Uint8Array) =>
    service.call('POST', '/v0/datasources?mode=append&name=imported_json&format=parquet', { body })
  t.match(await send(fileOf('bad')), refused)
  t.same(await stand(service, 'imported'), [1, 1])
  t.same(await stand(service, 'imported_json'), [2, 2])
  t.match(await service.append('imported', 'csv', 'x\n1 s\n'), { status: 200 })
  t.match(await service.append('imported_json', 'ndjson', '{"x":"1 s"}\n'), { status: 200 })
  t.match(await send(fileOf('good')), { status: 200 })
  t.same(
    [await stand(service, 'imported'), await stand(service, 'imported_json')],
    [
      [2, 1],
      [4, 2],
    ],
  )
})

async function replay(t: Test, name: string, values: Readonly<Record<string, string>>): Promise<void> {
  const answer = await service.call('POST', `/v0/datasources/${name}/quarantine/replay?${new URLSearchParams(values)}`)
  t.equal(answer.status, 200, answer.text)
}

t.test('a replay over such rows stores the others, and what comes next is not held up', async (t) => {
  const schema = 'x String `json:$.x`, n UInt8 `json:$.n`, d String DEFAULT toString(parseTimeDelta(x))'
  await service.create('replayed', schema)
  const bad = Array.from({ length: 40 }, (_, n) => JSON.stringify({ x: n % 8 === 3 ? 'zz' : '1 s', n: 'many' }))
  t.match(await service.events('replayed', bad.join('\n'), { wait: 'true' }), { status: 200 })
  t.same(await stand(service, 'replayed'), [0, 40])
  await replay(t, 'replayed', { 'fixes.n': "'1'" })
  t.same(await stand(service, 'replayed'), [35, 5])
  await replay(t, 'replayed', { 'fixes.n': "'1'", 'fixes.x': "'2 s'" })
  t.same(await stand(service, 'replayed'), [40, 0])
  t.match(await service.call('POST', '/v0/datasources/replayed/truncate'), { status: 205 })
})

t.test('rows that are refused by the thousand are set aside in a bounded number of trials', async (t) => {
  const rowCount = byTier({ quick: 30, full: 1_000, soak: 3_000 })
  const rowsPerBad = Math.min(500, rowCount)
  await service.create('many', 'x String `json:$.x`, d String DEFAULT toString(parseTimeDelta(x))')
  const lines = Array.from({ length: rowCount }, () => '{"x":"zz"}').join('\n')
  t.match(await service.events('many', lines, { wait: 'true' }), { status: 200 })
  t.same(await stand(service, 'many'), [0, rowCount])
  const mixed = Array.from({ length: rowCount }, (_, n) =>
    n % rowsPerBad === rowsPerBad / 2 ? '{"x":"zz"}' : '{"x":"1 s"}',
  ).join('\n')
  t.match(await service.events('many', mixed, { wait: 'true' }), { status: 200 })
  t.same(await stand(service, 'many'), [rowCount - rowCount / rowsPerBad, rowCount + rowCount / rowsPerBad])
})
