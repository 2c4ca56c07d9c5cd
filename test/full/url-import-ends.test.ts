// Imports by URL that are cancelled in their middle, or that outlive the service that began them.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import zlib from 'node:zlib'
import t, { type Test } from 'tap'
import type { TestService } from '../support/api/test-service.ts'
import {
  csvOf,
  heldFile,
  jobIdOf,
  jobOf,
  openUrlService,
  reopen,
  storedSumOf,
  sumOf,
  testJsonSchema,
  testRows,
  testSchema,
  type UrlJob,
  until,
  untilEnded,
} from '../support/imports/url-imports.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { answerFile } from '../support/remote-server.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const rows = testRows(40_000)
const csv = csvOf(rows)
/** Many small blocks. */
const small = { frameBytes: 65_536, insertRowsMax: 2_000 }

/** Cancels a job, and again: the second time is refused. Gives it as it is at its end. */
async function cancel(t: Test, service: TestService, id: string): Promise<UrlJob> {
  const beganAt = performance.now()
  const first = await service.call('POST', `/v0/jobs/${id}/cancel`)
  t.match(first, { status: 200, json: { id, is_cancellable: false, status: /cancell(ing|ed)/ } })
  const again = await service.call('POST', `/v0/jobs/${id}/cancel`)
  t.match(again, { status: 400, json: { error: /cannot be cancelled/ } })
  const job = await untilEnded(service, id)
  t.comment(`cancelled in ${Math.round(performance.now() - beganAt)} ms`)
  t.match(job, { status: 'cancelled', is_cancellable: false })
  t.equal(job.error, undefined)
  t.match(await service.call('POST', `/v0/jobs/${id}/cancel`), { status: 400 })
  return job
}

t.test('a cancel ends an import that waits, connects, or waits to try again', async (t) => {
  const { service, files, start, run } = await openUrlService(t, { urlImportsMax: 1, urlRetryDelayMaxMs: 60_000 })
  files.set('/never.csv', () => {})
  files.set('/busy.csv', (_, response) => void response.writeHead(503, { 'retry-after': '60' }).end())
  files.set('/rows.csv', answerFile({ content: csv }))
  const connecting = jobIdOf(await start({ name: 'connecting' }, '/never.csv'))
  const waiting = jobIdOf(await start({ name: 'waiting' }, '/rows.csv'))
  await until(service, connecting, ({ status }) => status === 'working')
  t.match(await jobOf(service, waiting), { status: 'waiting', is_cancellable: true })
  await cancel(t, service, waiting)
  await cancel(t, service, connecting)
  const busy = jobIdOf(await start({ name: 'busy' }, '/busy.csv'))
  await until(service, busy, ({ status }) => status === 'working')
  await cancel(t, service, busy)
  for (const name of ['connecting', 'waiting', 'busy']) {
    t.equal((await service.call('GET', `/v0/datasources/${name}`)).status, 404, name)
  }
  const done = await run({ name: 'waiting' }, '/rows.csv')
  t.match(done, { status: 'done', imported_rows: rows.length }, 'the next one has the place')
  t.match(await service.call('POST', `/v0/jobs/${done.id}/cancel`), { status: 400, json: { error: /has ended/ } })
})

t.test('a cancel while rows are read leaves those that are stored, and counts them', async (t) => {
  const { service, files, start, run } = await openUrlService(t, small)
  files.set('/rows.csv', heldFile(csv, 900_000, { isOpen: false }))
  files.set('/guess.csv', heldFile(csv, 1_000, { isOpen: false }))
  files.set('/all.csv', answerFile({ content: csv }))
  const id = jobIdOf(await start({ name: 'a', schema: testSchema }, '/rows.csv'))
  await until(service, id, (job) => (job.imported_rows ?? 0) > 5_000)
  const job = await cancel(t, service, id)
  const stored = job.imported_rows ?? -1
  t.match(job, { rows_read: stored, quarantine_rows: 0, invalid_lines: 0 })
  t.same(await storedSumOf(service, 'a'), sumOf(rows.slice(0, stored)), `${stored} rows`)

  const guessing = jobIdOf(await start({ name: 'b' }, '/guess.csv'))
  await until(service, guessing, (one) => one.status === 'working')
  await cancel(t, service, guessing)
  t.equal((await service.call('GET', '/v0/datasources/b')).status, 404)
  t.match(await run({ name: 'a', mode: 'append' }, '/all.csv'), { status: 'done', imported_rows: rows.length })
})

t.test('a cancel leaves each bad row between those that are stored in the quarantine', async (t) => {
  const { service, files, start } = await openUrlService(t, small)
  const lines = rows.map((row, index) => (index % 97 === 96 ? `{"id":"x","name":"${index}"}` : JSON.stringify(row)))
  const content = Buffer.from(lines.join('\n'))
  files.set('/rows.ndjson', heldFile(content, Math.floor(content.length * 0.6), { isOpen: false }))
  const id = jobIdOf(await start({ name: 'a', schema: testJsonSchema }, '/rows.ndjson'))
  await until(service, id, (job) => (job.imported_rows ?? 0) > 5_000)
  const job = await cancel(t, service, id)
  t.equal(job.imported_rows, await service.count('a'))
  const [[lastId = ''] = []] = await service.rows('SELECT max(id) FROM a')
  const read = rows.slice(0, Number(lastId) + 1)
  t.same(await storedSumOf(service, 'a'), sumOf(read.filter((_, index) => index % 97 !== 96)), 'without a gap else')
  const gaps = read.flatMap((_, index) => (index % 97 === 96 ? [String(index)] : []))
  const setAside = await service.rows('SELECT name FROM a_quarantine ORDER BY toUInt64(name)')
  t.ok(gaps.length > 0)
  // Behind the last row that is stored one more may end its block.
  t.same(setAside.flat().slice(0, gaps.length), gaps)
  t.ok(setAside.length <= gaps.length + 1)
  t.match(job, { quarantine_rows: setAside.length })
  t.equal(job.warnings, undefined, 'nothing is in doubt')
})

/** Hashed so often for each row that an INSERT of a few thousand takes seconds. */
const slowDefault = `${'SHA512('.repeat(40)}name${')'.repeat(40)}`
const slowColumn = Array.from(
  { length: 12 },
  (_, index) => `s${index} String DEFAULT concat('${index}', ${slowDefault})`,
)

t.test('a cancel while rows are inserted, or replace others', async (t) => {
  const { service, files, start, run } = await openUrlService(t)
  files.set('/rows.csv', answerFile({ content: csv }))
  files.set('/old.csv', answerFile({ content: csvOf(testRows(10)) }))
  const made = await service.create('a', [testSchema, ...slowColumn].join(', '), {
    engine: 'MergeTree',
    engine_sorting_key: 'id',
    engine_partition_key: 'intDiv(id, 1000000)',
  })
  t.equal(made.status, 200)
  t.match(await run({ name: 'a', mode: 'append' }, '/old.csv'), { status: 'done' })
  const old = sumOf(testRows(10))
  const isInserting = ({ block_log: log = [] }: UrlJob) => log.some(({ status }) => status.startsWith('inserting'))
  for (const mode of [{ mode: 'replace' }, { mode: 'replace', replace_condition: 'intDiv(id, 1000000) = 0' }]) {
    const id = jobIdOf(await start({ name: 'a', ...mode }, '/rows.csv'))
    await until(service, id, isInserting)
    await cancel(t, service, id)
    t.same(await storedSumOf(service, 'a'), old, 'the old content stays')
  }
  const id = jobIdOf(await start({ name: 'a', mode: 'append' }, '/rows.csv'))
  await until(service, id, isInserting)
  const job = await cancel(t, service, id)
  t.equal(await service.count('a'), 10 + (job.imported_rows ?? -1), `${job.imported_rows} rows`)
  t.ok((job.rows_read ?? -1) >= (job.imported_rows ?? 0), 'those of INSERTs that were not begun were read')
  t.match(await run({ name: 'a', mode: 'replace' }, '/old.csv'), { status: 'done' }, 'nothing holds it')
  t.same(await storedSumOf(service, 'a'), old)
})

/** Waits until the engine has the INSERT of a block: a little after the block has its name, and its parts are kept. */
async function untilEngineInserts(service: TestService, id: string): Promise<void> {
  const directory = join(service.dataDir, 'import-parts')
  const isNamed = (): boolean => readdirSync(directory, { recursive: true }).some((name) => String(name).includes(id))
  while (!isNamed()) await jobOf(service, id)
  for (let looks = 0; looks < 5; looks += 1) await jobOf(service, id)
}

/** A block is told as a whole: as stored where it was, within the time of a cancel, and else as in doubt. */
function checkWhole(t: Test, { imported_rows: told = -1, rows_read: read, warnings = [] }: UrlJob): void {
  const [, doubtful = 0] = /^Up to (\d+) further rows may be stored/.exec(warnings.at(-1) ?? '') ?? []
  t.comment(`${told} rows stored, ${doubtful} in doubt`)
  t.ok(told === 0 || told === rows.length)
  t.equal(told + Number(doubtful), rows.length)
  t.equal(read, told)
}

t.test('an INSERT that takes long is left by a cancel, which tells how many rows it may store', async (t) => {
  const { service, files, start, run } = await openUrlService(t)
  files.set('/rows.csv', answerFile({ content: csv }))
  const columns = [0, 1, 2].flatMap((copy) => slowColumn.map((column) => `c${copy}${column}`))
  await service.create('a', [testSchema, ...columns].join(', '))
  const id = jobIdOf(await start({ name: 'a', mode: 'append' }, '/rows.csv'))
  await untilEngineInserts(service, id)
  const job = await cancel(t, service, id)
  checkWhole(t, job)
  // It is stored as a whole, and what changes the data source waits for it.
  t.match(await service.call('POST', '/v0/datasources/a/truncate'), { status: 205 })
  t.equal(await service.count('a'), 0)
  t.match(await run({ name: 'a', mode: 'append' }, '/rows.csv'), { status: 'done', imported_rows: rows.length })
})

t.test('a cancel while a slow view takes a large block is prompt, and tells no half of it', async (t) => {
  const { service, files, start } = await openUrlService(t)
  files.set('/rows.csv', answerFile({ content: csv }))
  await service.create('a', testSchema)
  const hashes = Array.from({ length: 36 }, (_, index) => `hex(concat('${index}', ${slowDefault})) AS s${index}`)
  const nodes = [{ name: 'first', sql: 'SELECT 1 AS one' }]
  await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'slow', nodes }) })
  const view = new URLSearchParams({ name: 'hashes', type: 'materialized', datasource: 'hashed' })
  const made = await service.call('POST', `/v0/pipes/slow/nodes?${view}`, {
    body: `SELECT id, ${hashes.join(', ')} FROM a`,
  })
  t.equal(made.status, 200)
  const id = jobIdOf(await start({ name: 'a', mode: 'append' }, '/rows.csv'))
  await untilEngineInserts(service, id)
  const job = await cancel(t, service, id)
  checkWhole(t, job)
  while ((await service.count('a')) === 0);
  t.equal(await service.count('a'), rows.length)
  // What changes the data source waits for the INSERT.
  t.match(await service.call('POST', '/v0/datasources/a/truncate'), { status: 205 })
  t.equal(await service.count('a'), 0)
  t.equal(await service.count('hashed'), rows.length, 'the view has what the table had')
})

t.test('jobs go on after a restart, and every row is stored once', async (t) => {
  const gate = { isOpen: false }
  const opened = await openUrlService(t, { ...small, urlImportsMax: 4 })
  const { service, files, start } = opened
  const packed = zlib.gzipSync(csv, { level: 1 })
  files.set('/rows.csv', heldFile(csv, 1_000_000, gate))
  files.set('/rows.csv.gz', heldFile(packed, Math.floor(packed.length * 0.7), gate))
  files.set('/first.csv', answerFile({ content: csvOf(testRows(5_000, 40_000)) }))
  files.set('/new.csv', heldFile(csv, 700_000, gate))
  await service.create('replaced', testSchema)
  await service.append('replaced', 'csv', csvOf(testRows(7)))
  const ids = {
    plain: jobIdOf(await start({ name: 'plain', schema: testSchema }, '/rows.csv')),
    packed: jobIdOf(await start({ name: 'packed', schema: testSchema }, '/rows.csv.gz')),
    several: jobIdOf(await start({ name: 'several' }, '/first.csv', '/rows.csv')),
    replaced: jobIdOf(await start({ name: 'replaced', mode: 'replace' }, '/new.csv')),
    waiting: jobIdOf(await start({ name: 'waiting' }, '/rows.csv')),
  }
  await until(service, ids.plain, (job) => (job.imported_rows ?? 0) > 5_000)
  await until(service, ids.packed, (job) => (job.imported_rows ?? 0) > 5_000)
  await until(service, ids.several, (job) => (job.imported_rows ?? 0) > 10_000)
  await until(service, ids.replaced, (job) => (job.bytes_read ?? 0) >= 700_000)
  const again = await reopen(t, opened, { ...small, urlImportsMax: 4 })
  t.match(await jobOf(again, ids.plain), { status: 'working', is_cancellable: true })
  gate.isOpen = true
  // Those that were asked for while the gate was shut wait for ever.
  const later = await reopen(t, { ...opened, service: again }, small)
  for (const [name, id] of Object.entries(ids)) {
    const all = name === 'several' ? testRows(45_000) : rows
    const job = await untilEnded(later, id)
    t.match(job, { status: 'done', imported_rows: all.length, rows_read: all.length, progress_percentage: 100 }, name)
    t.same(await storedSumOf(later, name), sumOf(all), name)
    await later.log.until('All rows that an import by URL read are accounted for.', (fields) => fields['job'] === id)
  }
})

t.test('a file that is another one after a restart ends its job, which tells what is stored', async (t) => {
  const opened = await openUrlService(t, small)
  const { service, files, start } = opened
  files.set('/rows.csv', heldFile(csv, 1_000_000, { isOpen: false }))
  const id = jobIdOf(await start({ name: 'a', schema: testSchema }, '/rows.csv'))
  await until(service, id, (job) => (job.imported_rows ?? 0) > 5_000)
  files.set('/rows.csv', answerFile({ content: csv, etag: '"two"' }))
  const again = await reopen(t, opened, small)
  const job = await untilEnded(again, id)
  t.match(job, { status: 'error', error: /changed while it was imported/ })
  const stored = await again.count('a')
  t.ok(stored > 5_000)
  t.ok((job.imported_rows ?? 0) > 0, 'what the process before has stored is told')
  // A machine that is slow may close before it knows of the last INSERT, and says so.
  const [, doubtful = 0] = /^Up to (\d+) further rows may be stored/.exec(job.warnings?.at(-1) ?? '') ?? []
  const counted = job.imported_rows ?? 0
  t.ok(counted <= stored && stored <= counted + Number(doubtful), `${stored} rows, ${counted} and ${doubtful} told`)
  t.same(await storedSumOf(again, 'a'), sumOf(rows.slice(0, stored)))
})

t.test('bad rows and a Parquet file are gone on with too, wherever the service is closed', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const query = "SELECT number AS id, concat('n', toString(number * 7919)) AS name FROM numbers(40000)"
  const parquet = (await writeParquetFiles({ rows: { sql: query, settings: { row_group_size: 1_000 } } }))('rows')
  const parquetRows = Array.from({ length: 40_000 }, (_, id) => ({ id, name: `n${id * 7919}` }))
  // Each hundredth row does not fit, and each thousandth line is none.
  const lines = rows.map((row, index) => {
    if (index % 100 === 7) return `{"id":"x","name":${JSON.stringify(row.name)}}`
    return index % 1_000 === 13 ? `{"id":${row.id},` : JSON.stringify(row)
  })
  const good = rows.filter((_, index) => index % 100 !== 7 && index % 1_000 !== 13)
  const opened = await openUrlService(t, small)
  const { files, start } = opened
  let { service } = opened
  files.set('/rows.ndjson', answerFile({ content: Buffer.from(lines.join('\n')), writeBytes: 40_000 }))
  files.set('/rows.parquet', answerFile({ content: parquet, writeBytes: 40_000 }))
  const ids = {
    bad: jobIdOf(await start({ name: 'bad', schema: testJsonSchema }, '/rows.ndjson')),
    parquet: jobIdOf(await start({ name: 'parquet', schema: testJsonSchema }, '/rows.parquet')),
  }
  for (let round = 0; round < byTier({ quick: 3, full: 3, soak: 100 }); round += 1) {
    const reads = 1 + random.below(40)
    for (let read = 0; read < reads; read += 1) await jobOf(service, ids.bad)
    service = await reopen(t, { ...opened, service }, small)
  }
  t.match(await untilEnded(service, ids.bad), {
    status: 'done',
    rows_read: 40_000,
    imported_rows: good.length,
    quarantine_rows: 400,
    invalid_lines: 40,
  })
  t.same(await storedSumOf(service, 'bad'), sumOf(good))
  t.equal(await service.count('bad_quarantine'), 440)
  t.same(await service.rows('SELECT DISTINCT c__import_id FROM bad_quarantine'), [[ids.bad]])
  t.match(await untilEnded(service, ids.parquet), { status: 'done', rows_read: 40_000, imported_rows: 40_000 })
  t.same(await storedSumOf(service, 'parquet'), sumOf(parquetRows))
})

t.test('a close in the middle of imports is no error of theirs, and says that they go on', async (t) => {
  const { service, files, start } = await openUrlService(t, { ...small, urlImportsMax: 5 })
  files.set('/never.csv', () => {})
  files.set('/rows.csv', heldFile(csv, 900_000, { isOpen: false }))
  files.set('/guess.csv', heldFile(csv, 1_000, { isOpen: false }))
  files.set('/all.csv', answerFile({ content: csv }))
  await service.create('replaced', testSchema)
  await service.create('slow', [testSchema, ...slowColumn].join(', '))
  const connecting = jobIdOf(await start({ name: 'connecting' }, '/never.csv'))
  const reading = jobIdOf(await start({ name: 'reading', schema: testSchema }, '/rows.csv'))
  const guessing = jobIdOf(await start({ name: 'guessing' }, '/guess.csv'))
  const replacing = jobIdOf(await start({ name: 'replaced', mode: 'replace' }, '/rows.csv'))
  const inserting = jobIdOf(await start({ name: 'slow', mode: 'append' }, '/all.csv'))
  await until(service, reading, (job) => (job.imported_rows ?? 0) > 5_000)
  await until(service, replacing, (job) => (job.bytes_read ?? 0) > 800_000)
  await until(service, inserting, ({ block_log: log = [] }) => log.some(({ status }) => /^inserting/.test(status)))
  for (const id of [connecting, guessing]) t.match(await jobOf(service, id), { status: 'working' })
  await service.close()
  const loud = service.log.entries.filter(
    ({ level, message }) => level === 'error' || (level === 'warn' && /import/i.test(message)),
  )
  t.same(
    loud.map(({ level, message, fields }) => ({ level, message, error: String(fields['err'] ?? '') })),
    [],
  )
  const goesOn = service.log.entries.filter(({ message }) => message.startsWith('An import stops where it is'))
  t.ok(goesOn.length > 0, `${goesOn.length} of them have begun to load`)
})
