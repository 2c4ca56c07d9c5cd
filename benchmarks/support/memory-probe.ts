// Loaded by `--import` into each process of a service that is watched: answers on a Unix socket what only the process itself
// can tell, namely the JavaScript heap and the counters of the engine's allocator. The service's own code knows nothing of it.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import type { EngineMemory, ProbeAnswer } from './memory-probe.types.ts'

/** The variable that names the folder of the sockets. */
const directoryVariable = 'MEMORY_PROBE_DIR'

const directory = process.env[directoryVariable]
if (isMainThread && directory !== undefined) {
  const server = createServer((_request, response) => {
    probe().then(
      (answer) => response.end(JSON.stringify(answer)),
      (error: unknown) => {
        response.statusCode = 500
        response.end(String(error))
      },
    )
  })
  server.listen(join(directory, `${process.pid}.sock`))
  server.unref()
}

async function probe(): Promise<ProbeAnswer> {
  const { heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage()
  return {
    heapTotalBytes: heapTotal,
    heapUsedBytes: heapUsed,
    externalBytes: external,
    arrayBufferBytes: arrayBuffers,
    engine: hasEngine() ? await engineMemory() : null,
  }
}

/** Loading the library just to ask would take a hundred megabytes. */
function hasEngine(): boolean {
  return readFileSync('/proc/self/maps', 'utf8').includes('libchdb.so')
}

interface Connection {
  queryAsync(sql: string): Promise<{ text(): string }>
}
let connection: Promise<Connection> | undefined

/** One more connection to the engine that is open in this process. */
async function connect(): Promise<Connection> {
  const { Session } = await import('chdb')
  const root = resolve(process.env['MILLRACE_DATA_DIR'] ?? './millrace-data')
  const config = join(root, 'engine', 'engine.xml')
  return new Session(join(root, 'clickhouse'), { connectionArgs: [`--config-file=${config}`] })
}

async function engineMemory(): Promise<EngineMemory> {
  connection ??= connect()
  const session = await connection
  const rows = async <Row>(sql: string): Promise<readonly Row[]> => {
    const text = (
      await session.queryAsync(`${sql} FORMAT JSONEachRow SETTINGS output_format_json_quote_64bit_integers=0`)
    ).text()
    // The query beside it names the shape of its rows.
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row)
  }
  const [stats] = await rows<{ stats: string }>('SELECT * FROM system.jemalloc_stats')
  const metrics = await rows<{ metric: string; value: number }>(
    'SELECT metric, value FROM system.metrics WHERE value != 0',
  )
  const bins = await rows<{ size: number; live: number }>(
    'SELECT size, allocations - deallocations AS live FROM system.jemalloc_bins WHERE allocations != deallocations',
  )
  const [parts] = await rows<Pick<EngineMemory, 'activeParts' | 'inactiveParts' | 'primaryKeyBytes'>>(
    `SELECT countIf(active) AS activeParts, countIf(NOT active) AS inactiveParts,
       sum(primary_key_bytes_in_memory_allocated) AS primaryKeyBytes FROM system.parts`,
  )
  return {
    allocator: allocatorCounters(stats?.stats ?? ''),
    metrics: Object.fromEntries(metrics.map(({ metric, value }) => [metric, value])),
    liveBySize: Object.fromEntries(bins.map(({ size, live }) => [size, live])),
    activeParts: parts?.activeParts ?? 0,
    inactiveParts: parts?.inactiveParts ?? 0,
    primaryKeyBytes: parts?.primaryKeyBytes ?? 0,
  }
}

/** The line `Allocated: 1, active: 2, metadata: 3 (n_thp 0, edata 1, …), resident: 4, mapped: 5, retained: 6`. */
function allocatorCounters(stats: string): EngineMemory['allocator'] {
  const counter = (name: string) => Number(new RegExp(`${name}: (\\d+)`).exec(stats)?.[1] ?? 0)
  return {
    allocatedBytes: counter('Allocated'),
    activeBytes: counter('active'),
    metadataBytes: counter('metadata'),
    residentBytes: counter('resident'),
    retainedBytes: counter('retained'),
  }
}
