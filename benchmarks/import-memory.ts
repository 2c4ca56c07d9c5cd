import { assert } from '../src/shared/assert.ts'
import { readOptions, withBench } from './support/bench.ts'
import { sampleUntil, statusSum } from './support/process-usage.ts'
import { startGenerator, startService } from './support/processes.ts'
import { report } from './support/report.ts'
import { createServiceClient, importResult } from './support/service-client.ts'
import { medianOf } from './support/statistics.ts'
import { bodyKinds, workloads } from './support/workloads.ts'

/**
 * How much memory does the whole service take, engine included, while one body streams in, and does it grow with the body?
 *
 * Each size is sent to a fresh service, chunked and without a length, as fast as the service takes it. Resident memory is
 * read every 50 ms; the kernel's own high-water mark (VmHWM) misses nothing in between. The rows are counted afterwards.
 */
const options = readOptions({ sizesMb: '500,2000', body: 'events-ndjson' })
const sampleIntervalMs = 50
/** Rows made before the clock starts and sent again and again, about 20 MB of them. */
const poolRowCount = 240_000
const name = 'bench_memory'

const rows: (readonly string[])[] = []
for (const sizeMb of options.sizesMb.split(',')) {
  console.log(`streaming ${sizeMb} MB`)
  rows.push(await measure(Number(sizeMb) * 1e6))
}
const header = ['body MB', 'million rows', 'seconds', 'MB/s', 'before MB', 'median MB', 'peak MB']
report({ header, rows }, options.out, rows)

async function measure(byteCount: number): Promise<readonly string[]> {
  const kind = bodyKinds.find(({ workload, format }) => `${workload}-${format}` === options.body)
  if (kind === undefined) throw new Error(`no body ${options.body}: like events-ndjson`)
  const { schema, sortingKey } = workloads[kind.workload].formats[kind.format]
  return await withBench(async ({ directory, opened }) => {
    const generator = opened(startGenerator())
    const service = opened(await startService({ directory }))
    const client = createServiceClient(service)
    await client.createDataSource({ name, schema, format: kind.format, sortingKey })
    const restingBytes = await statusSum(service.pid, 'VmRSS')
    const plan = { ...kind, rowCount: poolRowCount, seed: 1, badEvery: null }
    const target = client.appendTarget(name, kind.format)
    const sending = generator.call('sendRepeated', { plan, byteCount, target })
    const samples: number[] = []
    await sampleUntil(sending, sampleIntervalMs, async () => {
      samples.push(await statusSum(service.pid, 'VmRSS'))
    })
    const answer = await sending
    assert(answer.status === 200, `the service answered ${answer.status}: ${answer.text.slice(0, 500)}`)
    assert(importResult(answer.text).error === false, `a clean body: ${answer.text.slice(0, 500)}`)
    const [stored] = await client.rows<{ readonly n: number }>(`SELECT toFloat64(count()) AS n FROM ${name}`)
    assert(stored?.n === answer.rowCount, `${stored?.n} rows stored of ${answer.rowCount}`)
    return [
      (answer.byteCount / 1e6).toFixed(0),
      (answer.rowCount / 1e6).toFixed(2),
      (answer.elapsedMs / 1_000).toFixed(1),
      (answer.byteCount / answer.elapsedMs / 1_000).toFixed(0),
      ...[restingBytes, medianOf(samples), await statusSum(service.pid, 'VmHWM')].map((bytes) =>
        (bytes / 1e6).toFixed(0),
      ),
    ]
  })
}
