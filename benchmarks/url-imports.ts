import { join } from 'node:path'
import { assert } from '../src/shared/assert.ts'
import { isChosen, readOptions, withBench } from './support/bench.ts'
import { endpointCases, fillEndpointData } from './support/endpoint-cases.ts'
import type { FileServer } from './support/file-server.ts'
import { sampleUntil, statusSum } from './support/process-usage.ts'
import { type ServiceProcess, startFileServer, startGenerator, startService } from './support/processes.ts'
import type { Remote } from './support/remote-functions.ts'
import type { Packing } from './support/repeated-file.ts'
import { report } from './support/report.ts'
import { createServiceClient, importResult } from './support/service-client.ts'
import { medianOf, percentilesOf, spreadCells } from './support/statistics.ts'
import { importFromUrl, loopbackUrls } from './support/url-import.ts'
import { workloads } from './support/workloads.ts'

/**
 * How fast are files imported by URL, beside the same bytes as a body?
 *
 * `--what rate`: each file goes in by URL and as a body in turn, into new tables; ratios are pairs of one round.
 * `--what memory`: files of several sizes, each into a fresh service; resident memory of all its processes.
 * `--what beside`: latency of events and of an endpoint, alone and beside two imports by URL.
 *
 * Files are served by a process of its own, with ranges and an ETag; the service runs with its default options, but for
 * leave to read from loopback by http. Every import is counted in the table and in the job.
 */
const options = readOptions({ what: 'rate', only: '', mb: 1_000, sizesMb: '1000,8000', rounds: 5, seed: 20_260_101 })
const table = 'by_url'
const poolRowCount = 240_000
const packings: readonly Packing[] = ['none', 'gzip', 'zstd']
const extensions = { none: '', gzip: '.gz', zstd: '.zst' } as const
const sampleIntervalMs = 50

interface Processes {
  readonly files: Remote<FileServer>
  readonly service: ServiceProcess
  readonly filesUrl: string
}

const measured = { rate, memory, beside }[options.what]
if (measured === undefined) throw new Error('--what is rate, memory or beside')
await measured()

async function rate(): Promise<void> {
  const rows: (readonly string[])[] = []
  await withProcesses(async (processes) => {
    for (const format of ['ndjson', 'csv'] as const) {
      for (const packing of packings) {
        const name = `events.${format}${extensions[packing]}`
        if (!isChosen(options.only, name)) continue
        rows.push(await measureRate(processes, { name, format, packing }))
        console.log(rows.at(-1)?.join('  '))
      }
    }
  })
  const header = ['file', 'text MB', 'by URL MB/s', 'as a body MB/s', 'by URL / as a body: min', 'median', 'max']
  report({ header, rows }, options.out, rows)
}

interface FileCase {
  readonly name: string
  readonly format: 'csv' | 'ndjson'
  readonly packing: Packing
}

async function measureRate(processes: Processes, { name, format, packing }: FileCase): Promise<readonly string[]> {
  const plan = { workload: 'events', format, rowCount: poolRowCount, seed: options.seed, badEvery: null } as const
  const file = await processes.files.call('addRepeated', { name, plan, packing, textBytes: options.mb * 1e6 })
  const urlMs: number[] = []
  const bodyMs: number[] = []
  const byUrl = async () => urlMs.push(await importByUrl(processes, { name, format, rowCount: file.rowCount }))
  const asBody = async () =>
    bodyMs.push(await importBody(processes, { name, format, packing, rowCount: file.rowCount }))
  for (let round = -1; round < options.rounds; round += 1) {
    const runs = round % 2 === 0 ? [byUrl, asBody] : [asBody, byUrl]
    for (const run of runs) await run()
    if (round < 0) {
      urlMs.length = 0
      bodyMs.length = 0
    }
  }
  const rateOf = (ms: readonly number[]) => (file.textBytes / medianOf(ms) / 1_000).toFixed(0)
  const ratios = urlMs.map((ms, round) => (bodyMs[round] ?? Number.NaN) / ms)
  return [name, (file.textBytes / 1e6).toFixed(0), rateOf(urlMs), rateOf(bodyMs), ...spreadCells(ratios)]
}

interface ExpectedFile {
  readonly name: string
  readonly format: 'csv' | 'ndjson'
  readonly rowCount: number
  readonly dataSource?: string
}

/** Gives the milliseconds from the request to the end of the job. */
async function importByUrl(processes: Processes, expected: ExpectedFile): Promise<number> {
  const { name, format, rowCount, dataSource = table } = expected
  const { service, filesUrl } = processes
  await createTable(service, dataSource, format)
  const elapsedMs = await importFromUrl(service, { dataSource, format, url: `${filesUrl}/${name}`, rowCount })
  await checkAndDrop(service, dataSource, rowCount)
  return elapsedMs
}

async function importBody(processes: Processes, file: ExpectedFile & { readonly packing: Packing }): Promise<number> {
  const { name, format, rowCount, packing } = file
  const { service, files } = processes
  await createTable(service, table, format)
  const target = createServiceClient(service).appendTarget(table, format)
  const encoding = packing === 'none' ? null : packing
  const { status, text, elapsedMs } = await files.call('send', { name, target, encoding })
  assert(status === 200 && importResult(text).error === false, text.slice(0, 900))
  await checkAndDrop(service, table, rowCount)
  return elapsedMs
}

async function createTable(service: ServiceProcess, name: string, format: 'csv' | 'ndjson'): Promise<void> {
  const { schema, sortingKey } = workloads.events.formats[format]
  await createServiceClient(service).createDataSource({ name, schema, format, sortingKey })
}

async function checkAndDrop(service: ServiceProcess, name: string, rowCount: number): Promise<void> {
  const client = createServiceClient(service)
  const [stored] = await client.rows<{ readonly n: number }>(`SELECT toFloat64(count()) AS n FROM ${name}`)
  assert(stored?.n === rowCount, `${stored?.n} rows stored of ${rowCount}`)
  await client.dropDataSource(name)
}

async function withProcesses<Result>(work: (processes: Processes) => Promise<Result>): Promise<Result> {
  return await withBench(async ({ directory, opened }) => {
    const files = opened(startFileServer())
    const service = opened(await startService({ directory: join(directory, 'service'), environment: loopbackUrls }))
    const filesUrl = await files.call('listen', undefined)
    try {
      return await work({ files, service, filesUrl })
    } finally {
      await files.call('stop', undefined)
    }
  })
}

async function memory(): Promise<void> {
  const rows: (readonly string[])[] = []
  for (const sizeMb of options.sizesMb.split(',')) {
    for (const { format, packing } of [
      { format: 'ndjson', packing: 'none' },
      { format: 'csv', packing: 'gzip' },
    ] as const) {
      rows.push(await measureMemory(Number(sizeMb), format, packing))
      console.log(rows.at(-1)?.join('  '))
    }
  }
  const header = ['file', 'text MB', 'seconds', 'MB/s', 'before MB', 'median MB', 'peak MB']
  report({ header, rows }, options.out, rows)
}

async function measureMemory(sizeMb: number, format: 'csv' | 'ndjson', packing: Packing): Promise<readonly string[]> {
  return await withProcesses(async (processes) => {
    const { pid } = processes.service
    const name = `events.${format}${extensions[packing]}`
    const plan = { workload: 'events', format, rowCount: poolRowCount, seed: options.seed, badEvery: null } as const
    const file = await processes.files.call('addRepeated', { name, plan, packing, textBytes: sizeMb * 1e6 })
    const restingBytes = await statusSum(pid, 'VmRSS')
    const samples: number[] = []
    const importing = importByUrl(processes, { name, format, rowCount: file.rowCount })
    await sampleUntil(importing, sampleIntervalMs, async () => {
      samples.push(await statusSum(pid, 'VmRSS'))
    })
    const elapsedMs = await importing
    const megabytes = [restingBytes, medianOf(samples), await statusSum(pid, 'VmHWM')].map((bytes) => bytes / 1e6)
    const rates = [elapsedMs / 1_000, file.textBytes / elapsedMs / 1_000].map((value) => value.toFixed(1))
    return [name, (file.textBytes / 1e6).toFixed(0), ...rates, ...megabytes.map((value) => value.toFixed(0))]
  })
}

async function beside(): Promise<void> {
  const rows = await withProcesses(async (processes) => {
    const { service, files } = processes
    const generator = startGenerator()
    try {
      await fillEndpointData(service, { rowCount: 1_000_000, seed: options.seed })
      const plan = { workload: 'events', format: 'ndjson', rowCount: poolRowCount, seed: options.seed, badEvery: null }
      const textBytes = options.mb * 1e6
      const file = await files.call('addRepeated', {
        name: 'events.ndjson',
        plan: { ...plan, workload: 'events', format: 'ndjson' },
        packing: 'none',
        textBytes,
      })
      const alone = await latencies(processes, generator)
      let isOver = false
      const imports = ['first', 'second'].map(async (dataSource) => {
        const expected = { name: 'events.ndjson', format: 'ndjson', rowCount: file.rowCount, dataSource } as const
        while (!isOver) await importByUrl(processes, expected)
      })
      const besideTwo = await latencies(processes, generator)
      isOver = true
      await Promise.all(imports)
      return [
        ['none', ...alone],
        ['two imports by URL', ...besideTwo],
      ]
    } finally {
      await generator.close()
    }
  })
  const header = ['beside', 'events p50 ms', 'p99', 'endpoint p50 ms', 'p99']
  report({ header, rows }, options.out, rows)
}

/** Events one at a time over four connections, and an endpoint by one client, for ten seconds. */
async function latencies(
  { service }: Processes,
  generator: ReturnType<typeof startGenerator>,
): Promise<readonly string[]> {
  const client = createServiceClient(service)
  await createTable(service, 'latency', 'ndjson')
  const durationMs = 10_000
  const events = await generator.call('sendClosed', {
    target: client.eventsTarget('latency', false),
    status: 202,
    bodies: { rowsPerBody: 1, bodyCount: 4_096, seed: options.seed },
    connectionCount: 4,
    durationMs,
  })
  const [, some] = endpointCases('', options.seed)
  const { url, headers } = service
  const asked = { url, headers, paths: some?.paths ?? [], clientCount: 1, durationMs }
  const { answerMs } = await generator.call('askEndpoints', asked)
  await client.dropDataSource('latency')
  const endpoint = percentilesOf(answerMs)
  return [events.answerMs.p50, events.answerMs.p99, endpoint.p50, endpoint.p99].map((ms) => ms.toFixed(1))
}
