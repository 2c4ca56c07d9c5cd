// How fast a Parquet file is taken, beside the engine's own `INSERT … SELECT FROM file()` of the same file into a table of
// the same definition, in the same process of its own. Rows of both are counted and summed, and must agree.
//
//   npm run build && UV_THREADPOOL_SIZE=16 node --single-threaded-gc dist/benchmarks/parquet.js [--rows 4000000] [--rounds 5]

import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Session } from 'chdb'
import { readOptions } from '../src/config-reader.ts'
import { createLogger } from '../src/observe/logger.ts'
import { openService } from '../src/service.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '4000000' },
    rounds: { type: 'string', default: '5' },
    // What a process of its own does; without it all of them are started.
    task: { type: 'string' },
    directory: { type: 'string', default: '' },
    url: { type: 'string', default: '' },
    token: { type: 'string', default: '' },
  },
})
const rowCount = Number(values.rows)
const schema = 'ts DateTime64(3), user String, path String, n UInt32, v Float64'
const sums = 'count() AS count, sum(n) AS total, toString(sum(cityHash64(ts, user, path, n, v))) AS hash'
/** As other writers make them: groups of 122,880 rows, packed by snappy, times in microseconds, wider integers. */
const files = {
  same: 'ts, user, path, n, v',
  // Each number and each time is checked, as a column of the file may hold what the data source's may not.
  cast: "toDateTime64(ts, 6, 'UTC') AS ts, user, path, toInt64(n) AS n, v",
} as const

interface Outcome {
  readonly ms: number
  /** Of processor time, of all threads: what a machine in use shows better than the clock. */
  readonly cpuMs: number
  readonly count: number
  readonly total: number
  readonly hash: string
}

const tasks = { write, engine, service, client } as const

if (values.task === undefined) await compare()
else await tasks[values.task as keyof typeof tasks]() // Given by `run` below.

async function compare(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-parquet-'))
  try {
    run('write', directory)
    for (const file of Object.keys(files)) {
      const runs: Record<'engine' | 'service', Outcome[]> = { engine: [], service: [] }
      const sumsSeen = new Set<string>()
      for (let round = 0; round < Number(values.rounds); round += 1) {
        for (const task of ['engine', 'service'] as const) {
          const outcome = JSON.parse(run(task, join(directory, file))) as Outcome // As the tasks write it.
          runs[task].push(outcome)
          sumsSeen.add(JSON.stringify([outcome.count, outcome.total, outcome.hash]))
        }
      }
      if (sumsSeen.size !== 1) throw new Error(`the rows differ: ${[...sumsSeen].join(' ')}`)
      console.log(`${file}: ${report(runs, 'ms')}; processor ${report(runs, 'cpuMs')}; rows ${[...sumsSeen]}`)
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The least of each, and the service's speed as a share of the engine's, by pairs of one round: least, median, most. */
function report(runs: Readonly<Record<'engine' | 'service', readonly Outcome[]>>, field: 'cpuMs' | 'ms'): string {
  const least = (task: 'engine' | 'service') => Math.min(...runs[task].map((outcome) => outcome[field]))
  const shares = runs.engine.map((outcome, round) => outcome[field] / (runs.service[round]?.[field] ?? 1))
  const sorted = shares.sort((a, b) => a - b).map((share) => share.toFixed(2))
  const median = sorted[Math.floor(sorted.length / 2)]
  return `engine ${least('engine')} ms, service ${least('service')} ms, ${sorted[0]} ${median} ${sorted.at(-1)}`
}

/** Runs a task in a process of its own, as each has an engine; gives the last line that it wrote. */
function run(task: string, directory: string): string {
  const script = fileURLToPath(import.meta.url)
  const flags = ['--single-threaded-gc', script, '--task', task, '--directory', directory, '--rows', String(rowCount)]
  const { stdout, stderr, status } = spawnSync(process.execPath, flags, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${task} failed: ${stderr}`)
  return stdout.trim().split('\n').at(-1) ?? ''
}

function write(): void {
  const session = new Session(join(values.directory, 'write'))
  const rows = `SELECT toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + number / 1000 AS ts,
    concat('u', toString(rand(1) % 100000)) AS user, concat('/p/', toString(rand(2) % 1000)) AS path,
    toUInt32(number) AS n, rand(3) / 1e6 AS v FROM numbers(${rowCount})`
  for (const [name, columns] of Object.entries(files)) {
    session.query(`SELECT ${columns} FROM (${rows}) INTO OUTFILE '${join(values.directory, name)}' FORMAT Parquet
      SETTINGS output_format_parquet_row_group_size = 122880, output_format_parquet_compression_method = 'snappy', max_threads = 1`)
  }
  session.close()
}

async function engine(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-parquet-engine-'))
  const session = new Session(directory)
  session.query(`CREATE TABLE t (${schema}) ENGINE = MergeTree ORDER BY (user, ts)
    SETTINGS min_bytes_for_wide_part = 67108864`)
  const startCpu = process.cpuUsage()
  const startMs = performance.now()
  await session.queryAsync(`INSERT INTO t SELECT ts, user, path, n, v FROM file('${values.directory}', 'Parquet')`)
  const ms = Math.round(performance.now() - startMs)
  const cpuMs = cpuMsSince(startCpu)
  const found = JSON.parse(String(session.query(`SELECT ${sums} FROM t FORMAT JSONEachRow`))) as Omit<
    Outcome,
    'cpuMs' | 'ms'
  >
  session.close()
  await rm(directory, { recursive: true, force: true })
  console.log(JSON.stringify({ ms, cpuMs, ...found }))
}

async function service(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-parquet-service-'))
  const flags = ['--port=0', `--data-dir=${directory}`, '--log-level=error']
  const reading = readOptions({ flags, environment: {}, machine: { coreCount: 2, memoryBytes: 8 * 1024 ** 3 } })
  if (reading.kind !== 'options') throw new Error('the options of this benchmark are right')
  const open = await openService(reading.options, createLogger({ level: 'error' }))
  const call = async (path: string, body: string): Promise<string> => {
    const headers = { authorization: `Bearer ${open.adminToken.text}` }
    const response = await fetch(`${open.address}${path}`, { method: 'POST', headers, body })
    const text = await response.text()
    if (response.status !== 200) throw new Error(text)
    return text
  }
  const parameters = new URLSearchParams({ name: 't', schema, engine: 'MergeTree', engine_sorting_key: 'user, ts' })
  await call(`/v0/datasources?${parameters}`, '')
  const startCpu = process.cpuUsage()
  // The sender has a process of its own, as its work is not the service's.
  const sent = await send(`${open.address}/v0/datasources?name=t&mode=append&format=parquet`, open.adminToken.text)
  const cpuMs = cpuMsSince(startCpu)
  const { ms, answer } = JSON.parse(sent) as { readonly ms: number; readonly answer: string } // As `client` writes it.
  if (!answer.includes(`"imported_rows":${rowCount}`)) throw new Error(answer)
  const found = JSON.parse(await call('/v0/sql', `SELECT ${sums} FROM t FORMAT JSONEachRow`)) as Omit<
    Outcome,
    'cpuMs' | 'ms'
  >
  await open.close()
  await rm(directory, { recursive: true, force: true })
  console.log(JSON.stringify({ ms, cpuMs, ...found }))
}

function send(url: string, token: string): Promise<string> {
  const flags = [fileURLToPath(import.meta.url), '--task', 'client', '--directory', values.directory, '--url', url]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...flags, '--token', token], (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(error)
    })
  })
}

async function client(): Promise<void> {
  const body = readFileSync(values.directory)
  const startMs = performance.now()
  const response = await fetch(values.url, {
    method: 'POST',
    headers: { authorization: `Bearer ${values.token}` },
    body,
  })
  const answer = await response.text()
  console.log(JSON.stringify({ ms: Math.round(performance.now() - startMs), answer }))
}

function cpuMsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return Math.round((user + system) / 1000)
}
