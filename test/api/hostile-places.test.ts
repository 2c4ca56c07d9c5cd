// Every place of a text that the engine parses × every function that must not run × every way to write the call, drawn by a seed:
// each is refused, and no answer tells of a file, the server or the machine.

import { mkdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())
await mkdir(join(directory.path, 'outside'))
const path = join(directory.path, 'outside', 'canary.txt')
await writeFile(path, 'SECRET_FILE')
const service = await openTestService(t)
const canaries = ['SECRET_FILE', hostname()]

type Call = readonly [name: string, argument: string]

const functions: readonly [Call, ...Call[]] = [
  ['file', `'${path}'`],
  ['hostName', ''],
  ['fqdn', ''],
  ['sleep', '2'],
  ['sleepEachRow', '2'],
  ['getServerSetting', "'max_concurrent_queries'"],
  ['getSetting', "'max_threads'"],
  ['getMergeTreeSetting', "'index_granularity'"],
  ['getServerPort', "'tcp_port'"],
  ['getMacro', "'shard'"],
  ['getClientHTTPHeader', "'Authorization'"],
  ['serverUUID', ''],
  ['currentRoles', ''],
  ['filesystemAvailable', ''],
  ['dictGetString', "'d', 'x', 1"],
  ['catboostEvaluate', `'${path}', 1.0`],
  ['hasColumnInTable', "'system', 'users', 'name'"],
  ['logTrace', "'x'"],
  ['showCertificate', ''],
  ['notKnownAtAll', '1'],
]

type Disguise = (call: string, name: string, argument: string) => string
const inText = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")

const disguises: readonly [Disguise, ...Disguise[]] = [
  (call) => call,
  (_call, name, argument) => `${name.toUpperCase()}(${argument})`,
  (_call, name, argument) => `\`${name}\`(${argument})`,
  (_call, name, argument) => `"${name}" (${argument})`,
  (_call, name, argument) => `${name}\n\t(${argument})`,
  (_call, name, argument) => `arrayMap(${name}, [${argument}], ['x'])`,
  (_call, name, argument) => `arrayMap(\`${name}\`, [${argument}], [1])`,
  (_call, name, argument) => `arrayFirst(${name}, [${argument}], [1])`,
  (call) => `arrayMap(x -> ${call}, [1])`,
  (call) => `arrayFold((acc, x) -> ${call}, [1], '')`,
  (call) => `mapApply((k, v) -> (k, ${call}), map('a', 'b'))`,
  (call) => `arraySum(x -> length(toString(${call})), [1])`,
  (call) => `if(1, toString(${call}), '')`,
  (call) => `CASE WHEN 1 THEN toString(${call}) ELSE '' END`,
  (call) => `[toString(${call})][1]`,
  (call) => `(${call}, 1).1`,
  (call) => `toString(${call})::String`,
  (call) => `CAST(${call} AS String)`,
  (call) => `(SELECT ${call})`,
  (call) => `concat('', toString(identity(${call})))`,
  (call) => `arrayReduce('groupConcat(${inText(call)})', ['a', 'b'])`,
  (call) => `initializeAggregation('groupConcatState(${inText(call)})', 'a')`,
  (call) => `arrayReduceInRanges('topK((SELECT ${inText(call)}))', [(1, 1)], [1])`,
  (call) => `CAST('' AS AggregateFunction(groupConcat(${call}), String))`,
  (call) => `defaultValueOfTypeName('AggregateFunction(topK(${inText(call)}), String)')`,
  (call) => `JSONExtract('{}', 'a', 'Enum8(${inText(call)} = 1)')`,
  (call) => `CAST('', 'DateTime(${inText(call)})')`,
  (call) => `defaultValueOfTypeName(concat('FixedString(', toString(${call}), ')'))`,
  (call) => `formatRow(toString(${call}), 1)`,
  (call) => `sumIf(1, ${call} = '')`,
]

type Place = readonly [about: string, ask: (expression: string) => Promise<Answer>]
const query = (sql: string): Promise<Answer> => service.call('POST', '/v0/sql', { body: sql })
const form = (values: Readonly<Record<string, string>>) => ({ body: new URLSearchParams(values).toString() })
const ask = (target: string, values: Readonly<Record<string, string>>): Promise<Answer> =>
  service.call('POST', target, form(values))
const structure = (expression: string): string => `'x UInt8, a String ALIAS toString(${inText(expression)})'`

const places: readonly [Place, ...Place[]] = [
  ['select', (e) => query(`SELECT ${e}`)],
  ['where', (e) => query(`SELECT 1 WHERE ${e} = ''`)],
  ['order', (e) => query(`SELECT number FROM numbers(3) ORDER BY ${e}`)],
  ['apply', (e) => query(`SELECT * APPLY(x -> ${e}) FROM numbers(1)`)],
  ['values', (e) => query(`SELECT a FROM values(${structure(e)}, 1)`)],
  ['generateRandom', (e) => query(`SELECT a FROM generateRandom(${structure(e)}) LIMIT 1`)],
  ['null', (e) => query(`SELECT a FROM null(${structure(e)})`)],
  ['named structure', (e) => query(`WITH ${structure(e)} AS s SELECT a FROM values(s, 1)`)],
  ['made structure', (e) => query(`SELECT a FROM generateRandom(concat('a String ALIAS ', toString(${e})))`)],
  [
    'template',
    (e) => query(`% SELECT a FROM values({{String(s, ${JSON.stringify(`x UInt8, a String ALIAS ${e}`)})}}, 1)`),
  ],
  ['node', (e) => ask('/v0/pipes', { name: 'hostile', sql: `SELECT a FROM values(${structure(e)}, 1)` })],
  [
    'parameter',
    (e) => service.call('GET', `/v0/pipes/open.json?${new URLSearchParams({ s: `x UInt8, a String ALIAS ${e}` })}`),
  ],
  ['q over _', (e) => service.call('GET', `/v0/pipes/calm.json?${new URLSearchParams({ q: `SELECT ${e} FROM _` })}`)],
  ['default', (e) => service.create('n', `a String, b String DEFAULT ${e}`)],
  ['sorting', (e) => service.create('n', 'a String', { engine: 'MergeTree', engine_sorting_key: `a, (${e})` })],
  ['partition', (e) => service.create('n', 'a String', { engine: 'MergeTree', engine_partition_key: e })],
  ['ttl', (e) => service.create('n', 'd Date', { engine: 'MergeTree', engine_ttl: `d DELETE WHERE ${e} = ''` })],
  ['ttl set', (e) => service.create('n', 'd Date', { engine: 'MergeTree', engine_ttl: `d GROUP BY d SET d = ${e}` })],
  ['index', (e) => service.create('n', 'a String', { indexes: `i concat(a, ${e}) TYPE minmax` })],
  ['index type', (e) => service.create('n', 'a String', { indexes: `i a TYPE text(preprocessor = ${e})` })],
  ['type', (e) => service.create('n', `a AggregateFunction(topK(${e}), String)`)],
  ['codec', (e) => service.create('n', `a String CODEC(ZSTD(${e}))`)],
  ['alter default', (e) => ask('/v0/datasources/kept/alter', { schema: `a UInt8, d Date, b String DEFAULT ${e}` })],
  ['alter ttl', (e) => ask('/v0/datasources/kept/alter', { ttl: `d + length(${e})` })],
  ['alter index', (e) => ask('/v0/datasources/kept/alter', { indexes: `i (${e}) TYPE minmax` })],
  ['fix', (e) => replay({ fixes: { a: e } })],
  ['condition', (e) => replay({ condition: `a = ${e}` })],
  [
    'replace condition',
    (e) => {
      const parameters = { mode: 'replace', name: 'kept', format: 'csv', replace_condition: `d = ${e}` }
      return service.call('POST', `/v0/datasources?${new URLSearchParams(parameters)}`, { body: '1,2026-01-01\n' })
    },
  ],
]

function replay(order: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  return service.call('POST', '/v0/datasources/kept/quarantine/replay', { body: JSON.stringify(order), headers })
}

// Places that take an expression, and so answer 200 to one that is harmless: the others are refused for what they are.
const open = ['select', 'where', 'order', 'apply', 'q over _', 'fix', 'condition', 'alter default']

const roundCount = Number(process.env['ROUNDS'] ?? 400)

t.test('no place lets a call through that must not be, however it is written', async (t) => {
  await service.create('kept', 'a UInt8, d Date', { engine: 'MergeTree', engine_partition_key: 'd' })
  await service.append('kept', 'csv', 'a,d\nx,2020-01-01\n')
  for (const [name, sql] of [
    ['open', "% SELECT * FROM values({{String(s, 'x UInt8')}}, 1)"],
    ['calm', 'SELECT 1 AS a'],
  ] as const) {
    const made = await ask('/v0/pipes', { name, sql })
    t.equal(made.status, 200, made.text)
    // The shape of the answer is what other tests check.
    const { nodes } = made.json as { readonly nodes: readonly { readonly name: string }[] }
    await service.call('POST', `/v0/pipes/${name}/nodes/${nodes[0]?.name}/endpoint`)
  }
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (let round = 0; round < roundCount; round += 1) {
    const [about, send] = places[round % places.length] ?? places[0]
    const [name, argument] = random.pick(functions)
    const expression = random.pick(disguises)(`${name}(${argument})`, name, argument)
    const { status, text } = await send(expression)
    const found = canaries.find((canary) => text.includes(canary))
    if (status !== 400 || found !== undefined) t.fail(`${about}: ${expression}: ${status} ${text.slice(0, 300)}`)
  }
  t.equal(await service.count('kept_quarantine'), 1, 'and nothing was changed')
  for (const [about, send] of places.filter(([name]) => open.includes(name))) {
    const { status, text } = await send("concat('a', 'b')")
    t.equal(status, 200, `${about}: ${text}`)
  }
  t.same(await service.rows('SELECT count() FROM kept'), [['0']])
})
