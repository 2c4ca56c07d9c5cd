import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startBareFastify } from './support/bare-fastify.ts'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import type { EventsReceiver } from './support/events-case.types.ts'
import { fastifyReceiver, serviceReceiver } from './support/events-receivers.ts'
import { startServiceProcess } from './support/service-process.ts'
import { medianInterval } from './support/statistics.ts'
import { textTable } from './support/text-table.ts'
import { runWrk, type WrkRun } from './support/wrk.ts'

/**
 * Which share of a bare Fastify route does `POST /v0/events` reach with single events, and how far apart are its latencies?
 *
 * Four processes on one machine: the service with its default options, a bare Fastify route that reads the body and
 * answers 202, wrk, and this one. wrk (in C, one thread) sends one event a request. Each round measures both, in turn first
 * and second; each run of the service fills a new table. Faults (no 2xx, broken connections) end the benchmark.
 *
 * Options: --seconds (10), --rounds (9), --connections=32,256, --out.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '9' },
    connections: { type: 'string', default: '32,256' },
    out: { type: 'string', default: 'benchmarks/results/events-wrk.json' },
  },
})

interface CaseResult {
  readonly connections: number
  readonly millrace: readonly WrkRun[]
  readonly fastify: readonly WrkRun[]
}

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  const bare = await startBareFastify()
  const service = await startServiceProcess({ directory: join(directory, 'service') })
  try {
    const results: CaseResult[] = []
    for (const connections of values.connections.split(',').map(Number)) {
      results.push(await measure([serviceReceiver(service), fastifyReceiver(bare)], { connections, directory }))
    }
    console.log(`\n${describeEnvironment(environment)}\n\n${table(results)}\n`)
    console.log(
      `written to ${writeResult(values.out, { question: 'events-wrk', ...environment, options: values, results })}`,
    )
  } finally {
    await service.close()
    await bare.close()
    await rm(directory, { recursive: true, force: true })
  }
}

interface Circumstances {
  readonly connections: number
  readonly directory: string
}

async function measure(
  [millrace, fastify]: readonly [EventsReceiver, EventsReceiver],
  { connections, directory }: Circumstances,
): Promise<CaseResult> {
  const runs = { connections, millrace: [] as WrkRun[], fastify: [] as WrkRun[] }
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const order = round % 2 === 0 ? (['millrace', 'fastify'] as const) : (['fastify', 'millrace'] as const)
    for (const name of order) {
      const run = await runOnce(name === 'millrace' ? millrace : fastify, { connections, directory })
      runs[name].push(run)
      console.log(`${connections} connections, round ${round + 1}, ${name}: ${describe(run)}`)
    }
  }
  return runs
}

async function runOnce(receiver: EventsReceiver, { connections, directory }: Circumstances): Promise<WrkRun> {
  const scriptPath = join(directory, 'request.lua')
  await writeFile(scriptPath, luaScript(receiver.target.headers))
  await receiver.createTable()
  try {
    const run = await runWrk({ url: receiver.target.url, connections, seconds: Number(values.seconds), scriptPath })
    if (run.faultCount > 0) throw new Error(`${receiver.name} failed ${run.faultCount} requests`)
    return run
  } finally {
    await receiver.dropTable()
  }
}

/** Requests of one event each, which differ in their numbers. */
function luaScript(headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  )
  return `wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
${lines.join('\n')}
local n = 0
request = function()
  n = n + 1
  local body = '{"ts":"2026-01-01 00:00:00.123","user":"u' .. (n % 1000) .. '","path":"/p/' .. (n % 100) .. '","n":' .. n .. ',"v":0.5}'
  return wrk.format(nil, nil, nil, body)
end
`
}

function describe({ requestsPerSecond, p50Ms, p99Ms }: WrkRun): string {
  return `${Math.round(requestsPerSecond)}/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`
}

function table(results: readonly CaseResult[]): string {
  const header = ['connections', 'millrace /s', 'fastify /s', 'share', 'interval', 'p50 ms', 'p99 ms', 'p99 / p50']
  const rows = results.map(({ connections, millrace, fastify }) => {
    const share = medianInterval(
      millrace.map((run, round) => run.requestsPerSecond / (fastify[round]?.requestsPerSecond ?? 0)),
    )
    const median = (of: (run: WrkRun) => number, runs = millrace) => medianInterval(runs.map(of)).median
    return [
      String(connections),
      median((run) => run.requestsPerSecond).toFixed(0),
      median((run) => run.requestsPerSecond, fastify).toFixed(0),
      share.median.toFixed(2),
      `${share.low.toFixed(2)} – ${share.high.toFixed(2)}`,
      median((run) => run.p50Ms).toFixed(2),
      median((run) => run.p99Ms).toFixed(2),
      median((run) => run.p99Ms / run.p50Ms).toFixed(1),
    ]
  })
  return textTable(header, rows)
}
