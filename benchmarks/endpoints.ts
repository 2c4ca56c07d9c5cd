import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { readOptions, withBench } from './support/bench.ts'
import { type EndpointCase, endpointCases, fillEndpointData } from './support/endpoint-cases.ts'
import type { EngineAlone } from './support/engine-alone.ts'
import { eventsTable } from './support/event-receivers.ts'
import type { LoadGenerator } from './support/load-generator.ts'
import { type ServiceProcess, startEngine, startGenerator, startService } from './support/processes.ts'
import type { Remote } from './support/remote-functions.ts'
import { report } from './support/report.ts'
import { createServiceClient } from './support/service-client.ts'
import { medianOf, percentilesOf } from './support/statistics.ts'

/**
 * How long does an endpoint take to answer, beside what the engine itself takes for the same SQL?
 *
 * Endpoints over a table of events are asked by one client and by several, each with its next request as soon as it has read the
 * last answer, over values that change from one request to the next. The engine alone has a copy of the data, in a process of
 * its own with as many sessions as there are clients, and is asked in turn with the service, after a round to warm up. At last
 * the same while rows go into the table of the service. "Resolve" is rendering, resolving and checking, and "store" the service's
 * own statement and waiting for a session, as the header Server-Timing tells them.
 */
const options = readOptions({ rows: 5_000_000, clients: 8, rate: 100_000, rounds: 3, seconds: 3, seed: 20_260_101 })
const roundMs = options.seconds * 1_000
const eventsPerBody = 500
const warmUpMs = 1_000

interface MeasuredCase extends EndpointCase {
  readonly clientCount: number
  readonly isIngesting: boolean
}

interface EndpointBench {
  readonly service: ServiceProcess
  readonly engine: Remote<EngineAlone>
  readonly generator: Remote<LoadGenerator>
  /** The data that the engine has alone. */
  readonly directory: string
}

const results = await withBench(async ({ directory, opened }) => {
  const [served, alone] = [join(directory, 'served'), join(directory, 'alone')]
  const first = await startService({ directory: served })
  const tableId = await fillEndpointData(first, { rowCount: options.rows, seed: options.seed }).finally(first.close)
  // One directory has one owner, and both are to be asked in turn, so that a busy machine is busy for both.
  await cp(served, alone, { recursive: true })
  const service = opened(await startService({ directory: served }))
  const bench = { service, engine: opened(startEngine()), generator: opened(startGenerator()), directory: alone }
  const cases = endpointCases(tableId, options.seed)
  const found: Awaited<ReturnType<typeof measure>>[] = []
  for (const clientCount of [1, options.clients]) {
    for (const one of cases) found.push(await measure(bench, { ...one, clientCount, isIngesting: false }))
  }
  for (const one of cases) {
    const ingested = { ...one, clientCount: options.clients, isIngesting: true }
    found.push(await whileIngesting(service, () => measure(bench, ingested)))
  }
  return found
})
const header = [
  ...['endpoint', 'clients', 'rows/s in', 'requests/s', 'answer p50 ms', 'p99', 'resolve p50', 'p99', 'store p50'],
  ...['engine alone p50', 'ratio'],
]
const rows = results.map(({ name, clientCount, isIngesting, answerMs, resolveMs, storeMs, aloneMs, ratios }) => [
  name,
  String(clientCount),
  isIngesting ? String(options.rate) : '0',
  (answerMs.length / options.seconds / options.rounds).toFixed(0),
  percentilesOf(answerMs).p50.toFixed(2),
  percentilesOf(answerMs).p99.toFixed(2),
  percentilesOf(resolveMs).p50.toFixed(3),
  percentilesOf(resolveMs).p99.toFixed(3),
  percentilesOf(storeMs).p50.toFixed(2),
  percentilesOf(aloneMs).p50.toFixed(2),
  medianOf(ratios).toFixed(2),
])
const notes = 'The ratio is the median of those of the rounds: p50 of the answers by that of the engine alone.'
report(
  { header, rows, notes },
  options.out,
  results.map(({ paths: _, queries: __, ...result }) => result),
)

/** Rounds of engine and service in turn; the first one warms both up. */
async function measure({ service, engine, generator, directory }: EndpointBench, one: MeasuredCase) {
  const { paths, queries, clientCount } = one
  const { url, headers } = service
  const times = {
    aloneMs: [] as number[],
    answerMs: [] as number[],
    resolveMs: [] as number[],
    storeMs: [] as number[],
  }
  const ratios: number[] = []
  for (let round = 0; round <= options.rounds; round += 1) {
    const aloneMs = await engine.call('timeQueries', { directory, queries, clientCount, durationMs: roundMs })
    const asked = await generator.call('askEndpoints', { url, headers, paths, clientCount, durationMs: roundMs })
    if (round === 0) continue
    times.aloneMs.push(...aloneMs)
    for (const key of ['answerMs', 'resolveMs', 'storeMs'] as const) times[key].push(...asked[key])
    ratios.push(percentilesOf(asked.answerMs).p50 / percentilesOf(aloneMs).p50)
  }
  return { ...one, ...times, ratios }
}

async function whileIngesting<Result>(service: ServiceProcess, work: () => Promise<Result>): Promise<Result> {
  const client = createServiceClient(service)
  const sender = startGenerator()
  try {
    const sending = sender.call('sendPaced', {
      target: client.eventsTarget(eventsTable, false),
      status: 202,
      bodies: { rowsPerBody: eventsPerBody, bodyCount: 64, seed: options.seed },
      connectionCount: 64,
      durationMs: 2 * (options.rounds + 1) * roundMs + 2 * warmUpMs,
      bodiesPerSecond: options.rate / eventsPerBody,
      warmUpMs,
    })
    const result = await work()
    const { rowCount, elapsedMs, refusedCount } = await sending
    console.log(
      `${((rowCount / elapsedMs) * 1_000).toFixed(0)} rows a second meanwhile, ${refusedCount} bodies refused`,
    )
    return result
  } finally {
    await sender.close()
  }
}
