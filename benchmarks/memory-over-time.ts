import { appendFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readOptions, withBench } from './support/bench.ts'
import { eventsTable, storedEvents, untilStored } from './support/event-receivers.ts'
import { memoryColumns, memorySample } from './support/memory-sample.ts'
import { MixedLoad } from './support/mixed-load.ts'
import { sampleUntil } from './support/process-usage.ts'
import { startGenerator, startService } from './support/processes.ts'
import { environment } from './support/report.ts'
import { monotonicMs } from './support/send-events.ts'
import { createServiceClient } from './support/service-client.ts'

/**
 * What does the service take of memory and descriptors in hours of mixed load, and does it come to an end?
 *
 * A service with its default options gets --rate events a second, a query every --query-seconds, an import of 20,000 rows every
 * --import-seconds, a replace of as many every --replace-seconds, and with --alter-seconds a column more in the data source of
 * the events, --alter-max of them at most; 0 is never. Each --sample-seconds one line is printed and appended to `--out`, whole,
 * so that a run that is cut off leaves what it saw. After the load come --idle-minutes without any, and the count: all events
 * and rows that were acknowledged must be stored. `memory-plot.js` makes a table and a plot of such files.
 */
const options = readOptions({
  minutes: 110,
  rate: 2_000,
  rowsPerBody: 100,
  connections: 4,
  querySeconds: 0.5,
  importSeconds: 30,
  replaceSeconds: 60,
  alterSeconds: 0,
  alterMax: 400,
  sampleSeconds: 60,
  idleMinutes: 3,
  seed: 20_260_101,
})
const samplesPath = resolve(options.out === '' ? 'memory-over-time.jsonl' : options.out)

writeFileSync(samplesPath, `${JSON.stringify({ environment: environment(), options })}\n`)
console.log(`${environment()}\n${samplesPath}, memory in MB\n${memoryColumns.join(' | ')}`)
await withBench(async ({ directory, opened }) => {
  const dataDirectory = join(directory, 'data')
  const service = opened(await startService({ directory: dataDirectory }))
  const client = createServiceClient(service)
  const load = new MixedLoad(client, options, (text) => console.log(`failed: ${text}`))
  const startedAtMs = monotonicMs()
  const sample = async () => {
    const minute = (monotonicMs() - startedAtMs) / 60_000
    const { columnsAdded } = load.counts
    const seen = { minute, ...(await memorySample(service.pid, dataDirectory)), 'columns added': columnsAdded }
    appendFileSync(samplesPath, `${JSON.stringify(seen)}\n`)
    console.log(memoryColumns.map((column) => seen[column].toFixed(0)).join(' | '))
  }
  const { seed, rowsPerBody, sampleSeconds } = options
  await sample()
  await load.prepare()
  const generator = opened(startGenerator())
  const sending = generator.call('sendPaced', {
    target: client.eventsTarget(eventsTable, false),
    status: 202,
    bodies: { rowsPerBody, bodyCount: 256, seed },
    connectionCount: options.connections,
    durationMs: options.minutes * 60_000,
    bodiesPerSecond: options.rate / rowsPerBody,
    warmUpMs: 0,
  })
  load.start()
  await sampleUntil(sending, sampleSeconds * 1_000, sample)
  const { measured: _, ...sent } = await sending
  await load.stop()
  await sampleUntil(delay(options.idleMinutes * 60_000), sampleSeconds * 1_000, sample)
  await sample()
  const storedAfterMs = await untilStored(() => storedEvents(client), sent)
  const rowsStored = await load.importedRows()
  const outcome = { ...sent, storedAfterMs, ...load.counts, rowsStored }
  appendFileSync(samplesPath, `${JSON.stringify({ outcome })}\n`)
  console.log(JSON.stringify(outcome, null, 2))
  if (rowsStored !== load.counts.importedRows) throw new Error('rows of imports are lost or doubled')
})
