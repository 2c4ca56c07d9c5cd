import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type AttackName, type Attacks, attackNames } from './support/attacks.ts'
import { isChosen, readOptions, withBench } from './support/bench.ts'
import { statusSum } from './support/process-usage.ts'
import { type ServiceProcess, startService } from './support/processes.ts'
import { startRemote } from './support/remote-functions.ts'
import { report } from './support/report.ts'
import { createServiceClient } from './support/service-client.ts'
import { percentilesOf } from './support/statistics.ts'

/**
 * What a well-behaved client notices while others hold the service up.
 *
 * The service runs with the options that users have by default. Attackers come from addresses of their own in one process, the
 * neighbour from another address in another. It sends an event and asks a query in turns. Exits with 1 when its p99
 * is above the bound, when one of its requests fails, or when the memory of the service grows beyond its bound.
 *
 * Usage: node dist/benchmarks/neighbours.js [--seconds 10] [--p99-ms-max 500] [--memory-mb-max 1500] [--only bodies] [--out FILE]
 */
const options = readOptions({ seconds: 10, p99MsMax: 500, memoryMbMax: 1_500, scale: 1, only: '' })
const durationMs = options.seconds * 1_000
const dataSource = 'neighbour'
const several = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6', '127.0.0.7', '127.0.0.8']

/** How many connections, and of how many addresses. */
const sizes: Readonly<Record<AttackName, { readonly count: number; readonly addresses: readonly string[] }>> = {
  none: { count: 0, addresses: several },
  slowloris: { count: 5_000, addresses: several },
  'idle connections': { count: 10_000, addresses: several },
  'floods of headers': { count: 500, addresses: several },
  'large bodies': { count: 1_000, addresses: ['127.0.0.2'] },
  'connections that are reset': { count: 100, addresses: ['127.0.0.2'] },
}

const results = await withBench(async ({ directory, opened }) => {
  const service = opened(await startService({ directory }))
  const attackers = opened(startRemote<Attacks>(fileURLToPath(import.meta.resolve('./support/attacks.js'))))
  const neighbour = opened(startRemote<Attacks>(fileURLToPath(import.meta.resolve('./support/attacks.js'))))
  const schema = 'id UInt32 `json:$.id`, text String `json:$.text`'
  await createServiceClient(service).createDataSource({ name: dataSource, schema, format: 'ndjson', sortingKey: 'id' })
  const port = Number(new URL(service.url).port)
  const token = service.headers['authorization']?.replace('Bearer ', '') ?? ''
  const measure = async (attack: AttackName, hasToken: boolean) => {
    const { count, addresses } = sizes[attack]
    const connectionCount = Math.ceil(count * options.scale)
    const task = { attack, port, addresses, connectionCount, durationMs, token: hasToken ? token : null, dataSource }
    const watch = watchMemory(service)
    const attacked = attackers.call('attack', task)
    // The attack has begun by then.
    await delay(durationMs * 0.2)
    const asked = { port, address: '127.0.0.9', token, dataSource, durationMs: durationMs * 0.7 }
    const { eventMs, queryMs, failures } = await neighbour.call('ask', asked)
    console.log(`${attack}, ${hasToken ? 'with' : 'without'} a token: ${percentiles(eventMs)}, ${percentiles(queryMs)}`)
    return { attack, hasToken, eventMs, queryMs, failures, attacked: await attacked, peakMb: await watch.end() }
  }
  const found: Awaited<ReturnType<typeof measure>>[] = []
  // What is compiled at the first requests is none of an attack's doing.
  await measure('none', true)
  for (const attack of attackNames.filter((name) => isChosen(options.only, name))) {
    if (attack !== 'none') found.push(await measure(attack, false))
    found.push(await measure(attack, true))
  }
  return found
})
const header = ['attack', 'token', 'event p50, p99 ms', 'query p50, p99 ms', 'failed', 'closed', 'answers', 'memory MB']
const rows = results.map(({ attack, hasToken, eventMs, queryMs, failures, attacked, peakMb }) => [
  attack === 'none' ? attack : `${attacked.connectionCount} × ${attack}`,
  attack === 'none' ? '' : hasToken ? 'yes' : 'no',
  percentiles(eventMs),
  percentiles(queryMs),
  counts(failures),
  String(attacked.closedCount),
  counts(attacked.answers),
  peakMb.toFixed(0),
])
report(
  { header, rows, notes: `Bounds: p99 ${options.p99MsMax} ms, memory ${options.memoryMbMax} MB.` },
  options.out,
  results,
)
const isBad = results.some(
  ({ eventMs, queryMs, failures, peakMb }) =>
    Object.keys(failures).length > 0 ||
    eventMs.length * queryMs.length === 0 ||
    percentilesOf(eventMs).p99 > options.p99MsMax ||
    percentilesOf(queryMs).p99 > options.p99MsMax ||
    peakMb > options.memoryMbMax,
)
if (isBad) process.exitCode = 1

function percentiles(ms: readonly number[]): string {
  if (ms.length === 0) return 'none'
  return `${percentilesOf(ms).p50.toFixed(1)}, ${percentilesOf(ms).p99.toFixed(1)}`
}

function counts(byName: Readonly<Record<string, number>>): string {
  return Object.entries(byName)
    .map(([name, count]) => `${count} ${name.replace('HTTP/1.1 ', '')}`)
    .join(', ')
}

/** The largest memory of the API's process and the engine's, looked at ten times a second. */
function watchMemory({ pid }: ServiceProcess) {
  let peakMb = 0
  let isOver = false
  const watch = async (): Promise<void> => {
    while (!isOver) {
      peakMb = Math.max(peakMb, (await statusSum(pid, 'VmRSS')) / 1e6)
      await delay(100)
    }
  }
  const watching = watch()
  return {
    end: async (): Promise<number> => {
      isOver = true
      await watching
      return peakMb
    },
  }
}
