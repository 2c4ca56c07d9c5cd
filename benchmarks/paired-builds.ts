import { join, resolve } from 'node:path'
import { assert } from '../src/shared/assert.ts'
import { isChosen, readOptions, withBench } from './support/bench.ts'
import { endpointCases, fillEndpointData } from './support/endpoint-cases.ts'
import type { EventBodies } from './support/event-requests.ts'
import type { LoadGenerator } from './support/load-generator.ts'
import { cpuSeconds, mainThreadSeconds } from './support/process-usage.ts'
import { type ServiceProcess, startGenerator, startService } from './support/processes.ts'
import type { Remote } from './support/remote-functions.ts'
import { report } from './support/report.ts'
import { createServiceClient, importResult } from './support/service-client.ts'
import { medianInterval, medianOf } from './support/statistics.ts'
import { type BodyPlan, badRowCount, bodyKinds, workloads } from './support/workloads.ts'

/**
 * Is this build slower than another one?
 *
 * The services of two built checkouts run beside each other on one machine, each with its own data and the options that
 * users have by default. In each round each case is measured on one, twice on the other, and on the first again, and the ratio is taken
 * round by round, of geometric means: a machine that slows down for a while slows down both, and so does what the one before has left to
 * do. The second of a pair was found up to a third slower than the first, as the other service still merged. One round warms up and does not count.
 * A case is slower only when the whole interval of the median of its ratios lies below 0.97.
 *
 * With `--before .` it is this build twice, and what differs are options, by their names in the environment:
 * `--before-options MILLRACE_METRICS=off`, several of them separated by commas.
 *
 * Two processes of one build and the same options differ for as long as they run. `--pairs 6` measures that many pairs of processes, one
 * behind the other, with so many rounds each, and takes all their ratios together.
 *
 * Usage: node dist/benchmarks/paired-builds.js --before FOLDER [--rounds 7] [--pairs 1] [--only import,single] [--out FILE]
 *   [--before-options NAME=VALUE,…] [--after-options NAME=VALUE,…] [--per processor]
 *
 * `--per processor` counts by second of processor time of the service and its engine, `--per main-thread` by that of the thread that
 * answers requests, instead of by second: what others do on the machine meanwhile disturbs that less.
 */
const options = readOptions({
  before: '',
  rounds: 7,
  pairs: 1,
  only: '',
  rows: 1_000_000,
  seed: 20_260_101,
  beforeOptions: '',
  afterOptions: '',
  per: 'second',
})
const warmUpRounds = 1
const slowerBelow = 0.97
const table = 'paired'

/** What was done in one measurement. */
interface Done {
  readonly count: number
  readonly elapsedMs: number
}

/** One measurement that both builds take in turn; greater is better. */
interface PairedCase {
  readonly name: string
  readonly unit: string
  measure(service: ServiceProcess): Promise<Done>
}

if (options.before === '') throw new Error('--before is the folder of the other checkout, which must be built')
const results = await withBench(async ({ directory, opened }) => {
  const generator = opened(startGenerator())
  const found = casesOf(generator, directory).filter(({ name }) => isChosen(options.only, name))
  const measured = found.map((one) => ({ ...one, ...noRates() }))
  for (let pair = 0; pair < options.pairs; pair += 1) {
    await withPair(join(directory, `${pair}`), pair, async (before, after) => {
      for (const one of measured) await measurePair(one, before, after)
    })
  }
  return measured
})
const header = ['case', 'unit', 'before', 'after', 'after / before', '95 % interval of the median', '']
const rows = results.map(({ name, unit, before, after, ratios }) => {
  const { low, high } = medianInterval(ratios)
  return [
    name,
    unit,
    medianOf(before).toFixed(0),
    medianOf(after).toFixed(0),
    medianOf(ratios).toFixed(3),
    `${low.toFixed(3)} – ${high.toFixed(3)}`,
    high < slowerBelow ? 'slower' : low > 1 ? 'faster' : 'the same',
  ]
})
report({ header, rows }, options.out, results)

function environmentOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').flatMap((pair) => {
    const equals = pair.indexOf('=')
    return equals < 0 ? [] : [[pair.slice(0, equals), pair.slice(equals + 1)] as const]
  })
  return Object.fromEntries(pairs)
}

/** Starts both services, the one before first in every other pair, and ends them behind `work`. */
async function withPair(
  directory: string,
  pair: number,
  work: (before: ServiceProcess, after: ServiceProcess) => Promise<void>,
): Promise<void> {
  const starts = {
    before: { root: resolve(options.before), environment: environmentOf(options.beforeOptions) },
    after: { environment: environmentOf(options.afterOptions) },
  }
  const opened: { [name in keyof typeof starts]?: ServiceProcess } = {}
  const order = pair % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const)
  try {
    for (const name of order) opened[name] = await startService({ directory: join(directory, name), ...starts[name] })
    const { before, after } = opened
    assert(before !== undefined && after !== undefined, 'both are started')
    const data = { rowCount: options.rows, seed: options.seed }
    for (const service of [before, after]) await fillEndpointData(service, data)
    await work(before, after)
  } finally {
    await Promise.all(Object.values(opened).map((service) => service.close()))
  }
}

interface Rates {
  readonly before: number[]
  readonly after: number[]
  readonly ratios: number[]
}

function noRates(): Rates {
  return { before: [], after: [], ratios: [] }
}

/** The rounds of one pair, added to what others gave. */
async function measurePair(one: PairedCase & Rates, before: ServiceProcess, after: ServiceProcess): Promise<void> {
  for (let round = -warmUpRounds; round < options.rounds; round += 1) {
    const found: number[] = []
    for (const service of [before, after, after, before]) found.push(await rateOf(one, service))
    if (round < 0) continue
    const [firstWas = 0, firstIs = 0, lastIs = 0, lastWas = 0] = found
    const [was, is] = [Math.sqrt(firstWas * lastWas), Math.sqrt(firstIs * lastIs)]
    one.before.push(was)
    one.after.push(is)
    one.ratios.push(is / was)
  }
  const ratios = one.ratios.slice(-options.rounds)
  console.log(`${one.name}: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`)
}

async function rateOf(one: PairedCase, service: ServiceProcess): Promise<number> {
  if (options.per === 'second') {
    const { count, elapsedMs } = await one.measure(service)
    return (count / elapsedMs) * 1_000
  }
  const secondsOf = options.per === 'main-thread' ? mainThreadSeconds : cpuSeconds
  const before = await secondsOf(service.pid)
  const { count } = await one.measure(service)
  return count / ((await secondsOf(service.pid)) - before)
}

function casesOf(generator: Remote<LoadGenerator>, directory: string): readonly PairedCase[] {
  // The queries of the engine alone are not asked here, so its table needs no name.
  const [cheapest, some] = endpointCases('', options.seed)
  const { seed, rows: rowCount } = options
  return [
    ...[null, 100].flatMap((badEvery) =>
      bodyKinds.map((kind) => importCase(generator, directory, { ...kind, rowCount, seed, badEvery })),
    ),
    eventsCase(generator, 'single events', { rowsPerBody: 1, bodyCount: 4_096, seed }),
    eventsCase(generator, 'single events, gzip', { rowsPerBody: 1, bodyCount: 4_096, seed, isGzip: true }),
    eventsCase(generator, 'events, 500 a body', { rowsPerBody: 500, bodyCount: 128, seed }),
    endpointCase(generator, 'cheapest endpoint', cheapest?.paths ?? [], 1),
    endpointCase(generator, 'cheapest endpoint', cheapest?.paths ?? [], 8),
    endpointCase(generator, 'endpoint over 50,000 rows', some?.paths ?? [], 8),
  ]
}

function importCase(generator: Remote<LoadGenerator>, directory: string, plan: BodyPlan): PairedCase {
  const { workload, format, rowCount, badEvery } = plan
  const name = `import ${workload} ${format}${badEvery === null ? '' : ', bad rows'}`
  const path = join(directory, name)
  const badCount = badRowCount(plan)
  let written: Promise<number> | null = null
  const measure = async (service: ServiceProcess) => {
    const client = createServiceClient(service)
    written ??= generator.call('writeBody', { plan, path })
    await written
    const { schema, sortingKey } = workloads[workload].formats[format]
    await client.createDataSource({ name: table, schema, format, sortingKey })
    const { text, elapsedMs } = await generator.call('sendFile', { path, target: client.appendTarget(table, format) })
    const { error, quarantine_rows: aside = 0 } = importResult(text)
    const [stored] = await client.rows<{ readonly n: number }>(`SELECT toFloat64(count()) AS n FROM ${table}`)
    const isRight = (error === false) === (badCount === 0) && aside === badCount && stored?.n === rowCount - badCount
    if (!isRight) throw new Error(text)
    await client.dropDataSource(table)
    return { count: rowCount, elapsedMs }
  }
  return { name, unit: 'rows/s', measure }
}

function eventsCase(generator: Remote<LoadGenerator>, name: string, bodies: EventBodies): PairedCase {
  const measure = async (service: ServiceProcess) => {
    const client = createServiceClient(service)
    const { schema, sortingKey } = workloads.events.formats.ndjson
    await client.createDataSource({ name: table, schema, format: 'ndjson', sortingKey })
    const target = client.eventsTarget(table, false)
    const task = { target, status: 202, bodies, connectionCount: 32, durationMs: 2_500 }
    const { bodyCount, elapsedMs } = await generator.call('sendClosed', task)
    await client.dropDataSource(table)
    return { count: bodyCount, elapsedMs }
  }
  return { name, unit: 'requests/s', measure }
}

function endpointCase(
  generator: Remote<LoadGenerator>,
  name: string,
  paths: readonly string[],
  clientCount: number,
): PairedCase {
  const durationMs = 2_000
  const measure = async ({ url, headers }: ServiceProcess) => {
    const { answerMs } = await generator.call('askEndpoints', { url, headers, paths, clientCount, durationMs })
    return { count: answerMs.length, elapsedMs: durationMs }
  }
  return { name: `${name}, ${clientCount} ${clientCount === 1 ? 'client' : 'clients'}`, unit: 'answers/s', measure }
}
