// Texts that the engine parses itself, against the whole service: no file, no setting of the server, no name of the machine is
// told, and nothing waits.

import { mkdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())
const outside = join(directory.path, 'outside')
await mkdir(outside)
const path = join(outside, 'canary.txt')
await writeFile(path, 'SECRET_FILE')

const service = await openTestService(t)
const canaries = ['SECRET_FILE', 'SECRET_ROW', hostname()]

function assertSafe(t: Test, about: string, text: string): void {
  const found = canaries.find((canary) => text.includes(canary))
  t.equal(found, undefined, `${about}: ${text.slice(0, 300)}`)
}

t.test('a structure text reads no file and calls nothing', async (t) => {
  const calls = [
    `file('${path}')`,
    `arrayStringConcat(arrayMap(file, ['${path}']))`,
    'hostName()',
    "toString(getServerSetting('max_concurrent_queries'))",
    'toString(sleep(2))',
    'currentUser()',
  ]
  for (const call of calls) {
    const text = quote(`x UInt8, a String ALIAS ${call}`)
    for (const sql of [
      `SELECT a FROM values(${text}, 1)`,
      `SELECT a FROM values(${quote(`x UInt8, a String DEFAULT ${call}`)}, 1)`,
      `SELECT a FROM generateRandom(${text}) LIMIT 1`,
      `SELECT a FROM null(${text})`,
      `WITH ${text} AS s SELECT a FROM values(s, 1)`,
      `SELECT a FROM view(SELECT a FROM values(${text}, 1))`,
      `SELECT (SELECT a FROM values(${text}, 1))`,
    ]) {
      const { status, text: answer } = await service.call('POST', '/v0/sql', { body: sql })
      t.equal(status, 400, sql)
      assertSafe(t, sql, answer)
    }
  }
})

const hostileExpressions = [
  `file('${path}')`,
  `arrayStringConcat(arrayMap(file, ['${path}']))`,
  `arrayStringConcat(arrayMap(\`file\`, ['${path}']))`,
  `arrayStringConcat(arrayMap(x -> file(x), ['${path}']))`,
  `arrayStringConcat(arrayFilter(x -> sleep(2) = 0, ['x']))`,
  `toString(arrayExists(sleep, [2]))`,
  `toString(mapApply((k, v) -> (k, file(v)), map('a', '${path}')))`,
  'hostName()',
  "toString(arrayMap(getServerPort, ['tcp_port']))",
  "toString(getServerSetting('max_concurrent_queries'))",
  "arrayStringConcat(arrayMap(getMacro, ['x']))",
  "dictGet('d', 'x', 1)",
  "arrayStringConcat(arrayMap(catboostEvaluate, ['x'], [1]))",
]

t.test('no expression of a definition reads a file or calls what a query may not', async (t) => {
  let count = 0
  for (const expression of hostileExpressions) {
    const places: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      DEFAULT: { schema: `a String, b String DEFAULT ${expression}` },
      'DEFAULT in brackets': { schema: `a String, b String DEFAULT concat((${expression}), 'x')` },
      'DEFAULT by way of CASE': { schema: `a String, b String DEFAULT CASE WHEN a = '' THEN ${expression} END` },
      sorting: { schema: 'a String', engine: 'MergeTree', engine_sorting_key: `a, (${expression})` },
      partition: { schema: 'a String', engine: 'MergeTree', engine_partition_key: expression },
      primary: { schema: 'a String', engine: 'MergeTree', engine_primary_key: `(${expression}, a)` },
      sampling: { schema: 'a String', engine: 'MergeTree', engine_sampling_key: `cityHash64(${expression})` },
      ttl: { schema: 'a String, d Date', engine: 'MergeTree', engine_ttl: `d + length(${expression})` },
      'ttl where': { schema: 'a String, d Date', engine: 'MergeTree', engine_ttl: `d DELETE WHERE a = ${expression}` },
      index: { schema: 'a String', indexes: `i concat(a, ${expression}) TYPE minmax` },
      'index type': { schema: 'a String', indexes: `i a TYPE text(tokenizer = ${expression})` },
      type: { schema: `a AggregateFunction(topK(${expression}), String)` },
      codec: { schema: `a String CODEC(ZSTD(${expression}))` },
    }
    for (const [place, parameters] of Object.entries(places)) {
      const { schema = '', ...more } = parameters
      count += 1
      const answer = await service.create(`place_${count}`, schema, more)
      t.equal(answer.status, 400, `${place}: ${expression}: ${answer.text}`)
      assertSafe(t, `${place}: ${expression}`, answer.text)
    }
  }
})

t.test('neither does an alter, nor a replay', async (t) => {
  await service.create('kept', 'a UInt8, d Date', { engine: 'MergeTree', engine_sorting_key: 'a' })
  await service.append('kept', 'csv', 'a,d\nx,2020-01-01\n')
  for (const expression of hostileExpressions) {
    const orders: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['alter', { schema: `a UInt8, d Date, b String DEFAULT ${expression}` }],
      ['alter', { ttl: `d + length(${expression})` }],
      ['alter', { indexes: `i (${expression}) TYPE minmax` }],
    ]
    for (const [path, body] of orders) {
      const answer = await service.call('POST', `/v0/datasources/kept/${path}`, {
        body: new URLSearchParams(body).toString(),
      })
      t.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`)
      assertSafe(t, JSON.stringify(body), answer.text)
    }
    for (const order of [{ fixes: { a: expression } }, { condition: `a = ${expression}` }]) {
      const answer = await service.call('POST', '/v0/datasources/kept/quarantine/replay', {
        body: JSON.stringify(order),
        headers: { 'content-type': 'application/json' },
      })
      t.equal(answer.status, 400, `${JSON.stringify(order)}: ${answer.text}`)
      assertSafe(t, JSON.stringify(order), answer.text)
    }
  }
  t.equal(await service.count('kept'), 0)
  t.equal(await service.count('kept_quarantine'), 1)
})

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
