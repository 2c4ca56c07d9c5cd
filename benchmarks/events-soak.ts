import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { createEventsTable, eventsTable, storedEvents } from './support/events-receivers.ts'
import type { PacedEvents } from './support/events-sender.types.ts'
import { type EventsSendingProcess, startEventsSendingProcess } from './support/events-sending-process.ts'
import { memoryUsage } from './support/process-usage.ts'
import { createServiceClient, type ServiceClient } from './support/service-client.ts'
import { type ServiceProcess, startServiceProcess } from './support/service-process.ts'
import { memoryTrend, type SoakSample, sampleDuring } from './support/soak-samples.ts'
import { spreadOf } from './support/statistics.ts'
import { untilAllStored } from './support/stored-events.ts'
import { textTable } from './support/text-table.ts'

/**
 * Does the service hold out? Events at 70 % of the highest rate, for ten minutes.
 *
 * The highest rate is taken first, over --search-seconds (5): as many bodies as get through over 32 connections, by the
 * time until the last of them is stored, not only answered. Then an open loop sends at --share (0.7) of it. Resident
 * memory and active parts are read every --sample-seconds (5). The slope of the memory is the line of least squares
 * through the second half, as caches and heaps fill in the first. At the end what is stored must be what was
 * acknowledged, by count and by the sum of a column.
 *
 * Exit code 1 when an event is lost or doubled, when memory grows by more than --slope-percent (2) of itself a minute, or
 * when there were ever more than --parts-max (300) parts. A slope of less than two minutes says little.
 *
 * Options: --minutes (10), --rows-per-body (100), --connections (32), --rate (events a second; instead of searching),
 * --share, --search-seconds, --sample-seconds, --slope-percent, --parts-max, --seed, --out.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    'rows-per-body': { type: 'string', default: '100' },
    connections: { type: 'string', default: '32' },
    rate: { type: 'string' },
    share: { type: 'string', default: '0.7' },
    'search-seconds': { type: 'string', default: '5' },
    'sample-seconds': { type: 'string', default: '5' },
    'slope-percent': { type: 'string', default: '2' },
    'parts-max': { type: 'string', default: '300' },
    seed: { type: 'string', default: '20260101' },
    out: { type: 'string', default: 'benchmarks/results/events-soak.json' },
  },
})
const rowsPerBody = Number(values['rows-per-body'])
const plan = { rowsPerBody, bodyCount: 256, seed: Number(values.seed), hasMarkers: false }
const connectionCount = Number(values.connections)

interface SoakResult {
  /** Events a second until stored; null when the rate was given. */
  readonly highestRate: number | null
  readonly rate: number
  readonly sent: PacedEvents
  readonly storedAfterMs: number
  readonly peakBytes: number
  readonly samples: readonly SoakSample[]
}

interface Soak {
  readonly service: ServiceProcess
  readonly sender: EventsSendingProcess
  readonly client: ServiceClient
}

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const result = await withService(soak)
  console.log(`\n${describeEnvironment(environment)}\n\n${soakTable(result)}\n`)
  const written = { question: 'events-soak', ...environment, options: values, ...result }
  console.log(`written to ${writeResult(values.out, written)}`)
  reportLimits(result)
}

async function withService(run: (bench: Soak) => Promise<SoakResult>): Promise<SoakResult> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  const sender = startEventsSendingProcess()
  try {
    const service = await startServiceProcess({ directory })
    try {
      return await run({ service, sender, client: createServiceClient(service.url, service.adminToken) })
    } finally {
      await service.close()
    }
  } finally {
    await sender.close()
    await rm(directory, { recursive: true, force: true })
  }
}

async function soak(bench: Soak): Promise<SoakResult> {
  const { service, sender, client } = bench
  const highestRate = values.rate === undefined ? await findHighestRate(bench) : null
  const rate = highestRate === null ? Number(values.rate) : highestRate * Number(values.share)
  await createEventsTable(client, '')
  console.log(`${Math.round(rate)} events/s in bodies of ${rowsPerBody} for ${values.minutes} minutes`)
  const sending = sender.sendPaced({
    target: { ...client.eventsRequest(eventsTable, false), status: 202 },
    plan,
    connectionCount,
    durationMs: Number(values.minutes) * 60_000,
    bodiesPerSecond: rate / rowsPerBody,
    warmUpMs: 0,
  })
  const samples = await sampleDuring(sending, {
    pid: service.pid,
    intervalMs: Number(values['sample-seconds']) * 1_000,
    countParts: () => countParts(client),
    onSample: ({ atMinute, residentBytes, partCount }) =>
      console.log(`${atMinute.toFixed(1)} min: ${megabytes(residentBytes)} MB, ${partCount} parts`),
  })
  const sent = await sending
  const storedAfterMs = await untilAllStored(() => storedEvents(client), sent)
  const { peakBytes } = await memoryUsage(service.pid)
  return { highestRate, rate, sent, storedAfterMs, peakBytes, samples }
}

async function findHighestRate({ sender, client }: Soak): Promise<number> {
  await createEventsTable(client, '')
  const target = { ...client.eventsRequest(eventsTable, false), status: 202 }
  const durationMs = Number(values['search-seconds']) * 1_000
  const sent = await sender.sendClosed({ target, plan, connectionCount, durationMs })
  const storedAfterMs = await untilAllStored(() => storedEvents(client), sent)
  await client.dropDataSource(eventsTable)
  const rate = (sent.rowCount / (sent.elapsedMs + storedAfterMs)) * 1_000
  console.log(`the highest rate is ${Math.round(rate)} events/s (${sent.refusedCount} refused)`)
  return rate
}

/** Each part has one row at its offset 0, and the engine reads no others to find it. */
async function countParts(client: ServiceClient): Promise<number> {
  const [found] = await client.rows<{ partCount: number }>(
    `SELECT toFloat64(count()) AS partCount FROM ${eventsTable} WHERE _part_offset = 0`,
  )
  return found?.partCount ?? 0
}

function soakTable({ highestRate, rate, sent, storedAfterMs, peakBytes, samples }: SoakResult): string {
  const { slope, mean } = memoryTrend(samples)
  const parts = spreadOf(samples.map(({ partCount }) => partCount))
  const { answerMs } = sent
  const rows = [
    ['highest rate, events/s', highestRate === null ? 'not searched' : Math.round(highestRate).toString()],
    ['rate held, events/s', Math.round(rate).toString()],
    ['requests/s', (rate / rowsPerBody).toFixed(1)],
    ['minutes', (sent.elapsedMs / 60_000).toFixed(1)],
    ['acknowledged and stored, million events', (sent.rowCount / 1e6).toFixed(2)],
    ['refused bodies', sent.refusedCount.toString()],
    ['last event stored after, ms', Math.round(storedAfterMs).toString()],
    ['answer p50 / p99 / max, ms', [answerMs.p50, answerMs.p99, answerMs.max].map((ms) => ms.toFixed(1)).join(' / ')],
    ['resident memory of the second half, MB', megabytes(mean)],
    ['its slope, MB a minute', (slope / 1e6).toFixed(2)],
    ['peak memory, MB', megabytes(peakBytes)],
    ['active parts, median', parts.median.toString()],
    ['active parts, most', parts.max.toString()],
  ]
  return textTable(['what', 'value'], rows)
}

function megabytes(bytes: number): string {
  return Math.round(bytes / 1e6).toString()
}

function reportLimits({ samples }: SoakResult): void {
  const { slope, mean } = memoryTrend(samples)
  // Whoever lost something does not come this far.
  console.log('lost 0, doubled 0: met')
  report('memory, % a minute', (slope / mean) * 100, Number(values['slope-percent']))
  report('active parts', Math.max(...samples.map(({ partCount }) => partCount)), Number(values['parts-max']))
}

function report(title: string, value: number, limit: number): void {
  const isMet = value <= limit
  console.log(`${title}: ${value.toFixed(2)} of ${limit}: ${isMet ? 'met' : 'MISSED'}`)
  if (!isMet) process.exitCode = 1
}
