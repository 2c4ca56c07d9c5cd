import { gzipSync } from 'node:zlib'
import t from 'tap'
import { openService } from '../../src/service.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import {
  type Answer,
  type Call,
  severalWorkers,
  TestLog,
  TestService,
  testOptions,
} from '../support/api/test-service.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())

async function live(): Promise<TestService> {
  const log = new TestLog()
  const service = await openService(
    testOptions({ ...severalWorkers, dataDir: directory.path, eventsFlushIdleMs: 5 }),
    log,
  )
  return new TestService(service, { log, dataDir: directory.path })
}

const days = { engine: 'MergeTree', engine_partition_key: 'toYYYYMM(day)', engine_sorting_key: 'day' }
const sums = { engine: 'SummingMergeTree' }

/** Data sources, and views between them: until there are pipes, views are made in the engine itself. */
async function setUp(): Promise<TestService> {
  const first = await live()
  await first.create('visits', 'day Date, country String, n UInt32', days)
  const perDay = { ...sums, engine_partition_key: 'toYYYYMM(day)', engine_sorting_key: 'day' }
  await first.create('daily', 'day Date, n UInt64', perDay)
  await first.create('monthly', 'month UInt32, n UInt64', { ...sums, engine_sorting_key: 'month' })
  await first.create('total', 'one UInt8, n UInt64', { ...sums, engine_sorting_key: 'one' })
  await first.create('sold', 'day Date, country String, n UInt32', days)
  const perCountry = { ...sums, engine_partition_key: 'country', engine_sorting_key: 'country' }
  await first.create('countries', 'country String, n UInt64', perCountry)
  await first.create('shown', 'day Date, country String, n UInt32', days)
  await first.create('per_day', 'day Date, n UInt64', {
    ...sums,
    engine_partition_key: 'day',
    engine_sorting_key: 'day',
  })
  await first.create('strict', 'n UInt32')
  await first.create('strict_sums', 'n UInt64', { ...sums, engine_sorting_key: 'n' })
  await first.create('gate', 'k UInt8, n UInt32', { engine: 'Null' })
  await first.create('behind_gate', 'k UInt8, n UInt64', { ...sums, engine_sorting_key: 'k' })
  const join = { engine: 'Join', engine_join_strictness: 'ANY', engine_join_type: 'LEFT', engine_key_columns: 'k' }
  await first.create('names', 'k UInt8, name String', join)
  await first.create('looked', 'k UInt8, name String')
  await first.create('looked_last', 'k UInt8, name String')
  await first.create('looked_up', 'k UInt8, name String', join)
  const names = [
    'visits',
    'daily',
    'monthly',
    'total',
    'sold',
    'countries',
    'shown',
    'per_day',
    'strict',
    'strict_sums',
    'gate',
    'behind_gate',
    'looked',
    'looked_last',
    'looked_up',
  ]
  const ids = new Map(await Promise.all(names.map(async (name) => [name, await first.idOf(name)] as const)))
  await first.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  const view = (name: string, target: string, select: string, source: string): Promise<void> =>
    store.command(
      `CREATE MATERIALIZED VIEW ws_0001.${name} TO ws_0001.${ids.get(target)} AS ${select.replace('SOURCE', `ws_0001.${ids.get(source)}`)}`,
    )
  await view('v_daily', 'daily', 'SELECT day, sum(v.n) AS n FROM SOURCE AS v GROUP BY day', 'visits')
  await view('v_monthly', 'monthly', 'SELECT toYYYYMM(day) AS month, sum(n) AS n FROM SOURCE GROUP BY month', 'daily')
  await view('v_total', 'total', 'SELECT 1 AS one, sum(n) AS n FROM SOURCE', 'monthly')
  await view('v_per_day', 'per_day', 'SELECT day, sum(n) AS n FROM SOURCE GROUP BY day', 'shown')
  await view('v_countries', 'countries', 'SELECT country, sum(n) AS n FROM SOURCE GROUP BY country', 'sold')
  await view(
    'v_strict',
    'strict_sums',
    "SELECT sum(n) + throwIf(countIf(n = 13) > 0, 'unlucky') AS n FROM SOURCE",
    'strict',
  )
  await view('v_gate', 'behind_gate', 'SELECT k, sum(n) AS n FROM SOURCE GROUP BY k', 'gate')
  await view('v_looked_last', 'looked_last', 'SELECT k, name FROM SOURCE', 'looked')
  await view('v_looked_up', 'looked_up', 'SELECT k, name FROM SOURCE', 'looked_last')
  await store.close()
  return await live()
}

const service = await setUp()
t.teardown(() => service.close())

type Rows = readonly (readonly [day: string, country: string, n: number])[]

function csv(rows: Rows): string {
  return rows.map((row) => `${row.join(',')}\n`).join('')
}

function replace(name: string, body: Call['body'], more: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const parameters = new URLSearchParams({ mode: 'replace', name, format: 'csv', ...more })
  // A stream brings no type of its own, and would be looked at for a form first.
  const headers = { 'content-type': 'text/csv' }
  return service.call('POST', `/v0/datasources?${parameters}`, body === undefined ? {} : { body, headers })
}

async function totals(): Promise<readonly (readonly string[])[]> {
  return await service.rows(
    `SELECT (SELECT sum(n) FROM visits), (SELECT sum(n) FROM daily), (SELECT sum(n) FROM monthly), (SELECT sum(n) FROM total)`,
  )
}

function all(n: number): readonly (readonly string[])[] {
  return [[n, n, n, n].map(String)]
}

t.test('a replace takes the place of all rows, and of all that views made of them', async (t) => {
  await service.append(
    'visits',
    'csv',
    csv([
      ['2024-01-01', 'DE', 1],
      ['2024-02-01', 'FR', 2],
    ]),
  )
  t.same(await totals(), all(3))
  const answer = await replace(
    'visits',
    csv([
      ['2024-02-02', 'DE', 10],
      ['2024-03-03', 'IT', 20],
      ['2024-03-04', 'IT', 30],
    ]),
  )
  t.match(answer, {
    status: 200,
    json: { error: false, imported_rows: 3, quarantine_rows: 0, invalid_lines: 0, datasource: { name: 'visits' } },
  })
  t.match(answer.json, { id: /^.+$/, import_id: /^.+$/, datasource: { statistics: { row_count: 3 } } })
  t.notOk(answer.text.includes('unmatched_rows'))
  t.same(await totals(), all(60))
  t.same(await service.rows('SELECT month, sum(n) FROM monthly GROUP BY month ORDER BY month'), [
    ['202402', '10'],
    ['202403', '50'],
  ])
  await service.append('visits', 'csv', csv([['2024-03-03', 'DE', 5]]))
  t.same(await totals(), all(65), 'views go on behind the exchange')
})

t.test('rows that do not fit are kept in quarantine and counted, and the others replace', async (t) => {
  const bad = await replace('visits', '2024-01-01,DE,1\nno day,DE,1\n2024-01-02,FR\n2024-01-03,FR,x\n')
  t.match(bad, { status: 200, json: { imported_rows: 1, quarantine_rows: 3, invalid_lines: 1 } })
  t.match(bad.json, { error: 'There was an error with file contents: 3 rows in quarantine and 1 invalid line.' })
  t.same(await totals(), all(1))
  t.equal(await service.count('visits_quarantine'), 3)
  const { import_id: importId } = bad.json as { readonly import_id: string }
  t.same(await service.rows('SELECT DISTINCT c__import_id FROM visits_quarantine'), [[importId]])
})

t.test('a replace of which no row fits keeps the content, and one without rows empties it', async (t) => {
  const refused = await replace('visits', 'a,b,c\nd,e,f\n')
  t.match(refused, {
    status: 400,
    json: { imported_rows: 0, quarantine_rows: 2, error: /^No row fits Data Source "visits"/ },
  })
  t.same(await totals(), all(1))
  t.equal(await service.count('visits_quarantine'), 5)
  t.match(await replace('visits', 'day,country,n\n'), { status: 200, json: { imported_rows: 0, error: false } })
  t.same(await totals(), all(0))
})

t.test('a replace that fails keeps the content', async (t) => {
  await replace('visits', csv([['2024-01-01', 'DE', 7]]))
  const packed = gzipSync(csv(Array.from({ length: 2_000 }, (_, n) => ['2024-01-02', 'FR', n] as const)))
  const cut = await service.call('POST', '/v0/datasources?mode=replace&name=visits&format=csv', {
    body: packed.subarray(0, packed.length - 20),
    headers: { 'content-encoding': 'gzip' },
  })
  t.match(cut, { status: 400, json: { imported_rows: 0, quarantine_rows: 0 } })
  const client = await service.openRaw()
  client.socket.write(
    service.head('POST', '/v0/datasources?mode=replace&name=visits&format=csv', 'Content-Length: 1000'),
  )
  client.socket.write('2024-01-01,DE,9\n')
  client.socket.end()
  await service.log.until(
    'An import ended early.',
    ({ dataSource, reason }) => dataSource === 'visits' && /ended before/.test(String(reason)),
  )
  t.same(await totals(), all(7))
  t.match(await replace('strict', '1\n2\n'), { status: 200 })
  const failed = await replace('strict', '13\n14\n')
  t.match(failed, {
    status: 422,
    json: { error: /^Materialized View "v_strict" fails for the new rows, so nothing was replaced: unlucky/ },
  })
  t.notMatch(failed.text, /ws_0001/)
  t.same(await service.rows('SELECT sum(n), (SELECT sum(n) FROM strict_sums) FROM strict'), [['3', '3']])
})

t.test('requests that cannot replace are refused before anything is touched', async (t) => {
  t.match(await replace('missing', '1\n'), { status: 404, json: { error: 'Data Source "missing" does not exist' } })
  t.match(await replace('visits', undefined), { status: 400, json: { error: /^The request has no body/ } })
  t.match(await replace('', '1\n'), { status: 400, json: { error: 'Parameter "name" is required' } })
  t.match(
    await service.call('POST', '/v0/datasources?mode=append&name=visits&format=csv&replace_condition=1', { body: '1' }),
    {
      status: 400,
      json: { error: 'Parameter "replace_condition" is "1", but must be absent without mode=replace' },
    },
  )
  const conditions: readonly (readonly [string, RegExp])[] = [
    [
      'n = 1',
      /^Parameter "replace_condition" cannot be used: it must contain the partition field \(day\) of Data Source "visits"$/,
    ],
    ['day = ', /cannot be used/],
    ['day', /cannot be used: .*filter/],
    ['day = missing', /cannot be used: .*missing/],
    ["day = 'x'", /cannot be used/],
    ["day > toDate(0) AND _part != ''", /cannot be used: .*_part/],
    ['day > 0) OR (1', /cannot be used/],
    ['day IN (SELECT day FROM daily)', /cannot be used/],
    ['day IN daily', /cannot be used/],
    [
      'day > toDate(0) AND rand() % 2 = 0',
      /cannot be used: it must not call rand\(\), which gives another value each time/,
    ],
    ['day > toDate(0) OR generateUUIDv4() = toUUID(country)', /must not call generateUUIDv4\(\)/],
    ['day > toDate(0) AND arrayMap(RAND64, [1]) = [1]', /cannot be used/],
    ['day > toDate(0) AND rowNumberInAllBlocks() < 5', /must not call rowNumberInAllBlocks\(\)/],
    ['day > toDate(0) OR __rows.1 = 1', /it must not use the name __rows/],
    ["day > toDate(0) OR CAST(tuple(1) n, 'Tuple(UInt8)').1 = 1", /cannot name a part of itself/],
    ["day > toDate(0) AND file('/etc/passwd') != ''", /cannot be used/],
    ["day > toDate(0) AND (joinGet('names', 'name', 1) = '')", /cannot be used/],
    ['day > toDate(0) AND arrayExists(x -> (n AS country) = x, [1])', /cannot be used/],
  ]
  for (const [condition, reason] of conditions) {
    const refused = await replace('visits', csv([['2024-01-01', 'DE', 1]]), { replace_condition: condition })
    t.match(refused, { status: 400, json: { error: reason } }, condition)
    t.notMatch(refused.text, /ws_0001|t_[0-9a-f]{32}/)
  }
  t.match(await replace('visits', csv([['2024-01-01', 'DE', 1]]), { replace_condition: ' ' }), {
    status: 400,
    json: { error: 'Parameter "replace_condition" is " ", but must be a condition, or absent to replace all rows' },
  })
  t.match(await replace('strict', '1\n', { replace_condition: 'n = 1' }), {
    status: 400,
    json: { error: /Data Source "strict" has no partition key; replace all of it/ },
  })
  t.same(await totals(), all(7))
})

t.test('with a condition, matching rows are replaced, also in what views made of them', async (t) => {
  await replace(
    'visits',
    csv([
      ['2024-01-01', 'DE', 1],
      ['2024-01-02', 'DE', 2],
      ['2024-02-01', 'FR', 4],
      ['2024-03-01', 'FR', 8],
    ]),
  )
  const rows = csv([
    ['2024-01-02', 'IT', 100],
    ['2024-01-03', 'IT', 200],
    ['2024-02-05', 'IT', 400],
    ['2024-05-05', 'IT', 800],
  ])
  const condition = "day >= '2024-01-02' AND day < '2024-02-01' /* why not */"
  const answer = await replace('visits', rows, { replace_condition: condition })
  t.match(answer, { status: 200, json: { error: false, imported_rows: 2, unmatched_rows: 2, quarantine_rows: 0 } })
  t.same(await service.rows('SELECT day, country, n FROM visits ORDER BY day'), [
    ['2024-01-01', 'DE', '1'],
    ['2024-01-02', 'IT', '100'],
    ['2024-01-03', 'IT', '200'],
    ['2024-02-01', 'FR', '4'],
    ['2024-03-01', 'FR', '8'],
  ])
  t.same(await totals(), all(313))
  t.same(await service.rows('SELECT day, sum(n) FROM daily GROUP BY day ORDER BY day'), [
    ['2024-01-01', '1'],
    ['2024-01-02', '100'],
    ['2024-01-03', '200'],
    ['2024-02-01', '4'],
    ['2024-03-01', '8'],
  ])
  // A part that names itself like a column would change what is stored.
  const named = "CASE WHEN toYYYYMM(day) = 202403 AND CAST(7 n, 'UInt32') > 0 THEN 1 ELSE 0 END"
  const renamed = await replace('visits', csv([['2024-03-01', 'FR', 9]]), { replace_condition: named })
  t.match(renamed, { status: 400, json: { error: /cannot be used: .*cannot name a part of itself/ } })
  t.same(await totals(), all(313))
  const added = await replace('visits', csv([['2024-06-01', 'DE', 1000]]), {
    replace_condition: 'toYYYYMM(day) = 202406',
  })
  t.match(added, { status: 200, json: { imported_rows: 1, unmatched_rows: 0 } })
  t.same(await totals(), all(1313))
  const emptied = await replace('visits', csv([['2024-06-01', 'DE', 1]]), {
    replace_condition: 'toYYYYMM(day) = 202401',
  })
  t.match(emptied, { status: 200, json: { imported_rows: 0, unmatched_rows: 1 } })
  t.same(await totals(), all(1012))
  const untouched = await replace('visits', csv([['2024-06-01', 'DE', 1]]), { replace_condition: "day = '1999-01-01'" })
  t.match(untouched, { status: 200, json: { imported_rows: 0, unmatched_rows: 1 } })
  t.same(await totals(), all(1012))
})

t.test('rows come in every way in which they can be appended', async (t) => {
  await replace(
    'visits',
    csv([
      ['2024-01-01', 'DE', 1],
      ['2024-02-01', 'DE', 2],
    ]),
  )
  const lines = '{"day":"2024-01-05","country":"IT","n":10}\n{"day":"2024-02-05","country":"IT","n":20}\n'
  t.match(await replace('visits', lines, { format: 'ndjson', type_guessing: 'false' }), {
    status: 200,
    json: { imported_rows: 2 },
  })
  t.same(await totals(), all(30))
  const form = new FormData()
  form.set('mode', 'replace')
  form.set('name', 'visits')
  form.set('replace_condition', 'toYYYYMM(day) IN (202401)')
  form.set('csv', new Blob(['2024-01-06,FR,100\n2024-02-06,FR,200\n']), 'rows.csv')
  const parted = await service.call('POST', '/v0/datasources', { body: form })
  t.match(parted, { status: 200, json: { imported_rows: 1, unmatched_rows: 1 } })
  t.same(await totals(), all(120))
  const packed = await service.call('POST', '/v0/datasources?mode=replace&name=visits&format=csv', {
    body: gzipSync('n,country,day\n5,DE,2024-03-01\n'),
    headers: { 'content-encoding': 'gzip' },
  })
  t.match(packed, { status: 200, json: { imported_rows: 1 } })
  t.same(await service.rows('SELECT * FROM visits'), [['2024-03-01', 'DE', '5']])
})

t.test('with a condition, partitions of a dependent that are not compatible are refused', async (t) => {
  const rows = csv([
    ['2024-01-01', 'DE', 1],
    ['2024-01-02', 'FR', 2],
    ['2024-02-02', 'FR', 4],
  ])
  t.match(await replace('sold', rows), { status: 200 })
  const refused = await replace('sold', rows, { replace_condition: "day = '2024-01-01'" })
  t.match(refused, { status: 400 })
  t.match(refused.json, {
    error:
      'The partition keys of "sold" and of "countries", which is computed from it, are not compatible: the second is by country, which depends on country, and the first by toYYYYMM(day); nothing was replaced',
  })
  t.same(await service.rows('SELECT sum(n), (SELECT sum(n) FROM countries) FROM sold'), [['7', '7']])
  // By the same column, but finer: only the rows show it.
  t.match(await replace('shown', rows), { status: 200 })
  const finer = await replace('shown', rows, { replace_condition: "day = '2024-01-01'" })
  t.match(finer, { status: 400, json: { imported_rows: undefined } })
  t.match(finer.json, {
    error:
      /^The partition keys of "shown" and of "per_day", .* rows of partition 202401 come to the partitions '?2024-01-01'?, '?2024-01-02'?; nothing was replaced$/,
  })
  t.same(await service.rows('SELECT sum(n), (SELECT sum(n) FROM per_day) FROM shown'), [['7', '7']])
  const coarser = await replace('shown', csv([['2024-02-02', 'IT', 10]]), { replace_condition: "day >= '2024-02-01'" })
  t.match(coarser, { status: 200 }, 'what is one partition is replaced')
  t.same(await service.rows('SELECT sum(n), (SELECT sum(n) FROM per_day) FROM shown'), [['13', '13']])
})

t.test('a Null data source replaces what is behind it, and a Join data source is loaded', async (t) => {
  await service.append('gate', 'csv', '1,1\n2,2\n')
  t.match(await replace('gate', '1,10\n3,30\n'), { status: 200, json: { imported_rows: 2 } })
  t.same(await service.rows('SELECT k, sum(n) FROM behind_gate GROUP BY k ORDER BY k'), [
    ['1', '10'],
    ['3', '30'],
  ])
  for (const [first, second] of [
    ['one', 'two'],
    ['eins', 'zwei'],
  ] as const) {
    t.match(await replace('names', `1,${first}\n2,${second}\n`), { status: 200, json: { imported_rows: 2 } })
    t.same(await service.rows('SELECT k, name FROM names ORDER BY k'), [
      ['1', first],
      ['2', second],
    ])
  }
})

t.test('what views bring to a Join data source is not appended, in any format, and can be replaced', async (t) => {
  for (const name of ['looked', 'looked_last']) {
    const error =
      `Rows cannot be appended to Data Source "${name}": a Materialized View writes them to Data Source "looked_up", ` +
      'which has the engine Join; use mode=replace'
    const refusal = { status: 400, json: { error, documentation: 'docs/errors.md#append_unsupported' } }
    t.match(await service.append(name, 'csv', '1,one\n'), refusal)
    t.match(await service.append(name, 'ndjson', '{"k":1,"name":"one"}\n'), refusal)
    const parquet = `/v0/datasources?mode=append&format=parquet&name=${name}`
    t.match(await service.call('POST', parquet, { body: 'PAR1' }), refusal)
    t.match(await service.events(name, '{"k":1,"name":"one"}', { wait: 'true' }), refusal)
    t.match(await service.call('POST', `/v0/datasources/${name}/quarantine/replay`), refusal, 'a replay appends too')
    t.equal(await service.count(name), 0)
  }
  for (const text of ['one', 'eins']) {
    t.match(await replace('looked', `1,${text}\n`), { status: 200, json: { imported_rows: 1 } })
    t.same(await service.rows('SELECT k, name FROM looked_up'), [['1', text]])
    t.same(await service.rows('SELECT k, name FROM looked_last'), [['1', text]])
  }
  t.match(await service.append('names', 'csv', '1,one\n'), {
    status: 400,
    json: { error: 'Data Source "names" has the engine Join, to which rows cannot be appended; use mode=replace' },
  })
})

/** A body whose end the test decides. */
function openEnded(beginning: string): { readonly body: ReadableStream; readonly end: (rest: string) => void } {
  const end = { now: (_: string): void => undefined }
  const body = new ReadableStream({
    start(controller) {
      // A replace begins when enough has come to tell how its rows are packed; empty lines are no rows.
      controller.enqueue(Buffer.from(beginning + '\n'.repeat(1_024)))
      end.now = (rest) => {
        controller.enqueue(Buffer.from(rest))
        controller.close()
      }
    },
  })
  return { body, end: (rest) => end.now(rest) }
}

/** Resolves when the data source is being replaced. */
async function untilReplaced(name: string): Promise<void> {
  for (;;) {
    const { status, json } = await service.append(name, 'csv', '2024-01-01,DE,0\n')
    if (status === 200) continue
    t.match({ status, json }, { status: 409, json: { error: /is being replaced; nothing was changed/ } })
    return
  }
}

t.test('events that are acknowledged while a replace runs are stored behind it', async (t) => {
  await service.events('visits', '{"day":"2024-01-01","country":"DE","n":1}', { wait: 'true' })
  const { body, end } = openEnded('2024-01-01,DE,10\n')
  const replacing = replace('visits', body)
  await untilReplaced('visits')
  const event = '{"day":"2024-01-01","country":"DE","n":100}'
  t.match(await service.events('visits', event), { status: 202, json: { successful_rows: 1 } })
  const waiting = service.events('visits', event, { wait: 'true' })
  const dependent = service.events('daily', '{"day":"2024-01-01","n":1000}', { wait: 'true' })
  t.match(await service.call('GET', '/v0/datasources/visits'), { json: { events: { error: null } } })
  end('2024-01-02,DE,20\n')
  t.match(await replacing, { status: 200, json: { imported_rows: 2 } })
  t.match(await waiting, { status: 200 })
  t.match(await dependent, { status: 200 })
  await service.untilStored('visits')
  t.same(await totals(), [['230', '1230', '1230', '1230']])
  const emptied = await replace('visits', '2024-01-01,DE,7\n')
  t.match(emptied, { status: 200 })
  t.same(await totals(), all(7), 'and are gone with the next one')
})

t.test('while a replace runs, other changes of what it is about are refused, and the rest goes on', async (t) => {
  const { body, end } = openEnded('2024-01-01,DE,10\n')
  const replacing = replace('visits', body)
  await untilReplaced('visits')
  const busy = {
    status: 409,
    json: { error: 'Data Source "visits" is being replaced; nothing was changed, repeat it later' },
  }
  t.match(await replace('visits', '2024-01-01,DE,1\n'), busy)
  t.match(await service.call('DELETE', '/v0/datasources/visits'), busy)
  t.match(await service.append('total', 'csv', '1,1\n'), { status: 409 }, 'a dependent is held too')
  t.match(await replace('daily', '2024-01-01,1\n'), { status: 409 })
  t.match(await service.append('sold', 'csv', '2024-01-01,DE,1\n'), { status: 200 })
  t.same(await totals(), all(7), 'readers see the old content')
  end('')
  t.match(await replacing, { status: 200 })
  t.same(await totals(), all(10))
})

t.test('no more than four replaces run at once', async (t) => {
  const names = ['visits', 'sold', 'strict', 'gate']
  const bodies = ['2024-01-01,DE,1\n', '2024-01-01,DE,1\n', '1\n', '1,1\n'].map(openEnded)
  const running = names.map((name, index) => replace(name, bodies[index]?.body))
  for (const name of names) await untilReplaced(name)
  t.match(await replace('names', '1,one\n'), { status: 503, json: { error: /^Too many changes/ } })
  for (const { end } of bodies) end('')
  for (const answer of await Promise.all(running)) t.match(answer, { status: 200 })
})

t.test('nothing is left of the staging tables', async (t) => {
  await service.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.same(await store.rows("SELECT name FROM system.tables WHERE database = 'ws_0001' AND name LIKE '%staging'"), [])
  await store.close()
})
