import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { benchEnvironment, describeEnvironment } from './support/bench-environment.ts'
import { eventsTable, storedEvents } from './support/events-receivers.ts'
import type { PacedEvents } from './support/events-sender.types.ts'
import { startEventsSendingProcess } from './support/events-sending-process.ts'
import { figureCells, figuresOf, figureTitles, memorySample, type SampleSource } from './support/memory-samples.ts'
import { MixedLoad } from './support/mixed-load.ts'
import { monotonicMs } from './support/monotonic-clock.ts'
import { createServiceClient } from './support/service-client.ts'
import type { ServiceProcess } from './support/service-process.ts'
import { untilAllStored } from './support/stored-events.ts'
import { startWatchedService } from './support/watched-service.ts'

/**
 * What does the service take of memory and descriptors in two hours of mixed load, and does it come to an end?
 *
 * A service with its default options gets --rate (2000) events a second, a query every --query-seconds (0.5), an import of
 * 20,000 rows every --import-seconds (30), a replace of as many every --replace-seconds (60), and with --alter-seconds (0,
 * never) a column more in the data source of the events. Each --sample-seconds (60) one line is printed and appended to
 * `<out>.jsonl`, whole, so that a run that is cut off leaves what it saw. After the load come --idle-minutes (3) without
 * any, and the count: all events and rows that were acknowledged must be stored.
 *
 * `memory-plot.js` makes a table and a plot of such files.
 *
 * Options: --minutes (110), --rate, --rows-per-body (100), --connections (4), --query-seconds, --import-seconds,
 * --replace-seconds, --alter-seconds, --alter-max (columns; 400), --sample-seconds, --idle-minutes, --seed,
 * --out (a path without an ending).
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '110' },
    rate: { type: 'string', default: '2000' },
    'rows-per-body': { type: 'string', default: '100' },
    connections: { type: 'string', default: '4' },
    'query-seconds': { type: 'string', default: '0.5' },
    'import-seconds': { type: 'string', default: '30' },
    'replace-seconds': { type: 'string', default: '60' },
    'alter-seconds': { type: 'string', default: '0' },
    'alter-max': { type: 'string', default: '400' },
    'sample-seconds': { type: 'string', default: '60' },
    'idle-minutes': { type: 'string', default: '3' },
    seed: { type: 'string', default: '20260101' },
    out: { type: 'string', default: 'benchmarks/results/memory-over-time' },
  },
})
const samplesPath = `${resolve(values.out)}.jsonl`
const sampleMs = Number(values['sample-seconds']) * 1_000

interface Watched {
  readonly source: SampleSource
  readonly load: MixedLoad
  readonly startedAtMs: number
}

await main()

async function main(): Promise<void> {
  mkdirSync(resolve(values.out, '..'), { recursive: true })
  writeFileSync(samplesPath, `${JSON.stringify({ ...benchEnvironment(), options: values })}\n`)
  console.log(`${describeEnvironment(benchEnvironment())}\nmemory in MB\n${figureTitles.join(' | ')}`)
  const root = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  // A socket's path has 107 bytes at most, so it lies in the shorter folder.
  const places = { directory: join(root, 'data'), probeDirectory: root, logPath: `${resolve(values.out)}.log` }
  writeFileSync(places.logPath, '')
  try {
    const service = await startWatchedService(places)
    try {
      await watch(service, { ...places, dataDirectory: places.directory, pid: service.pid })
    } finally {
      await service.close()
    }
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

async function watch(service: ServiceProcess, source: SampleSource): Promise<void> {
  const load = new MixedLoad(service, planOfLoad(), (text) => console.log(`failed: ${text}`))
  const watched = { source, load, startedAtMs: monotonicMs() }
  await sample(watched)
  await load.prepare()
  const sender = startEventsSendingProcess()
  try {
    const client = createServiceClient(service.url, service.adminToken)
    const rowsPerBody = Number(values['rows-per-body'])
    const sending = sender.sendPaced({
      target: { ...client.eventsRequest(eventsTable, false), status: 202 },
      plan: { rowsPerBody, bodyCount: 256, seed: Number(values.seed), hasMarkers: false },
      connectionCount: Number(values.connections),
      durationMs: Number(values.minutes) * 60_000,
      bodiesPerSecond: Number(values.rate) / rowsPerBody,
      warmUpMs: 0,
    })
    load.start()
    await sampleDuring(watched, sending)
    const sent = await sending
    await load.stop()
    await sampleDuring(watched, delay(Number(values['idle-minutes']) * 60_000))
    await compare(watched, sent, await untilAllStored(() => storedEvents(client), sent))
  } finally {
    await sender.close()
  }
}

function planOfLoad() {
  const seconds = (name: 'query' | 'import' | 'replace' | 'alter') => Number(values[`${name}-seconds`])
  return {
    querySeconds: seconds('query'),
    importSeconds: seconds('import'),
    replaceSeconds: seconds('replace'),
    alterSeconds: seconds('alter'),
    alterMax: Number(values['alter-max']),
    seed: Number(values.seed),
  }
}

async function sampleDuring(watched: Watched, work: Promise<unknown>): Promise<void> {
  let isOver = false
  const ended = work.then(
    () => {
      isOver = true
    },
    // Whoever awaits the work hears of it.
    () => {
      isOver = true
    },
  )
  while (!isOver) {
    await Promise.race([ended, delay(sampleMs, undefined, { ref: false })])
    await sample(watched)
  }
}

async function sample({ source, load, startedAtMs }: Watched): Promise<void> {
  const minute = (monotonicMs() - startedAtMs) / 60_000
  const seen = await memorySample(source, { minute, load: load.counts })
  appendFileSync(samplesPath, `${JSON.stringify(seen)}\n`)
  console.log(figureCells(figuresOf(seen)).join(' | '))
}

/** Whoever lost or doubled an event has thrown before. */
async function compare({ load }: Watched, sent: PacedEvents, storedAfterMs: number): Promise<void> {
  const imported = await load.importedRows()
  const outcome = {
    eventsAcknowledged: sent.rowCount,
    eventsStored: sent.rowCount,
    storedAfterMs,
    bodiesRefused: sent.refusedCount,
    answerMs: sent.answerMs,
    rowsImported: load.counts.importedRows,
    rowsOfImportsStored: imported,
    ...load.counts,
  }
  appendFileSync(samplesPath, `${JSON.stringify({ outcome })}\n`)
  console.log(JSON.stringify(outcome, null, 2))
  if (imported !== load.counts.importedRows) process.exitCode = 1
}
