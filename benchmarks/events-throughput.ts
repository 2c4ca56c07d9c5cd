import { join } from 'node:path'
import { startClickHouseServer } from '../test/support/clickhouse-server.ts'
import { isChosen, readOptions, withBench } from './support/bench.ts'
import {
  clickHouseReceiver,
  type EventReceiver,
  fastifyReceiver,
  serviceReceiver,
  untilStored,
} from './support/event-receivers.ts'
import type { EventBodies } from './support/event-requests.ts'
import { cpuSeconds, mainThreadSeconds } from './support/process-usage.ts'
import { startBareFastify, startGenerator, startService } from './support/processes.ts'
import { report } from './support/report.ts'
import type { SendingTask } from './support/send-events.ts'
import { medianOf, spreadCells } from './support/statistics.ts'
import { hasWrk, runWrk, type WrkRun } from './support/wrk.ts'

/**
 * How many events a second does `POST /v0/events` take, beside ClickHouse gathering INSERTs, and beside a route that does
 * nothing?
 *
 * Five processes on one machine: the service, a ClickHouse server made of the same engine, a bare Fastify route that reads
 * the body and answers 202, what sends, and this one. In each round the same bytes go over kept-alive connections, one
 * request at a time on each, for a fixed time to one receiver after the other, every second round the other way round. `wrk`
 * sends where it is installed, else the own generator (`--generator=own`). The service answers 202 when the events are on
 * disk. ClickHouse has `async_insert=1, wait_for_async_insert=1` and its defaults besides: it answers when the rows are in
 * the table, without a sync. The first two rounds warm up and do not count.
 *
 * Every run fills a new table, in which all that was acknowledged must be found, by its sum too if the own generator sends.
 * 503 is back-pressure: it is counted, and the own generator pauses 100 ms. Processor seconds include storing.
 */
const options = readOptions({
  generator: hasWrk() ? 'wrk' : 'own',
  seconds: 4,
  rounds: 9,
  connections: '32',
  // Parts of names; a bare Fastify route unpacks no gzip.
  only: '',
  seed: 20_260_101,
})
const cases: readonly (Omit<EventBodies, 'seed'> & { readonly name: string })[] = [
  { name: 'single', rowsPerBody: 1, bodyCount: 4_096 },
  { name: 'single-gzip', rowsPerBody: 1, bodyCount: 4_096, isGzip: true },
  { name: 'bodies-500', rowsPerBody: 500, bodyCount: 128 },
]
const warmUpRounds = 2

interface Run extends WrkRun {
  readonly storedMs: number
  readonly cpuSeconds: number
  readonly mainThreadSeconds: number
}

const results = await withBench(async ({ directory, opened }) => {
  const generator = opened(startGenerator())
  const clickHouse = opened(await startClickHouseServer({ directory: join(directory, 'clickhouse') }))
  const bare = opened(await startBareFastify())
  const service = opened(await startService({ directory: join(directory, 'service') }))
  const receivers = [serviceReceiver(service), clickHouseReceiver(clickHouse), fastifyReceiver(bare)]
  const send = (task: SendingTask) =>
    options.generator === 'wrk' ? runWrk(task, directory) : generator.call('sendClosed', task)

  const found: { name: string; rowsPerBody: number; connectionCount: number; runs: Run[][] }[] = []
  for (const { name, ...bodies } of cases.filter((one) => isChosen(options.only, one.name))) {
    for (const connectionCount of options.connections.split(',').map(Number)) {
      console.log(`${name}: ${options.seconds} s each by ${options.generator}, ${connectionCount} connections`)
      const task = { bodies: { ...bodies, seed: options.seed }, connectionCount, durationMs: options.seconds * 1_000 }
      found.push({ name, rowsPerBody: bodies.rowsPerBody, connectionCount, runs: await rounds(receivers, task, send) })
    }
  }
  return { found, titles: receivers.map(({ title }) => title) }
})

const header = [
  ...['body', 'connections', 'receiver', 'requests/s', 'thousand rows/s', 'until stored', 'CPU s per million rows'],
  ...['main thread µs a request', 'p50 ms', 'p99 ms', 'refused', 'ratio min', 'median', 'max'],
]
const rows = results.found.flatMap(({ name, rowsPerBody, connectionCount, runs }) =>
  results.titles.map((title, at) => {
    const median = (value: (run: Run) => number) => medianOf((runs[at] ?? []).map(value))
    // On the service's line its requests by ClickHouse's, on Fastify's line the service's by Fastify's.
    const base = [1, null, 2][at] ?? null
    const ratios = base === null ? [] : pairs(runs[0] ?? [], runs[base] ?? [])
    return [
      name,
      String(connectionCount),
      title,
      median(perSecond).toFixed(0),
      median((run) => (perSecond(run) * rowsPerBody) / 1_000).toFixed(1),
      at === 2 ? '' : median((run) => run.rowCount / (run.elapsedMs + run.storedMs)).toFixed(1),
      median((run) => (run.cpuSeconds / run.rowCount) * 1e6).toFixed(2),
      at === 1 ? '' : median((run) => (run.mainThreadSeconds / run.bodyCount) * 1e6).toFixed(1),
      median((run) => run.answerMs.p50).toFixed(2),
      median((run) => run.answerMs.p99).toFixed(2),
      String(runs[at]?.reduce((total, run) => total + run.refusedCount, 0)),
      ...spreadCells(ratios),
    ]
  }),
)
const notes = `Sent by ${options.generator === 'wrk' ? 'wrk' : 'the own generator'}. Ratios are pairs of one round: on Millrace's line its requests by ClickHouse's, on Fastify's line
Millrace's requests by Fastify's. Until stored: thousand rows a second, by the time until a query finds the last row.`
report({ header, rows, notes }, options.out, results)

/** The runs of each receiver that count. */
async function rounds(
  receivers: readonly EventReceiver[],
  task: Omit<SendingTask, 'status' | 'target'>,
  send: (task: SendingTask) => Promise<WrkRun>,
): Promise<Run[][]> {
  const runs = receivers.map((): Run[] => [])
  for (let round = -warmUpRounds; round < options.rounds; round += 1) {
    const inTurn = round % 2 === 0 ? receivers : receivers.toReversed()
    for (const receiver of inTurn) {
      const run = await measure(receiver, { ...task, ...receiver }, send)
      if (round >= 0) runs[receivers.indexOf(receiver)]?.push(run)
    }
  }
  return runs
}

async function measure(
  receiver: EventReceiver,
  { target, status, bodies, connectionCount, durationMs }: SendingTask,
  send: (task: SendingTask) => Promise<WrkRun>,
): Promise<Run> {
  const { pid } = receiver
  await receiver.createTable()
  const before = { cpu: await cpuSeconds(pid), mainThread: await mainThreadSeconds(pid) }
  const sent = await send({ target, status, bodies, connectionCount, durationMs })
  const mainThread = await mainThreadSeconds(pid)
  // wrk leaves requests without an answer behind.
  const surplusMax = 'total' in sent ? 0 : connectionCount * bodies.rowsPerBody
  const storedMs = await untilStored(() => receiver.stored(), { ...sent, surplusMax })
  const cpu = await cpuSeconds(pid)
  // Merges that are still going on end with the table, so the next receiver does not run beside them.
  await receiver.dropTable()
  return { ...sent, storedMs, cpuSeconds: cpu - before.cpu, mainThreadSeconds: mainThread - before.mainThread }
}

function perSecond({ bodyCount, elapsedMs }: Run): number {
  return (bodyCount / elapsedMs) * 1_000
}

function pairs(runs: readonly Run[], others: readonly Run[]): readonly number[] {
  return runs.flatMap((run, round) => {
    const other = others[round]
    return other === undefined ? [] : [perSecond(run) / perSecond(other)]
  })
}
