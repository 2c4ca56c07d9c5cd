import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import {
  type Data,
  type DataType,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  TimestampMillisecond,
  Uint8,
  Uint16,
  Uint32,
} from 'apache-arrow'
import t from 'tap'
import type { PartLayout } from '../../src/codec/arrow/part-layout.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import type { AppendRequest, SelectQuery } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { checked } from '../support/checked-text.ts'
import { entriesBelow, pathOf } from '../support/living-folder.ts'
import { arrowPart, binary, list, map, numbers, struct, utf8 } from '../support/store/arrow-part.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
await mkdir(join(directory.path, 'parts'))
await writeFile(join(directory.path, 'parts', 'left-behind.arrow'), 'x')
const options = testStoreOptions(directory.path)
const store = await openEmbeddedStore(options, silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const never = new AbortController().signal

function queryOf(sql: string, signal: AbortSignal, format = 'CSV'): SelectQuery {
  return { sql: checked(sql), format, settings: {}, signal }
}

async function select(sql: string, format = 'TSV'): Promise<string> {
  return (await buffer(await store.select(queryOf(sql, never, format)))).toString()
}

async function failure(work: Promise<unknown>): Promise<StoreError> {
  try {
    await work
  } catch (err) {
    if (err instanceof StoreError) return err
    throw err
  }
  throw new Error('nothing failed')
}

function layoutOf(engineType: string): PartLayout {
  return { fields: [{ name: 'c', engineType }], targets: [{ column: 'c', expression: checked('c') }] }
}

/** A request for a table with one column `c`. */
function oneColumn(table: string, engineType: string, data: Data<DataType>, blockId = table): AppendRequest {
  return {
    table,
    layout: layoutOf(engineType),
    parts: [arrowPart([{ name: 'c', data }])],
    rowCount: data.length,
    blockId,
  }
}

t.test('a store that opens leaves nothing of an earlier process in its directories', async (t) => {
  t.same(await readdir(join(directory.path, 'parts')), [])
  t.same(await readdir(join(directory.path, 'results')), [])
})

t.test('every Arrow type arrives in its column as the engine itself writes it', async (t) => {
  const ms = (values: readonly bigint[], nullRows: readonly number[] = []): Data<DataType> =>
    numbers(new TimestampMillisecond(), BigInt64Array.from(values), nullRows)
  const uuid = '61f0c404-5cb3-11e7-907b-a6006ad3dba0'
  const cases: readonly (readonly [column: string, read: string, data: Data<DataType>, stored: string])[] = [
    ['UUID', 'String', utf8([uuid]), `"${uuid}"`],
    ['UUID', 'UUID', binary([uuid.replaceAll('-', '')], 16), `"${uuid}"`],
    ['IPv4', 'String', utf8(['1.2.3.4']), '"1.2.3.4"'],
    ['IPv4', 'IPv4', numbers(new Uint32(), new Uint32Array([0x01020304])), '"1.2.3.4"'],
    ['IPv6', 'String', utf8(['2001:db8::ff']), '"2001:db8::ff"'],
    ["Enum8('a' = 1, 'it\\'s' = -2)", 'String', utf8(["it's"]), '"it\'s"'],
    ["Enum8('a' = 1, 'b' = -2)", 'Int8', numbers(new Int8(), new Int8Array([-2])), '"b"'],
    ["Enum16('a' = 1, 'b' = -300)", "Enum16('a' = 1, 'b' = -300)", numbers(new Int16(), new Int16Array([-300])), '"b"'],
    ['Decimal(18, 4)', 'String', utf8(['-99999999999999.9999']), '-99999999999999.9999'],
    ['Int256', 'String', utf8([`-${2n ** 255n}`]), `-${2n ** 255n}`],
    ['Int128', 'Int128', binary(['ff'.repeat(16)], 16), '-1'],
    ['UInt64', 'UInt64', numbers(new Int64(), new BigInt64Array([5n])), '5'],
    ['Bool', 'Bool', numbers(new Uint8(), new Uint8Array([1])), 'true'],
    ['Date', 'Date', numbers(new Uint16(), new Uint16Array([20_000])), '"2024-10-04"'],
    ['Date32', 'Date32', numbers(new Int32(), new Int32Array([-25_567])), '"1900-01-01"'],
    ['DateTime', 'DateTime', numbers(new Uint32(), new Uint32Array([1_700_000_000])), '"2023-11-14 22:13:20"'],
    ['DateTime64(3)', 'DateTime64(3)', ms([-1n]), '"1969-12-31 23:59:59.999"'],
    ['DateTime64(2)', 'DateTime64(2)', ms([-10n]), '"1969-12-31 23:59:59.99"'],
    ['FixedString(4)', 'String', utf8(['abcd']), '"abcd"'],
    ['JSON', 'String', utf8(['{"a":{"b":[1,2]}}']), '{"a":{"b":[1,2]}}'],
    ['LowCardinality(Nullable(String))', 'Nullable(String)', utf8([null]), 'null'],
    ['Array(String)', 'Array(String)', list([2], utf8(['a', ''])), '["a",""]'],
    ['Array(UUID)', 'Array(String)', list([1], utf8([uuid])), `["${uuid}"]`],
    [
      'Array(Array(Int32))',
      'Array(Array(Int32))',
      list([2], list([1, 2], numbers(new Int32(), new Int32Array([1, 2, 3])))),
      '[[1],[2,3]]',
    ],
    [
      'Array(Nullable(Float64))',
      'Array(Nullable(Float64))',
      list([2], numbers(new Float64(), new Float64Array([1.5, 0]), [1])),
      '[1.5,null]',
    ],
    [
      'Map(String, Array(UInt8))',
      'Map(String, Array(UInt8))',
      map([1], utf8(['k']), list([2], numbers(new Uint8(), new Uint8Array([1, 2])))),
      '{"k":[1,2]}',
    ],
    [
      'Tuple(x Int8, y Nullable(String))',
      'Tuple(x Int8, y Nullable(String))',
      struct({ x: numbers(new Int8(), new Int8Array([7])), y: utf8([null]) }, 1),
      '{"x":7,"y":null}',
    ],
    [
      'Tuple(Int8, DateTime64(3))',
      'Tuple(Int8, DateTime64(3))',
      struct({ '1': numbers(new Int8(), new Int8Array([7])), '2': ms([1n]) }, 1),
      '[7,"1970-01-01 00:00:00.001"]',
    ],
  ]
  for (const [index, [column, read, data, stored]] of cases.entries()) {
    const table = `t_type_${index}`
    await store.command(`CREATE TABLE ws_0001.${table} (c ${column}) ENGINE = MergeTree ORDER BY tuple()`)
    await store.append(oneColumn(table, read, data))
    t.equal(await select(`SELECT c FROM ws_0001.${table}`, 'JSONEachRow'), `{"c":${stored}}\n`, `${read} to ${column}`)
  }
})

t.test('a null becomes the DEFAULT of a scalar column, and nothing but an empty value elsewhere', async (t) => {
  const cases: readonly (readonly [column: string, read: string, data: Data<DataType>, stored: string])[] = [
    ['Int8 DEFAULT 40 + 2', 'Nullable(Int8)', numbers(new Int8(), new Int8Array([0]), [0]), '42'],
    [
      "UUID DEFAULT '61f0c404-5cb3-11e7-907b-a6006ad3dba0'",
      'Nullable(String)',
      utf8([null]),
      '"61f0c404-5cb3-11e7-907b-a6006ad3dba0"',
    ],
    ["LowCardinality(String) DEFAULT 'd'", 'Nullable(String)', utf8([null]), '"d"'],
    [
      'DateTime DEFAULT 100',
      'Nullable(DateTime)',
      numbers(new Uint32(), new Uint32Array([0]), [0]),
      '"1970-01-01 00:01:40"',
    ],
    ['Nullable(Int8) DEFAULT 5', 'Nullable(Int8)', numbers(new Int8(), new Int8Array([0]), [0]), 'null'],
    ["Array(String) DEFAULT ['d']", 'Array(String)', list([0], utf8([]), [0]), '[]'],
  ]
  for (const [index, [column, read, data, stored]] of cases.entries()) {
    const table = `t_default_${index}`
    await store.command(`CREATE TABLE ws_0001.${table} (c ${column}) ENGINE = MergeTree ORDER BY tuple()`)
    await store.append(oneColumn(table, read, data))
    t.equal(await select(`SELECT c FROM ws_0001.${table}`, 'JSONEachRow'), `{"c":${stored}}\n`, column)
  }
})

t.test('an expression of the layout fills its column from several fields', async (t) => {
  await store.command(
    "CREATE TABLE ws_0001.t_mask (`a b` Array(String) DEFAULT ['d']) ENGINE = MergeTree ORDER BY tuple()",
  )
  await store.append({
    table: 't_mask',
    layout: {
      fields: [
        { name: 'v`1', engineType: 'Array(String)' },
        { name: 'mask', engineType: 'UInt8' },
      ],
      targets: [{ column: 'a b', expression: checked("if(mask, `v\\`1`, ['d'])") }],
    },
    parts: [
      arrowPart([
        { name: 'v`1', data: list([1, 0], utf8(['x'])) },
        { name: 'mask', data: numbers(new Uint8(), new Uint8Array([1, 0])) },
      ]),
    ],
    rowCount: 2,
    blockId: 'mask',
  })
  t.equal(await select('SELECT `a b` FROM ws_0001.t_mask'), "['x']\n['d']\n")
})

t.test('the parts of one append are one part of the table, stored once however often it is repeated', async (t) => {
  await store.command(
    'CREATE TABLE ws_0001.t_once (c Int32) ENGINE = MergeTree ORDER BY c SETTINGS non_replicated_deduplication_window = 100',
  )
  const parts = [0, 1, 2].map((index) => {
    const values = Int32Array.from({ length: 100_000 }, (_, row) => index * 100_000 + row)
    return arrowPart([{ name: 'c', data: numbers(new Int32(), values) }])
  })
  const layout = layoutOf('Int32')
  const request = { table: 't_once', layout, parts, rowCount: 300_000, blockId: 'block-1' }
  await store.append(request)
  await Promise.all([store.append(request), store.append(request)])
  const [row] = await store.rows(
    "SELECT count() AS parts, sum(rows) AS rows FROM system.parts WHERE table = 't_once' AND active AND level = 0",
  )
  t.same(row, { parts: 1, rows: 300_000 })
  t.same((await store.tables.list()).get('t_once')?.rowCount, 300_000)
  t.same(await readdir(join(directory.path, 'parts')), [], 'the files of the parts are gone')
})

t.test('a repeated block is stored once behind a view too', async (t) => {
  const window = 'SETTINGS non_replicated_deduplication_window = 100'
  await store.command('CREATE TABLE ws_0001.t_null (c Int32) ENGINE = Null')
  await store.command(`CREATE TABLE ws_0001.t_target (c Int32) ENGINE = MergeTree ORDER BY c ${window}`)
  await store.command('CREATE MATERIALIZED VIEW ws_0001.t_view TO ws_0001.t_target AS SELECT c FROM ws_0001.t_null')
  const request = oneColumn('t_null', 'Int32', numbers(new Int32(), new Int32Array([1, 2])))
  for (let attempt = 0; attempt < 3; attempt += 1) await store.append(request)
  t.equal(await select('SELECT count() FROM ws_0001.t_target'), '2\n')
})

t.test('a part that lacks a field of its layout, or holds a bad value, is refused whole', async (t) => {
  await store.command('CREATE TABLE ws_0001.t_whole (c UUID) ENGINE = MergeTree ORDER BY c')
  const lacking = oneColumn('t_whole', 'UUID', utf8(['x']))
  const other = arrowPart([{ name: 'other', data: utf8(['x']) }])
  t.match(await failure(store.append({ ...lacking, parts: [other] })), { kind: 'engine' })
  const good = '61f0c404-5cb3-11e7-907b-a6006ad3dba0'
  const error = await failure(store.append(oneColumn('t_whole', 'String', utf8([good, 'no uuid']))))
  t.match(error, { kind: 'engine', clickhouseCode: 376 })
  t.notMatch(error.message, /DB::|Code: |\/parts\/|ws_0001/)
  t.equal(await select('SELECT count() FROM ws_0001.t_whole'), '0\n')
  t.same(await readdir(join(directory.path, 'parts')), [])
})

t.test('a block whose expressions tell the time is stored once too', async (t) => {
  await store.command(
    'CREATE TABLE ws_0001.t_now (c Int32, at DateTime) ENGINE = MergeTree ORDER BY c SETTINGS non_replicated_deduplication_window = 100',
  )
  const { layout, ...request } = oneColumn('t_now', 'Int32', numbers(new Int32(), new Int32Array([1, 2])))
  const targets: PartLayout['targets'] = [...layout.targets, { column: 'at', expression: checked('now()') }]
  for (let attempt = 0; attempt < 2; attempt += 1) await store.append({ ...request, layout: { ...layout, targets } })
  t.equal(await select('SELECT count(), min(at) > 0 FROM ws_0001.t_now'), '2\t1\n')
})

t.test('a block of many partitions is stored', async (t) => {
  await store.command('CREATE TABLE ws_0001.t_days (c Date) ENGINE = MergeTree PARTITION BY c ORDER BY c')
  const days = Uint16Array.from({ length: 150 }, (_, day) => 19_000 + day)
  await store.append(oneColumn('t_days', 'Date', numbers(new Uint16(), days)))
  t.equal(await select('SELECT uniq(_partition_id) FROM ws_0001.t_days'), '150\n')
})

// Arrow and Parquet hold no time, JSON tells how long the query took.
for (const format of [
  'JSON',
  'CSV',
  'CSVWithNames',
  'TSV',
  'TSVWithNames',
  'PrettyCompact',
  'JSONEachRow',
  'Parquet',
  'ArrowStream',
]) {
  t.test(`a result of many blocks is one ${format} document, the engine's own`, async (t) => {
    const sql = "SELECT number, concat('row ', toString(number)) AS text FROM system.numbers LIMIT 200000"
    // The engine prints blocks together that follow each other soon enough: here all do, however slow the machine is.
    const waits = ['consecutive', 'max_wait'].map((name) => [`output_format_pretty_squash_${name}_ms`, 3_600_000])
    const stream = await store.select({ sql: checked(sql), format, settings: Object.fromEntries(waits), signal: never })
    const streamed = await buffer(stream)
    const path = join(directory.path, 'parts', 'expected')
    // Readers get strings as bytes in Parquet, and Arrow that any reader can take; the engine's defaults are otherwise.
    const settings = `SETTINGS output_format_parquet_string_as_string = 0, output_format_arrow_compression_method = 'none',
      ${waits.map((wait) => wait.join(' = '))}`
    await store.command(`${sql} INTO OUTFILE '${path}' TRUNCATE FORMAT ${format} ${settings}`)
    const expected = await readFile(path)
    await rm(path)
    const withoutTime = (bytes: Buffer): string =>
      bytes.toString('latin1').replace(/"elapsed": [\d.e-]+/, '"elapsed": 0')
    t.ok(streamed.length > 10_000 && withoutTime(streamed) === withoutTime(expected), 'byte for byte')
    if (format === 'JSON') t.equal(JSON.parse(streamed.toString()).rows, 200_000)
    t.same(await readdir(join(directory.path, 'results')), [])
  })
}

t.test('an empty result and a small one are whole documents', async (t) => {
  t.equal(await select('SELECT 1 AS a WHERE 0', 'CSV'), '')
  t.equal(await select('SELECT 1 AS a WHERE 0', 'CSVWithNames'), '"a"\n')
  t.equal(await select("SELECT arrayJoin(['b', 'é']) AS a", 'JSONEachRow'), '{"a":"b"}\n{"a":"é"}\n')
})

t.test('a setting of the query is obeyed, and none of it stays in the session', async (t) => {
  const sql = 'SELECT toUInt64(1) AS a'
  const settings = { output_format_json_quote_64bit_integers: 1 }
  for (let round = 0; round < 4; round += 1) {
    const quoted = await buffer(await store.select({ ...queryOf(sql, never, 'JSONEachRow'), settings }))
    t.equal(quoted.toString(), '{"a":"1"}\n')
    t.equal(await select(sql, 'JSONEachRow'), '{"a":1}\n')
  }
})

t.test('a reader reads the workspace and nothing else', async (t) => {
  await store.command('CREATE TABLE ws_0001.t_read (a Int32) ENGINE = MergeTree ORDER BY a')
  t.equal(await select('SELECT count() FROM ws_0001.t_read'), '0\n')
  t.equal(await select('SELECT currentDatabase()'), 'workspace\n')
  for (const sql of [
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    'SELECT * FROM system.users',
    "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')",
    'SELECT * FROM `/etc/hosts`',
    'SELECT 1 SETTINGS max_memory_usage = 0',
  ]) {
    t.match(await failure(select(sql)), { kind: 'engine' }, sql)
  }
  const refusal = await failure(select('INSERT INTO ws_0001.t_read SELECT 1'))
  t.match(refusal, { kind: 'engine' })
})

t.test('a query that cannot run fails before its first byte, and says why without our names', async (t) => {
  const unknown = await failure(select('SELECT * FROM ws_0001.nothing'))
  t.match(unknown, { kind: 'engine', clickhouseCode: 60 })
  t.match(unknown.message, /^Unknown table expression identifier 'nothing'/)
  t.match(unknown.message, / \(UNKNOWN_TABLE\)$/)
  const syntax = await failure(select('SELECT 1 +'))
  t.match(syntax, { kind: 'engine', clickhouseCode: 62 })
  t.match(syntax.message, /^Syntax error: failed at position 11 \(end of query\)/)
  t.notMatch(syntax.message, /OUTFILE '|results|log_comment|formatQuery/)
  const late = await failure(select('SELECT throwIf(number = 1500000) FROM system.numbers LIMIT 2000000', 'JSON'))
  t.match(late, { kind: 'engine', clickhouseCode: 395 })
  t.same(await readdir(join(directory.path, 'results')), [])
})

t.test('an aborted query stops in the engine and frees its session', async (t) => {
  for (const sql of [
    'SELECT count() FROM system.numbers',
    'SELECT (SELECT count() FROM system.numbers) AS inner',
    // Else its result would soon be as large as it may become.
    'SELECT number, sleepEachRow(0.001) FROM system.numbers SETTINGS max_block_size = 100',
  ]) {
    const controller = new AbortController()
    const running = failure(store.select(queryOf(sql, controller.signal, 'JSON')))
    await untilRuns(sql)
    controller.abort()
    t.match(await running, { kind: 'aborted' })
  }
  const counts = await Promise.all([select('SELECT 1'), select('SELECT 1'), select('SELECT 1')])
  t.same(counts, ['1\n', '1\n', '1\n'])
  t.same(await readdir(join(directory.path, 'results')), [])
})

/** Resolves when the engine runs a query that begins with `sql`. */
async function untilRuns(sql: string): Promise<void> {
  for (;;) {
    const rows = await store.rows(`SELECT 1 FROM system.processes WHERE startsWith(query, '${sql}')`)
    if (rows.length > 0) return
  }
}

t.test('a signal that has aborted already runs nothing, and one that aborts in line leaves it', async (t) => {
  const signal = AbortSignal.abort()
  t.match(await failure(store.select(queryOf('SELECT 1', signal))), { kind: 'aborted' })
  const blocker = new AbortController()
  const blocked = [1, 2].map(() => failure(store.select(queryOf('SELECT count() FROM system.numbers', blocker.signal))))
  const leaver = new AbortController()
  const waiting = failure(store.select(queryOf('SELECT 1', leaver.signal)))
  leaver.abort()
  t.match(await waiting, { kind: 'aborted' })
  const line = Array.from({ length: options.waitingMax }, () => select('SELECT 2'))
  t.match(await failure(select('SELECT 3')), { kind: 'busy' }, 'the line is full')
  blocker.abort()
  t.match(await Promise.all(blocked), [{ kind: 'aborted' }, { kind: 'aborted' }])
  t.same(
    await Promise.all(line),
    line.map(() => '2\n'),
  )
})

t.test('results that nobody reads are bounded, and an abort ends a half-read one with an error', async (t) => {
  const sql = 'SELECT number FROM system.numbers LIMIT 200000'
  const controllers = Array.from({ length: options.openResultsMax }, () => new AbortController())
  const open = await Promise.all(controllers.map(({ signal }) => store.select(queryOf(sql, signal))))
  t.match(await failure(select(sql)), { kind: 'unread' })
  const [first, second] = open
  const iterator = first?.[Symbol.asyncIterator]()
  t.notOk((await iterator?.next())?.done)
  controllers[0]?.abort()
  t.match(await failure(Promise.resolve(iterator?.next())), { kind: 'aborted' })
  for await (const _ of second ?? []) break
  for (const { abort } of controllers.map((controller) => ({ abort: () => controller.abort() }))) abort()
  t.equal((await select(sql)).length, 1_288_890)
})

t.test('a query over its limits ends with the code of the limit', async (t) => {
  const numbers = 'SELECT groupArray(number) FROM (SELECT number FROM system.numbers LIMIT 200000000)'
  t.match(await failure(select(numbers)), { kind: 'engine', clickhouseCode: 241 })
  t.match(await failure(select('SELECT number FROM system.numbers')), {
    kind: 'engine',
    clickhouseCode: 396,
  })
  t.equal(await select('SELECT 1'), '1\n')
})

t.test('a second process is refused, and the first keeps its data', async (t) => {
  const output = await run(directory.path, 'check')
  t.match(output, /^refused: the data directory .* is in use by another process/)
  t.equal(await select('SELECT 1'), '1\n')
})

t.test('a killed process leaves no lock behind, and what it stored is there', async (t) => {
  const own = await createTestDirectory()
  t.teardown(() => own.remove())
  const child = start(own.path, 'append', {})
  const lines = createInterface({ input: child.stdout })
  t.equal((await once(lines, 'line'))[0], 'appended: 3 rows, sum 6')
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(await run(own.path, 'check'), 'closed\n', 'it opens, closes and exits by itself')
})

t.test('a block with a record but without its part is stored by the retry, and by that one alone', async (t) => {
  const own = await createTestDirectory()
  t.teardown(() => own.remove())
  const child = start(own.path, 'append', {})
  await once(createInterface({ input: child.stdout }), 'line')
  // As if the kill had come before the parts were there: one of the table, and that of the view behind it.
  const parts = partDirectories(own.path)
  const lost = parts.filter((path) => /\/(0_1_1_0|all_1_1_\d)$/.test(path))
  t.equal(lost.length, 2, parts.join(' '))
  for (const path of lost) await rm(path, { recursive: true })
  const before = await deduplicationRecords(own.path)
  t.match(await run(own.path, 'check'), /^refused/)
  t.same(await deduplicationRecords(own.path), before, 'a second process changes nothing')
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(await run(own.path, 'append-again'), 'appended: 3 rows, sum 6\nclosed\n')
  t.equal(await run(own.path, 'append-again'), 'appended: 3 rows, sum 6\nclosed\n')
})

t.test('the engine lives in UTC, whatever zone the process was started in', async (t) => {
  const own = await createTestDirectory()
  t.teardown(() => own.remove())
  t.equal(await run(own.path, 'zone', { TZ: 'America/New_York' }), 'UTC\nclosed\n')
})

t.test('a path that the engine would take for a pattern is refused', async (t) => {
  await t.rejects(openEmbeddedStore(testStoreOptions(join(directory.path, 'a{b}')), silentLogger), /must not contain/)
})

/** Every part on disk below a data directory. */
function partDirectories(path: string): readonly string[] {
  const parts = entriesBelow(path).filter((entry) => entry.isDirectory() && /_\d+_\d+_\d+$/.test(entry.name))
  return parts.map(pathOf)
}

/** The deduplication records by file. */
async function deduplicationRecords(path: string): Promise<ReadonlyMap<string, string>> {
  const files = entriesBelow(path).filter(({ name }) => name.startsWith('deduplication_log_'))
  const paths = files.map(pathOf).sort()
  return new Map(await Promise.all(paths.map(async (file) => [file, await readFile(file, 'utf8')] as const)))
}

function start(path: string, task: string, environment: Readonly<Record<string, string>>) {
  const script = fileURLToPath(new URL('../support/store/store-process.js', import.meta.url))
  const env = { ...process.env, ...environment }
  return spawn(process.execPath, [script, path, task], { env, stdio: ['ignore', 'pipe', 'inherit'] })
}

async function run(path: string, task: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = start(path, task, environment)
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  await once(child, 'close')
  return output
}

t.test('a store that closes refuses new work, stops what runs too long, and closes once', async (t) => {
  const running = failure(store.select(queryOf('SELECT count() FROM system.numbers', never)))
  await untilRuns('SELECT count() FROM system.numbers')
  const closing = store.close()
  t.match(await failure(store.command('SELECT 1')), { kind: 'closed' })
  // On a machine that is busy the engine is ended before it has stopped the statement.
  t.match(await running, { kind: /^(?:engine|stopped)$/ })
  await closing
  await store.close()
  t.match(await failure(store.rows('SELECT 1')), { kind: 'closed' })
})
