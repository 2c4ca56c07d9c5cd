import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { assert } from '../src/shared/assert.ts'
import { isChosen, readOptions, withBench } from './support/bench.ts'
import type { EngineAlone } from './support/engine-alone.ts'
import { createEventsTable, eventsTable, storedEvents, untilStored } from './support/event-receivers.ts'
import type { LoadGenerator } from './support/load-generator.ts'
import { statusSum } from './support/process-usage.ts'
import { type ServiceProcess, startEngine, startGenerator, startService } from './support/processes.ts'
import type { Remote } from './support/remote-functions.ts'
import { report } from './support/report.ts'
import type { PacedEvents } from './support/send-events.ts'
import { createServiceClient, importResult, type ServiceClient } from './support/service-client.ts'
import { medianOf, spreadCells, spreadOf } from './support/statistics.ts'
import { ingestSql, type RateCase, rateCases, viewsOfIngest } from './support/view-cases.ts'
import { workloads } from './support/workloads.ts'

/**
 * What do materialized views cost?
 *
 * `--what beside`: a populate of `--rows` rows while `--rate` rows a second arrive: whether the aggregates are exact, the highest memory of
 * all processes of the service, and how long events take to their answer before, during and after it.
 * `--what rate`: a populate beside the engine's own INSERT … SELECT over the same rows, in turn; four kinds of views. `--path` is the type
 * of the column `path`, such as `LowCardinality(String)`.
 * `--what many`: `--views` views in one workspace, from the request to the answer, each with a target of its own.
 * `--what ingest`: an import into a data source with 20 views, beside the engine that reads the same file into a table with the same views.
 *
 * The engine alone runs in a process of its own with its default settings. Counts and sums are compared after each run.
 */
const options = readOptions({
  what: 'rate',
  only: '',
  rows: 12_000_000,
  users: 1_000_000,
  path: 'String',
  rounds: 5,
  rate: 50_000,
  seconds: 10,
  views: 1_000,
  seed: 20_260_101,
})
const columns = withPath(workloads.events.formats.ndjson.schema)
const rowsPerBody = 100
const mergesPollMs = 200
/** What a table that was emptied leaves to do is no part of what fills it: the service notes its parts a second later. */
const settleMs = 2_000
/** A merge may begin a moment after the one before it has ended. */
const quietLooksMin = 10

const measured = { beside, rate, many, ingest }[options.what]
if (measured === undefined) throw new Error('--what is beside, rate, many or ingest')
await measured()

function withPath(declared: string): string {
  return declared.replace('path String', `path ${options.path}`)
}

interface Processes {
  readonly service: ServiceProcess
  readonly directory: string
}

async function beside(): Promise<void> {
  const { rows, notes } = await withBench(async ({ directory, opened }) => {
    const generator = opened(startGenerator())
    const service = opened(await startService({ directory: join(directory, 'service') }))
    const client = createServiceClient(service)
    await createEventsTable(client)
    const filled = await fill({ service, generator })
    const restingBytes = await statusSum(service.pid, 'VmHWM')
    const before = [await paced({ service, generator })]
    const sql = `SELECT toStartOfHour(ts) AS hour, path, count() AS hits, sum(n) AS total FROM ${eventsTable} GROUP BY hour, path`
    const engine = { engine: 'SummingMergeTree', engine_sorting_key: 'hour, path' }
    const startedAtMs = performance.now()
    const { job } = await makeView(service, { name: 'by_hour', sql, engine, populates: true })
    const during: PacedEvents[] = []
    const ended = untilEnded(service, job?.id ?? '').then(() => performance.now() - startedAtMs)
    let populateMs: number | null = null
    void ended.then((ms) => {
      populateMs = ms
    })
    while (populateMs === null) during.push(await paced({ service, generator }))
    const after = [await paced({ service, generator })]
    const peakBytes = await statusSum(service.pid, 'VmHWM')
    const sent = [...before, ...during, ...after].reduce((count, { rowCount }) => count + rowCount, 0)
    await untilStored(() => storedEvents(client), { rowCount: filled + sent })
    const [source] = await client.rows<Sums>(
      `SELECT toFloat64(count()) AS rowCount, toFloat64(sum(n)) AS added FROM ${eventsTable}`,
    )
    const [view] = await client.rows<Sums>(
      'SELECT toFloat64(sum(hits)) AS rowCount, toFloat64(sum(total)) AS added FROM by_hour',
    )
    assert(
      JSON.stringify(source) === JSON.stringify(view),
      `${JSON.stringify(view)} in the view of ${JSON.stringify(source)}`,
    )
    const seconds = (await ended) / 1_000
    return {
      rows: [phaseRow('before', before), phaseRow('during', during), phaseRow('after', after)],
      notes: `${source?.rowCount} rows, sums equal. The populate of ${options.rows} took ${seconds.toFixed(1)} s. Memory at most ${(peakBytes / 1e6).toFixed(0)} MB, before it ${(restingBytes / 1e6).toFixed(0)} MB.`,
    }
  })
  const header = ['phase', 'events', 'answer p50 ms', 'p99 ms', 'max ms', 'refused']
  report({ header, rows, notes }, options.out, { rows, notes })
}

interface Sums {
  readonly rowCount: number
  readonly added: number
}

interface Sending {
  readonly service: ServiceProcess
  readonly generator: Remote<LoadGenerator>
}

/** Rows of a pool that is sent again and again; gives their number. */
async function fill({ service, generator }: Sending): Promise<number> {
  const target = createServiceClient(service).appendTarget(eventsTable, 'csv')
  const plan = { workload: 'events', format: 'csv', rowCount: 240_000, seed: options.seed, badEvery: null } as const
  const bytesPerRow = 51
  const { status, text, rowCount } = await generator.call('sendRepeated', {
    plan,
    byteCount: options.rows * bytesPerRow,
    target,
  })
  assert(status === 200 && importResult(text).error === false, text.slice(0, 900))
  return rowCount
}

async function paced({ service, generator }: Sending): Promise<PacedEvents> {
  return await generator.call('sendPaced', {
    target: createServiceClient(service).eventsTarget(eventsTable, false),
    status: 202,
    bodies: { rowsPerBody, bodyCount: 2_000, seed: options.seed },
    bodiesPerSecond: options.rate / rowsPerBody,
    connectionCount: 64,
    durationMs: options.seconds * 1_000,
    warmUpMs: 0,
  })
}

/** The middle of some runs' medians, and the worst of the rest. */
function phaseRow(phase: string, runs: readonly PacedEvents[]): readonly string[] {
  const rowCount = runs.reduce((count, run) => count + run.rowCount, 0)
  const refused = runs.reduce((count, run) => count + run.refusedCount, 0)
  const p50 = medianOf(runs.map(({ answerMs }) => answerMs.p50))
  const worst = (of: 'max' | 'p99') => Math.max(...runs.map(({ answerMs }) => answerMs[of]))
  return [phase, String(rowCount), p50.toFixed(1), worst('p99').toFixed(1), worst('max').toFixed(1), String(refused)]
}

async function rate(): Promise<void> {
  const { rows, notes } = await withBench(async ({ directory, opened }) => {
    const engine = opened(startEngine())
    await engine.call('open', { directory: join(directory, 'engine'), settings: '' })
    const service = opened(await startService({ directory: join(directory, 'service') }))
    await fillBoth(engine, { service, directory })
    const found: (readonly string[])[] = []
    for (const one of rateCases.filter(({ name }) => isChosen(options.only, name))) {
      found.push(await measureRate(engine, service, one))
      console.log(found.at(-1)?.join('  '))
    }
    const peakBytes = await statusSum(service.pid, 'VmHWM')
    return {
      rows: found,
      notes: `Memory of the service at most ${(peakBytes / 1e6).toFixed(0)} MB, its filling included.`,
    }
  })
  const header = ['view', 'populate rows/s', 'engine rows/s', 'populate / engine: min', 'median', 'max']
  report({ header, rows, notes }, options.out, rows)
}

/** The same rows on both sides: made by the engine, and imported as the Parquet files that it writes. */
async function fillBoth(engine: Remote<EngineAlone>, { service, directory }: Processes): Promise<void> {
  const made = `SELECT toDateTime64('2026-01-01 00:00:00', 3) + number * 0.05 AS ts, concat('u', toString(cityHash64(number) % ${options.users})) AS user,
    concat('/p/', toString(number % 100)) AS path, toUInt32(cityHash64(number, 1) % 100000) AS n, toFloat64(number % 10000) / 16 AS v`
  const key = 'ENGINE = MergeTree ORDER BY (user, ts)'
  await engine.call('run', `CREATE DATABASE bench`)
  await engine.call('run', `CREATE TABLE bench.${eventsTable} (${columns}) ${key}`)
  const client = createServiceClient(service)
  await createEventsTable(client)
  const slice = 2_000_000
  for (let from = 0; from < options.rows; from += slice) {
    const path = join(directory, `rows-${from}.parquet`)
    const count = Math.min(slice, options.rows - from)
    await engine.call('run', `INSERT INTO FUNCTION file('${path}', 'Parquet') ${made} FROM numbers(${from}, ${count})`)
    await engine.call('run', `INSERT INTO bench.${eventsTable} SELECT * FROM file('${path}', 'Parquet', '${columns}')`)
    const { url, headers } = client.appendTarget(eventsTable, 'parquet')
    const response = await fetch(url, { method: 'POST', headers, body: await readFile(path) })
    const text = await response.text()
    assert(response.status === 200 && importResult(text).quarantine_rows === 0, text.slice(0, 900))
  }
  await untilMerged(engine, client)
}

/** The parts are what the engine makes of the same INSERTs on both sides: one large part would be slower to group. */
async function untilMerged(engine: Remote<EngineAlone>, client: ServiceClient): Promise<void> {
  const merges = async (): Promise<number> => {
    const there = await engine.call('run', 'SELECT count() FROM system.merges')
    const [, here] = /^millrace_engine_merges (\d+)$/m.exec(await client.call('GET', '/metrics')) ?? []
    return Number(there) + Number(here)
  }
  for (let quietLooks = 0; quietLooks < quietLooksMin; ) {
    quietLooks = (await merges()) === 0 ? quietLooks + 1 : 0
    await delay(mergesPollMs)
  }
}

async function measureRate(
  engine: Remote<EngineAlone>,
  service: ServiceProcess,
  one: RateCase,
): Promise<readonly string[]> {
  const table = `target_${one.name.replaceAll(' ', '_')}`
  const key = one.engine['engine_sorting_key'] ?? 'tuple()'
  await engine.call(
    'run',
    `CREATE TABLE bench.${table} (${withPath(one.tableColumns)}) ENGINE = ${one.engine['engine']} ORDER BY (${key})`,
  )
  await makeView(service, { name: table, sql: one.sql, engine: one.engine, populates: false })
  const client = createServiceClient(service)
  const ours: number[] = []
  const theirs: number[] = []
  const populate = async () => {
    await client.call('POST', `/v0/datasources/${table}/truncate`)
    await delay(settleMs)
    const startedAtMs = performance.now()
    const text = await client.call('POST', `/v0/pipes/make_${table}/nodes/make_${table}_view/population`)
    const { job } = JSON.parse(text) as { readonly job: { readonly id: string } } // As documented of a populate.
    await untilEnded(service, job.id)
    ours.push(performance.now() - startedAtMs)
  }
  const insert = async () => {
    await engine.call('run', `TRUNCATE TABLE bench.${table}`)
    await delay(settleMs)
    const startedAtMs = performance.now()
    await engine.call('run', `INSERT INTO bench.${table} ${one.sql.replace(eventsTable, `bench.${eventsTable}`)}`)
    theirs.push(performance.now() - startedAtMs)
  }
  for (let round = 0; round < options.rounds; round += 1) {
    for (const run of round % 2 === 0 ? [populate, insert] : [insert, populate]) await run()
    const [there] = await client.rows<Sums>(`SELECT ${one.sums} FROM ${table}`)
    const asked = await engine.call('run', `SELECT ${one.sums} FROM bench.${table} FORMAT JSONEachRow`)
    assert(JSON.stringify(there) === JSON.stringify(JSON.parse(asked)), `${JSON.stringify(there)} of ${asked}`)
  }
  const rowsPerSecond = (ms: readonly number[]) => ((options.rows / medianOf(ms)) * 1_000).toFixed(0)
  const ratios = theirs.map((ms, round) => ms / (ours[round] ?? Number.NaN))
  return [one.name, rowsPerSecond(ours), rowsPerSecond(theirs), ...spreadCells(ratios)]
}

async function many(): Promise<void> {
  const timesMs: number[] = []
  await withBench(async ({ directory, opened }) => {
    const service = opened(await startService({ directory: join(directory, 'service') }))
    const client = createServiceClient(service)
    for (let index = 0; index < options.views; index += 1) {
      const source = `source_${Math.floor(index / 20)}`
      if (index % 20 === 0) await client.createDataSource({ name: source, schema: columns, sortingKey: 'ts' })
      const name = `target_${index}`
      await client.call('POST', '/v0/pipes', pipeBody(name))
      const sql = `SELECT path, countState() AS hits, sumSimpleState(n) AS total FROM ${source} GROUP BY path`
      const startedAtMs = performance.now()
      await addNode(service, { name, sql, engine: {}, populates: false })
      timesMs.push(performance.now() - startedAtMs)
    }
  })
  const rowOf = (name: string, times: readonly number[]) => {
    const { min, median, max } = spreadOf(times)
    return [name, ...[min, median, max].map((ms) => ms.toFixed(1))]
  }
  const rows = [
    rowOf('the first 20', timesMs.slice(0, 20)),
    rowOf('the last 20', timesMs.slice(-20)),
    rowOf('all', timesMs),
  ]
  report({ header: [`of ${options.views} views`, 'min ms', 'median', 'max'], rows }, options.out, timesMs)
}

/** The service takes the file as a body, the engine reads it. */
async function ingest(): Promise<void> {
  const row = await withBench(async ({ directory, opened }) => {
    const [engine, generator] = [opened(startEngine()), opened(startGenerator())]
    await engine.call('open', { directory: join(directory, 'engine'), settings: '' })
    const service = opened(await startService({ directory: join(directory, 'service') }))
    const path = join(directory, 'rows.ndjson')
    const rowCount = Math.min(options.rows, 2_000_000)
    const plan = { workload: 'events', format: 'ndjson', rowCount, seed: options.seed, badEvery: null } as const
    await generator.call('writeBody', { plan, path })
    await prepareIngest(engine, service)
    const ours: number[] = []
    const theirs: number[] = []
    const target = createServiceClient(service).appendTarget(eventsTable, 'ndjson')
    const append = async () => {
      const { status, text, elapsedMs } = await generator.call('sendFile', { path, target })
      assert(status === 200 && importResult(text).error === false, text.slice(0, 900))
      ours.push(elapsedMs)
    }
    const insert = async () => {
      const startedAtMs = performance.now()
      const from = `file('${path}', 'JSONEachRow', '${columns}')`
      await engine.call('run', `INSERT INTO bench.${eventsTable} SELECT * FROM ${from}`)
      theirs.push(performance.now() - startedAtMs)
    }
    for (let round = -1; round < options.rounds; round += 1) {
      for (const run of round % 2 === 0 ? [append, insert] : [insert, append]) await run()
      if (round < 0) for (const times of [ours, theirs]) times.length = 0
    }
    const all = `SELECT toFloat64(countMerge(hits)) AS rowCount, toFloat64(sumMerge(total)) AS added FROM`
    const [there] = await createServiceClient(service).rows<Sums>(`${all} target_3`)
    const asked = await engine.call('run', `${all} bench.target_3 FORMAT JSONEachRow`)
    assert(JSON.stringify(there) === JSON.stringify(JSON.parse(asked)), `${JSON.stringify(there)} of ${asked}`)
    const rowsPerSecond = (ms: readonly number[]) => ((rowCount / medianOf(ms)) * 1_000).toFixed(0)
    const ratios = theirs.map((ms, round) => ms / (ours[round] ?? Number.NaN))
    return [`${viewsOfIngest} views`, rowsPerSecond(ours), rowsPerSecond(theirs), ...spreadCells(ratios)]
  })
  const header = ['into', 'Millrace rows/s', 'engine rows/s', 'Millrace / engine: min', 'median', 'max']
  report({ header, rows: [row] }, options.out, row)
}

async function prepareIngest(engine: Remote<EngineAlone>, service: ServiceProcess): Promise<void> {
  await createEventsTable(createServiceClient(service))
  await engine.call('run', 'CREATE DATABASE bench')
  await engine.call('run', `CREATE TABLE bench.${eventsTable} (${columns}) ENGINE = MergeTree ORDER BY (user, ts)`)
  const targetColumns =
    'user String, hour DateTime64(3), hits AggregateFunction(count), total AggregateFunction(sum, UInt32)'
  for (let index = 0; index < viewsOfIngest; index += 1) {
    const name = `target_${index}`
    const engineOf = { engine: 'AggregatingMergeTree', engine_sorting_key: 'user, hour' }
    await makeView(service, { name, sql: ingestSql(index, eventsTable), engine: engineOf, populates: false })
    const key = 'ENGINE = AggregatingMergeTree ORDER BY (user, hour)'
    await engine.call('run', `CREATE TABLE bench.${name} (${targetColumns}) ${key}`)
    const sql = ingestSql(index, `bench.${eventsTable}`)
    await engine.call('run', `CREATE MATERIALIZED VIEW bench.view_${index} TO bench.${name} AS ${sql}`)
  }
}

interface NewView {
  /** Of the target; its pipe is `make_<name>`. */
  readonly name: string
  readonly sql: string
  readonly engine: Readonly<Record<string, string>>
  readonly populates: boolean
}

interface MadeView {
  readonly job?: { readonly id: string }
}

async function makeView(service: ServiceProcess, view: NewView): Promise<MadeView> {
  await createServiceClient(service).call('POST', '/v0/pipes', pipeBody(view.name))
  return await addNode(service, view)
}

function pipeBody(name: string): string {
  return JSON.stringify({ name: `make_${name}`, nodes: [{ name: `make_${name}_first`, sql: 'SELECT 1 AS one' }] })
}

async function addNode({ url, headers }: ServiceProcess, { name, sql, engine, populates }: NewView): Promise<MadeView> {
  const query = new URLSearchParams({ name: `make_${name}_view`, type: 'materialized', datasource: name, ...engine })
  if (populates) query.set('populate', 'true')
  const response = await fetch(`${url}/v0/pipes/make_${name}/nodes?${query}`, { method: 'POST', headers, body: sql })
  const text = await response.text()
  assert(response.ok, text.slice(0, 900))
  return JSON.parse(text) as MadeView // As documented of a node.
}

/** A line comes whenever the job has changed: nobody asks, which would take time from it. */
async function untilEnded(service: ServiceProcess, id: string): Promise<void> {
  const lines = (await createServiceClient(service).call('GET', `/v0/jobs/${id}?progress=true`)).trim().split('\n')
  const { status } = JSON.parse(lines.at(-1) ?? '') as { readonly status: string } // As documented of a job.
  assert(status === 'done', lines.at(-1)?.slice(0, 900) ?? '')
}
