import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { assert } from '../src/shared/assert.ts'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import type { SenderAnswer } from './support/body-sender.types.ts'
import { type MemoryUsage, memoryUsage } from './support/process-usage.ts'
import { type SendingProcess, startSendingProcess } from './support/sending-process.ts'
import { createServiceClient, parseImportResult } from './support/service-client.ts'
import { type ServiceProcess, startServiceProcess } from './support/service-process.ts'
import { spreadOf } from './support/statistics.ts'
import { textTable } from './support/text-table.ts'
import type { WorkloadFormat, WorkloadName } from './support/workload.types.ts'
import { workloads } from './support/workloads.ts'

/**
 * How much memory does the whole service take, engine included, while one body streams in, and does it grow with the body?
 *
 * Each size is sent to a fresh service process, chunked and without a length, as fast as the service takes it. Resident
 * memory is read every 50 ms; the kernel's own high-water mark (VmHWM) misses nothing in between and is what counts.
 * The rows are counted afterwards. Exit code 1 when a peak reaches --peak-mb (1000 MB) or the larger body's peak is more
 * than --growth (1.1) times the smaller one's.
 *
 * Options: --sizes-mb=500,2000, --workload=events|nested, --format=ndjson|csv, --peak-mb, --growth, --out.
 */
const sampleIntervalMs = 50
/** Rows made before the clock starts and sent again and again, about 20 MB of them. */
const poolRowCount = 240_000
const dataSourceName = 'bench_memory'

const { values } = parseArgs({
  options: {
    'sizes-mb': { type: 'string', default: '500,2000' },
    workload: { type: 'string', default: 'events' },
    format: { type: 'string', default: 'ndjson' },
    'peak-mb': { type: 'string', default: '1000' },
    growth: { type: 'string', default: '1.1' },
    out: { type: 'string', default: 'benchmarks/results/import-memory.json' },
  },
})

interface MemoryResult {
  readonly byteCount: number
  readonly rowCount: number
  readonly elapsedMs: number
  readonly restingBytes: number
  readonly medianBytes: number
  readonly peakBytes: number
}

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const workload = workloadNamed(values.workload)
  const format = formatNamed(values.format)
  const sender = startSendingProcess()
  try {
    const results: MemoryResult[] = []
    for (const sizeMb of values['sizes-mb'].split(',')) {
      results.push(await measureFresh({ sender, workload, format, byteCount: Number(sizeMb) * 1e6 }))
    }
    console.log(`\n${describeEnvironment(environment)}\n\n${memoryTable(results)}\n`)
    const result = { question: 'import-memory', ...environment, options: { workload, format }, sizes: results }
    console.log(`written to ${writeResult(values.out, result)}`)
    reportLimits(results)
  } finally {
    await sender.close()
  }
}

interface MeasureOptions {
  readonly sender: SendingProcess
  readonly workload: WorkloadName
  readonly format: WorkloadFormat
  readonly byteCount: number
}

async function measureFresh(options: MeasureOptions): Promise<MemoryResult> {
  console.log(`streaming ${Math.round(options.byteCount / 1e6)} MB`)
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  try {
    const service = await startServiceProcess({ directory })
    try {
      return await measure(service, options)
    } finally {
      await service.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function measure(service: ServiceProcess, options: MeasureOptions): Promise<MemoryResult> {
  const { sender, workload, format, byteCount } = options
  const client = createServiceClient(service.url, service.adminToken)
  const { schema, sortingKey } = workloads[workload].formats[format]
  await client.createDataSource({ name: dataSourceName, schema, format, sortingKey })
  const resting = await memoryUsage(service.pid)
  const plan = { workload, format, rowCount: poolRowCount, seed: 1, badEvery: null }
  const sending = sender.sendRepeated(plan, byteCount, client.appendRequest(dataSourceName, format))
  const samples = await sampleUntil(sending, service.pid)
  const answer = await sending
  await verify(client, answer)
  return {
    byteCount: answer.byteCount,
    rowCount: answer.rowCount ?? 0,
    elapsedMs: answer.elapsedMs,
    restingBytes: resting.residentBytes,
    medianBytes: spreadOf(samples.map((sample) => sample.residentBytes)).median,
    peakBytes: Math.max(...samples.map((sample) => sample.peakBytes)),
  }
}

async function sampleUntil(work: Promise<unknown>, pid: number): Promise<readonly MemoryUsage[]> {
  const samples: MemoryUsage[] = []
  let isOver = false
  const ended = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    samples.push(await memoryUsage(pid))
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, sampleIntervalMs))])
  }
  samples.push(await memoryUsage(pid))
  return samples
}

async function verify(client: ReturnType<typeof createServiceClient>, answer: SenderAnswer): Promise<void> {
  assert(answer.status === 200, `the service answered ${answer.status}: ${answer.text.slice(0, 500)}`)
  assert(parseImportResult(answer.text).error === false, `a clean body: ${answer.text.slice(0, 500)}`)
  const [stored] = await client.rows<{ rowCount: string }>(
    `SELECT toString(count()) AS rowCount FROM ${dataSourceName}`,
  )
  assert(stored?.rowCount === String(answer.rowCount), `${stored?.rowCount} rows stored of ${answer.rowCount}`)
}

function memoryTable(results: readonly MemoryResult[]): string {
  const megabytes = (bytes: number) => Math.round(bytes / 1e6).toString()
  const rows = results.map((result) => [
    megabytes(result.byteCount),
    (result.rowCount / 1e6).toFixed(2),
    (result.elapsedMs / 1_000).toFixed(1),
    Math.round(result.byteCount / result.elapsedMs / 1_000).toString(),
    megabytes(result.restingBytes),
    megabytes(result.medianBytes),
    megabytes(result.peakBytes),
  ])
  return textTable(['body MB', 'million rows', 'seconds', 'MB/s', 'before MB', 'median MB', 'peak MB'], rows)
}

function reportLimits(results: readonly MemoryResult[]): void {
  const peaks = results.map((result) => result.peakBytes)
  const peakMax = Number(values['peak-mb']) * 1e6
  const growth = (peaks.at(-1) ?? 0) / (peaks[0] ?? 1)
  const isMet = Math.max(...peaks) < peakMax && growth <= Number(values.growth)
  console.log(
    `peak ${Math.round(Math.max(...peaks) / 1e6)} MB of ${values['peak-mb']}, growth ${growth.toFixed(2)} of ${values.growth}: ${isMet ? 'met' : 'MISSED'}`,
  )
  if (!isMet) process.exitCode = 1
}

function workloadNamed(name: string): WorkloadName {
  if (name === 'events' || name === 'nested') return name
  throw new Error(`no workload ${name}: events or nested`)
}

function formatNamed(name: string): WorkloadFormat {
  if (name === 'ndjson' || name === 'csv') return name
  throw new Error(`no format ${name}: ndjson or csv`)
}
