import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readOptions, withBench } from './support/bench.ts'
import { cpuSeconds } from './support/process-usage.ts'
import { startEngine, startFileServer, startGenerator, startService } from './support/processes.ts'
import { report } from './support/report.ts'
import { createServiceClient } from './support/service-client.ts'
import { spreadCells } from './support/statistics.ts'
import { importFromUrl, loopbackUrls } from './support/url-import.ts'

/**
 * How fast is a Parquet file taken, beside the engine's own `INSERT … SELECT FROM file()` of the same file into a table of the
 * same definition?
 *
 * By URL the time counts from the moment when the server of the file has sent its last byte.
 *
 * Each run has a fresh process with the engine. Rows of all are counted and summed, and must agree. Of each side the table has
 * the least time, and the ratios of the pairs: more than 1 where the service is faster.
 */
const options = readOptions({ rows: 4_000_000, rounds: 5 })
const schema = 'ts DateTime64(3), user String, path String, n UInt32, v Float64'
const sums =
  'toString(count()) AS count, toString(sum(n)) AS total, toString(sum(cityHash64(ts, user, path, n, v))) AS hash'
/** As other writers make them: groups of 122,880 rows, packed by snappy, times in microseconds, wider integers. */
const files = {
  'types as in the data source': 'ts, user, path, n, v',
  // Each number and each time is checked, as a column of the file may hold what the data source's may not.
  'wider types, each value checked': "toDateTime64(ts, 6, 'UTC') AS ts, user, path, toInt64(n) AS n, v",
} as const

interface Run {
  readonly ms: number
  /** What a machine in use shows better than the clock. */
  readonly cpuSeconds: number
  /** Count, sum and hash of the rows. */
  readonly stored: string
}

const results = await withBench(async ({ directory }) => {
  const found: { readonly name: string; readonly engine: Run[]; readonly service: Run[]; readonly byUrl: Run[] }[] = []
  for (const [name, columns] of Object.entries(files)) {
    const path = join(directory, 'rows.parquet')
    await writeFile(directory, path, columns)
    const runs = { name, engine: [] as Run[], service: [] as Run[], byUrl: [] as Run[] }
    for (let round = 0; round < options.rounds; round += 1) {
      runs.engine.push(await insertedByEngine(path))
      runs.service.push(await sentToService(path))
      runs.byUrl.push(await fetchedByService(path))
    }
    const stored = new Set([...runs.engine, ...runs.service, ...runs.byUrl].map((run) => run.stored))
    if (stored.size !== 1) throw new Error(`the rows differ: ${[...stored].join(' ')}`)
    await rm(path)
    found.push(runs)
  }
  return found
})
const header = [
  ...['file', "engine's INSERT … SELECT FROM file(), ms", 'Millrace over HTTP, ms', 'ratio min', 'median', 'max'],
  ...['of processor time: ratio min', 'median', 'max'],
  ...['by URL, ms from the last byte', 'ratio min', 'median', 'max'],
]
const rows = results.map(({ name, engine, service, byUrl }) => {
  const ratios = (field: 'cpuSeconds' | 'ms', runs: readonly Run[]) =>
    engine.flatMap((run, round) => run[field] / (runs[round]?.[field] ?? Number.NaN))
  const least = (runs: readonly Run[]) => Math.min(...runs.map(({ ms }) => ms)).toFixed(0)
  const asBody = [...spreadCells(ratios('ms', service)), ...spreadCells(ratios('cpuSeconds', service))]
  return [name, least(engine), least(service), ...asBody, least(byUrl), ...spreadCells(ratios('ms', byUrl))]
})
report({ header, rows }, options.out, results)

async function writeFile(directory: string, path: string, columns: string): Promise<void> {
  const engine = startEngine()
  try {
    await engine.call('open', { directory: join(directory, 'writer'), settings: '' })
    const made = `SELECT toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + number / 1000 AS ts,
      concat('u', toString(rand(1) % 100000)) AS user, concat('/p/', toString(rand(2) % 1000)) AS path,
      toUInt32(number) AS n, rand(3) / 1e6 AS v FROM numbers(${options.rows})`
    await engine.call(
      'run',
      `SELECT ${columns} FROM (${made}) INTO OUTFILE '${path}' FORMAT Parquet
      SETTINGS output_format_parquet_row_group_size = 122880, output_format_parquet_compression_method = 'snappy', max_threads = 1`,
    )
  } finally {
    await engine.close()
  }
}

async function insertedByEngine(path: string): Promise<Run> {
  return await withBench(async ({ directory, opened }) => {
    const engine = opened(startEngine())
    await engine.call('open', { directory, settings: '' })
    await engine.call(
      'run',
      `CREATE TABLE t (${schema}) ENGINE = MergeTree ORDER BY (user, ts) SETTINGS min_bytes_for_wide_part = 67108864`,
    )
    const before = await cpuSeconds(engine.pid)
    const startMs = performance.now()
    await engine.call('run', `INSERT INTO t SELECT ts, user, path, n, v FROM file('${path}', 'Parquet')`)
    const ms = performance.now() - startMs
    const cpu = (await cpuSeconds(engine.pid)) - before
    const stored = await engine.call('run', `SELECT ${sums} FROM t FORMAT JSONEachRow`)
    return { ms, cpuSeconds: cpu, stored: stored.trim() }
  })
}

async function sentToService(path: string): Promise<Run> {
  return await withBench(async ({ directory, opened }) => {
    const generator = opened(startGenerator())
    const service = opened(await startService({ directory }))
    const client = createServiceClient(service)
    await client.createDataSource({ name: 't', schema, sortingKey: 'user, ts' })
    const before = await cpuSeconds(service.pid)
    const { status, text, elapsedMs } = await generator.call('sendFile', {
      path,
      target: client.appendTarget('t', 'parquet'),
    })
    const cpu = (await cpuSeconds(service.pid)) - before
    if (status !== 200) throw new Error(text)
    const stored = await client.sql(`SELECT ${sums} FROM t FORMAT JSONEachRow`)
    return { ms: elapsedMs, cpuSeconds: cpu, stored: stored.trim() }
  })
}

async function fetchedByService(path: string): Promise<Run> {
  return await withBench(async ({ directory, opened }) => {
    const files = opened(startFileServer())
    const service = opened(await startService({ directory, environment: loopbackUrls }))
    const client = createServiceClient(service)
    await client.createDataSource({ name: 't', schema, sortingKey: 'user, ts' })
    await files.call('addFile', { name: 'rows.parquet', path })
    const url = `${await files.call('listen', undefined)}/rows.parquet`
    const before = await cpuSeconds(service.pid)
    await importFromUrl(service, { dataSource: 't', format: 'parquet', url, rowCount: options.rows })
    // Both processes read the clock of one machine.
    const ms = Date.now() - (await files.call('lastSentAtMs', undefined))
    const cpu = (await cpuSeconds(service.pid)) - before
    const stored = await client.sql(`SELECT ${sums} FROM t FORMAT JSONEachRow`)
    await files.call('stop', undefined)
    return { ms, cpuSeconds: cpu, stored: stored.trim() }
  })
}
