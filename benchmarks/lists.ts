import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { readOptions, withBench } from './support/bench.ts'
import { startService } from './support/processes.ts'
import { report } from './support/report.ts'
import { createServiceClient, type ServiceClient } from './support/service-client.ts'
import { medianOf } from './support/statistics.ts'

/**
 * How long do the lists of a large workspace take, and how long do they keep others waiting?
 *
 * The service runs as a user starts it. While a list is asked for, a thread of this process asks for `/health/live`, one
 * request behind the other; its longest answer is how long the event loop was held at most. The first answer, which finds
 * nothing prepared, stands by itself. "Nothing" is what the probe finds while nobody asks for a list.
 * A data source has ten columns, a pipe an endpoint of two parameters.
 */
const options = readOptions({ sources: 1_000, pipes: 427, rounds: 9 })
const lists = ['/v0/datasources', '/v0/datasources?attrs=id,name', '/v0/pipes', '/v0/pipes/openapi.json']

/** In a thread of its own, so that what this one does with an answer is no wait. */
const probe = `
const { parentPort, workerData } = require('node:worker_threads')
const http = require('node:http')
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
let isOver = false
const ask = () => new Promise((resolve) => {
  const startMs = performance.now()
  http.get(workerData, { agent }, (answer) => answer.resume().on('end', () => resolve(performance.now() - startMs)))
})
async function run() {
  await ask()
  parentPort.postMessage(0)
  let longestMs = 0
  while (!isOver) longestMs = Math.max(longestMs, await ask())
  agent.destroy()
  parentPort.postMessage(longestMs)
}
parentPort.once('message', () => { isOver = true })
run()
`

interface Sample {
  readonly elapsedMs: number
  readonly longestProbeMs: number
}

const rows = await withBench(async ({ directory, opened }) => {
  const service = opened(await startService({ directory }))
  const client = createServiceClient(service)
  await fill(client)
  const found = [await rowOf(service.url, 'nothing, for a second', () => delay(1_000))]
  for (const path of lists) found.push(await rowOf(service.url, path, () => client.call('GET', path)))
  return found
})
report({ header: ['list', 'first, ms', 'longest probe', 'later, ms', 'longest probe'], rows }, options.out, rows)

async function fill(client: ServiceClient): Promise<void> {
  const schema = Array.from({ length: 10 }, (_, index) => `c${index} String`).join(', ')
  for (let index = 0; index < options.sources; index += 1) {
    await client.createDataSource({ name: `source_${index}`, schema, sortingKey: 'c0' })
  }
  for (let index = 0; index < options.pipes; index += 1) {
    const where = "WHERE c2 = {{String(tag, 'a')}}"
    const sql = `% SELECT c0, c1, count() AS n FROM source_${index % options.sources} ${where} GROUP BY c0, c1 LIMIT {{Int32(n, 10)}}`
    const nodes = [{ name: 'only', type: 'endpoint', sql }]
    await client.call('POST', '/v0/pipes', JSON.stringify({ name: `pipe_${index}`, nodes }))
  }
}

async function rowOf(url: string, name: string, work: () => Promise<unknown>): Promise<readonly string[]> {
  const samples: Sample[] = []
  for (let round = 0; round < options.rounds; round += 1) samples.push(await measure(url, work))
  const [first, ...later] = samples
  const median = medianOf(later.map(({ elapsedMs }) => elapsedMs))
  const longest = Math.max(...later.map(({ longestProbeMs }) => longestProbeMs))
  return [name, first?.elapsedMs ?? 0, first?.longestProbeMs ?? 0, median, longest].map((cell) =>
    typeof cell === 'string' ? cell : cell.toFixed(0),
  )
}

/** The time of `work`, and the longest answer to a health probe meanwhile. */
async function measure(url: string, work: () => Promise<unknown>): Promise<Sample> {
  const thread = new Worker(probe, { eval: true, workerData: `${url}/health/live` })
  await once(thread, 'message')
  const startMs = performance.now()
  await work()
  const elapsedMs = performance.now() - startMs
  thread.postMessage('over')
  const [longestProbeMs]: number[] = await once(thread, 'message')
  await thread.terminate()
  return { elapsedMs, longestProbeMs: longestProbeMs ?? 0 }
}
