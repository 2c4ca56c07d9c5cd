import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { benchEnvironment, describeEnvironment } from './support/bench-environment.ts'
import { type ServiceProcess, startServiceProcess } from './support/service-process.ts'
import { medianInterval } from './support/statistics.ts'
import { textTable } from './support/text-table.ts'

/**
 * How long do the lists of a large workspace take, and how long do they keep others waiting?
 *
 * The service runs as a user starts it. While a list is asked for, a thread of this process asks for `/health/live`, one
 * request behind the other; its longest answer is how long the event loop was held at most. The first answer, which finds
 * nothing prepared, stands by itself. "Nothing" is what the probe finds while nobody asks for a list.
 *
 * Options: --sources (1000, of ten columns), --pipes (427, each with an endpoint of two parameters), --rounds (9).
 */
const { values } = parseArgs({
  options: {
    sources: { type: 'string', default: '1000' },
    pipes: { type: 'string', default: '427' },
    rounds: { type: 'string', default: '9' },
  },
})

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

await main()

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  const service = await startServiceProcess({ directory })
  try {
    await fill(service)
    const rows = [await rowOf(service, 'nothing, for a second', () => delay(1_000))]
    for (const path of lists) rows.push(await rowOf(service, path, () => call(service, 'GET', path)))
    const headings = ['list', 'first, ms', 'longest probe', 'later, ms', 'longest probe']
    console.log(`\n${describeEnvironment(benchEnvironment())}\n\n${textTable(headings, rows)}\n`)
  } finally {
    await service.close()
    await rm(directory, { recursive: true, force: true })
  }
}

async function fill(service: ServiceProcess): Promise<void> {
  const sourceCount = Number(values.sources)
  const schema = Array.from({ length: 10 }, (_, index) => `c${index} String`).join(', ')
  for (let index = 0; index < sourceCount; index += 1) {
    await call(service, 'POST', `/v0/datasources?${new URLSearchParams({ name: `source_${index}`, schema })}`)
  }
  for (let index = 0; index < Number(values.pipes); index += 1) {
    const where = "WHERE c2 = {{String(tag, 'a')}}"
    const sql = `% SELECT c0, c1, count() AS n FROM source_${index % sourceCount} ${where} GROUP BY c0, c1 LIMIT {{Int32(n, 10)}}`
    const text = await call(service, 'POST', `/v0/pipes?${new URLSearchParams({ name: `pipe_${index}`, sql })}`)
    // The answer of our own service has this shape.
    const { nodes } = JSON.parse(text) as { readonly nodes: readonly { readonly id: string }[] }
    await call(service, 'POST', `/v0/pipes/pipe_${index}/nodes/${nodes[0]?.id}/endpoint`)
  }
}

async function call({ url, adminToken }: ServiceProcess, method: string, path: string): Promise<string> {
  const answer = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${adminToken}` } })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
  return text
}

async function rowOf(service: ServiceProcess, name: string, work: () => Promise<unknown>): Promise<readonly string[]> {
  const samples: Sample[] = []
  for (let round = 0; round < Number(values.rounds); round += 1) samples.push(await measure(service, work))
  const [first, ...later] = samples
  const { median } = medianInterval(later.map(({ elapsedMs }) => elapsedMs))
  const longest = Math.max(...later.map(({ longestProbeMs }) => longestProbeMs))
  return [name, first?.elapsedMs ?? 0, first?.longestProbeMs ?? 0, median, longest].map((cell) =>
    typeof cell === 'string' ? cell : cell.toFixed(0),
  )
}

/** The time of `work`, and the longest answer to a health probe meanwhile. */
async function measure({ url }: ServiceProcess, work: () => Promise<unknown>): Promise<Sample> {
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
