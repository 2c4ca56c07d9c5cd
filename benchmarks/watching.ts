import { mkdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { assert } from '../src/shared/assert.ts'
import { type Bench, isChosen, readOptions, withBench } from './support/bench.ts'
import { endpointCases, fillEndpointData } from './support/endpoint-cases.ts'
import type { EventBodies } from './support/event-requests.ts'
import { type ServiceProcess, startGenerator, startService } from './support/processes.ts'
import { report } from './support/report.ts'
import { createServiceClient } from './support/service-client.ts'
import { middleOf } from './support/statistics.ts'
import { switchable, switchedVariable, type Window, windowMs, windowsVariable } from './support/watching-windows.ts'
import { workloads } from './support/workloads.ts'

/**
 * What metrics, service data sources and traces cost a request.
 *
 * One service, with the options that users have by default and traces that are sent to a collector on this machine, in which all three
 * are switched off and on every 50 ms or so while clients send or ask as fast as they can. Each four windows, two off and
 * two on, give one ratio of on over off: of requests a second, and of processor time of the thread that answers them. What is done
 * later for them (rows that are inserted, spans that are sent) counts on both sides; a processor profile has it.
 *
 * `--switched` chooses one of the three; `nothing` leaves all on, which shows what chance alone does.
 *
 * Usage: node dist/benchmarks/watching.js [--seconds 120] [--rows 1000000] [--only single] [--switched all] [--out FILE]
 */
const options = readOptions({ seconds: 120, rows: 1_000_000, seed: 20_261_130, only: '', switched: 'all' })
assert(switchable.includes(options.switched), `--switched is one of ${switchable.join(', ')}`)
const dataSource = 'watched'
const warmUpMs = 5_000
const connectionCount = 32
const clientCount = 8
/** A window in which clients began or ended says nothing. */
const requestsMin = 2
/** Half of what is allowed by default, as they are begun in half of the time: what is not taken while all is off is taken later. */
const tracesPerSecondMax = '50'

interface Watched {
  readonly windows: readonly Window[]
  /** The first one behind the warm-up. */
  readonly from: number
}

type Load = (service: ServiceProcess, durationMs: number) => Promise<unknown>

const results = await withBench(async (bench) => {
  const found: { readonly name: string; readonly rates: number[]; readonly costs: number[] }[] = []
  for (const [index, [name, load]] of casesOf(bench)
    .filter(([one]) => isChosen(options.only, one))
    .entries()) {
    const watched = await measure(join(bench.directory, `${index}`), load)
    const turns = turnsOf(watched)
    const rates = turns.map(({ on, off }) => on.requests / on.ms / (off.requests / off.ms))
    const costs = turns.map(({ on, off }) => on.cpuMs / on.requests / (off.cpuMs / off.requests))
    found.push({ name, rates, costs })
  }
  return found
})
report(
  {
    header: ['case', 'turns', 'requests/s, on / off', '95 %', 'processor time, on / off', '95 %'],
    rows: results.map(({ name, rates, costs }) => [name, `${rates.length}`, ...cells(rates), ...cells(costs)]),
  },
  options.out,
  results,
)

function casesOf({ opened }: Bench): readonly (readonly [name: string, load: Load])[] {
  const generator = opened(startGenerator())
  const { seed } = options
  const events =
    (bodies: EventBodies): Load =>
    async (service, durationMs) => {
      const target = createServiceClient(service).eventsTarget(dataSource, false)
      await generator.call('sendClosed', { target, status: 202, bodies, connectionCount, durationMs })
    }
  // The queries of the engine alone are not asked here, so its table needs no name.
  const paths = endpointCases('', seed)[0]?.paths ?? []
  const endpoint: Load = async ({ url, headers }, durationMs) => {
    await generator.call('askEndpoints', { url, headers, paths, clientCount, durationMs })
  }
  return [
    ['single events', events({ rowsPerBody: 1, bodyCount: 4_096, seed })],
    ['single events, gzip', events({ rowsPerBody: 1, bodyCount: 4_096, seed, isGzip: true })],
    ['events, 500 a body', events({ rowsPerBody: 500, bodyCount: 128, seed })],
    [`cheapest endpoint, ${clientCount} clients`, endpoint],
  ]
}

async function measure(directory: string, load: Load): Promise<Watched> {
  return await withBench(async ({ opened }) => {
    await mkdir(directory, { recursive: true })
    const collector = opened(await startCollector())
    const noted = join(directory, 'windows.json')
    const environment = {
      MILLRACE_TRACES_URL: `${collector.url}/v1/traces`,
      MILLRACE_TRACES_PER_SECOND_MAX: tracesPerSecondMax,
      [windowsVariable]: noted,
      [switchedVariable]: options.switched,
    }
    const preloaded = import.meta.resolve('./support/watching-switch.js')
    const service = opened(await startService({ directory: join(directory, 'data'), environment, preloaded }))
    const { schema, sortingKey } = workloads.events.formats.ndjson
    await createServiceClient(service).createDataSource({ name: dataSource, schema, format: 'ndjson', sortingKey })
    await fillEndpointData(service, { rowCount: options.rows, seed: options.seed })
    await load(service, warmUpMs)
    const from = (await windowsOf(service, noted)).length
    await load(service, options.seconds * 1_000)
    return { windows: await windowsOf(service, noted), from }
  })
}

async function windowsOf({ pid }: ServiceProcess, path: string): Promise<readonly Window[]> {
  await rm(path, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (;;) {
    // It is whole as soon as it is there: the service writes it in one go.
    const text = await readFile(path, 'utf8').catch(() => '')
    if (text !== '') return JSON.parse(text) as readonly Window[]
    await delay(windowMs)
  }
}

/** Takes all that it is sent. */
async function startCollector() {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

interface Turn {
  readonly off: Window
  readonly on: Window
}

/** Each four windows, of which two are off and two on. @param from the first window that counts. */
function turnsOf({ windows, from }: Watched): readonly Turn[] {
  const turns: Turn[] = []
  for (let index = from + ((4 - (from % 4)) % 4); index + 3 < windows.length; index += 4) {
    const four = windows.slice(index, index + 4)
    if (four.some(({ requests }) => requests < requestsMin)) continue
    turns.push({ off: sumOf(four.filter(({ on }) => !on)), on: sumOf(four.filter(({ on }) => on)) })
  }
  return turns
}

function sumOf(windows: readonly Window[]): Window {
  return windows.reduce((sum, { on, ms, requests, cpuMs }) => ({
    on,
    ms: sum.ms + ms,
    requests: sum.requests + requests,
    cpuMs: sum.cpuMs + cpuMs,
  }))
}

function cells(ratios: readonly number[]): readonly string[] {
  const { middle, low, high } = middleOf(ratios)
  return [middle.toFixed(3), `${low.toFixed(3)} – ${high.toFixed(3)}`]
}
