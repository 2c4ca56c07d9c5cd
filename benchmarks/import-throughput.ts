import { join } from 'node:path'
import { startClickHouseServer } from '../test/support/clickhouse-server.ts'
import { isChosen, readOptions, withBench } from './support/bench.ts'
import { type ImportBench, type ImportReceiver, importReceivers } from './support/import-receivers.ts'
import { cpuSeconds } from './support/process-usage.ts'
import { startGenerator, startService } from './support/processes.ts'
import { report } from './support/report.ts'
import { medianOf, spreadCells } from './support/statistics.ts'
import { type BodyPlan, bodyKinds } from './support/workloads.ts'

/**
 * How many rows a second does an append of a large body take, beside a ClickHouse server that takes the same bytes?
 *
 * The service, a ClickHouse server made of the same engine, and the sender are three processes on one machine. In each round
 * the same body goes, in turn, to the service by `POST /v0/datasources?mode=append`, to ClickHouse by HTTP `INSERT … FORMAT
 * JSONEachRow` or `CSVWithNames`, to ClickHouse as Arrow made beforehand (the floor: no text to parse), and, with 1 % of bad
 * rows, to the service again; every second round the other way round. The first two rounds warm up and do not count.
 *
 * Every run fills a new table. After it the count and a checksum over all columns must equal what the engine reads out of
 * the same file by itself; then the table is dropped with the merges that are still going on in it, so no run stands
 * beside another's merges. Merges that start during a run belong to its processor time, on both sides.
 *
 * ClickHouse runs with its defaults; `workloads.ts` says what it needs beside them for the nested record.
 */
const options = readOptions({ rows: 1_000_000, rounds: 9, only: '', seed: 20_260_101 })
/** They compile, fill caches and grow heaps on both sides. Code for rare rows takes two. */
const warmUpRounds = 2

interface Run {
  readonly elapsedMs: number
  readonly cpuSeconds: number
}

interface ReceiverRuns {
  readonly title: string
  readonly byteCount: number
  readonly runs: readonly Run[]
}

const results = await withBench(async ({ directory, opened }) => {
  const generator = opened(startGenerator())
  const clickHouse = opened(await startClickHouseServer({ directory: join(directory, 'clickhouse') }))
  const service = opened(await startService({ directory: join(directory, 'service') }))
  const found: { readonly name: string; readonly receivers: readonly ReceiverRuns[] }[] = []
  for (const kind of bodyKinds) {
    const name = `${kind.workload}-${kind.format}`
    if (!isChosen(options.only, name)) continue
    console.log(`${name}: ${options.rows} rows, ${options.rounds} rounds and two to warm up`)
    const plan = { ...kind, rowCount: options.rows, seed: options.seed, badEvery: null }
    found.push({ name, receivers: await measure({ directory, generator, clickHouse, service }, plan) })
  }
  return found
})

const header = ['body', 'receiver', 'thousand rows/s', 'MB/s', 'CPU s per million rows', 'ratio min', 'median', 'max']
const rows = results.flatMap(({ name, receivers }) =>
  receivers.map(({ title, byteCount, runs }, at) => {
    const median = (value: (run: Run) => number) => medianOf(runs.map(value))
    const [ours, theirs] = receivers
    const ratios = at === 0 ? speedups(runs, theirs?.runs) : at === 3 ? speedups(runs, ours?.runs) : []
    return [
      name,
      title,
      median((run) => options.rows / run.elapsedMs).toFixed(0),
      median((run) => byteCount / run.elapsedMs / 1_000).toFixed(0),
      median((run) => (run.cpuSeconds / options.rows) * 1e6).toFixed(2),
      ...spreadCells(ratios),
    ]
  }),
)
const notes = 'Ratios are pairs of one round: Millrace by ClickHouse; with bad rows by its own rows per second without.'
report({ header, rows, notes }, options.out, results)

async function measure(bench: ImportBench, plan: BodyPlan): Promise<readonly ReceiverRuns[]> {
  const receivers = await importReceivers(bench, plan)
  const results = receivers.map(({ title, byteCount }) => ({ title, byteCount, runs: [] as Run[] }))
  for (let round = -warmUpRounds; round < options.rounds; round += 1) {
    // Nobody is always measured behind the same other, whose work may linger.
    for (const receiver of round % 2 === 0 ? receivers : receivers.toReversed()) {
      const run = await measureRun(bench, receiver)
      if (round >= 0) results[receivers.indexOf(receiver)]?.runs.push(run)
    }
  }
  return results
}

async function measureRun({ generator }: ImportBench, receiver: ImportReceiver): Promise<Run> {
  const { title, pid, path, target } = receiver
  await receiver.createTable()
  const before = await cpuSeconds(pid)
  const { status, text, elapsedMs } = await generator.call('sendFile', { path, target })
  const after = await cpuSeconds(pid)
  if (status !== 200) throw new Error(`${title} answered ${status}: ${text.slice(0, 2_000)}`)
  await receiver.verify(text)
  await receiver.dropTable()
  return { elapsedMs, cpuSeconds: after - before }
}

/** How much faster than the others, round by round. */
function speedups(runs: readonly Run[], others: readonly Run[] = []): readonly number[] {
  return runs.flatMap((run, round) => {
    const other = others[round]
    return other === undefined ? [] : [other.elapsedMs / run.elapsedMs]
  })
}
