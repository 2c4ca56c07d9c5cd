import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startClickHouseServer } from '../test/support/clickhouse-server.ts'
import { startBareFastify } from './support/bare-fastify.ts'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { type EventsBench, type EventsCaseOptions, measureEvents } from './support/events-case.ts'
import type { EventsCase, EventsCaseResult } from './support/events-case.types.ts'
import { clickHouseReceiver, fastifyReceiver, serviceReceiver } from './support/events-receivers.ts'
import { startEventsSendingProcess } from './support/events-sending-process.ts'
import { eventsTable } from './support/events-table.ts'
import { startServiceProcess } from './support/service-process.ts'

/**
 * How many events a second does `POST /v0/events` take, beside ClickHouse gathering INSERTs, and beside a route that does
 * nothing?
 *
 * Five processes on one machine: the service, a ClickHouse server made of the same engine, a bare Fastify route that reads
 * the body and answers 202, the sender, and this one. In each round the sender sends the same bytes over 32 kept-alive
 * connections, one request at a time on each, for a fixed time to one receiver after the other. The service answers 202
 * when the events are on disk. ClickHouse has `async_insert=1, wait_for_async_insert=1` and its defaults besides: it
 * answers when the rows are in the table, without a sync. The first two rounds warm up and do not count.
 *
 * Every run fills a new table. The status of every answer is checked, and after the run the count and the sum of a column
 * must be those of what was acknowledged. An answer 503 is back-pressure: it is counted, and the connection pauses 100 ms.
 * Processor seconds of the receivers include storing what was acknowledged.
 *
 * The cases named gzip send the same bodies packed; the bare route reads them and unpacks nothing.
 *
 * Options: --seconds (4), --rounds (9, and two to warm up), --connections (32), --only=single,bodies-500 (parts of case
 * names), --seed, --target-single (aim 8), --target-bodies (aim 1.5), --target-share (aim 0.5, of single events): exit code
 * 1 when a median is below; --out.
 */
const cases: readonly EventsCase[] = [
  { name: 'single', rowsPerBody: 1, bodyCount: 4_096 },
  { name: 'single-gzip', rowsPerBody: 1, bodyCount: 4_096, isPacked: true },
  { name: 'bodies-500', rowsPerBody: 500, bodyCount: 128 },
]

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '9' },
    connections: { type: 'string', default: '32' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '20260101' },
    'target-single': { type: 'string' },
    'target-bodies': { type: 'string' },
    'target-share': { type: 'string' },
    out: { type: 'string', default: 'benchmarks/results/events-throughput.json' },
  },
})

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const options: EventsCaseOptions = {
    connectionCount: Number(values.connections),
    durationMs: Number(values.seconds) * 1_000,
    roundCount: Number(values.rounds),
    seed: Number(values.seed),
  }
  const results = await withBench((bench) => measureChosen(bench, options))
  console.log(`\n${describeEnvironment(environment)}\n\n${eventsTable(results)}\n`)
  const result = { question: 'events-throughput', ...environment, options, cases: results }
  console.log(`written to ${writeResult(values.out, result)}`)
  for (const caseResult of results) reportTargets(caseResult)
}

async function withBench<Result>(measure: (bench: EventsBench) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  const open: { close(): Promise<void> }[] = []
  const opened = <Closable extends { close(): Promise<void> }>(resource: Closable): Closable => {
    open.unshift(resource)
    return resource
  }
  try {
    const sender = opened(startEventsSendingProcess())
    const clickHouse = opened(await startClickHouseServer({ directory: join(directory, 'clickhouse') }))
    const bare = opened(await startBareFastify())
    const service = opened(await startServiceProcess({ directory: join(directory, 'service') }))
    const receivers = {
      millrace: serviceReceiver(service),
      clickhouse: clickHouseReceiver(clickHouse),
      fastify: fastifyReceiver(bare),
    }
    return await measure({ sender, receivers })
  } finally {
    for (const resource of open) await resource.close()
    await rm(directory, { recursive: true, force: true })
  }
}

async function measureChosen(bench: EventsBench, options: EventsCaseOptions): Promise<readonly EventsCaseResult[]> {
  const wanted = values.only.split(',')
  const results: EventsCaseResult[] = []
  for (const eventsCase of cases) {
    if (!wanted.some((part) => eventsCase.name.includes(part))) continue
    console.log(
      `${eventsCase.name}: ${values.seconds} s each, ${options.connectionCount} connections, ${options.roundCount} rounds and two to warm up`,
    )
    results.push(await measureEvents(bench, eventsCase, options))
  }
  return results
}

function reportTargets({ name, ratio, share }: EventsCaseResult): void {
  const isSingle = name === 'single'
  report(`${name}, × ClickHouse`, ratio.median, isSingle ? values['target-single'] : values['target-bodies'])
  if (isSingle) report(`${name}, share of bare Fastify`, share.median, values['target-share'])
}

function report(title: string, median: number, target: string | undefined): void {
  if (target === undefined) return
  const isMet = median >= Number(target)
  console.log(`${title}: ${median.toFixed(2)}, target ${target}: ${isMet ? 'met' : 'MISSED'}`)
  if (!isMet) process.exitCode = 1
}
