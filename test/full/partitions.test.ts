import t, { type Test } from 'tap'
import type { Options } from '../../src/config.ts'
import { openService } from '../../src/service.ts'
import { type Answer, TestLog, TestService, testOptions } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const limits = { partitionsPerBodyMax: 20, partitionsMax: 40 }

async function live(t: Test, given: Partial<Options> = limits): Promise<TestService> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const log = new TestLog()
  const service = await openService(testOptions({ dataDir: directory.path, ...given }), log)
  t.teardown(() => service.close())
  return new TestService(service, { log, dataDir: directory.path })
}

const byPartition = { engine: 'MergeTree', engine_partition_key: 'p' }

/** Rows `p,n` of the partitions from `from` to the one before `until`. */
function csv(from: number, until: number): string {
  return Array.from({ length: until - from }, (_, index) => `${from + index},${index}\n`).join('')
}

function ndjson(from: number, until: number): string {
  return Array.from({ length: until - from }, (_, index) => `{"p":${from + index},"n":${index}}\n`).join('')
}

function isRefused(t: Test, answer: Answer, importedRows: number): void {
  t.match(answer, { status: 400, json: { imported_rows: importedRows, documentation: /#partitions_too_many$/ } })
  t.match(answer.json, { error: /partitions.*the counted rows are stored.*--partitions-/ })
}

t.test('a CSV of more partitions than a body may be of ends early, with a clear answer and its counts', async (t) => {
  const service = await live(t, {})
  await service.create('many', 'p UInt32, n UInt32', byPartition)
  isRefused(t, await service.append('many', 'csv', csv(0, 100_000)), 0)
  t.equal(await service.count('many'), 0)
  t.match(await service.append('many', 'csv', csv(0, 50)), { status: 200, json: { imported_rows: 50 } })
  await service.close()
})

t.test('each way in is bounded by the partitions of a body', async (t) => {
  const service = await live(t)
  for (const [format, text] of [
    ['csv', csv],
    ['ndjson', ndjson],
  ] as const) {
    const name = `by_${format}`
    await service.create(name, 'p UInt32, n UInt32', byPartition)
    isRefused(t, await service.append(name, format, text(0, 21)), 0)
    t.match(await service.append(name, format, text(0, 20)), { status: 200, json: { imported_rows: 20 } })
    t.equal(await service.count(name), 20)
    const replace = new URLSearchParams({ mode: 'replace', name, format })
    const refused = await service.call('POST', `/v0/datasources?${replace}`, { body: text(100, 121) })
    t.match(refused, { status: 400, json: { documentation: /#partitions_too_many$/ } })
    t.equal(await service.count(name), 20, 'a replace that is refused changes nothing')
    const taken = await service.call('POST', `/v0/datasources?${replace}`, { body: text(100, 120) })
    t.match(taken, { status: 200 })
    t.same(await service.rows(`SELECT min(p), count() FROM ${name}`), [['100', '20']])
  }
  await service.close()
})

t.test('a body of several INSERTs ends early when it has added too many partitions', async (t) => {
  const service = await live(t, { ...limits, insertRowsMax: 10, frameBytes: 4096, partitionsMax: 1000 })
  await service.create('parts', 'p UInt32, n UInt32', byPartition)
  const lines = Array.from({ length: 4000 }, (_, n) => `${Math.floor(n / 20)},${n}\n`).join('')
  const answer = await service.append('parts', 'csv', lines)
  t.match(answer, { status: 400, json: { documentation: /#partitions_too_many$/ } })
  // The shape is what the check above is about.
  const { imported_rows: counted } = answer.json as { readonly imported_rows: number }
  t.equal(await service.count('parts'), counted, 'what is counted is stored')
  t.ok(counted < 4000)
  await service.close()
})

t.test('a data source has no more partitions than it may, by imports', async (t) => {
  const service = await live(t)
  const keys = [
    ['p', (p: number) => `${p},x,2026-01-01`],
    ['s', (p: number) => `1,it''s ${p},2026-01-01`],
    ['d', (p: number) => `1,x,2026-${p < 30 ? '01' : '02'}-${String((p % 30) + 1).padStart(2, '0')}`],
    ['(s, d)', (p: number) => `1,k${p},2026-01-01`],
  ] as const
  for (const [index, [key, line]] of keys.entries()) {
    const name = `full_${index}`
    await service.create(name, 'p UInt32, s String, d Date', { engine: 'MergeTree', engine_partition_key: key })
    const lines = (from: number, until: number): string =>
      Array.from({ length: until - from }, (_, n) => `${line(from + n)}\n`).join('')
    for (const from of [0, 20]) t.match(await service.append(name, 'csv', lines(from, from + 20)), { status: 200 }, key)
    isRefused(t, await service.append(name, 'csv', lines(39, 41)), 0)
    t.match(
      await service.append(name, 'csv', lines(20, 40)),
      { status: 200, json: { imported_rows: 20 } },
      'those it has',
    )
    t.equal(await service.count(name), 60)
  }
  t.match(await service.call('POST', '/v0/datasources/full_0/truncate'), { status: 205 })
  t.match(await service.append('full_0', 'csv', '77,x,2026-01-01\n'), { status: 200 }, 'a truncate makes room')
  await service.close()
})

const quarantined =
  'the row is of a partition more than events that are inserted together, or their Data Source, may have'

t.test(
  'events of too many partitions go to quarantine with the reason, the others of their block are stored',
  async (t) => {
    const service = await live(t)
    await service.create('events', 'p UInt32, n UInt32', byPartition)
    const body = `${ndjson(0, 25)}{"p":"bad","n":1}\n{"p":3,"n":99}\n`
    t.match(await service.events('events', body, { wait: 'true' }), {
      status: 200,
      json: { successful_rows: 26, quarantined_rows: 1 },
    })
    t.same(await service.rows('SELECT count(), uniqExact(p) FROM events'), [['21', '20']])
    t.same(await service.rows("SELECT count() FROM events_quarantine WHERE p != 'bad'"), [['5']])
    t.same(await service.rows("SELECT DISTINCT c__error[1] FROM events_quarantine WHERE p != 'bad'"), [[quarantined]])
    t.match(await service.events('events', ndjson(100, 120), { wait: 'true' }), { status: 200 })
    t.equal(await service.count('events'), 41)
    // The data source is full: events of its partitions are stored, one by one too, and others are not.
    t.match(await service.events('events', '{"p":200,"n":1}\n{"p":100,"n":2}', { wait: 'true' }), { status: 200 })
    t.match(await service.events('events', '{"p":201,"n":1}', { wait: 'true' }), { status: 200 })
    t.equal(await service.count('events'), 42)
    t.same(await service.rows('SELECT p FROM events_quarantine WHERE toUInt32OrZero(p) >= 200 ORDER BY p'), [
      ['200'],
      ['201'],
    ])
    t.match(await service.call('GET', '/v0/datasources/events'), { json: { events: { waiting_rows: 0, error: null } } })
    await service.close()
  },
)

t.test('a Parquet file of too many partitions ends early', async (t) => {
  const service = await live(t)
  await service.create('file', 'p UInt32, n UInt32', byPartition)
  const load = async (count: number): Promise<Answer> => {
    const body = `SELECT toUInt32(number) AS p, toUInt32(number) AS n FROM numbers(${count}) FORMAT Parquet`
    const headers = { authorization: 'Bearer p.test.token' }
    const file = await fetch(`${service.address}/v0/sql`, { method: 'POST', headers, body })
    const parameters = new URLSearchParams({ mode: 'append', name: 'file', format: 'parquet' })
    return await service.call('POST', `/v0/datasources?${parameters}`, {
      body: new Uint8Array(await file.arrayBuffer()),
    })
  }
  isRefused(t, await load(21), 0)
  t.equal(await service.count('file'), 0)
  t.match(await load(20), { status: 200, json: { imported_rows: 20 } })
  t.equal(await service.count('file'), 20)
  await service.close()
})

t.test('a replay leaves rows of too many partitions in the quarantine, with the reason', async (t) => {
  const service = await live(t)
  await service.create('again', 'p UInt32, n UInt32', byPartition)
  t.match(await service.events('again', ndjson(0, 25).replaceAll('"n":', '"n":"x","m":'), { wait: 'true' }), {
    status: 200,
    json: { quarantined_rows: 25 },
  })
  const body = JSON.stringify({ fixes: { n: "'7'" } })
  const answer = await service.call('POST', '/v0/datasources/again/quarantine/replay', { body })
  t.match(answer.json, { replayed_rows: 20, failed_rows: 5, failures: [{ reason: quarantined, rows: 5 }] })
  t.equal(await service.count('again'), 20)
  t.equal(await service.count('again_quarantine'), 5)
  t.match((await service.call('POST', '/v0/datasources/again/quarantine/replay', { body })).json, { failed_rows: 0 })
  t.equal(await service.count('again'), 25, 'a further body takes them')
  await service.close()
})
