import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { startTaskChild, type TaskChild } from './support/child-tasks.ts'
import type { AskingReport, AskingTask } from './support/endpoint-asker.types.ts'
import { type EndpointCase, endpointCases } from './support/endpoint-cases.ts'
import { fillEndpointData } from './support/endpoint-data.ts'
import type { EngineReport, EngineTask } from './support/engine-time.types.ts'
import { eventsTable } from './support/events-receivers.ts'
import { startEventsSendingProcess } from './support/events-sending-process.ts'
import { createServiceClient } from './support/service-client.ts'
import { type ServiceProcess, startServiceProcess } from './support/service-process.ts'
import { type Percentiles, percentilesOf, type Spread, spreadOf } from './support/statistics.ts'
import { textTable } from './support/text-table.ts'

/**
 * How long does an endpoint take to answer, beside what the engine itself takes for the same SQL?
 *
 * A table of --rows (5,000,000) events; endpoints over it are asked by one client and by --clients (8), each with its next
 * request as soon as it has read the last answer, over values that change from one request to the next. The engine alone
 * has a copy of the data, in a process of its own with as many sessions as there are clients, and is asked in turn with the
 * service: --rounds (3) of --seconds (3) each, after one to warm up. At last the same while --rate (100,000) rows a second
 * go into the table of the service.
 *
 * "Resolve" is rendering, resolving and checking, as the header Server-Timing tells it. The aims: its p50 under 0.3 ms,
 * and an endpoint's p50 at most 1.3 times the engine's (`--target-ratio` and `--target-resolve-ms` make the exit code 1).
 *
 * Options: --rows, --clients, --rate, --rounds, --seconds, --seed, --out.
 */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '5000000' },
    clients: { type: 'string', default: '8' },
    rate: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: '20260101' },
    'target-ratio': { type: 'string' },
    'target-resolve-ms': { type: 'string' },
    out: { type: 'string', default: 'benchmarks/results/endpoints.json' },
  },
})

const roundMs = Number(values.seconds) * 1_000
const rounds = Number(values.rounds)
const seed = Number(values.seed)
const eventsPerBody = 500
const warmUpMs = 1_000

interface EndpointResult {
  readonly name: string
  readonly clientCount: number
  readonly isIngesting: boolean
  readonly requestsPerSecond: number
  readonly answerMs: Percentiles
  readonly resolveMs: Percentiles
  /** In the service: its own statement, and waiting for a session. */
  readonly storeMs: Percentiles
  /** Alone, on the same data. */
  readonly engineMs: Percentiles
  /** Of each round: the median of the answers by that of the engine alone. */
  readonly ratio: Spread
}

const header = [
  'endpoint',
  'clients',
  'rows/s in',
  'requests/s',
  'answer p50 ms',
  'p99',
  'resolve p50',
  'p99',
  'store p50',
  'engine alone p50',
  'ratio',
]

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  const results: EndpointResult[] = []
  try {
    const served = join(directory, 'served')
    const alone = join(directory, 'alone')
    const rowCount = Number(values.rows)
    const tableId = await withService(served, (service) => fillEndpointData(service, { rowCount, seed }))
    // One directory has one owner, and both are to be asked in turn, so that a busy machine is busy for both.
    await cp(served, alone, { recursive: true })
    const cases = endpointCases(tableId, seed)
    const engine = startTaskChild<EngineTask, EngineReport>(
      fileURLToPath(import.meta.resolve('./support/engine-timer.js')),
    )
    const asker = startTaskChild<AskingTask, AskingReport>(
      fileURLToPath(import.meta.resolve('./support/endpoint-asker.js')),
    )
    try {
      await withService(served, async (service) => {
        const measuring = { service, engine, asker, directory: alone }
        for (const clientCount of [1, Number(values.clients)]) {
          for (const one of cases) results.push(await measure(measuring, { ...one, clientCount, isIngesting: false }))
        }
        for (const one of cases) {
          const ingested = { ...one, clientCount: Number(values.clients), isIngesting: true }
          results.push(await whileIngesting(service, () => measure(measuring, ingested)))
        }
      })
    } finally {
      await Promise.all([engine.close(), asker.close()])
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
  console.log(`\n${describeEnvironment(environment)}\n\n${resultTable(results)}\n`)
  const options = { rows: Number(values.rows), rate: Number(values.rate), roundMs, rounds, seed: Number(values.seed) }
  console.log(`written to ${writeResult(values.out, { question: 'endpoints', ...environment, options, results })}`)
  reportTargets(results)
}

async function withService<Result>(directory: string, work: (service: ServiceProcess) => Promise<Result>) {
  const service = await startServiceProcess({ directory })
  try {
    return await work(service)
  } finally {
    await service.close()
  }
}

interface Measuring {
  readonly service: ServiceProcess
  readonly engine: TaskChild<EngineTask, EngineReport>
  readonly asker: TaskChild<AskingTask, AskingReport>
  /** The data that the engine has alone. */
  readonly directory: string
}

interface MeasuredCase extends EndpointCase {
  readonly clientCount: number
  readonly isIngesting: boolean
}

/** Rounds of engine and service in turn; the first one warms both up. */
async function measure(
  { service, engine, asker, directory }: Measuring,
  { name, paths, queries, clientCount, isIngesting }: MeasuredCase,
): Promise<EndpointResult> {
  const { url, adminToken } = service
  const alone: number[] = []
  const asked = { timesMs: [] as number[], resolveMs: [] as number[], engineMs: [] as number[] }
  const ratios: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const { timesMs } = await engine.ask({ directory, queries, clientCount, durationMs: roundMs })
    const report = await asker.ask({ url, adminToken, paths, clientCount, durationMs: roundMs })
    if (round === 0) continue
    alone.push(...timesMs)
    for (const key of ['timesMs', 'resolveMs', 'engineMs'] as const) asked[key].push(...report[key])
    ratios.push(percentilesOf(Float64Array.from(report.timesMs)).p50 / percentilesOf(Float64Array.from(timesMs)).p50)
  }
  return {
    name,
    clientCount,
    isIngesting,
    requestsPerSecond: (asked.timesMs.length / (roundMs * rounds)) * 1_000,
    answerMs: percentilesOf(Float64Array.from(asked.timesMs)),
    resolveMs: percentilesOf(Float64Array.from(asked.resolveMs)),
    storeMs: percentilesOf(Float64Array.from(asked.engineMs)),
    engineMs: percentilesOf(Float64Array.from(alone)),
    ratio: spreadOf(ratios),
  }
}

async function whileIngesting<Result>(service: ServiceProcess, work: () => Promise<Result>): Promise<Result> {
  const client = createServiceClient(service.url, service.adminToken)
  const sender = startEventsSendingProcess()
  const sendingMs = 2 * (rounds + 1) * roundMs + 2 * warmUpMs
  try {
    const sending = sender.sendPaced({
      target: { ...client.eventsRequest(eventsTable, false), status: 202 },
      plan: { rowsPerBody: eventsPerBody, bodyCount: 64, seed: Number(values.seed), hasMarkers: false },
      connectionCount: 64,
      durationMs: sendingMs,
      bodiesPerSecond: Number(values.rate) / eventsPerBody,
      warmUpMs,
    })
    const result = await work()
    const { rowCount, elapsedMs, refusedCount } = await sending
    console.log(
      `${Math.round((rowCount / elapsedMs) * 1_000)} rows a second were stored meanwhile, ${refusedCount} refused`,
    )
    return result
  } finally {
    await sender.close()
  }
}

function resultTable(results: readonly EndpointResult[]): string {
  const rows = results.map((result) => [
    result.name,
    String(result.clientCount),
    result.isIngesting ? values.rate : '0',
    result.requestsPerSecond.toFixed(0),
    result.answerMs.p50.toFixed(2),
    result.answerMs.p99.toFixed(2),
    result.resolveMs.p50.toFixed(3),
    result.resolveMs.p99.toFixed(3),
    result.storeMs.p50.toFixed(2),
    result.engineMs.p50.toFixed(2),
    result.ratio.median.toFixed(2),
  ])
  return textTable(header, rows)
}

function reportTargets(results: readonly EndpointResult[]): void {
  const ratioMax = Number(values['target-ratio'] ?? Number.POSITIVE_INFINITY)
  const resolveMax = Number(values['target-resolve-ms'] ?? Number.POSITIVE_INFINITY)
  for (const { name, clientCount, isIngesting, ratio, resolveMs } of results) {
    const isMissed = resolveMs.p50 > resolveMax || (!isIngesting && ratio.median > ratioMax)
    if (!isMissed) continue
    console.error(
      `${name} with ${clientCount} clients: ratio ${ratio.median.toFixed(2)}, resolve ${resolveMs.p50.toFixed(3)} ms`,
    )
    process.exitCode = 1
  }
}
